"""Question: how does GIM-V as MapReduce scale, with equal edges for each element (S13, figures 1 and 7).

The paper runs PageRank with SCALE 21 per node. On 256 nodes, 768 GPUs are 1.52 times as fast as CPUs at
SCALE 29, and reach 87.04 ME/s at SCALE 30. Map and sort take most of the time on CPUs (figure 1).

Here: elements of one thread, or one GPU. The graph has 2^SCALE vertices for each element. The fused engine
runs the same operators. Efficiency is the rate per element over that of one element.

    python benchmarks/figures/s13_fig1.py --scale 19 --elements 1 2
    python benchmarks/figures/s13_fig1.py --scale 24 --on cuda:0 cuda:1 --elements 1 2
"""

from __future__ import annotations

import argparse

import search_path  # noqa: F401 - first: it makes the folder above importable
from pagerank_stages import HEADS, cells_of, timed

import evener as ev
import harness

# On 256 nodes.
PAPER = {"ME/s on 768 GPUs, SCALE 30": 87.04, "GPUs over CPUs, SCALE 29": 1.52}


def main():
    options = _options()
    rows = []
    for elements in options.elements:
        scale = options.scale + (elements - 1).bit_length()
        graph = ev.read(f"rmat:{scale}")
        on = (options.on * elements)[:elements]  # equal elements, or the first of a list
        placed = ev.partition(graph, ",".join(on), directions="both")
        found = timed(placed, rounds=options.rounds, iterations=options.iterations)
        rows.append({"on": ",".join(on), "elements": elements, "scale": scale, **found})
        del placed, graph
    alone = rows[0]["edges_per_second"] / rows[0]["elements"]
    for row in rows:
        row["efficiency"] = row["edges_per_second"] / row["elements"] / alone
    cells = [
        (f"{row['on']}, SCALE {row['scale']}", f"{row['efficiency']:.2f}", *cells_of(row)) for row in rows
    ]
    harness.show("Weak scaling of GIM-V as MapReduce", ["", "efficiency", *HEADS], cells)
    print("the paper: " + ", ".join(f"{name}: {value}" for name, value in PAPER.items()))
    if not options.no_record:
        name = f"s13_fig1_{options.on[0].partition(':')[0]}"
        harness.record(name, question=__doc__.splitlines()[0], rows=rows, paper=PAPER, folder="figures")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=19, help="of one element")
    parser.add_argument("--on", nargs="+", default=["cpu:1"], help="the elements; one may repeat")
    parser.add_argument("--elements", type=int, nargs="+", default=[1])
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
