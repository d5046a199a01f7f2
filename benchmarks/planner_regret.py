"""Question: what is the regret of plans against the best recorded placement, and how fast does it fall.

Recorded sweeps are replayed. The planner chooses among the placements of a sweep, first from hardware facts
only. It then observes the run on the chosen placement, and chooses again. The regret of a choice is its time
over the best recorded time, less 1. Each sweep is replayed with the prior, and with the prior of one side
multiplied by 0.5 and by 2.

    python benchmarks/planner_regret.py
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path

import harness
from evener.elements.hardware import GpuFacts
from evener.partition.sizes import ElementShare, PartitionSizes
from evener.planning.cost_model import CostModel
from evener.planning.observations import Observation, ObservedElement
from evener.planning.prior import Coefficients, cpu_prior, gpu_prior, supersteps_of
from evener.spec.registry import find

SWEEPS = Path(__file__).parent.parent / "tests" / "planning" / "sweeps"
CHOICES = 4
# Factors of the prior of the CPU and of the GPU.
PRIORS = ((1.0, 1.0), (0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 2.0))


def replay(sweep, *, cpu=1.0, gpu=1.0, choices=CHOICES):
    """Return the regrets of successive choices, with the priors of both sides multiplied by these factors."""
    spec = find(sweep["algorithm"])
    facts = GpuFacts(sweep["memory_bytes_per_second"], sweep["link_bytes_per_second"])
    on_gpu = gpu_prior(spec, sweep["gpu"], facts)
    of_kind = {"cpu": _scaled(cpu_prior(spec), cpu), "cuda": _scaled(on_gpu, gpu)}
    rows = sweep["rows"]
    priors = {one["element"]: of_kind[one["kind"]] for row in rows for one in row["elements"]}
    best = min(row["seconds"] for row in rows)
    observed, regrets = [], []
    for _ in range(choices):
        model = CostModel.of(
            (spec.traffic.pushed, spec.traffic.pulled), priors, observed, supersteps=supersteps_of(spec)
        )
        chosen = min(rows, key=lambda row: model.cautious_seconds(_shares(row)))
        regrets.append(chosen["seconds"] / best - 1)
        observed.append(_observation(spec, chosen, priors))
    return regrets


def _scaled(prior, factor):
    return replace(prior, coefficients=Coefficients(*(factor * each for each in prior.coefficients)))


def _shares(row):
    return [
        ElementShare(
            one["element"],
            one["kind"],
            one["threads"],
            PartitionSizes(
                one["vertices"], one["connected"], one["mirrors"], one["remote_mirrors"], one["edges"]
            ),
            one["host_edges"],
        )
        for one in row["elements"]
    ]


def _observation(spec, row, priors):
    """Return the observation of a recorded pass with one superstep."""
    elements = tuple(
        ObservedElement(
            model=priors[one["element"]].model,
            kind=one["kind"],
            threads=one["threads"],
            edges=one["edges"],
            host_edges=one["host_edges"],
            vertices=one["connected"],
            mirrors=one["mirrors"],
            bytes_sent=int(
                one["mirrors"] * spec.traffic.pushed + one["remote_mirrors"] * spec.traffic.pulled
            ),
            compute=one["compute"],
            exchange=one["exchange"],
        )
        for one in row["elements"]
    )
    return Observation(spec.name, 1.0, 1, row["seconds"], elements)


def table(sweeps):
    """Return a row for each sweep and prior."""
    return [
        {
            "sweep": f"{sweep['algorithm']} on {sweep['graph']}, {sweep['fits']:g} of the edges fit",
            "cpu_prior": cpu,
            "gpu_prior": gpu,
            "regrets": replay(sweep, cpu=cpu, gpu=gpu),
        }
        for sweep in sweeps
        for cpu, gpu in PRIORS
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sweeps", nargs="*", type=Path, help="files in the format of tests/planning/sweeps")
    options = harness.recording(parser)
    paths = options.sweeps or sorted(SWEEPS.glob("*.json"))
    rows = table([json.loads(path.read_text(encoding="utf-8")) for path in paths])
    factors = ((f"{row['cpu_prior']:g}", f"{row['gpu_prior']:g}") for row in rows)
    cells = [
        (row["sweep"], *own, *(f"{regret:.1%}" for regret in row["regrets"]))
        for row, own in zip(rows, factors, strict=True)
    ]
    after = ("hardware facts", *(f"{n} run{'s' if n > 1 else ''}" for n in range(1, CHOICES)))
    question = __doc__.splitlines()[0]
    harness.show(question, ("", "CPU prior ×", "GPU prior ×", *after), cells)
    if not options.no_record:
        harness.record("planner_regret", question=question, rows=rows, script="planner_regret")


if __name__ == "__main__":
    main()
