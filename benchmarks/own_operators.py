"""Question: how fast is PageRank with operators in Python, compared with the built-in PageRank.

Both run the same number of iterations on one placement, in float32. The first use of an operator compiles it.
A later use in another process loads it from the cache folder.

    python benchmarks/own_operators.py --scale 20
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile

import numpy as np

import evener as ev
import harness

# Prints the seconds of two runs on a small graph, after a run that loads the engine.
FIRST_USE = """
import time, evener as ev, evener.programs.gimv
g = ev.Graph.from_edges([0, 1], [1, 0])
ev.pagerank(g)["rank"]
for _ in range(2):
    start = time.perf_counter()
    ev.gimv(g, lambda m, v, degree: v / degree, lambda x, y: x + y, lambda old, new: new, 1.0, until=2)
    print(time.perf_counter() - start)
"""


def main():
    options = _options()
    graph = ev.read(f"rmat:{options.scale}")
    placed = ev.partition(graph, on=options.on)
    first = np.full(graph.n, 1 / graph.n, np.float32)

    def built_in(_):
        result = ev.pagerank(placed, tol=0, max_iter=options.iterations)
        return result.seconds / options.iterations, result["rank"]

    def operators(_):
        result = ev.gimv(
            placed,
            combine2=lambda m, v, degree: v / degree,
            combine_all=lambda x, y: x + y,
            assign=lambda old, new, n: 0.15 / n + 0.85 * new,
            v0=first,
            until=options.iterations,
        )
        return result.seconds / options.iterations, result["value"]

    verified = ev.pagerank(placed, tol=0, max_iter=options.iterations)
    ev.verify(verified)
    expected = _scaled(verified["rank"])

    def check(_name, _round, answer):
        # The operators lose the rank of vertices without edges, so iterates agree only after scaling.
        assert np.abs(_scaled(answer) - expected).sum() < 1e-4

    times = harness.interleaved(
        {"built-in": built_in, "operators": operators}, rounds=options.rounds, check=check
    )
    rows = [{"what": f"iteration, {name}", "seconds": own} for name, own in times.items()]
    rows += _uses()
    for row in rows:
        row["median_seconds"] = harness.median(row["seconds"])
    ratio = rows[1]["median_seconds"] / rows[0]["median_seconds"]
    cells = [(row["what"], harness.duration(row["median_seconds"]), len(row["seconds"])) for row in rows]
    harness.show(f"PageRank by evener.gimv, {ratio:.3f} times the built-in", ["", "median", "runs"], cells)
    if not options.no_record:
        harness.record("own_operators", question=__doc__.splitlines()[0], rows=rows, ratio=ratio)


def _scaled(values):
    return values / values.sum(dtype=np.float64)


def _uses():
    """Return the seconds of a first use, of a later process, and of a later use in one process."""
    with tempfile.TemporaryDirectory(prefix="evener-bench-") as cache:
        command = [sys.executable, "-c", FIRST_USE]
        environment = {**os.environ, "XDG_CACHE_HOME": cache}
        runs = [
            subprocess.run(command, env=environment, capture_output=True, check=True, text=True).stdout
            for _ in range(4)
        ]
    (compiled, _), *later = (list(map(float, run.split())) for run in runs)
    return [
        {"what": "first use", "seconds": [compiled]},
        {"what": "first use in a later process", "seconds": [run[0] for run in later]},
        {"what": "later use in the process", "seconds": [run[1] for run in later]},
    ]


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--on", default="cpu")
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
