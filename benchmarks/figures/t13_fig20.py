"""Question: how do rates scale with the graph and with CPUs and GPUs (T13, figure 20).

The paper runs R-MAT 27 to 30 on one and two CPUs (1S, 2S), also with GPUs (1S1G, 2S1G, 2S2G) and the best
split. One CPU and a GPU beat two CPUs by 30% to 60%. BFS reaches 3 billion edges/s on the smallest graph and
1.68 billion on R-MAT 30. The other bars are read from a plot.

Here: R-MAT graphs of a quarter, a half and all of the size of the main graph. 1S is half of the CPU's
threads, 2S all of them, 1G one GPU alone. Where elements share a graph, policy and alpha are planned, or the
best of the sweep.

    python benchmarks/figures/t13_fig20.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import configured
import output
import projections
import sweep

TITLE = "rates by the size of the graph and the processors used"
PAPER = "one CPU and a GPU beat two CPUs by 30% to 60%; BFS reaches 1.68 to 3 billion edges/s"
NEEDS = "two elements"
KIND = "bars"
SHOWN = configured.SHOWN
panels = configured.panels


def cases(options):
    return sweep.sizes(options, sweep.TASKS)


def rows(runs, options):
    return projections.configurations(runs, options, sweep.sized_graphs(options), sweep.TASKS)


def here(rows):
    single = configured.over(rows, "1S1G")
    said = (
        f"half of the CPU with an accelerator is {single} times as fast as all of the CPU; " if single else ""
    )
    searches = [row["edges_per_second"] / 1e9 for row in rows if row["task"] == "bfs"]
    if not searches:
        return f"{said}BFS was not run"
    return f"{said}BFS reaches {min(searches):,.1f} to {max(searches):,.0f} billion edges/s"


if __name__ == "__main__":
    output.main(Path(__file__).stem)
