"""Question: how well does the model predict three algorithms on one and two GPUs (T13, figure 7).

The paper splits R-MAT 28 at random. Each plot has its Pearson coefficient, which is read from the plot. The
text says that achieved and predicted speed-ups correlate strongly, and that the mean error is low. The model
predicts too little for BFS, whose bitmap fits the cache better if the CPU has only part of the graph.

Here: the same, with equation 4 on rates of this machine, and with Evener's cost model.

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
    "strong correlation and a low mean error; the model predicts too little for BFS (no number in the text)"
)
NEEDS = "two elements"
KIND = "lines"
SHOWN = predicted.SHOWN
here = predicted.errors
panels = predicted.panels


def cases(options):
    return [*sweep.alone(options, sweep.TASKS), *sweep.shares(options, sweep.TASKS, policies=["random"])]


def rows(runs, options):
    found = projections.speedups(runs, options, sweep.TASKS)
    return [{**row, "paper": None} for row in found]


if __name__ == "__main__":
    output.main(Path(__file__).stem)
