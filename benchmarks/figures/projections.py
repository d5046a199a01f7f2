"""Values of the figures, derived from measured rows: speed-ups, rates, shares of time, crossing edges."""

from __future__ import annotations

import numpy as np
import search_path  # noqa: F401 - first: it makes the folder above importable
import sweep
import totem

# Largest share of edges in host memory for a partition that counts as fitting the GPU.
_FITS = 0.01


def number(value):
    """Return a ratio as text."""
    return f"{value:.2g}" if value < 100 else f"{value:,.0f}"


def between(values):
    """Return the smallest and the largest value as text."""
    least, most = number(min(values)), number(max(values))
    return least if least == most else f"{least} to {most}"


def chosen(rows, **wanted):
    """Return the rows with these values."""
    if "graph" in wanted:
        wanted["graph"] = sweep.name_of(wanted["graph"])
    return [row for row in rows if all(row[name] == value for name, value in wanted.items())]


def one(rows, **wanted):
    """Return the row with these values; None if there is none."""
    return next(iter(chosen(rows, **wanted)), None)


def cpu_alone(rows, options, task, graph=None):
    return one(rows, graph=graph or sweep.main_graph(options), on=sweep.cpu_of(options), task=task)


def swept(rows, options, task, *, on=None, policy=None):
    """Return the rows of the sweep, by ascending alpha."""
    found = chosen(rows, graph=sweep.main_graph(options), task=task, planned=False)
    found = [row for row in found if row["alpha"] is not None]
    found = [row for row in found if on in (None, row["on"]) and policy in (None, row["policy"])]
    return sorted(found, key=lambda row: (row["on"], row["policy"], row["alpha"]))


# ---- T12 and T13: the model -------------------------------------------------------------------------


def speedup(row, cpu):
    """Return the achieved speed-up over the CPU alone, and both predictions."""
    edges, alone = row["stored_edges"], cpu["median_seconds"]
    c = row["values_per_second"]
    return {
        "graph": row["graph"],
        "on": row["on"],
        "task": row["task"],
        "policy": row["policy"],
        "alpha": row["alpha"],
        "beta": row["beta"],
        "beta_aggregated": row["beta_aggregated"],
        "achieved": alone / row["median_seconds"],
        # Without a bus, communication has no cost.
        "equation_4": totem.speedup(
            row["alpha_placed"], row["beta_aggregated"], edges / alone, float("inf") if c is None else c
        ),
        "evener_model": cpu["predicted_seconds"] / row["predicted_seconds"],
    }


def speedups(rows, options, tasks, *, on=None, policy="random"):
    """Return `speedup` for each row of the sweep that has a run on the CPU alone to compare with."""
    return [
        speedup(row, cpu)
        for task in tasks
        if (cpu := cpu_alone(rows, options, task)) is not None
        for row in swept(rows, options, task, on=on, policy=policy)
    ]


def agreement(rows, model):
    """Return Pearson's coefficient and the mean error of a model's speed-ups, as in T13's figure 7."""
    predicted = np.array([row[model] for row in rows])
    achieved = np.array([row["achieved"] for row in rows])
    varied = len(rows) > 1 and predicted.std() > 0 and achieved.std() > 0
    return {
        "pearson": float(np.corrcoef(predicted, achieved)[0, 1]) if varied else None,
        "mean_error": float(np.abs(predicted / achieved - 1).mean()) if len(rows) else None,
    }


# ---- where the time went ----------------------------------------------------------------------------


def sides(row):
    """Return the names of the CPU's elements and of the accelerators.

    The first of several CPUs is the CPU.
    """
    names = [each["element"] for each in row["elements"]]
    on_cpu = [each["element"] for each in row["elements"] if each["kind"] == "cpu"]
    cpu = names[:1] if len(on_cpu) == len(names) else on_cpu
    return cpu, [name for name in names if name not in cpu]


def breakdown(row):
    """Return seconds of a pass on the slowest element: CPU, accelerator, communicating."""
    cpu, accelerators = sides(row)
    busy = row["busy"]
    compute = {side: max((busy[name]["compute"] for name in names), default=0.0)
               for side, names in (("cpu", cpu), ("accelerator", accelerators))}  # fmt: skip
    return {
        "graph": row["graph"],
        "on": row["on"],
        "task": row["task"],
        "policy": row["policy"],
        "alpha": row["alpha"],
        "mapped_share": mapped_share(row),
        "cpu_compute": compute["cpu"],
        "accelerator_compute": compute["accelerator"],
        "communication": max(own["send"] + own["receive"] for own in busy.values()),
        "total": row["median_seconds"],
        "elements": busy,
    }


def mapped_share(row):
    """Return the share of the edges that a GPU reads from host memory."""
    return sum(each["mapped_edges"] for each in row["elements"]) / max(row["stored_edges"], 1)


def largest_fitting(rows):
    """Return the row with the largest part of the graph on an accelerator that holds all of its part.

    If no accelerator holds its part, return the nearest row.
    """
    fitting = [row for row in rows if mapped_share(row) <= _FITS]
    if fitting:
        return min(fitting, key=lambda row: row["alpha"])
    return min(rows, key=mapped_share, default=None)


# ---- rates ------------------------------------------------------------------------------------------


def rates(rows, options, task):
    """Return the edges/s of the sweep, also over the CPU alone."""
    cpu = cpu_alone(rows, options, task)
    return [
        {
            "on": row["on"],
            "task": task,
            "policy": row["policy"],
            "alpha": row["alpha"],
            "mapped_share": mapped_share(row),
            "edges_per_second": row["edges_per_second"],
            "over_cpu": cpu and row["edges_per_second"] / cpu["edges_per_second"],
        }
        for row in ([cpu] if cpu else []) + swept(rows, options, task)
    ]


def configurations(rows, options, graphs, tasks):
    """Return the best rate of each configuration on each graph, also over all of the CPU."""
    found = []
    for graph in graphs:
        for task in tasks:
            cpu = cpu_alone(rows, options, task, graph)
            for name, on in sweep.configurations(options).items():
                tried = chosen(rows, graph=graph, on=on, task=task)
                if not tried:
                    continue
                best = max(tried, key=lambda row: row["edges_per_second"])
                found.append(
                    {
                        "graph": best["graph"],
                        "task": task,
                        "configuration": name,
                        "on": on,
                        "policy": best["policy"],
                        "alpha": best["alpha"],
                        "edges_per_second": best["edges_per_second"],
                        "over_cpu": cpu and best["edges_per_second"] / cpu["edges_per_second"],
                    }
                )
    return found


def crossings(rows, graph):
    """Return the share of the edges that cross, and of values that travel, by number of partitions."""
    found = {}
    for row in chosen(rows, graph=graph, policy="random", alpha=0.5, planned=False):
        count = len(row["elements"])
        found[count] = {
            "graph": row["graph"],
            "vertices": row["vertices"],
            "stored_edges": row["stored_edges"],
            "partitions": count,
            "beta": row["beta"],
            "beta_aggregated": row["beta_aggregated"],
        }
    return [found[count] for count in sorted(found)]
