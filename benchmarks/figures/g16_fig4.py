"""Question: how do BFS and WCC run if α is not the one that PageRank gives (G16, figure 4).

The paper runs BFS and WCC on Scale-25 and four machines with DP-RH and PD-HR. The α of 0.04, calculated
from PageRank, is the best, except for 0.01 with PD-HR. The times are read from a plot.

Here: G4 on ranks. The α of PageRank is its best α in the same sweep. Two CPU elements can replace a CPU and
a GPU. α is then the share of the first element, on one machine, and DP-RH and PD-HR are equal.

    python benchmarks/figures/g16_fig4.py --on cpu:1,cpu:1
"""

from __future__ import annotations

from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel, series_of

TITLE = "BFS and components for shares α of the CPU"
PAPER = "the α of 0.04 that PageRank gives is the best for BFS and WCC too, but for 0.01 with PD-HR"
KIND = "lines"
SHOWN = ("task", "policy", "alpha", "median_seconds", "over_best")
_POLICIES = ("DP-RH", "PD-HR")


def cases(options):
    ranks = options.ranks if g16_runs.has_gpu(options) else 1
    return [
        g16_runs.case(options, "G4", policy, ranks=ranks, alpha=alpha)
        for policy in _POLICIES
        for alpha in options.alphas
    ]


def rows(runs, options):
    wanted = [one._replace(tasks=()) for one in cases(options)]
    found = [
        {name: row[name] for name in ("task", "policy", "alpha", "ranks", "on", "median_seconds", "seconds")}
        for row in runs
        if (row["graph"], row["policy"], row["alpha"], row["ranks"])
        in {(one.graph, one.policy, one.alpha, one.ranks) for one in wanted}
    ]
    for row in found:
        least = min(_of(found, row["task"], row["policy"]), key=lambda one: one["median_seconds"])
        row["over_best"] = row["median_seconds"] / least["median_seconds"]
    return found


def _of(rows, task, policy):
    return [row for row in rows if (row["task"], row["policy"]) == (task, policy)]


def here(rows):
    clauses = []
    for policy in dict.fromkeys(row["policy"] for row in rows):
        given = min(_of(rows, "pagerank", policy), key=lambda row: row["over_best"])["alpha"]
        at = {
            task: next(row["over_best"] for row in _of(rows, task, policy) if row["alpha"] == given)
            for task in ("bfs", "wcc")
        }
        clauses.append(
            f"{policy}: PageRank's α of {given:g} takes {at['bfs']:.2f} times as long as the best α for BFS, "
            f"{at['wcc']:.2f} times for WCC"
        )
    return "; ".join([*clauses, *g16_runs.caveats(rows)])


def panels(rows):
    return [
        Panel(
            title,
            "α",
            "milliseconds",
            series_of(_in_milliseconds(rows, task), "policy", "alpha", "ms"),
            log=True,
        )
        for task, title in (("bfs", "BFS"), ("wcc", "components"))
    ]


def _in_milliseconds(rows, task):
    return [{**row, "ms": 1e3 * row["median_seconds"]} for row in rows if row["task"] == task]


if __name__ == "__main__":
    g16_runs.main([Path(__file__).stem])
