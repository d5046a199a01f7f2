"""Question: where does the time go when CPU and GPU share a graph at random (T12, figure 8).

The paper shows shares of the time for the points of figure 7. In BFS the GPU computes 5 to 20 times faster
than the CPU, which is the bottleneck. Communicating is almost 20 times shorter than computing. The bars are
read from a plot.

Here: seconds of a pass from the timeline, for kernels, sending and receiving on each side.

    python benchmarks/figures/t12_fig8.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import spent
import sweep

TITLE = "where the time goes, with a random split"
PAPER = "in BFS the GPU is 5 to 20 times faster; communicating is almost 20 times shorter than computing"
NEEDS = "two elements"
KIND = "bars"
SHOWN = spent.SHOWN
here = spent.ratios
_TASKS = ("pagerank", "bfs")


def cases(options):
    return sweep.shares(options, _TASKS, policies=["random"], several=False)


def rows(runs, options):
    on = sweep.hybrids(options)[0]
    found = [row for task in _TASKS for row in projections.swept(runs, options, task, on=on, policy="random")]
    return spent.with_bottleneck(projections.breakdown(row) for row in found)


def panels(rows):
    return spent.panels(rows, lambda row: f"{row['alpha']:.0%}", "α")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
