"""Question: what does a second GPU add, predicted and achieved (T12, figure 11).

The paper splits an R-MAT graph of 1.5 billion edges at random between two CPUs and two GPUs. Alpha goes down
to 30%, where both GPUs are full. The speed-up of PageRank is linear and matches the prediction. The speed-up
of BFS is less than linear. The values are read from a plot.

Here: the same with a CPU and two accelerators. Each accelerator has memory for half of the edges.

    python benchmarks/figures/t12_fig11.py --scale 24 --on cpu,cuda:0,cuda:1
"""

from __future__ import annotations

from pathlib import Path

import output
import predicted
import projections
import sweep

TITLE = "speed-up of a CPU with two GPUs, predicted and achieved"
PAPER = "PageRank speeds up linearly, as predicted; BFS less than linearly (no number in the text)"
NEEDS = "three elements"
KIND = "lines"
SHOWN = predicted.SHOWN
panels = predicted.panels
_TASKS = ("pagerank", "bfs")


def cases(options):
    return [*sweep.alone(options, _TASKS), *sweep.shares(options, _TASKS, policies=["random"])]


def rows(runs, options):
    found = projections.speedups(runs, options, _TASKS, on=sweep.hybrids(options)[-1])
    return [{**row, "paper": None} for row in found]


def here(rows):
    return f"at most {predicted.best(rows)}; {predicted.errors(rows)}"


if __name__ == "__main__":
    output.main(Path(__file__).stem)
