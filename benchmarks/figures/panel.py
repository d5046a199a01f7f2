"""What a part of a figure shows, apart from how it is drawn, which takes matplotlib."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Panel:
    """One part of a figure.

    Attributes
    ----------
    title, x, y : str
        What it shows, and what its axes say.
    series : dict of str to tuple
        For lines, the places and the values of each; for bars, the labels and the values.
    line : float or None
        A value to draw a line at: the CPU alone, or neither faster nor slower.
    log : bool
        Whether values are spread over orders of magnitude.
    dashed : tuple of str
        The series that are predicted.
    """

    title: str
    x: str
    y: str
    series: dict = field(default_factory=dict)
    line: float | None = None
    log: bool = False
    dashed: tuple = ()


def series_of(rows, key, x, y):
    """The series of the rows that have one value of `key` each: places and values."""
    found = {}
    for row in rows:
        if row[y] is not None:
            places, values = found.setdefault(row[key], ([], []))
            places.append(row[x])
            values.append(row[y])
    return found
