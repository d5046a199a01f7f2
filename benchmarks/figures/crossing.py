"""Edges that cross between partitions, with and without aggregation: T12's figure 6 and T13's figure 4."""

from __future__ import annotations

from panel import Panel

SHOWN = ("graph", "vertices", "stored_edges", "partitions", "beta", "beta_aggregated", "paper")
WORDS = {2: "two partitions", 3: "three"}


def counts(rows):
    return sorted({row["partitions"] for row in rows})


def betas(rows, count):
    """Return the different shares that cross between this number of partitions."""
    found = [round(row["beta"], 3) for row in rows if row["partitions"] == count]
    return sorted(set(found))


def spread(rows):
    """Return the smallest and the largest share after aggregation."""
    found = [row["beta_aggregated"] for row in rows]
    return min(found), max(found)


def panels(rows, label, axis):
    """Return a panel for each number of partitions: bars with and without aggregation."""
    found = []
    for count in counts(rows):
        own = [row for row in rows if row["partitions"] == count]
        labels = [label(row) for row in own]
        series = {
            "each edge a value": (labels, [row["beta"] for row in own]),
            "aggregated": (labels, [row["beta_aggregated"] for row in own]),
        }
        found.append(Panel(f"{count} partitions", axis, "β, share of the edges", series))
    return found
