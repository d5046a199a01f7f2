"""Question: how does GIM-V as MapReduce scale, with equal edges for each element (S13, figures 1 and 7).

The paper runs PageRank with SCALE 21 per node. On 256 nodes, 768 GPUs are 1.52 times as fast as CPUs at
SCALE 29, and reach 87.04 ME/s at SCALE 30. Map and sort take most of the time on CPUs (figure 1).

Here: elements of one thread, or one GPU. The graph has 2^SCALE vertices for each element. The fused engine
runs the same operators. Efficiency is the rate per element over that of one element. With `--on-ranks`,
as many ranks as elements also run the job, each with this element.

    python benchmarks/figures/s13_fig1.py --scale 19 --elements 1 2
    python benchmarks/figures/s13_fig1.py --scale 24 --on cuda:0 cuda:1 --elements 1 2 --on-ranks cuda:local
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import search_path  # noqa: F401 - first: it makes the folder above importable
from pagerank_stages import HEADS, cells_of, timed

import evener as ev
import harness
from evener.system.launch import mpiexec
from evener.system.world import current_world

# On 256 nodes.
PAPER = {"ME/s on 768 GPUs, SCALE 30": 87.04, "GPUs over CPUs, SCALE 29": 1.52}


def main():
    options = _options()
    if options.part:
        _time_rank(options)
        return
    rows = []
    for elements in options.elements:
        scale = options.scale + (elements - 1).bit_length()
        graph = ev.read(f"rmat:{scale}")
        on = (options.on * elements)[:elements]  # equal elements, or the first of a list
        placed = ev.partition(graph, ",".join(on), directions="both")
        found = timed(placed, rounds=options.rounds, iterations=options.iterations)
        rows.append({"on": ",".join(on), "ranks": 1, "elements": elements, "scale": scale, **found})
        del placed, graph
        if options.on_ranks and elements > 1:
            rows.append(_on_ranks(scale, elements, options))
    alone = rows[0]["edges_per_second"] / rows[0]["elements"]
    for row in rows:
        row["efficiency"] = row["edges_per_second"] / row["elements"] / alone
    cells = [
        (
            f"{row['on']}, ranks: {row['ranks']}, SCALE {row['scale']}",
            f"{row['efficiency']:.2f}",
            *cells_of(row),
        )
        for row in rows
    ]
    harness.show("Weak scaling of GIM-V as MapReduce", ["", "efficiency", *HEADS], cells)
    print("the paper: " + ", ".join(f"{name}: {value}" for name, value in PAPER.items()))
    if not options.no_record:
        name = f"s13_fig1_{options.on[0].partition(':')[0]}"
        harness.record(name, question=__doc__.splitlines()[0], rows=rows, paper=PAPER, folder="figures")


def _on_ranks(scale, ranks, options):
    """Return the row of a job on several ranks, which start, place their parts of the graph and run it."""
    with tempfile.TemporaryDirectory() as folder:
        part = Path(folder) / "row.json"
        words = ["--part", part, "--scale", scale, "--on-ranks", options.on_ranks]
        words += ["--iterations", options.iterations, "--rounds", options.rounds]
        launcher = [mpiexec(), "-n", ranks, sys.executable, __file__]
        subprocess.run([str(word) for word in (*launcher, *words)], check=True)
        found = json.loads(part.read_text())
    return {"on": options.on_ranks, "ranks": ranks, "elements": ranks, "scale": scale, **found}


def _time_rank(options):
    """Run the job on this rank, and let rank 0 write the row."""
    placed = ev.partition(f"rmat:{options.scale}", options.on_ranks, directions="both")
    found = timed(placed, rounds=options.rounds, iterations=options.iterations)
    if current_world().rank == 0:
        options.part.write_text(json.dumps(found))


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=19, help="of one element")
    parser.add_argument("--on", nargs="+", default=["cpu:1"], help="the elements; one may repeat")
    parser.add_argument("--on-ranks", help="the element of each rank, such as cuda:local")
    parser.add_argument("--part", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--elements", type=int, nargs="+", default=[1])
    parser.add_argument("--iterations", type=int, default=3)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--no-record", action="store_true", help="print only")
    return parser.parse_args()


if __name__ == "__main__":
    main()
