"""Question: where does the time go when CPU and GPU share a graph dealt at random (T12, figure 8).

The paper shows percentages of the whole time for the points of figure 7: in BFS the GPU computes 5 to 20
times faster than the CPU, which stays the bottleneck, and communicating takes almost 20 times less than
computing. The bars are read from a plot, these numbers from its text.

Here: seconds of a pass, from the run's timeline, on either side: kernels, and sending and receiving.

    python benchmarks/figures/t12_fig8.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import spent
import sweep

TITLE = "where the time goes, the graph dealt at random"
PAPER = "in BFS the GPU is 5 to 20 times faster; communicating takes almost 20 times less than computing"
NEEDS = "two elements"
KIND = "bars"
SHOWN = spent.SHOWN
_TASKS = ("pagerank", "bfs")


def cases(options):
    return sweep.shares(options, _TASKS, policies=["random"], several=False)


def rows(runs, options):
    on = sweep.hybrids(options)[0]
    found = [row for task in _TASKS for row in projections.swept(runs, options, task, on=on, policy="random")]
    return spent.told(projections.breakdown(row) for row in found)


def here(rows):
    return spent.ratios(rows)


def panels(rows):
    return spent.panels(rows, lambda row: f"{row['alpha']:.0%}", "α")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
