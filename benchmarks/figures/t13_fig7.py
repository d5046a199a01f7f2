"""Question: how well does the model predict three algorithms on one and two GPUs (T13, figure 7).

The paper deals R-MAT 28 out at random and tells each plot's Pearson coefficient, which is read from the plot:
the text says that achieved and predicted speed-ups correlate strongly, that the mean error is low, and that
the model promises too little for BFS, whose bitmap fits the cache better when part of the graph is elsewhere.

Here: the same, with equation 4 on rates measured on this machine, and Evener's own model, which knows that an
edge is cheaper where fewer values are touched.

    python benchmarks/figures/t13_fig7.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import predicted
import projections
import sweep

TITLE = "model and engine, for three algorithms"
PAPER = (
    "strong correlation and a low mean error; the model promises too little for BFS (no number in the text)"
)
NEEDS = "two elements"
KIND = "lines"
SHOWN = predicted.SHOWN


def cases(options):
    return [*sweep.alone(options, sweep.TASKS), *sweep.shares(options, sweep.TASKS, policies=["random"])]


def rows(runs, options):
    found = projections.speedups(runs, options, sweep.TASKS)
    return [{**row, "paper": None} for row in found]


def here(rows):
    return predicted.errors(rows)


def panels(rows):
    return predicted.panels(rows)


if __name__ == "__main__":
    output.main(Path(__file__).stem)
