"""Question: which stages of GIM-V as MapReduce does a GPU run faster than CPUs (S13, figure 8).

The paper compares 3 GPUs with the CPUs of a node, for SCALE 28 on 128 nodes: map is 8.93 times faster,
sort 2.58 times. Transfers over PCI Express take a large part of the time on GPUs.

Here: one iteration of PageRank on each of `--on`, by stages. The speed-up is over the first of them. With
one GPU, records stay in its memory, so there is no transfer.

    python benchmarks/figures/s13_fig8.py --scale 20 --on cpu
    python benchmarks/figures/s13_fig8.py --scale 24 --on cpu cuda:0
"""

from __future__ import annotations

import argparse

import search_path  # noqa: F401 - first: it makes the folder above importable
from pagerank_stages import HEADS, cells_of, timed

import evener as ev
import harness

# The speed-up of GPUs by stage.
PAPER = {"map": 8.93, "sort": 2.58}


def main():
    options = _options()
    graph = ev.read(f"rmat:{options.scale}")
    rows = []
    for on in options.on:
        placed = ev.partition(graph, on, directions="both")
        found = timed(placed, rounds=options.rounds, iterations=options.iterations)
        rows.append({"on": on, "scale": options.scale, **found})
        del placed
    for row in rows:
        pairs = ((name, rows[0]["stages"][name], own) for name, own in row["stages"].items())
        row["speed_ups"] = {name: first / own for name, first, own in pairs if own and first}
    cells = [(row["on"], *cells_of(row)) for row in rows]
    harness.show(f"PageRank as MapReduce, SCALE {options.scale}", ["", *HEADS], cells)
    for row in rows[1:]:
        for name, value in PAPER.items():
            print(f"{name} on {row['on']}: {row['speed_ups'].get(name, 0):.2f} times; the paper: {value}")
    if not options.no_record:
        harness.record("s13_fig8", question=__doc__.splitlines()[0], rows=rows, paper=PAPER, folder="figures")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument("--on", nargs="+", default=["cpu"])
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
