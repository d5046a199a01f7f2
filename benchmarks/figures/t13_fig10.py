"""Question: where does the time of BFS go under each policy (T13, figure 10).

The paper shows shares of the time for BFS on R-MAT 28: with 50% of the edges on the CPU and two GPUs, and
with 80% and one GPU. The CPU is the bottleneck under every policy, and communicating is negligible. The bars
are read from a plot. The text has no number.

Here: seconds of a search from the timeline, at these two shares.

    python benchmarks/figures/t13_fig10.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import spent
import sweep

TITLE = "where the time of BFS goes under each policy"
PAPER = (
    "the CPU is the bottleneck under every policy, and communicating is negligible (no number in the text)"
)
NEEDS = "two elements"
KIND = "bars"
SHOWN = spent.SHOWN
_ALPHAS = (0.5, 0.8)


def cases(options):
    return sweep.shares(options, ("bfs",), alphas=_ALPHAS)


def rows(runs, options):
    found = [row for row in projections.swept(runs, options, "bfs") if row["alpha"] in _ALPHAS]
    return spent.with_bottleneck(projections.breakdown(row) for row in found)


def here(rows):
    return f"{spent.bottlenecks(rows)}; {spent.ratios(rows)}"


def panels(rows):
    return spent.panels(rows, lambda row: f"{row['policy']}\n{row['alpha']:.0%}", "policy and α")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
