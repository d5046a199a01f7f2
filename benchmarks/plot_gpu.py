"""Draw results/gpu_rivals.json and results/hybrid.json as docs/images/gpu.svg and hybrid.svg.

    python benchmarks/plot_gpu.py

The first: cuGraph's time over ours, for each algorithm and size, with a mark where we want to be. The second:
for each task and each part of the edges that fits the GPU, the time against the CPU's share of the edges, one
line a policy; dashed, what the model predicted; dotted, CPU and GPU alone; a cross, the automatic plan.
"""

from __future__ import annotations

import json
from fractions import Fraction

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

import harness
from plot import CARD, FAINT, IMAGES, INK, STYLE

SIZES = ("#56B4E9", "#0072B2", "#003f63")
POLICIES = {"high": "#D55E00", "random": "#009E73", "low": "#0072B2"}


def main():
    IMAGES.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        for name, draw in (("gpu_rivals", _rivals), ("hybrid", _hybrid)):
            path = harness.RESULTS / f"{name}.json"
            if path.exists():
                draw(json.loads(path.read_text(encoding="utf-8")))


def _rivals(document):
    from gpu_rivals import TASKS

    rows = [row for row in document["rows"] if row["cugraph_seconds"]]
    graphs = list(dict.fromkeys(row["graph"] for row in rows))
    figure, panel = plt.subplots(figsize=(7.6, 4.6), layout="constrained")
    place, ticks = 0.0, []
    for task, title in TASKS.items():
        start = place
        for graph, colour in zip(graphs, SIZES, strict=False):
            row = next((r for r in rows if (r["task"], r["graph"]) == (task, graph)), None)
            if row is None:
                continue
            ratio = row["cugraph_over_ours"]
            panel.barh(place, ratio - 1, left=1, height=0.86, color=colour, label=graph)
            panel.annotate(
                f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x", (max(ratio, row["wanted"]), place),
                xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5,
            )  # fmt: skip
            panel.plot([row["wanted"]] * 2, [place - 0.43, place + 0.43], color=INK, linewidth=1.4)
            place += 1
        ticks.append(((start + place - 1) / 2, title))
        place += 0.9
    panel.axvline(1, color=INK, linewidth=1.2)
    panel.set_xscale("log")
    panel.set_yticks([at for at, _ in ticks], [title for _, title in ticks])
    panel.tick_params(axis="y", length=0)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    _plain(panel, grid="x")
    panel.invert_yaxis()
    panel.margins(x=0.1)
    figure.suptitle(
        f"cuGraph's time over Evener's, one {document['gpu']}; black: what we aim at", fontsize=11
    )
    bars = {bar.get_label(): bar for bar in panel.containers}
    figure.legend(bars.values(), bars, loc="outside lower center", ncols=len(bars), frameon=False)
    _save(figure, "gpu")


def _hybrid(document):
    rows = document["rows"]
    tasks = list(dict.fromkeys(row["task"] for row in rows))
    caps = list(dict.fromkeys(row["fits"] for row in rows if row["fits"]))
    figure, panels = plt.subplots(
        len(tasks), len(caps), figsize=(4.1 * len(caps), 3.4 * len(tasks)), squeeze=False, sharex=True,
        layout="constrained",
    )  # fmt: skip
    for task, line in zip(tasks, panels, strict=True):
        cpu = next(r for r in rows if r["task"] == task and r["on"] == "cpu")
        for fits, panel in zip(caps, line, strict=True):
            _sweep(panel, [r for r in rows if r["task"] == task and r["fits"] == fits], cpu)
            panel.set_title(f"{task}, {Fraction(fits)} of the edges fit", fontsize=10)
        line[0].set_ylabel("milliseconds")
    for panel in panels[-1]:
        panel.set_xlabel("share of the edges on the CPU")
    named = dict(zip(*reversed(panels[0][0].get_legend_handles_labels()), strict=True))
    figure.legend(named.values(), named, loc="outside lower center", ncols=len(named), frameon=False)
    figure.suptitle(f"CPU and GPU together on {document['graph']}, which does not fit the GPU", fontsize=12)
    _save(figure, "hybrid")


def _sweep(panel, rows, cpu):
    gpu = next(r for r in rows if r["on"] == "cuda:0" and not r["automatic"])
    for row, name in ((cpu, "CPU alone"), (gpu, "GPU alone")):
        panel.axhline(1e3 * row["median_seconds"], color=INK, linestyle=":", linewidth=1)
        panel.annotate(name, (0.995, 1e3 * row["median_seconds"]), xycoords=("axes fraction", "data"),
                       xytext=(0, 2), textcoords="offset points", fontsize=8, ha="right")  # fmt: skip
    for policy, colour in POLICIES.items():
        own = [r for r in rows if r["policy"] == policy and not r["automatic"]]
        if own:
            shares = [r["alpha"] for r in own]
            panel.plot(
                shares, [1e3 * r["median_seconds"] for r in own], color=colour, marker=".", label=policy
            )
            panel.plot(shares, [1e3 * r["predicted_seconds"] for r in own], color=colour, linestyle="--")
    for row in rows:
        if row["automatic"]:
            at = row["alpha"] or 0.0
            panel.plot(at, 1e3 * row["median_seconds"], "x", color=INK, markersize=9, label="automatic plan")
    panel.set_yscale("log")
    panel.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
    panel.yaxis.set_minor_formatter(lambda value, _: f"{value:g}")
    panel.tick_params(axis="y", which="both", labelsize=8)
    _plain(panel, grid="y")


def _plain(panel, grid):
    panel.grid(axis=grid, color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


def _save(figure, name):
    figure.savefig(IMAGES / f"{name}.svg", metadata={"Date": None}, facecolor=CARD)
    print(f"wrote docs/images/{name}.svg")


if __name__ == "__main__":
    main()
