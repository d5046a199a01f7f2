"""Question: where does the time of BFS go when CPU and GPUs share a graph (T13, figure 8).

The paper shows shares of the time for BFS on R-MAT 28, with one GPU and with two. The CPU is the bottleneck.
The GPU is 2 to 20 times faster. Communicating is significantly shorter than computing. The bars are read from
a plot.

Here: seconds of a search from the timeline, for kernels, sending and receiving on each side.

    python benchmarks/figures/t13_fig8.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import spent
import sweep

TITLE = "where the time of BFS goes, with a random split"
PAPER = "the CPU is the bottleneck, the GPU 2 to 20 times faster, and communicating is short"
NEEDS = "two elements"
KIND = "bars"
SHOWN = spent.SHOWN


def cases(options):
    return sweep.shares(options, ("bfs",), policies=["random"])


def rows(runs, options):
    found = projections.swept(runs, options, "bfs", policy="random")
    return spent.with_bottleneck(projections.breakdown(row) for row in found)


def here(rows):
    return f"{spent.bottlenecks(rows)}; {spent.ratios(rows)}"


def panels(rows):
    return spent.panels(rows, lambda row: f"{row['alpha']:.0%}", "α")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
