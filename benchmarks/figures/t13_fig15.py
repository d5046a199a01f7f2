"""Question: how fast is PageRank under each policy, by alpha (T13, figure 15).

The paper ranks UK-Web, 3.7 billion edges. One GPU improves it little, for little fits; with two it is up to
2.3 times as fast as on the CPUs alone, by HIGH, while LOW fits the most edges on a GPU. The bars are read
from a plot, this number from its text.

Here: stored edges a second of an iteration on R-MAT, or on the graph given with --graph, over the CPU alone.
The GPU has room for half of the edges; what does not fit it reads from the host's memory, so no bar is
missing.

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


def cases(options):
    return [*sweep.alone(options, ("pagerank",)), *sweep.shares(options, ("pagerank",))]


def rows(runs, options):
    return rated.beside(projections.rates(runs, options, "pagerank"), {})


def here(rows):
    return rated.best(rows)


def panels(rows):
    return rated.panels(rows)


if __name__ == "__main__":
    output.main(Path(__file__).stem)
