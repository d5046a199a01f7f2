"""Predicted and achieved speed-ups, for the figures that compare a model with the engine."""

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
# Equation 4 assumes that the CPU finishes last. T12 assumes this from this alpha on (T13: from 60% on).
_CPU_IS_LAST = 0.5
_DRAWN = {"achieved": "achieved", "equation_4": "equation 4", "evener_model": "Evener's model"}


def best(rows):
    """Return in words the largest speed-up of each task."""
    said = []
    for task in dict.fromkeys(row["task"] for row in rows):
        top = max((row for row in rows if row["task"] == task), key=lambda row: row["achieved"])
        said.append(f"{sweep.TITLES[task]} {top['achieved']:.2f}x at α = {top['alpha']:.0%}")
    return "; ".join(said)


def at_half(rows):
    """Return in words the achieved and predicted speed-ups with half of the edges on the CPU."""
    return "; ".join(
        f"{sweep.TITLES[row['task']]} {row['achieved']:.2f}x of predicted {row['equation_4']:.2f}x"
        for row in rows
        if row["alpha"] == 0.5
    )


def errors(rows):
    """Return in words the correlations and mean errors of the models, by task."""
    said = []
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        valid = [row for row in own if row["alpha"] >= _CPU_IS_LAST]
        four = f"{_off(valid, 'equation_4')} for α of {_CPU_IS_LAST:.0%} or more, " if valid else ""
        strong = [_correlation(own, model) for model in ("equation_4", "evener_model")]
        said.append(
            f"{sweep.TITLES[task]}: correlation {strong[0]} with equation 4, {strong[1]} with Evener's "
            f"model, mean error of equation 4 {four}{_off(own, 'equation_4')} for all α, of Evener's model "
            f"{_off(own, 'evener_model')}"
        )
    return "; ".join(said)


def _off(rows, model):
    """Return the mean error of a model."""
    return f"{projections.agreement(rows, model)['mean_error']:.0%}"


def _correlation(rows, model):
    """Return Pearson's coefficient of a model's speed-ups and the achieved ones."""
    found = projections.agreement(rows, model)["pearson"]
    return "unknown" if found is None else f"{found:.3f}"


def panels(rows, *, x="alpha", name="α"):
    """Return a panel for each task and set of elements."""
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
