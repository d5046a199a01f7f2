"""Question: how fast are three algorithms under all policies of the three families (G16, figure 5).

The paper has five data sets on four machines. No policy is always the fastest. C-PG is typically among the
first three, C-R is the slowest in general, and HIGH is faster than LOW in almost all cases. The times are
read from a plot.

Here: G1, G4 and G5 of `g16_runs.py` on ranks. With two CPU elements in place of a CPU and a GPU, the
elements are equal, so C-R has no disadvantage.

    python benchmarks/figures/g16_fig5.py --ranks 2 --on cpu:1,cpu:1
"""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel

import harness

TITLE = "three algorithms under all policies of the families"
PAPER = (
    "no policy always wins; C-PG is typically among the first three; C-R is the slowest in general; HIGH is "
    "faster than LOW in almost all cases"
)
KIND = "bars"
_COLUMNS = ("graph", "stored_edges", "task", "policy", "ranks", "on", "median_seconds", "seconds")
SHOWN = ("graph", "task", "policy", "median_seconds", "over_best", "place")


def cases(options):
    return [
        g16_runs.case(options, graph, policy) for graph in ("G1", "G4", "G5") for policy in g16_runs.POLICIES
    ]


def rows(runs, options):
    wanted = {(one.graph, one.policy) for one in cases(options)}
    found = [
        {name: row[name] for name in _COLUMNS}
        for row in runs
        if (row["graph"], row["policy"]) in wanted
        and (row["ranks"], row["on"]) == (options.ranks, options.on)
        and row["alpha"] is None
        and row["task"] in g16_runs.TASKS
    ]
    together = defaultdict(list)
    for row in found:
        together[row["graph"], row["task"]].append(row)
    for own in together.values():
        own.sort(key=lambda row: row["median_seconds"])
        for place, row in enumerate(own, 1):
            row["place"], row["over_best"] = place, row["median_seconds"] / own[0]["median_seconds"]
    return [row for own in together.values() for row in own]


def here(rows):
    winners = {row["policy"] for row in rows if row["place"] == 1}
    ours = [row["place"] for row in rows if row["policy"] == "C-PG"]
    mean = {
        policy: harness.geometric_mean([row["over_best"] for row in rows if row["policy"] == policy])
        for policy in g16_runs.POLICIES
    }
    times = {(row["graph"], row["task"], row["policy"]): row["median_seconds"] for row in rows}
    pairs = [
        times[graph, task, policy] < times[graph, task, policy.replace("H", "L")]
        for graph, task, policy in times
        if "H" in policy
    ]
    slowest = max(mean, key=mean.get)
    sizes = {row["graph"]: f"{row['graph']} has {row['stored_edges'] / 1e6:.3g}" for row in rows}
    found = (
        f"{len(winners)} policies are the fastest of some case; C-PG is among the first three in "
        f"{sum(place <= 3 for place in ours)} of {len(ours)} cases; the slowest in general is {slowest} with "
        f"{mean[slowest]:.2f} times the best, C-PG has {mean['C-PG']:.2f} and C-R {mean['C-R']:.2f} times; "
        f"HIGH is faster than LOW in {sum(pairs)} of {len(pairs)} cases"
    )
    return "; ".join([found, f"{', '.join(sizes.values())} million edges", *g16_runs.caveats(rows)])


def panels(rows):
    return [
        Panel(
            title,
            "",
            "times the fastest",
            {
                policy: zip_of([row for row in rows if (row["task"], row["policy"]) == (task, policy)])
                for policy in g16_runs.POLICIES
            },
            line=1,
        )
        for task, title in (("bfs", "BFS"), ("pagerank", "PageRank"), ("wcc", "components"))
    ]


def zip_of(rows):
    own = sorted(rows, key=lambda row: row["graph"])
    return [row["graph"] for row in own], [row["over_best"] for row in own]


if __name__ == "__main__":
    g16_runs.main([Path(__file__).stem])
