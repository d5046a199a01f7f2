"""Question: how do rates scale with the graph and with CPUs and GPUs (T13, figure 20).

The paper runs R-MAT 27 to 30 on one and two CPUs (1S, 2S), with one and two GPUs (1S1G, 2S1G, 2S2G), dealt
out as is best. One CPU and a GPU beat two CPUs by 30% to 60%; BFS reaches 3 billion edges a second on the
smallest graph and 1.68 billion on R-MAT 30. The other bars are read from a plot.

Here: R-MAT graphs of a quarter, a half and all of the main graph's size. 1S is half of the CPU's threads, 2S
all of them, 1G one GPU by itself; where elements share a graph, policy and alpha are the plan's, or the best
of the sweep where that was run too.

    python benchmarks/figures/t13_fig20.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import configured
import output
import projections
import sweep

TITLE = "rates by the size of the graph and the processors used"
PAPER = "one CPU and a GPU beat two CPUs by 30% to 60%; BFS goes through 1.68 to 3 billion edges a second"
NEEDS = "two elements"
KIND = "bars"
SHOWN = configured.SHOWN


def cases(options):
    return sweep.sizes(options, sweep.TASKS)


def rows(runs, options):
    return projections.configurations(runs, options, sweep.sized_graphs(options), sweep.TASKS)


def here(rows):
    single = configured.over(rows, "1S1G")
    said = (
        f"one half of the CPU and an accelerator are {single} times as fast as all of the CPU; "
        if single
        else ""
    )
    searches = [row["edges_per_second"] / 1e9 for row in rows if row["task"] == "bfs"]
    if not searches:
        return f"{said}BFS was not run"
    return f"{said}BFS goes through {min(searches):,.1f} to {max(searches):,.0f} billion edges a second"


def panels(rows):
    return configured.panels(rows)


if __name__ == "__main__":
    output.main(Path(__file__).stem)
