"""Question: what do payloads of fixed size, and several threads for a key, gain over Mars (S13, figure 9).

The paper compares its GPU code with a naive one, for SCALE 26 on 128 nodes: map is 1.92 times faster, sort
1.64 times and reduce 66.8 times.

Here: one iteration of PageRank as MapReduce on CPU threads. The naive code (`naive_records.py`) has
records of variable size, maps twice, and reduces a key on one thread. A CPU has few threads, so one thread
per key costs less than on a GPU.

    python benchmarks/figures/s13_fig9.py --scale 20
"""

from __future__ import annotations

import argparse
import time

import naive_records as naive
import numpy as np
import search_path  # noqa: F401 - first: it makes the folder above importable
from pagerank_stages import operators, timed

import evener as ev
import harness

PAPER = {"map": 1.92, "sort": 1.64, "reduce": 66.8}


def main():
    options = _options()
    graph = ev.read(f"rmat:{options.scale}")
    placed = ev.partition(graph, "cpu", directions="both")
    ours = timed(placed, rounds=options.rounds, iterations=1)["stages"]
    expected = ev.gimv(placed, **operators(graph, 1))["value"]
    runs = [_naive(graph, expected) for _ in range(options.rounds + 1)][1:]
    rows = []
    for stage, paper in PAPER.items():
        seconds = harness.median([run[stage] for run in runs])
        gain = seconds / ours[stage]
        rows.append({"stage": stage, "naive": seconds, "evener": ours[stage], "gain": gain, "paper": paper})
    cells = [
        (row["stage"], harness.duration(row["naive"]), harness.duration(row["evener"]), f"{row['gain']:.2f}",
         row["paper"])
        for row in rows
    ]  # fmt: skip
    title = f"PageRank as MapReduce, SCALE {options.scale}"
    harness.show(title, ["", "naive", "Evener", "times", "the paper"], cells)
    if not options.no_record:
        harness.record("s13_fig9", question=__doc__.splitlines()[0], rows=rows, folder="figures")


def _naive(graph, expected):
    """Return the seconds of each stage, after checking the ranks."""
    degree = np.diff(graph.offsets.astype(np.int64))
    message = (np.float32(1 / graph.n) / np.maximum(degree, 1)).astype(np.float32)
    start = time.perf_counter()
    keys, values, index = naive.mapped(graph.offsets.astype(np.int64), graph.targets, message)
    mapped = time.perf_counter()
    index = naive.sorted_index(keys, index, graph.n - 1)
    sorted_ = time.perf_counter()
    found, sums = naive.reduced(keys, values, index)
    end = time.perf_counter()
    ranks = np.full(graph.n, 0.15 / graph.n, np.float32)
    ranks[found] += np.float32(0.85) * sums
    np.testing.assert_allclose(ranks, expected, rtol=1e-4)
    return {"map": mapped - start, "sort": sorted_ - mapped, "reduce": end - sorted_}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
