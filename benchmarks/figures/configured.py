"""Rates by configuration of processors: T13's figures 20 and 21."""

from __future__ import annotations

import sweep
from panel import Panel
from projections import between

SHOWN = ("graph", "task", "configuration", "on", "policy", "alpha", "edges_per_second", "over_cpu", "paper")


def over(rows, configuration):
    """Return in words how many times as fast a configuration is as all of the CPU, over tasks and graphs."""
    found = [row["over_cpu"] for row in rows if row["configuration"] == configuration and row["over_cpu"]]
    return between(found) if found else ""


def panels(rows):
    """Return a panel for each task: a group for each graph, a bar for each configuration."""
    found = []
    for task in dict.fromkeys(row["task"] for row in rows):
        series = {}
        for row in rows:
            if row["task"] == task:
                labels, values = series.setdefault(row["configuration"], ([], []))
                labels.append(row["graph"].partition(".")[0])
                values.append(row["edges_per_second"] / 1e9)
        found.append(Panel(sweep.TITLES[task], "", "billion edges a second", series))
    return found
