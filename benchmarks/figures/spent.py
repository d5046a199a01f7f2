"""Time of a pass by activity, for the figures that show where the time goes."""

from __future__ import annotations

import sweep
from panel import Panel
from projections import between

SHOWN = (
    "on",
    "task",
    "policy",
    "alpha",
    "mapped_share",
    "cpu_compute",
    "accelerator_compute",
    "communication",
    "total",
    "bottleneck",
)
_DRAWN = {
    "cpu_compute": "CPU computing",
    "accelerator_compute": "accelerator computing",
    "communication": "communicating",
}


def with_bottleneck(breakdowns):
    """Return the rows with the side that computes longest."""
    return [
        {**row, "bottleneck": "CPU" if row["cpu_compute"] >= row["accelerator_compute"] else "accelerator"}
        for row in breakdowns
    ]


def ratios(rows):
    """Return in words the ratios of computing on CPU and accelerator, and of communicating."""
    said = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        faster = [
            row["cpu_compute"] / row["accelerator_compute"] for row in own if row["accelerator_compute"]
        ]
        travel = [
            max(row["cpu_compute"], row["accelerator_compute"]) / row["communication"]
            for row in own
            if row["communication"]
        ]
        words = []
        if faster:
            words.append(f"the CPU computes {between(faster)} times as long as the accelerator")
        if travel:
            words.append(f"the slower one computes {between(travel)} times as long as both communicate")
        said.append(f"{sweep.TITLES[task]}: {'; '.join(words)}")
    return "; ".join(said)


def bottlenecks(rows):
    """Return in words how often the CPU finishes last."""
    on_cpu = sum(row["bottleneck"] == "CPU" for row in rows)
    return f"the CPU computes longest in {on_cpu} of {len(rows)} runs"


def panels(rows, label, axis):
    """Return a panel for each task and set of elements: milliseconds of a pass."""
    found = []
    for task, on in dict.fromkeys((row["task"], row["on"]) for row in rows):
        own = [row for row in rows if (row["task"], row["on"]) == (task, on)]
        labels = [label(row) for row in own]
        series = {title: (labels, [row[key] * 1e3 for row in own]) for key, title in _DRAWN.items()}
        found.append(Panel(f"{sweep.TITLES[task]} on {on}", axis, "milliseconds of a pass", series))
    return found
