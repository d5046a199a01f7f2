"""Draw results/gpu_rivals*.json as docs/images/gpu.svg, and hybrid_pagerank_*.json as hybrid.svg.

    python benchmarks/plot_gpu.py

The first plot shows cuGraph's time over Evener's for each algorithm and size, with marks at the goals. The
second plot shows the time by the CPU's share of the edges, for each task, graph and part that fits the GPU.
It has a line for each policy, dotted lines for CPU and GPU alone, and a cross for the planned placement.
"""

from __future__ import annotations

import argparse
import json
from fractions import Fraction

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt
from matplotlib.ticker import LogLocator, NullFormatter

import harness
from plot import CARD, IMAGES, INK, STYLE, Bar, draw_ratios, plain

SIZES = ("#56B4E9", "#0072B2", "#003f63")
POLICIES = {"high": "#D55E00", "random": "#009E73", "low": "#0072B2"}


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    IMAGES.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        rivals = [_read(path) for path in harness.RESULTS.glob("gpu_rivals*.json")]
        if rivals:
            _rivals(rivals)
        sweeps = [_read(path) for path in harness.RESULTS.glob("hybrid_pagerank_*.json")]
        if sweeps:
            _hybrid(sweeps)


def _read(path):
    return json.loads(path.read_text(encoding="utf-8"))


def _rivals(documents):
    from gpu_rivals import TASKS

    # If a task was measured several times, the last one counts.
    documents = sorted(documents, key=lambda one: one["when"])
    rows = {(row["task"], row["graph"]): row for document in documents for row in document["rows"]}
    graphs = sorted({graph for _, graph in rows})
    figure, panel = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
    groups = {
        title: [
            Bar(graph, colour, row["cugraph_over_ours"], row["wanted"])
            for graph, colour in zip(graphs, SIZES, strict=False)
            if (row := rows.get((task, graph))) and row["cugraph_seconds"]
        ]
        for task, title in TASKS.items()
    }
    draw_ratios(panel, groups)
    figure.suptitle(
        f"cuGraph's time over Evener's, one {documents[0]['gpu']}; black marks: what we aim at", fontsize=11
    )
    bars = {bar.get_label(): bar for bar in panel.containers}
    figure.legend(bars.values(), bars, loc="outside lower center", ncols=len(bars), frameon=False)
    _save(figure, "gpu")


def _hybrid(sweeps):
    rows_of = {(sweep["rows"][0]["task"], sweep["graph"], sweep["fits"]): sweep["rows"] for sweep in sweeps}
    tasks = sorted({task for task, _, _ in rows_of}, reverse=True)
    columns = sorted({(graph, fits) for _, graph, fits in rows_of}, key=lambda one: (one[0], -one[1]))
    figure, panels = plt.subplots(
        len(tasks), len(columns), figsize=(4.1 * len(columns), 3.4 * len(tasks)), squeeze=False, sharex=True,
        layout="constrained",
    )  # fmt: skip
    for task, line in zip(tasks, panels, strict=True):
        for (graph, fits), panel in zip(columns, line, strict=True):
            rows = rows_of.get((task, graph, fits))
            panel.set_visible(bool(rows))
            if rows:
                _sweep(panel, rows)
            panel.set_title(f"{task}, {graph}, {Fraction(fits)} fits", fontsize=10)
        line[0].set_ylabel("milliseconds")
    for panel in panels[-1]:
        panel.set_xlabel("share of the edges on the CPU")
    handles = [panel.get_legend_handles_labels() for panel in panels.flat]
    named = {label: handle for some, labels in handles for handle, label in zip(some, labels, strict=True)}
    figure.legend(named.values(), named, loc="outside lower center", ncols=len(named), frameon=False)
    figure.suptitle("CPU and GPU together on graphs that do not fit the GPU", fontsize=12)
    _save(figure, "hybrid")


def _sweep(panel, rows):
    whole = [r for r in rows if r["policy"] is None and not r["automatic"]]
    for row in whole:
        name = f"{'CPU' if row['on'] == 'cpu' else 'GPU'} alone"
        panel.axhline(1e3 * row["median_seconds"], color=INK, linestyle=":", linewidth=1)
        panel.annotate(name, (0.995, 1e3 * row["median_seconds"]), xycoords=("axes fraction", "data"),
                       xytext=(0, 2), textcoords="offset points", fontsize=8, ha="right")  # fmt: skip
    _lines(panel, rows)
    for row in rows:
        if row["automatic"]:
            at = row["alpha"] or 0.0
            panel.plot(at, 1e3 * row["median_seconds"], "x", color=INK, markersize=9, label="automatic plan")
    panel.set_yscale("log")
    panel.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.yaxis.set_minor_formatter(NullFormatter())
    panel.tick_params(axis="y", labelsize=8)
    plain(panel, grid="y")


def _lines(panel, rows):
    for policy, colour in POLICIES.items():
        own = [r for r in rows if r["policy"] == policy and not r["automatic"]]
        own.sort(key=lambda r: r["alpha"])
        if own:
            shares = [r["alpha"] for r in own]
            took = [1e3 * r["median_seconds"] for r in own]
            panel.plot(shares, took, color=colour, marker="o", markersize=3, label=policy)


def _save(figure, name):
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None}, facecolor=CARD)
    print(f"wrote docs/images/{name}.svg")


if __name__ == "__main__":
    main()
