"""Speed-ups as predicted and as achieved, for the figures that hold the model against the engine."""

from __future__ import annotations

import projections
import sweep
from panel import Panel

SHOWN = (
    "graph",
    "on",
    "task",
    "alpha",
    "beta",
    "beta_aggregated",
    "equation_4",
    "evener_model",
    "achieved",
    "paper",
)
# The share of the edges on the CPU from which on T12 takes it to be the last to finish (T13: from 60% on).
_CPU_IS_LAST = 0.5
_DRAWN = {"achieved": "achieved", "equation_4": "equation 4", "evener_model": "Evener's model"}


def best(rows):
    """What was achieved at most, by task, in words."""
    said = []
    for task in dict.fromkeys(row["task"] for row in rows):
        top = max((row for row in rows if row["task"] == task), key=lambda row: row["achieved"])
        said.append(f"{sweep.TITLES[task]} {top['achieved']:.2f}x at α = {top['alpha']:.0%}")
    return "; ".join(said)


def at_half(rows):
    """What was achieved with half of the edges on the CPU, and what equation 4 says, by task, in words."""
    return "; ".join(
        f"{sweep.TITLES[row['task']]} {row['achieved']:.2f}x of {row['equation_4']:.2f}x predicted"
        for row in rows
        if row["alpha"] == 0.5
    )


def errors(rows):
    """How well the models agree with what was achieved, by task, in words."""
    said = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        four = _off(own, "equation_4")
        meant = [row for row in own if row["alpha"] >= _CPU_IS_LAST]
        if meant and len(meant) < len(own):
            four += f"; where α is {_CPU_IS_LAST:.0%} or more, as it assumes, {_off(meant, 'equation_4')}"
        ours = _off(own, "evener_model")
        said.append(f"{sweep.TITLES[task]}: mean error of equation 4 {four}; of Evener's model {ours}")
    return "; ".join(said)


def _off(rows, model):
    """The mean error of a model, and its correlation with what was achieved if there is one."""
    found = projections.agreement(rows, model)
    pearson = "" if found["pearson"] is None else f", correlation {found['pearson']:.2f}"
    return f"{found['mean_error']:.0%}{pearson}"


def panels(rows, *, x="alpha", name="α"):
    """A panel for each task and set of elements."""
    found = []
    for task, on in dict.fromkeys((row["task"], row["on"]) for row in rows):
        own = sorted((row for row in rows if (row["task"], row["on"]) == (task, on)), key=lambda row: row[x])
        places = [row[x] for row in own]
        series = {title: (places, [row[key] for row in own]) for key, title in _DRAWN.items()}
        if any(row["paper"] is not None for row in own):
            given = [row for row in own if row["paper"] is not None]
            series["the paper"] = ([row[x] for row in given], [row["paper"] for row in given])
        title = f"{sweep.TITLES[task]} on {on}"
        found.append(
            Panel(
                title, name, "speed-up over the CPU", series, line=1, dashed=tuple(list(_DRAWN.values())[1:])
            )
        )
    return found
