"""Question: where does the time of PageRank go on each machine with C-PG and with DP-OH (G16, figure 6).

The paper has G4 on four machines, and α = 0.35 for DP-OH. With C-PG the machines are balanced, and so are
the CPU and the GPU of each. With DP-OH the fourth GPU has 200 times the vertices of the first one, and is
slower. Communicating is much shorter than computing. The times are read from a plot.

Here: seconds of one iteration on each element of each rank, and an upper bound of its exchange.

    python benchmarks/figures/g16_fig6.py --ranks 2 --on cpu:1,cpu:1
"""

from __future__ import annotations

from pathlib import Path

import g16_runs
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel

from evener.partition.statistics import imbalance

TITLE = "where the time of PageRank goes on each machine"
PAPER = (
    "C-PG is balanced within and among machines, and communicating is much shorter than computing; with "
    "DP-OH the last GPU has 200 times the vertices of the first one"
)
KIND = "bars"
SHOWN = ("policy", "machine", "element", "edges", "vertices", "compute", "communication")
_POLICIES = ("C-PG", "DP-OH")


def cases(options):
    return [g16_runs.case(options, "G4", policy, tasks=("pagerank",)) for policy in _POLICIES]


def rows(runs, options):
    found = []
    for row in runs:
        key = (row["graph"], row["task"], row["ranks"], row["on"], row["alpha"])
        if key == ("G4", "pagerank", options.ranks, options.on, None) and row["policy"] in _POLICIES:
            local = len(row["elements"]) // row["ranks"]
            for number, (element, spent) in enumerate(zip(row["elements"], row["spent"], strict=True)):
                found.append(
                    {
                        "policy": row["policy"],
                        "machine": number // local + 1,
                        "element": number % local + 1,
                        "kind": element["kind"],
                        "edges": element["sizes"]["edges"],
                        "vertices": element["sizes"]["vertices"],
                        "compute": spent["compute"],
                        "communication": spent["send"] + spent["receive"],
                    }
                )
    return found


def here(rows):
    clauses = []
    for policy in _POLICIES:
        own = [row for row in rows if row["policy"] == policy]
        computing = [row["compute"] for row in own]
        last = [row["vertices"] for row in own if row["element"] == max(one["element"] for one in own)]
        communicating = max(row["communication"] for row in own) / max(computing)
        clauses.append(
            f"{policy}: the slowest element computes {imbalance(computing):.0%} longer than the mean; "
            f"{policy}: communicating is {communicating:.0%} of computing; "
            f"{policy}: the second element of the last machine has {last[-1] / max(1, last[0]):.1f} times "
            "the vertices of that of the first"
        )
    return "; ".join(clauses)


def panels(rows):
    found = []
    for policy in _POLICIES:
        own = [row for row in rows if row["policy"] == policy]
        labels = [f"{row['machine']}.{row['element']}" for row in own]
        series = {
            "computing": (labels, [1e3 * row["compute"] for row in own]),
            "communicating": (labels, [1e3 * row["communication"] for row in own]),
        }
        found.append(Panel(policy, "machine.element", "milliseconds", series))
    return found


if __name__ == "__main__":
    g16_runs.main([Path(__file__).stem])
