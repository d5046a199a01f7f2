"""The content of one part of a figure, without the drawing, which needs matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Panel:
    """One part of a figure.

    Attributes
    ----------
    title, x, y : str
        The title and the names of the axes.
    series : dict of str to tuple
        For lines, the places and the values of each; for bars, the labels and the values.
    line : float or None
        A value to draw a line at: the CPU alone, or equal speed.
    log : bool
        Whether the axis of values is logarithmic.
    dashed : tuple of str
        The predicted series.
    wide : bool
        Whether the axis of places is logarithmic.
    """

    title: str
    x: str
    y: str
    series: dict = field(default_factory=dict)
    line: float | None = None
    log: bool = False
    dashed: tuple = ()
    wide: bool = False


def series_of(rows, key, x, y):
    """Return the series of the rows with the same value of `key`: places and values."""
    found = {}
    for row in rows:
        if row[y] is not None:
            places, values = found.setdefault(row[key], ([], []))
            places.append(row[x])
            values.append(row[y])
    return found
