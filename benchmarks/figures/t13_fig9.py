"""Question: how fast is BFS under each policy, by alpha (T13, figure 9).

The paper searches R-MAT 28 on two CPUs and one or two GPUs. HIGH, which leaves the vertices of high degree to
the CPU, is the fastest: with 50% of the edges on two GPUs 2.8 times as fast as the CPUs alone, with 25% on
one GPU up to 2.5 times, and with 5% 2 times. The bars are read from a plot, these numbers from its text.

Here: edges of the reached vertices a second, over the CPU alone, the GPU having room for half of the edges.

    python benchmarks/figures/t13_fig9.py --scale 24 --on cpu,cuda:0 --alphas 0.1 0.3 0.5 0.75 0.95
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import rated
import sweep

TITLE = "BFS under each policy"
PAPER = "HIGH is the fastest: 2.8x the CPUs alone at α = 50%, 2.5x at 75%, 2x at 95%"
NEEDS = "two elements"
KIND = "bars"
SHOWN = rated.SHOWN
_PAPER = {("high", 0.5): 2.8, ("high", 0.75): 2.5, ("high", 0.95): 2.0}


def cases(options):
    return [*sweep.alone(options, ("bfs",)), *sweep.shares(options, ("bfs",))]


def rows(runs, options):
    return rated.beside(projections.rates(runs, options, "bfs"), _PAPER)


def here(rows):
    said = "".join(rated.at(rows, policy, alpha) for policy, alpha in _PAPER)
    return f"{said}{rated.best(rows)}"


def panels(rows):
    return rated.panels(rows)


if __name__ == "__main__":
    output.main(Path(__file__).stem)
