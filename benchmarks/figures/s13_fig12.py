"""Question: is GIM-V as MapReduce faster with LPT than with round robin (S13, figures 11 and 12).

The paper finds equal times up to 64 nodes. On 128 nodes (SCALE 28) LPT is faster, because the sort of the
fullest node is shorter.

Here: PageRank on elements of one thread, with the edges of vertices assigned by each policy. `imbalance`
is that of edges. Figure 10 simulates more elements: `s13_fig10.py`.

    python benchmarks/figures/s13_fig12.py --scale 20 --elements 2
"""

from __future__ import annotations

import argparse

import search_path  # noqa: F401 - first: it makes the folder above importable
from pagerank_stages import HEADS, cells_of, timed

import evener as ev
import harness

POLICIES = ("round-robin", "lpt")


def main():
    options = _options()
    graph = ev.read(f"rmat:{options.scale}")
    rows = []
    for policy in POLICIES:
        on = ",".join(["cpu:1"] * options.elements)
        placed = ev.partition(graph, on, policy=policy, directions="both")
        found = timed(placed, rounds=options.rounds, iterations=options.iterations)
        imbalance = placed.statistics.edge_imbalance
        rows.append({"policy": policy, "elements": options.elements, "imbalance": imbalance, **found})
        del placed
    cells = [(row["policy"], f"{row['imbalance']:.2%}", *cells_of(row)) for row in rows]
    title = f"PageRank as MapReduce on {options.elements} elements, SCALE {options.scale}"
    harness.show(title, ["", "imbalance", *HEADS], cells)
    gain = rows[0]["median_seconds"] / rows[1]["median_seconds"]
    print(f"LPT is {gain:.2f} times as fast; the paper: 1 up to 64 nodes, slightly more on 128")
    if not options.no_record:
        harness.record("s13_fig12", question=__doc__.splitlines()[0], rows=rows, gain=gain, folder="figures")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--elements", type=int, default=2)
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
