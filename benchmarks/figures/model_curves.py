"""Curves of the model alone, equation 4, for the figures that predict and do not run."""

from __future__ import annotations

import beside  # noqa: F401 - first, so that the others are found
import projections
import sweep
import totem
from panel import Panel, series_of

# In a share of a hundred each, as the curves are drawn.
_STEPS = range(50, 101, 5)

BILLION = 1e9
_TASKS = ("bfs", "pagerank")


def alphas(least):
    return [step / 100 for step in _STEPS if step / 100 >= least]


def point(varied, alpha, beta, r_cpu, c, *, paper=None, note=None):
    """One value of equation 4, rates in billions of edges a second, beside the paper's if its text has it."""
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
    """Equation 4 with the rates of this machine, where a run on the CPU and a bus have told them."""
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
    """The runs that tell this machine's rates: none where there is no bus to cross."""
    return sweep.alone(options, _TASKS) if sweep.has_gpu(options.on) else []


def panels(rows, titles):
    """A panel for each thing varied, a curve for each of its values."""
    found = []
    for varied, (title, name) in titles.items():
        own = [{**row, "curve": name(row)} for row in rows if row["varied"] == varied]
        if own:
            found.append(
                Panel(title, "α", "predicted speed-up", series_of(own, "curve", "alpha", "speedup"), line=1)
            )
    return found
