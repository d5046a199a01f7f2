"""Rates by alpha and policy, over the CPU alone, for the figures that compare policies."""

from __future__ import annotations

import sweep
from panel import Panel

SHOWN = ("on", "task", "policy", "alpha", "mapped_share", "edges_per_second", "over_cpu", "paper")


def with_paper(rows, paper):
    """Return the rows with the paper's value, if its text has one for the policy and alpha."""
    return [{**row, "paper": paper.get((row["policy"], row["alpha"]))} for row in rows]


def best(rows):
    """Return in words the fastest policy and alpha for each set of elements."""
    said = []
    for on in dict.fromkeys(row["on"] for row in rows if row["policy"]):
        own = [row for row in rows if row["on"] == on]
        top = max(own, key=lambda row: row["edges_per_second"])
        over = "" if top["over_cpu"] is None else f", {top['over_cpu']:.2f}x the CPU alone"
        said.append(f"{on}: {top['policy']} at α = {top['alpha']:.0%}{over}")
    return f"the fastest is {'; '.join(said)}" if said else "only the CPU alone was run"


def at(rows, policy, alpha):
    """Return in words the speed of a policy at one share, over the CPU alone; empty without such a run."""
    found = [row for row in rows if (row["policy"], row["alpha"]) == (policy, alpha) and row["over_cpu"]]
    return "".join(
        f"{row['over_cpu']:.2f}x with {policy} at α = {alpha:.0%} on {row['on']}; " for row in found
    )


def panels(rows):
    """Return a panel for each set of elements: billions of edges/s, a bar for each policy."""
    cpu = next((row["edges_per_second"] / 1e9 for row in rows if row["policy"] is None), None)
    found = []
    for on in dict.fromkeys(row["on"] for row in rows if row["policy"]):
        series = {}
        for row in rows:
            if row["on"] == on:
                labels, values = series.setdefault(row["policy"], ([], []))
                labels.append(f"{row['alpha']:.0%}")
                values.append(row["edges_per_second"] / 1e9)
        title = f"{sweep.TITLES[rows[0]['task']]} on {on}; the line is the CPU alone"
        found.append(Panel(title, "α", "billion edges/s", series, line=cpu))
    return found
