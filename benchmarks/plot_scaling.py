"""Draw the figures of the page about scaling, in docs/images/figures/.

`scaling.json` and `simulate.json` become `scaling.svg`. Each graph of `cpu_threads.json` has a figure, as
`threads_rmat.svg`.

python benchmarks/plot_scaling.py
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

import simulate
from on_ranks import TASKS

sys.path.append(str(Path(__file__).parent / "figures"))

import charts
from panel import Panel, series_of


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    simulated = simulate.recorded("simulate.json")
    measured = simulate.recorded("scaling.json")["rows"]
    found = panels(*map(_in_order, (measured, simulated["checks"], simulated["rows"])))
    charts.lines("scaling", "Scaling with ranks, and the simulation", found)
    threads = simulate.recorded("cpu_threads.json")
    rows = _in_order(threads["rows"]) if threads else []
    for graph in dict.fromkeys(row["graph"] for row in rows):
        own = [row for row in rows if row["graph"] == graph]
        charts.lines(f"threads_{graph.partition(':')[0]}", f"Threads, {graph}", thread_panels(own))


def thread_panels(rows):
    """Return the panels of a graph: speed by threads of Evener and of GAP, and GAP's time over Evener's."""
    least = min(row["threads"] for row in rows)
    first = {
        (row["task"], row["contender"]): row["median_seconds"] for row in rows if row["threads"] == least
    }
    faster = [
        {**row, "faster": first[row["task"], row["contender"]] / row["median_seconds"]}
        for row in sorted(rows, key=lambda row: row["threads"])
    ]
    gap = [row for row in faster if row["contender"] == "GAP"]
    own = [row for row in faster if row["contender"] == "evener"]
    of_one = f"times as fast as {least} thread{'s' if least > 1 else ''}"
    return [
        Panel("Evener", "threads", of_one, series_of(own, "task", "threads", "faster"), wide=True, log=True),
        Panel("GAP", "threads", of_one, series_of(gap, "task", "threads", "faster"), wide=True, log=True),
        Panel(
            "Compared with GAP",
            "threads",
            "GAP's time over Evener's",
            series_of(gap, "task", "threads", "times_ours"),
            wide=True,
            line=1,
        ),
    ]


def _in_order(rows):
    """Return the rows in the order of tasks, which gives each task one colour."""
    return sorted(rows, key=lambda row: TASKS.index(row["task"]))


def panels(measured, checks, predicted):
    """Return the panels: speed by ranks, predicted over measured time, and predicted rates."""
    strong = [row for row in measured if row["kind"] == "strong" and row["on"] == "cpu:1"]
    of_ranks = [
        {
            **one,
            "ranks": int(one["what"].split()[0]),
            "over": one["predicted_seconds"] / one["measured_seconds"],
        }
        for one in checks
        if one["what"].endswith("ranks, strong")
    ]
    rates = [{**row, "billions": row["edges_per_second"] / 1e9} for row in predicted]
    return [
        Panel(
            "measured, strong scaling",
            "ranks",
            "times as fast as one rank",
            series_of(strong, "task", "ranks", "one_rank_over_this"),
            line=1,
        ),
        Panel(
            "simulation of these runs",
            "ranks",
            "predicted over measured",
            series_of(of_ranks, "task", "ranks", "over"),
            line=1,
        ),
        Panel(
            f"predicted, {predicted[0]['graph']}",
            "machines",
            "billion edges/s",
            series_of(rates, "task", "machines", "billions"),
            log=True,
            wide=True,
        ),
    ]


if __name__ == "__main__":
    main()
