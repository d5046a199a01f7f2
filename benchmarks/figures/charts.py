"""Draw the panels of a figure, lines or bars, as an SVG on a light card for light and dark pages.

Text stays text in the file, so that the file is small. The file has no date.
"""

from __future__ import annotations

import search_path  # noqa: F401 - first: it makes the folder above importable
from matplotlib import pyplot as plt

from plot import CARD, COLOURS, FAINT, IMAGES, INK, STYLE

FOLDER = IMAGES / "figures"

# A meaning has the same colour in all figures.
_BLUE, _ORANGE, _GREEN, _PINK, _RED = COLOURS.values()
_OWN = {
    "high": _BLUE,
    "random": _ORANGE,
    "low": _GREEN,
    "achieved": _BLUE,
    "measured": _BLUE,
    "equation 4": _ORANGE,
    "equation 1": _ORANGE,
    "Evener's model": _GREEN,
    "the paper": _PINK,
    "CPU computing": _BLUE,
    "accelerator computing": _GREEN,
    "communicating": _RED,
}
_OTHERS = [_BLUE, _ORANGE, _GREEN, _PINK, _RED, "#56B4E9", "#8c6d31", "#882255", "#6b6b6b", "#999933"]
_MARKS = "os^Dv<>"
# Inches: a panel, and the smallest figure that holds a title.
_PANEL, _LEAST_WIDTH = (4.3, 3.5), 7.0


def lines(name, title, panels):
    """Draw series of points joined by lines."""
    _draw(name, title, panels, _lines)


def bars(name, title, panels):
    """Draw a group of bars for each label, a bar for each series."""
    _draw(name, title, panels, _bars)


def _draw(name, title, panels, draw):
    width, height = _PANEL
    with plt.rc_context({**STYLE, "svg.fonttype": "none"}):
        figure, axes = plt.subplots(
            1,
            len(panels),
            figsize=(max(width * len(panels), _LEAST_WIDTH), height),
            squeeze=False,
            layout="constrained",
        )
        for axis, panel in zip(axes[0], panels, strict=True):
            draw(axis, panel)
            _finish(axis, panel)
        figure.suptitle(title, fontsize=11)
        handles = {}
        for axis in axes[0]:
            handles.update(zip(*reversed(axis.get_legend_handles_labels()), strict=True))
        figure.legend(
            handles.values(),
            handles.keys(),
            loc="outside lower center",
            ncols=max(min(len(handles), 2 * len(panels) + 1), 1),
            frameon=False,
        )
        FOLDER.mkdir(parents=True, exist_ok=True)
        figure.savefig(FOLDER / f"{name}.svg", metadata={"Date": None})
        plt.close(figure)
    print(f"wrote docs/images/figures/{name}.svg")


def _lines(axis, panel):
    for number, (name, (places, values)) in enumerate(panel.series.items()):
        axis.plot(
            places,
            values,
            label=name,
            color=_colour(name, number),
            marker=_MARKS[number % len(_MARKS)],
            markersize=4,
            linewidth=1.4,
            linestyle="--" if name in panel.dashed else "-",
        )


def _bars(axis, panel):
    # Labels in order of appearance; a series may lack some.
    labels = list(dict.fromkeys(label for names, _ in panel.series.values() for label in names))
    width = 0.84 / max(len(panel.series), 1)
    for number, (name, (names, values)) in enumerate(panel.series.items()):
        places = [labels.index(label) + (number + 0.5) * width - 0.42 for label in names]
        axis.bar(places, values, width, label=name, color=_colour(name, number))
    axis.set_xticks(range(len(labels)), labels, fontsize=8.5)
    axis.tick_params(axis="x", length=0)


def _finish(axis, panel):
    axis.set_title(panel.title, fontsize=10)
    axis.set_xlabel(panel.x)
    axis.set_ylabel(panel.y)
    if panel.wide:
        axis.set_xscale("log")
    if panel.line is not None:
        axis.axhline(panel.line, color=INK, linewidth=1)
    if panel.log:
        axis.set_yscale("log")
    else:
        axis.set_ylim(bottom=0)
    axis.grid(axis="y", color=FAINT, linewidth=0.6)
    axis.set_axisbelow(True)
    axis.set_facecolor(CARD)
    for side in ("top", "right"):
        axis.spines[side].set_visible(False)


def _colour(name, number):
    return _OWN.get(name, _OTHERS[number % len(_OTHERS)])
