"""Question: what speed-up does a CPU with a GPU reach, predicted and achieved (T12, figure 7).

The paper splits an R-MAT graph of 1 billion edges at random between two CPUs and a GPU. The CPUs alone reach
155 million edges/s in BFS and 81 million in PageRank. Aggregation reduces beta from 50% to 2%. With half of
the edges on the GPU, PageRank reaches 98% and BFS 84% of the 2x that the model allows. The other points are
read from a plot.

Here: the same shares at random, and the speed-up over the CPU alone. The models are equation 4, with the rate
of the CPU and the bus of this machine, and Evener's cost model. The GPU has memory for half of the edges. It
reads other edges from host memory.

    python benchmarks/figures/t12_fig7.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import predicted
import projections
import sweep

TITLE = "speed-up of a CPU with a GPU, predicted and achieved"
PAPER = "with half of the edges on the GPU PageRank reaches 98% and BFS 84% of the 2x that the model allows"
NEEDS = "two elements"
KIND = "lines"
SHOWN = predicted.SHOWN
panels = predicted.panels
_TASKS = ("pagerank", "bfs")
_PAPER = {("pagerank", 0.5): 1.96, ("bfs", 0.5): 1.68}


def cases(options):
    return [
        *sweep.alone(options, _TASKS),
        *sweep.shares(options, _TASKS, policies=["random"], several=False),
    ]


def rows(runs, options):
    found = projections.speedups(runs, options, _TASKS, on=sweep.hybrids(options)[0])
    return [{**row, "paper": _PAPER.get((row["task"], row["alpha"]))} for row in found]


def here(rows):
    half = predicted.at_half(rows)
    return (f"at α = 50%, {half}; " if half else "") + f"at most {predicted.best(rows)}"


if __name__ == "__main__":
    output.main(Path(__file__).stem)
