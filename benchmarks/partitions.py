"""Question: how much time do 1, 2 and 4 CPU partitions cost on the same cores.

The rival is Evener with one partition. A split adds mirrors, exchanges and barriers. BFS and PageRank run on
R-MAT. Elements share the threads of the machine, at least one each.

    python benchmarks/partitions.py --scale 20
"""

from __future__ import annotations

import argparse

import numba

import evener as ev
import harness
from cpu_rivals import ITERATIONS, draw_sources

COUNTS = (1, 2, 4)


def main():
    options = _options()
    graph = ev.read(f"rmat:{options.scale}")
    rows = [row for policy in options.policies for row in _one_policy(graph, policy, options)]
    if not options.no_record:
        harness.record("partitions", question=__doc__.splitlines()[0], rows=rows)


def _one_policy(graph, policy, options):
    sources = draw_sources(graph, options.sources)
    placed = {}
    for count in COUNTS:
        share = max(1, options.threads // count)
        placed[count] = ev.partition(graph, on=[f"cpu:{share}"] * count, policy=policy)
    rows = []
    for task, run in {"bfs": _bfs, "pagerank": _pagerank}.items():
        runs = {str(c): harness.clocked(_turn(run, pg, sources)) for c, pg in placed.items()}
        times = harness.interleaved(runs, rounds=len(sources), check=lambda _n, _i, result: ev.verify(result))
        alone = harness.median(times["1"])
        for count, taken in times.items():
            rows.append(
                {
                    "policy": policy,
                    "task": task,
                    "partitions": int(count),
                    "median_seconds": harness.median(taken),
                    "spread": round(harness.spread(taken), 3),
                    "times_one": harness.median(taken) / alone,
                    "seconds": taken,
                }
            )
    cells = [
        (
            f"{row['task']}, {row['partitions']} partitions",
            harness.duration(row["median_seconds"]),
            f"{row['spread']:.0%}",
            f"{row['times_one']:.2f}",
        )
        for row in rows
    ]
    harness.show(f"Partitions of {graph}, {policy}", ["", "median", "spread", "times one"], cells)
    return rows


def _turn(run, pg, sources):
    return lambda i: run(pg, int(sources[i]))


def _bfs(pg, source):
    result = ev.bfs(pg, source=source)
    result["parent"]
    return result


def _pagerank(pg, _source):
    result = ev.pagerank(pg, tol=0, max_iter=ITERATIONS)
    result["rank"]
    return result


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--policies", nargs="+", default=["random", "high", "low"])
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--threads", type=int, default=numba.get_num_threads())
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
