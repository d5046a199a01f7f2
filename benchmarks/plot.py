"""Draw results/cpu_rivals.json as docs/images/benchmark.svg and .png.

    python benchmarks/plot.py

A panel for each graph, a group for each algorithm, a bar for each contender: its time over Evener's, on a
logarithmic axis. Bars to the right of the line are slower than Evener. The background is light, so that the
plot is readable on light and dark pages.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import NamedTuple

import matplotlib as mpl

mpl.use("Agg")

from matplotlib import pyplot as plt

import harness
from cpu_rivals import TASKS

IMAGES = Path(__file__).parent.parent / "docs" / "images"

# Okabe and Ito's colours, which most colour-blind readers can distinguish.
COLOURS = {
    "GAP": "#0072B2",
    "NetworKit": "#E69F00",
    "igraph": "#009E73",
    "SciPy": "#CC79A7",
    "GraphBLAS": "#D55E00",
}
CARD, INK, FAINT = "#fbfaf7", "#24292f", "#d0d4d9"
STYLE = {
    "svg.hashsalt": "evener",
    "font.size": 10,
    "text.color": INK,
    "axes.labelcolor": INK,
    "xtick.color": INK,
    "ytick.color": INK,
    "axes.edgecolor": FAINT,
    "figure.facecolor": CARD,
    "axes.facecolor": CARD,
}


def main():
    argparse.ArgumentParser(description=__doc__.splitlines()[0]).parse_args()
    document = json.loads((harness.RESULTS / "cpu_rivals.json").read_text(encoding="utf-8"))
    rows = [row for row in document["rows"] if row["contender"] != "evener"]
    specs = list(dict.fromkeys(row["graph"] for row in rows))
    with plt.rc_context(STYLE):
        figure, panels = plt.subplots(
            1, len(specs), figsize=(5.2 * len(specs), 6.4), sharex=True, squeeze=False, layout="constrained"
        )
        for panel, spec in zip(panels[0], specs, strict=True):
            _panel(panel, spec, [row for row in rows if row["graph"] == spec])
        threads = document["machine"]["threads used"]
        figure.suptitle(f"Time over Evener's, same graph, same run, {threads} CPU threads", fontsize=12)
        handles = {
            bar.get_label(): bar
            for panel in panels[0]
            for bar in panel.containers
            if bar.get_label() in COLOURS
        }
        names = [name for name in COLOURS if name in handles]
        figure.legend(
            [handles[n] for n in names], names, loc="outside lower center", ncols=len(names), frameon=False
        )
        IMAGES.mkdir(parents=True, exist_ok=True)
        figure.savefig(IMAGES / "benchmark.svg", metadata={"Date": None})
        figure.savefig(IMAGES / "benchmark.png", dpi=160)
    print("wrote docs/images/benchmark.svg and benchmark.png")


def _panel(panel, spec, rows):
    groups = {
        title: [
            Bar(name, COLOURS[name], row["times_ours"])
            for name in COLOURS
            for row in rows
            if (row["task"], row["contender"]) == (task, name)
        ]
        for task, title in TASKS.items()
    }
    draw_ratios(panel, groups)
    panel.set_title(spec, fontsize=11)


class Bar(NamedTuple):
    """A contender's time over Evener's, and the ratio that Evener aims at, if any."""

    label: str
    colour: str
    ratio: float
    wanted: float | None = None


def draw_ratios(panel, groups):
    """Draw groups of bars below one another, on a logarithmic axis, with marks at the goals."""
    place, ticks = 0.0, []
    for title, bars in groups.items():
        if not bars:
            continue
        ticks.append((place + (len(bars) - 1) / 2, title))
        for label, colour, ratio, wanted in bars:
            # A bar starts at 1, Evener's time; its direction shows which one is faster.
            panel.barh(place, ratio - 1, left=1, height=0.86, color=colour, label=label)
            text = f"{ratio:.2g}x" if ratio < 10 else f"{ratio:.0f}x"
            beyond = max(1, ratio, wanted or 1)
            panel.annotate(
                text, (beyond, place), xytext=(4, 0), textcoords="offset points", va="center", fontsize=8.5
            )
            if wanted:
                panel.plot([wanted, wanted], [place - 0.43, place + 0.43], color=INK, linewidth=1.4)
            place += 1
        place += 0.9
    panel.axvline(1, color=INK, linewidth=1.2)
    panel.set_xscale("log")
    panel.set_yticks([at for at, _ in ticks], [title for _, title in ticks])
    panel.tick_params(axis="y", length=0)
    panel.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    panel.invert_yaxis()
    panel.margins(x=0.12)
    plain(panel, grid="x")
    panel.spines["left"].set_visible(False)


def plain(panel, grid):
    """Draw only the needed parts of a frame, and the grid of one axis behind everything."""
    panel.grid(axis=grid, color=FAINT, linewidth=0.6)
    panel.set_axisbelow(True)
    for side in ("top", "right"):
        panel.spines[side].set_visible(False)


if __name__ == "__main__":
    main()
