"""Curves of equation 4, for the figures that predict and do not run."""

from __future__ import annotations

import projections
import search_path  # noqa: F401 - first: it makes the folder above importable
import sweep
import totem
from panel import Panel, series_of

# Alphas of the curves, in percent.
_STEPS = range(50, 101, 5)

BILLION = 1e9
_TASKS = ("bfs", "pagerank")


def alphas(least):
    return [step / 100 for step in _STEPS if step / 100 >= least]


def point(varied, alpha, beta, r_cpu, c, *, paper=None, note=None):
    """Return a value of equation 4, with rates in billions of edges/s. `paper` is the value in the text."""
    return {
        "varied": varied,
        "alpha": alpha,
        "beta": beta,
        "r_cpu": r_cpu,
        "c": c,
        "speedup": totem.speedup(alpha, beta, r_cpu, c),
        "paper": paper,
        "note": note,
    }


def measured(runs, options, beta):
    """Return equation 4 with the rates of this machine, if a run on the CPU and a bus were measured."""
    found = []
    for task in _TASKS:
        row = projections.cpu_alone(runs, options, task)
        if row is not None and row["values_per_second"] is not None:
            r_cpu, c = (
                row["stored_edges"] / row["median_seconds"] / BILLION,
                row["values_per_second"] / BILLION,
            )
            note = sweep.TITLES[task]
            found += [point("here", alpha, beta, r_cpu, c, note=note) for alpha in alphas(0.5)]
    return found


def cases(options):
    """Return the runs that measure this machine's rates: none without a bus."""
    return sweep.alone(options, _TASKS) if sweep.has_gpu(options.on) else []


def panels(rows, titles):
    """Return a panel for each varied quantity, with a curve for each of its values."""
    found = []
    for varied, (title, name) in titles.items():
        own = [{**row, "curve": name(row)} for row in rows if row["varied"] == varied]
        if own:
            found.append(
                Panel(title, "α", "predicted speed-up", series_of(own, "curve", "alpha", "speedup"), line=1)
            )
    return found
