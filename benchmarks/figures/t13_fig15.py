"""Question: how fast is PageRank under each policy, by alpha (T13, figure 15).

The paper ranks UK-Web with 3.7 billion edges. One GPU improves it little, because little fits. Two GPUs with
HIGH are up to 2.3 times as fast as the CPUs alone. LOW fits the most edges on a GPU. The bars are read from a
plot.

Here: stored edges/s of an iteration on R-MAT, or on the graph of --graph, over the CPU alone. The GPU has
memory for half of the edges and reads other edges from host memory, so no bar is missing.

    python benchmarks/figures/t13_fig15.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import rated
import sweep

TITLE = "PageRank under each policy"
PAPER = "HIGH is the fastest: up to 2.3x the CPUs alone with two GPUs, little with one"
NEEDS = "two elements"
KIND = "bars"
SHOWN = rated.SHOWN
here = rated.best
panels = rated.panels


def cases(options):
    return [*sweep.alone(options, ("pagerank",)), *sweep.shares(options, ("pagerank",))]


def rows(runs, options):
    return rated.with_paper(projections.rates(runs, options, "pagerank"), {})


if __name__ == "__main__":
    output.main(Path(__file__).stem)
