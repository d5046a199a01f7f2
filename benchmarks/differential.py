"""Compare every algorithm with NetworkX and textbook definitions, on random graphs, options and placements.

    python benchmarks/differential.py --graphs 5000

Each graph has a seed. ``--seed S --graphs 1`` repeats the graph of seed S. `ev.verify` must accept each
answer.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from functools import partial
from importlib.util import find_spec
from multiprocessing import get_context

import numpy as np

import evener as ev
from evener.partition.policy import policy_names
from evener.spec import registry
from harness import record
from oracles import has_judge, is_undefined, judge, judgeable
from outside import register_kcore
from small_graphs import draw, draw_arguments, supported, with_weights_option


def run(seed, count, names):
    """Run some algorithms on the graph of a seed.

    Yields
    ------
    (str, str or None)
        The algorithm, and what is wrong.
    """
    rng = np.random.default_rng(seed)
    small = draw(rng)
    how = _placement(rng)
    # Placed once with both directions, or by each algorithm with the directions that it needs.
    placed = ev.partition(small.graph, **how) if rng.integers(2) else None
    fitting = [name for name in names if has_judge(name) and supported(name, small)]
    for name in rng.permutation(fitting)[:count].tolist():
        spec = registry.find(name)
        arguments = with_weights_option(rng, spec.function(), draw_arguments(rng, name, small))
        if "betweenness" in name and len(how["on"]) > 1:
            arguments["weights"] = False  # weights need one CPU
        run_it = partial(spec.function(), **arguments)
        answer = partial(run_it, placed) if placed is not None else partial(run_it, small.graph, **how)
        wrong = _checked(spec, small, answer, arguments)
        placed_by = "the run" if placed is None else "partition"
        yield name, wrong and f"{wrong} with {arguments} on {how}, placed by {placed_by}"


def _placement(rng):
    """Return one to four elements, a policy and a share, as arguments."""
    policies = [name for name in policy_names() if name != "metis" or find_spec("pymetis")]
    return {
        "on": ["cpu:1"] * int(rng.integers(1, 5)),
        "policy": policies[rng.integers(len(policies))],
        "alpha": [None, 0.0, 0.2, 0.5, 0.8, 1.0][rng.integers(6)],
    }


def _checked(spec, small, answer, arguments):
    """Return what is wrong with an answer, by the oracle or by `ev.verify`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ev.ConvergenceWarning)
        try:
            result = answer()
            if not judgeable(spec, result):
                return None
            arrays = small.numbered(spec, result)
            parameters = small.numbered_parameters(result.parameters)
            if wrong := judge(spec.name, small.edges, parameters, arrays, result.outcome):
                return f"wrong: {wrong}"
        except Exception as error:  # noqa: BLE001 - a failure of the run is a finding
            if isinstance(error, ev.ArgumentError) and is_undefined(spec.name, small.edges, arguments):
                return None
            return f"{type(error).__name__}: {error}"
        try:
            ev.verify(result)
        except Exception as error:  # noqa: BLE001 - a failure of the verifier is a finding
            return f"right, but verify: {type(error).__name__}: {error}"
    return None


def _all_of(seed, count, names):
    return list(run(seed, count, names or registry.names()))


def main():
    options = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    options.add_argument("--graphs", type=int, default=5000, help="number of graphs")
    options.add_argument("--seed", type=int, default=0, help="seed of the first graph")
    options.add_argument("--count", type=int, default=3, help="algorithms of each graph")
    options.add_argument("--only", nargs="*", help="names of algorithms (default: all)")
    options.add_argument("--processes", type=int, default=1, help="processes that divide the graphs")
    options.add_argument("--no-record", action="store_true", help="do not write results/differential.json")
    given = options.parse_args()
    runs, failures = Counter(), []
    seeds = range(given.seed, given.seed + given.graphs)
    with get_context("spawn").Pool(given.processes, register_kcore) as processes:
        found = processes.imap(partial(_all_of, count=given.count, names=given.only), seeds)
        for seed, own in zip(seeds, found, strict=True):
            for name, wrong in own:
                runs[name] += 1
                if wrong:
                    failures.append({"seed": seed, "algorithm": name, "wrong": wrong})
                    print(f"seed {seed}: {name}: {wrong}", flush=True)
    failed = Counter(one["algorithm"] for one in failures)
    rows = [{"algorithm": name, "runs": runs[name], "failures": failed[name]} for name in sorted(runs)]
    for row in rows:
        print(f"{row['algorithm']:24} {row['runs']:8,} times, {row['failures']} failures")
    if not given.no_record:
        record(
            "differential",
            question="Do all algorithms give the answers of NetworkX, on random graphs and placements?",
            rows=rows,
            graphs=given.graphs,
            first_seed=given.seed,
            failures=failures,
        )
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
