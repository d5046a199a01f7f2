"""Question: how fast is betweenness under each policy, and where does its time go (T13, figure 19).

The paper uses the Twitter network with 1.9 billion edges, two CPUs and a GPU. At the same alpha HIGH is the
fastest. LOW fits 20% more of the edges on the GPU, so it wins: up to 5 times as fast as the CPUs alone.
Communicating is a small part, and the CPU is the bottleneck. The bars are read from a plot.

Here: edges of the reached vertices/s on R-MAT, or on the graph of --graph, over the CPU alone. The time is
broken down at the smallest alpha at which the GPU reads no edges from host memory.

    python benchmarks/figures/t13_fig19.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import rated
import spent
import sweep

TITLE = "betweenness under each policy, and where its time goes"
PAPER = "HIGH is the fastest at a given α; LOW fits 20% more on the GPU and wins: up to 5x the CPUs alone"
NEEDS = "two elements"
KIND = "bars"
SHOWN = ("view", *rated.SHOWN[:-1], *spent.SHOWN[5:])
_TASK = "betweenness"


def cases(options):
    return [*sweep.alone(options, (_TASK,)), *sweep.shares(options, (_TASK,), several=False)]


def rows(runs, options):
    on, largest = sweep.hybrids(options)[0], []
    for policy in options.policies:
        own = projections.swept(runs, options, _TASK, on=on, policy=policy)
        largest += [projections.largest_fitting(own)] if own else []
    broken = spent.with_bottleneck(projections.breakdown(row) for row in largest)
    rates = [
        row for row in projections.rates(runs, options, _TASK) if row["policy"] is None or row["on"] == on
    ]
    return [*({"view": "rate", **row} for row in rates), *({"view": "time", **row} for row in broken)]


def here(rows):
    broken = _view(rows, "time")
    said = f"; {spent.bottlenecks(broken)}; {spent.ratios(broken)}" if broken else ""
    return f"{rated.best(_view(rows, 'rate'))}{said}"


def panels(rows):
    def label(row):
        return f"{row['policy']}\n{row['alpha']:.0%}"

    return [*rated.panels(_view(rows, "rate")), *spent.panels(_view(rows, "time"), label, "policy and α")]


def _view(rows, view):
    return [row for row in rows if row["view"] == view]


if __name__ == "__main__":
    output.main(Path(__file__).stem)
