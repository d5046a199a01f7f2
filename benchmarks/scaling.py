"""Question: how do the five algorithms scale with the ranks, on CPUs with one thread per rank and on GPUs.

The rival is Evener on one rank. Strong scaling: the same R-MAT graph on 1 to 4 ranks. Weak scaling: equal
edges for each rank. Three ranks get a graph of twice the vertices and 24 edges per vertex. `ev.launch` starts
the ranks on this machine, so they exchange through its memory. Ranks beyond the cores share cores: their
times show the cost of a split, not a speed-up.

In each turn all numbers of ranks run, one after the other. Times are medians of all turns; PageRank's is
one of 10 iterations, betweenness' one of 4 sources. The first answers are verified. "threads" is one rank
with two threads, for comparison with two ranks. GPUs are left out if none can be used.

    python benchmarks/scaling.py --strong rmat:18 --weak 16
"""

from __future__ import annotations

import argparse

import harness
import on_ranks
from evener.elements import usable_cores
from evener.elements.cuda.discovery import gpus, missing
from on_ranks import Case


def main():
    options = _options()
    cases = {"strong": [], "weak": [], "threads": []}
    for on, all_ranks in _elements(options):
        for ranks in all_ranks:
            cases["strong"].append(Case(options.strong, ranks, on, tasks=tuple(options.tasks)))
            cases["weak"].append(Case(weak_graph(options.weak, ranks), ranks, on, tasks=tuple(options.tasks)))
    cases["threads"].append(Case(options.strong, 1, "cpu:2", tasks=tuple(options.tasks)))
    kinds = {(case.graph, case.ranks, case.on): [] for own in cases.values() for case in own}
    for kind, own in cases.items():
        for case in own:
            kinds[case.graph, case.ranks, case.on].append(kind)
    several = [Case(*key, tasks=tuple(options.tasks)) for key in kinds]
    timed = on_ranks.timed(several, rounds=options.rounds, turns=options.turns, verify=not options.no_verify)
    rows = [{"kind": kind, **row} for row in timed for kind in kinds[row["graph"], row["ranks"], row["on"]]]
    _compare(rows)
    _show(rows)
    if not options.no_record:
        harness.record(
            "scaling",
            question=__doc__.splitlines()[0],
            rows=rows,
            cores=usable_cores(),
            routes=on_ranks.routes(max(options.ranks)) if max(options.ranks) > 1 else [],
        )


def weak_graph(scale, ranks):
    """Return an R-MAT graph with `ranks` times the edges of the scale."""
    doublings = ranks.bit_length() - 1
    return f"rmat:{scale + doublings},edge_factor={16 * ranks >> doublings}"


def _elements(options):
    """Return the elements of each rank, and the numbers of ranks."""
    found = [("cpu:1", options.ranks)]
    if missing() is None:
        found.append(("cuda:local", [ranks for ranks in options.ranks if ranks <= min(2, gpus())]))
    else:
        print(f"GPUs are left out: {missing()}.")
    return found


def _compare(rows):
    """Add to each row its ratio: strong scaling and threads one rank over it, weak scaling the same."""
    ones = {(row["kind"], row["on"], row["task"]): row["median_seconds"] for row in rows if row["ranks"] == 1}
    for row in rows:
        kind = "strong" if row["kind"] == "threads" else row["kind"]
        on = "cpu:1" if row["kind"] == "threads" else row["on"]
        one = ones.get((kind, on, row["task"]))
        row["one_rank_over_this"] = one / row["median_seconds"] if one else None


def _show(rows):
    cells = [
        (
            f"{row['kind']}, {row['task']}, {row['ranks']} x {row['on']}",
            row["graph"],
            harness.duration(row["median_seconds"]),
            f"{harness.spread(row['seconds']):.0%}",
            "" if row["one_rank_over_this"] is None else f"{row['one_rank_over_this']:.2f}",
        )
        for row in rows
    ]
    harness.show("Ranks", ["", "graph", "median", "spread", "times one rank"], cells)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--strong", default="rmat:18", help="the graph of strong scaling")
    parser.add_argument("--weak", type=int, default=16, help="R-MAT scale of a rank in weak scaling")
    parser.add_argument("--ranks", type=int, nargs="+", default=[1, 2, 3, 4])
    parser.add_argument("--tasks", nargs="+", default=list(on_ranks.TASKS), choices=on_ranks.TASKS)
    parser.add_argument("--rounds", type=int, default=4, help="timed runs in a turn")
    parser.add_argument("--turns", type=int, default=2)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
