"""Compare every algorithm with NetworkX and textbook definitions, on random graphs, options and placements.

    python benchmarks/differential.py --graphs 5000

Each graph has a seed. ``--seed S --graphs 1`` repeats the graph of seed S. `ev.verify` must accept each
answer.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np

import evener as ev
from evener.algorithms import registry
from oracles import judge, judgeable
from outside import register_kcore
from small_graphs import draw, draw_arguments, supported, with_weights_option

RECORD = Path(__file__).parent / "results/differential.json"
POLICIES = ("random", "high", "low")


def run(seed, count, names):
    """Run some algorithms on the graph of a seed.

    Yields
    ------
    (str, str or None)
        The algorithm, and what is wrong.
    """
    rng = np.random.default_rng(seed)
    small = draw(rng)
    placed, where = _placed(rng, small.graph)
    fitting = [name for name in names if supported(name, small)]
    for name in rng.permutation(fitting)[:count].tolist():
        spec = registry.find(name)
        arguments = with_weights_option(rng, spec.function(), draw_arguments(rng, name, small))
        wrong = _checked(spec, small, placed, arguments)
        yield name, wrong and f"{wrong} with {arguments} on {where}"


def _placed(rng, graph):
    """Return a graph on one to four elements, and the placement in words."""
    how = {
        "on": ["cpu:1"] * int(rng.integers(1, 5)),
        "policy": POLICIES[rng.integers(len(POLICIES))],
        "alpha": [None, 0.0, 0.2, 0.5, 0.8, 1.0][rng.integers(6)],
        "directions": "both",
    }
    return ev.partition(graph, **how), how


def _checked(spec, small, placed, arguments):
    """Return what is wrong with an answer, by the oracle or by `ev.verify`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        try:
            result = spec.function()(placed, **arguments)
            if not judgeable(spec, result):
                return None
            arrays = small.numbered(spec, result)
            parameters = small.numbered_parameters(result.parameters)
            if wrong := judge(spec.name, small.edges, parameters, arrays, result.outcome):
                return f"wrong: {wrong}"
        except Exception as error:  # noqa: BLE001 - a failure of the run is a finding
            return f"{type(error).__name__}: {error}"
        try:
            ev.verify(result)
        except Exception as error:  # noqa: BLE001 - a failure of the verifier is a finding
            return f"right, but verify: {type(error).__name__}: {error}"
    return None


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--graphs", type=int, default=5000, help="number of graphs")
    options.add_argument("--seed", type=int, default=0, help="seed of the first graph")
    options.add_argument("--count", type=int, default=3, help="algorithms of each graph")
    options.add_argument("--only", nargs="*", help="names of algorithms (default: all)")
    options.add_argument("--no-record", action="store_true", help="do not write results/differential.json")
    given = options.parse_args()
    register_kcore()
    names = given.only or registry.names()
    runs, failures, start = Counter(), [], time.perf_counter()
    for seed in range(given.seed, given.seed + given.graphs):
        for name, wrong in run(seed, given.count, names):
            runs[name] += 1
            if wrong:
                failures.append({"seed": seed, "algorithm": name, "wrong": wrong})
                print(f"seed {seed}: {name}: {wrong}", flush=True)
    record = {
        "graphs": given.graphs,
        "first_seed": given.seed,
        "algorithms_per_graph": given.count,
        "seconds": round(time.perf_counter() - start, 1),
        "runs": dict(sorted(runs.items())),
        "failures": failures,
    }
    for name, count in record["runs"].items():
        print(f"{name:24} {count:8,} times, {sum(one['algorithm'] == name for one in failures)} failures")
    if not given.no_record:
        RECORD.write_text(json.dumps(record, indent=2) + "\n", encoding="utf-8")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
