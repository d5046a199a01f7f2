"""Question: how long does it take to choose the owners by each policy (G16, figure 8).

The paper shows plots: Scale-25 into 2 to 20 partitions, and Scale-20 to Scale-25 into 8 partitions. The text
says that C-PG is faster than DP-RH and PD-HR, because these sort. The time of C-PG grows linearly with the
number of partitions.

Here: R-MAT of the largest scale into 2 to 4,096 parts, and of all scales into 8 parts on 4 machines. Policies
that read edges are in g16_table1.py. "linear search" is C-PG as in the paper: a search over all elements for
each vertex. The time to sort the vertices by degree has a separate column, because Evener sorts for every
policy: partitions number their vertices in descending degree.

    python benchmarks/figures/g16_fig8.py --scales 20 21 22 23
"""

from __future__ import annotations

import argparse
import time

import numpy as np
import search_path  # noqa: F401 - first: it makes the folder above importable
from numba import njit
from rmat_degrees import by_degree, rmat_degrees

import harness
from evener.partition.owners import owners
from evener.partition.policy import Processors, Vertices, find_policy, policy_names

PAPER = "C-PG is faster than DP-RH and PD-HR; its time grows linearly with the partitions"
ALPHA = 0.04  # of Scale-25 on four machines, G16 §IV.B
LINEAR = "linear search"
COUNTED = ("C-PG", LINEAR, "lpt", "DP-RH", "PD-HR")


@njit(nogil=True)
def _linear_search(degree, shares, owner):
    loads = np.zeros(len(shares))
    for v in range(len(degree)):
        best = 0
        for p in range(1, len(shares)):
            if loads[p] < loads[best]:
                best = p
        owner[v] = best
        loads[best] += degree[v] / shares[best]


def main():
    options = _options()
    rows = []
    for scale in options.scales:
        degree = rmat_degrees(scale)
        start = time.perf_counter()
        order = by_degree(degree)
        sorting = time.perf_counter() - start
        names = [name for name in policy_names() if find_policy(name).needs != "edges"]
        cases = [(name, 8) for name in [*names, LINEAR]]
        if scale == max(options.scales):
            cases += [(name, parts) for name in COUNTED for parts in options.parts if parts != 8]
        for name, parts in cases:
            seconds = _timed(name, order, degree, parts, options.rounds)
            rows.append(
                {
                    "scale": scale,
                    "policy": name,
                    "parts": parts,
                    "sort_seconds": sorting,
                    "median_seconds": harness.median(seconds),
                    "vertices_per_second": len(degree) / harness.median(seconds),
                    "seconds": seconds,
                }
            )
        cells = [
            (f"{row['policy']}, {row['parts']} parts", harness.duration(row["median_seconds"]),
             f"{row['vertices_per_second'] / 1e6:.1f}", harness.duration(sorting))
            for row in rows
            if row["scale"] == scale
        ]  # fmt: skip
        harness.show(f"R-MAT {scale}", ["", "median", "million vertices/s", "sorting"], cells)
    print(f"The paper: {PAPER}.")
    if not options.no_record:
        question = __doc__.splitlines()[0]
        harness.record("g16_fig8", question=question, rows=rows, folder="figures", paper=PAPER)


def _timed(name, order, degree, parts, rounds):
    """Return the seconds of each round; elements are a CPU and a GPU on each of parts / 2 machines."""
    shares = np.where(np.arange(parts) % 2 == 0, ALPHA, 1 - ALPHA) * 2 / parts
    elements = Processors(shares, np.arange(parts) % 2 == 0, np.arange(parts) // 2, np.full(parts, np.inf))
    owner = np.empty(len(degree), np.uint16)
    seconds = []
    for turn in range(-1, rounds):
        few = slice(None, 4 if turn < 0 else None)  # the first round compiles kernels
        start = time.perf_counter()
        if name == LINEAR:
            _linear_search(degree[few], shares, owner[few])
        else:
            given = np.arange(4, dtype=np.uint32) if turn < 0 else order
            owners(name, Vertices(given, degree[few], degree[few]), elements)
        if turn >= 0:
            seconds.append(time.perf_counter() - start)
    return seconds


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[20, 21, 22, 23])
    parser.add_argument("--parts", type=int, nargs="+", default=[2, 4, 8, 20, 128, 1024, 4096])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
