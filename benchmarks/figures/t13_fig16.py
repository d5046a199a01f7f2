"""Question: where does the time of PageRank go under each policy (T13, figure 16).

The paper shows five iterations on UK-Web, with the largest part that fits one or two GPUs. Communicating is
negligible, and the CPU is the bottleneck under every policy. HIGH is the fastest, because the CPU is. With
two GPUs, LOW, RAND and HIGH leave 30%, 35% and 40% of the edges on the CPU. The bars are read from a plot.

Here: an iteration at the smallest alpha of the sweep at which the GPU reads no edges from host memory.

    python benchmarks/figures/t13_fig16.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import spent
import sweep

TITLE = "where the time of PageRank goes, with a full GPU"
PAPER = (
    "communicating is negligible, the CPU is the bottleneck, and HIGH is the fastest (no time in the text)"
)
NEEDS = "two elements"
KIND = "bars"
SHOWN = spent.SHOWN


def cases(options):
    return sweep.shares(options, ("pagerank",))


def rows(runs, options):
    found = []
    for on in sweep.hybrids(options):
        for policy in options.policies:
            own = projections.swept(runs, options, "pagerank", on=on, policy=policy)
            found += [projections.largest_fitting(own)] if own else []
    return spent.with_bottleneck(projections.breakdown(row) for row in found)


def here(rows):
    fastest = min(rows, key=lambda row: row["total"])
    return (
        f"{spent.bottlenecks(rows)}; the fastest is {fastest['policy']} at α = {fastest['alpha']:.0%}; "
        f"{spent.ratios(rows)}"
    )


def panels(rows):
    return spent.panels(rows, lambda row: f"{row['policy']}\n{row['alpha']:.0%}", "policy and α")


if __name__ == "__main__":
    output.main(Path(__file__).stem)
