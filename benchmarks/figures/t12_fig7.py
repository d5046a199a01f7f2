"""Question: what speed-up does a GPU beside the CPU bring, predicted and achieved (T12, figure 7).

The paper deals an R-MAT graph of 1 billion edges out at random to two CPUs and a GPU. The CPUs alone go
through 155 million edges a second in BFS and 81 million in PageRank; aggregation takes beta from 50% to 2%.
With half of the edges on the GPU PageRank reaches 98% of the 2x that the model allows, BFS 84%. The other
points are read from a plot, not from the text.

Here: the same shares dealt at random, the speed-up over the CPU alone, equation 4 with the CPU's rate and the
bus measured on this machine, and Evener's own model, which knows more than two rates. The GPU has room for
half of the edges and reads others from the host's memory.

    python benchmarks/figures/t12_fig7.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import predicted
import projections
import sweep

TITLE = "speed-up with a GPU beside the CPU, predicted and achieved"
PAPER = "with half of the edges on the GPU PageRank reaches 98% and BFS 84% of the 2x that the model allows"
NEEDS = "two elements"
KIND = "lines"
SHOWN = predicted.SHOWN
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
    return (f"there {half}; " if half else "") + f"at most {predicted.best(rows)}"


def panels(rows):
    return predicted.panels(rows)


if __name__ == "__main__":
    output.main(Path(__file__).stem)
