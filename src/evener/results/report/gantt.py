"""The time axis of a run: one row per element.

Computing fills a row's height, sending its upper half, receiving its lower half.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from evener.results.report import draw
from evener.results.report.style import ACTIVITIES
from evener.results.report.units import seconds_text, share_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.engine.timeline import Slice, Timeline

__all__ = ["gantt"]

# Largest number of slices drawn singly, and numbers of columns beyond it, for all elements together.
_MOST_SLICES, _COLUMNS, _LEAST_COLUMNS = 400, 480, 40
# Largest number of superstep boundaries drawn, and the least distance of their numbers as a share of the
# width.
_MOST_BOUNDS, _BETWEEN_NUMBERS = 60, 0.06

_LEGEND = (
    "Computing fills the height of a row, sending its upper half, receiving its lower half. "
    "In a gap, the element waited for other elements or for its next kernel."
)

_ROW, _BAR, _HEAD = 42.0, 20.0, 16.0
_BUSY = ("compute", "send", "receive")
_LANES = {"compute": (0.0, 1.0), "send": (0.0, 0.5), "receive": (0.5, 0.5)}


def gantt(timeline: Timeline) -> str:
    """Return the time axis of the run.

    With many slices the axis is folded, and a second picture shows the longest superstep.
    """
    slices = [one for one in timeline.slices if one.end > one.begin]
    if not slices:
        return draw.faint("This run has no record of time slices.")
    names = list(dict.fromkeys(one.element for one in slices))
    head = draw.key(_BUSY)
    if len(slices) <= _MOST_SLICES:
        return f"{head}{_whole(slices, names)}"
    kept = ""
    if timeline.more_slices:
        kept = draw.faint(
            f"The record has the first {len(timeline.slices):,} time slices of the run, "
            f"without the next {timeline.more_slices:,}. The picture shows the beginning of the run."
        )
    return f"{head}{kept}{_columns(slices, names)}{_longest_superstep(slices, names)}"


def _whole(slices: Sequence[Slice], names: Sequence[str], *, begin: float = 0.0) -> str:
    """Return a picture of all slices from `begin` on."""
    length = max(one.end for one in slices) - begin
    top = {name: _HEAD + place * _ROW for place, name in enumerate(names)}
    pieces = [*_bounds(slices, begin, length, len(names)), *_rows(slices, top, length)]
    for one in slices:
        above, height = _LANES[one.activity]
        left, width = (one.begin - begin) / length, (one.end - one.begin) / length
        title = (
            f"{one.element}, superstep {one.superstep:,}, {one.phase}: {ACTIVITIES[one.activity]} "
            f"{seconds_text(one.end - one.begin)}, from {seconds_text(one.begin)}"
        )
        drawn = draw.bar(one.activity, left, width, top[one.element] + 16 + above * _BAR, height * _BAR)
        pieces.append(draw.group(title, drawn))
    return draw.faint(_LEGEND) + _picture(pieces, names, begin, length)


def _columns(slices: Sequence[Slice], names: Sequence[str]) -> str:
    """Return a picture of columns, each with the shares of time that an element was busy."""
    count = max(_LEAST_COLUMNS, _COLUMNS // len(names))
    length = max(one.end for one in slices)
    edges = np.linspace(0.0, length, count + 1)
    top = {name: _HEAD + place * _ROW for place, name in enumerate(names)}
    pieces = list(_rows(slices, top, length))
    for name in names:
        busy = {
            kind: _busy_between(edges, [one for one in slices if (one.element, one.activity) == (name, kind)])
            for kind in _BUSY
        }
        for place in range(count):
            shares = {kind: min(1.0, float(one[place]) * count / length) for kind, one in busy.items()}
            if any(share > 0 for share in shares.values()):
                between = f"{seconds_text(edges[place])} to {seconds_text(edges[place + 1])}"
                pieces.append(
                    draw.group(
                        f"{name}, {between}: {draw.activity_shares(shares)}",
                        draw.stack(shares, place / count, 0.92 / count, top[name] + 16 + _BAR, _BAR),
                    )
                )
    note = draw.faint(
        f"Folded: {len(slices):,} time slices are too many to draw. Each column is "
        f"{seconds_text(length / count)}; its height is the share of time that the element was busy. A trace "
        "(<code>--trace</code>) has every slice."
    )
    return note + _picture(pieces, names, 0.0, length)


def _longest_superstep(slices: Sequence[Slice], names: Sequence[str]) -> str:
    begins: dict[int, float] = {}
    ends: dict[int, float] = {}
    for one in slices:
        begins[one.superstep] = min(begins.get(one.superstep, one.begin), one.begin)
        ends[one.superstep] = max(ends.get(one.superstep, 0.0), one.end)
    longest = max(begins, key=lambda number: ends[number] - begins[number])
    own = [one for one in slices if one.superstep == longest]
    note = f"<h3>Superstep {longest:,}, the longest <span>{seconds_text(ends[longest] - begins[longest])}"
    if len(own) > _MOST_SLICES:
        note += f"; the first {_MOST_SLICES} of its {len(own):,} slices"
    return f"{note}</span></h3>{_whole(own[:_MOST_SLICES], names, begin=begins[longest])}"


def _rows(slices: Sequence[Slice], top: dict[str, float], length: float) -> Iterator[str]:
    """Yield the name, the busy share and the base line of each element."""
    busy = dict.fromkeys(top, 0.0)
    for one in slices:
        busy[one.element] += one.end - one.begin
    for name, down in top.items():
        yield draw.words(name, 0, down + 11, kind="ink")
        yield draw.words(f"busy {share_text(min(1.0, busy[name] / length))}", 1, down + 11, kind="end")
        yield draw.rule(down + 16 + _BAR)


def _bounds(slices: Sequence[Slice], begin: float, length: float, rows: int) -> Iterator[str]:
    """Yield the boundaries of supersteps, and their numbers where they fit, longest supersteps first."""
    first: dict[int, float] = {}
    for one in slices:
        first[one.superstep] = min(first.get(one.superstep, one.begin), one.begin)
    if not 1 < len(first) <= _MOST_BOUNDS:
        return
    lefts = [(at - begin) / length for at in first.values()]
    wide = {
        number: after - left for number, (left, after) in zip(first, pairwise([*lefts, 1.0]), strict=True)
    }
    taken: list[float] = []
    for number, left in sorted(zip(first, lefts, strict=True), key=lambda one: -wide[one[0]]):
        yield draw.rule(10, left=left, right=left, bottom=_HEAD + rows * _ROW)
        if all(abs(left - other) >= _BETWEEN_NUMBERS for other in taken):
            yield draw.words(str(number), left, 8)
            taken.append(left)


def _picture(pieces: Sequence[str], names: Sequence[str], begin: float, length: float) -> str:
    foot = _HEAD + len(names) * _ROW
    marks = [(seconds_text(mark) if mark else "0", mark / length) for mark in draw.time_ticks(length)]
    after = f" after {seconds_text(begin)}" if begin else ""
    label = f"When {', '.join(names)} computed, sent and received, over {seconds_text(length)}{after}."
    return draw.picture([*pieces, *draw.axis(marks, foot + 12)], height=foot + 16, label=label)


def _busy_between(edges: NDArray[np.float64], slices: Sequence[Slice]) -> NDArray[np.float64]:
    """Return the busy seconds between consecutive edges."""
    begins = np.sort([one.begin for one in slices])
    ends = np.sort([one.end for one in slices])
    return np.diff(_since(edges, begins) - _since(edges, ends))


def _since(edges: NDArray[np.float64], marks: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return, for each edge, the sum of the seconds since each earlier mark."""
    earlier = np.searchsorted(marks, edges)
    sums = np.concatenate([[0.0], np.cumsum(marks)])
    return np.asarray(earlier * edges - sums[earlier])
