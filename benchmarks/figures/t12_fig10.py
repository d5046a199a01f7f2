"""Question: how long do communicating and computing take on the sparsest graph (T12, figure 10).

The paper takes the point of figure 9 that is farthest from the model: 512 million edges, 256 million
vertices. BFS communicates for almost ten times as long as equation 1 predicts. The value of every boundary
edge travels in every superstep. In PageRank, computing dominates. The bars are read from a plot.

Here: equation 1 with the CPU's rate and the bus of this machine, and the timeline of the run. Elements that
share a memory have no bus, so no time is predicted for it.

    python benchmarks/figures/t12_fig10.py --scale 24 --on cpu,cuda:0
"""

from __future__ import annotations

from pathlib import Path

import output
import projections
import sweep
from panel import Panel

TITLE = "communicating and computing on the sparsest graph, predicted and measured"
PAPER = (
    "BFS communicates for almost an order of magnitude longer than predicted; PageRank computes as predicted"
)
NEEDS = "two elements"
KIND = "bars"
SHOWN = ("graph", "on", "task", "phase", "predicted_seconds", "measured_seconds", "measured_over_predicted")
_TASKS = ("pagerank", "bfs")


def cases(options):
    return [
        case for case in sweep.densities(options, _TASKS) if case.graph == sweep.density_graphs(options)[-1]
    ]


def rows(runs, options):
    graph, on, found = sweep.density_graphs(options)[-1], sweep.hybrids(options)[0], []
    for task in _TASKS:
        cpu = projections.cpu_alone(runs, options, task, graph)
        shared = projections.one(runs, graph=graph, on=on, policy="random", alpha=0.5, task=task)
        if cpu and shared:
            found += _phases(shared, cpu)
    return found


def _phases(shared, cpu):
    """The two terms of equation 1, B / c + E / r, for the CPU's partition."""
    spent, c = projections.breakdown(shared), shared["values_per_second"]
    predicted = {
        "communicating": shared["beta_aggregated"] * shared["stored_edges"] / c if c else None,
        "computing": shared["alpha_placed"] * cpu["median_seconds"],
    }
    measured = {"communicating": spent["communication"], "computing": spent["cpu_compute"]}
    return [
        {
            "graph": shared["graph"],
            "on": shared["on"],
            "task": shared["task"],
            "phase": phase,
            "predicted_seconds": predicted[phase],
            "measured_seconds": measured[phase],
            "measured_over_predicted": predicted[phase] and measured[phase] / predicted[phase],
        }
        for phase in ("communicating", "computing")
    ]


def here(rows):
    said = [
        f"{sweep.TITLES[row['task']]} {row['phase']} {projections.number(ratio)} times"
        for row in rows
        if (ratio := row["measured_over_predicted"]) is not None
    ]
    return f"measured time over predicted time: {', '.join(said)}"


def panels(rows):
    found = []
    for task in dict.fromkeys(row["task"] for row in rows):
        series = {}
        for key, title in (("predicted_seconds", "equation 1"), ("measured_seconds", "measured")):
            own = [row for row in rows if row["task"] == task and row[key] is not None]
            series[title] = ([row["phase"] for row in own], [row[key] * 1e3 for row in own])
        found.append(Panel(sweep.TITLES[task], "", "milliseconds of a pass", series))
    return found


if __name__ == "__main__":
    output.main(Path(__file__).stem)
