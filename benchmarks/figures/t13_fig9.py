"""Question: how fast is BFS under each policy, by alpha (T13, figure 9).

The paper searches R-MAT 28 on two CPUs and one or two GPUs. HIGH gives the vertices of high degree to the CPU
and is the fastest. Compared with the CPUs alone it is 2.8 times as fast with 50% of the edges on two GPUs.
With one GPU it is up to 2.5 times as fast with 25% of the edges, and 2 times with 5%. The bars are read from
a plot.

Here: edges of the reached vertices/s, over the CPU alone. The GPU has memory for half of the edges.

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
panels = rated.panels
_PAPER = {("high", 0.5): 2.8, ("high", 0.75): 2.5, ("high", 0.95): 2.0}


def cases(options):
    return [*sweep.alone(options, ("bfs",)), *sweep.shares(options, ("bfs",))]


def rows(runs, options):
    return rated.with_paper(projections.rates(runs, options, "bfs"), _PAPER)


def here(rows):
    said = "".join(rated.at(rows, policy, alpha) for policy, alpha in _PAPER)
    return f"{said}{rated.best(rows)}"


if __name__ == "__main__":
    output.main(Path(__file__).stem)
