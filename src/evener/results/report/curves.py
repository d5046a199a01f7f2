"""Curves: active vertices by superstep, and the degree distribution."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.results.report import draw
from evener.results.report.units import count_text, counted, supersteps_text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.engine.timeline import Timeline
    from evener.graph.graph import Graph

__all__ = ["degree_curve", "frontier_curve"]

# Largest number of points of a curve.
_MOST_POINTS = 240
# Ratio of the largest to the smallest frontier above which the scale is logarithmic.
_FLAT = 50
# Vertices counted at a time.
_VERTICES_COUNTED = 1 << 22

_TOP, _HEIGHT, _FOOT = 16.0, 130.0, 20.0


def frontier_curve(timeline: Timeline) -> str:
    """Return the curve of active vertices by superstep."""
    steps = timeline.by_superstep()
    active = [step.active for step in steps]
    if len(steps) < 2 or not any(active):
        return draw.faint(f"{counted(sum(active), 'vertex')} active.")
    together = -(-len(active) // _MOST_POINTS)
    shown = [max(active[i : i + together]) for i in range(0, len(active), together)]
    most, least = max(shown), min(count for count in shown if count)
    logarithmic = most > _FLAT * least
    note = "Logarithmic scale; an empty frontier is at the bottom. " if logarithmic else ""
    if together > 1:
        note += f"Folded: each point is the largest of {together:,} supersteps."
    if logarithmic:
        low = 10.0 ** math.floor(math.log10(least))
        marks = _decades(low, most)
        height: Callable[[float], float] = lambda count: (  # noqa: E731 - one of two scales
            _logarithm(count, low, most) if count else 0.0
        )
    else:
        marks = draw.ticks(most, count=2, least=1)
        height = lambda count: count / most  # noqa: E731 - one of two scales
    points = [(i / (len(shown) - 1), height(count)) for i, count in enumerate(shown)]
    peak = shown.index(most)
    titles = [
        f"{supersteps_text(i * together, min((i + 1) * together, len(active)) - 1)}: "
        f"{counted(count, 'vertex')}"
        for i, count in enumerate(shown)
    ]
    last = len(active) - 1
    along = [(f"{mark:,.0f}", mark / last) for mark in draw.ticks(last, count=6, least=1)]
    drawn = _plot(
        points,
        titles,
        scale=[(count_text(mark), height(mark)) for mark in marks],
        along=along,
        peak=(peak, f"{counted(most, 'vertex')} in superstep {active.index(most):,}"),
        label=f"Active vertices by superstep, at most {counted(most, 'vertex')}.",
    )
    return draw.faint(note.strip()) + drawn if note else drawn


def degree_curve(graph: Graph) -> str:
    """Return the curve of vertices with at least a given out-degree, on logarithmic scales."""
    counts = _counted(graph.out_degree())
    most = len(counts) - 1
    isolated = int(counts[0]) if len(counts) else 0
    if most < 1:
        return draw.faint(f"{counted(graph.n, 'vertex')} without out-edges.")
    at_least = graph.n - np.concatenate([[0], np.cumsum(counts)[:-1]])
    middle = int(np.searchsorted(np.cumsum(counts), graph.n / 2))
    note = (
        "Number of vertices with at least a given out-degree, on logarithmic scales. Median "
        f"{middle:,}, mean {graph.m / graph.n:.3g}, largest {most:,}"
        f"{f', {isolated:,} without out-edges' if isolated else ''}."
    )
    chosen = np.unique(np.rint(np.geomspace(1, most, _MOST_POINTS)).astype(np.int64))
    low_end, high = int(at_least[most]), float(at_least[1])
    low = min(float(low_end), high / 10)
    connected = f"{counted(int(high), 'vertex')} with out-edges"
    points = [(_logarithm(d, 1, most), _logarithm(float(at_least[d]), low, high)) for d in chosen.tolist()]
    titles = [f"{counted(int(at_least[d]), 'vertex')} with {d:,} out-edges or more" for d in chosen.tolist()]
    drawn = _plot(
        points,
        titles,
        scale=[(count_text(mark), _logarithm(mark, low, high)) for mark in _decades(max(low, 1.0), high)],
        along=[(count_text(mark), _logarithm(mark, 1, most)) for mark in _decades(1, most)],
        peak=(0, connected),
        label=f"{connected}, falling to {counted(low_end, 'vertex')} with {most:,}.",
    )
    return draw.faint(note) + drawn


def _plot(
    points: Sequence[tuple[float, float]],
    titles: Sequence[str],
    *,
    scale: Sequence[tuple[str, float]],
    along: Sequence[tuple[str, float]],
    peak: tuple[int, str],
    label: str,
) -> str:
    """Return a curve with its scales, a label at one point, and a title at each point."""

    def down(share: float) -> float:
        return _TOP + _HEIGHT * (1 - share)

    pieces = [draw.rule(down(share)) for _, share in scale]
    pieces.append(draw.curve(points, _TOP, _HEIGHT))
    for place, ((x, y), title) in enumerate(zip(points, titles, strict=True)):
        before = points[max(0, place - 1)][0]
        after = points[min(len(points) - 1, place + 1)][0]
        reach = draw.bar("hit", (before + x) / 2, (after - before) / 2, _TOP, _HEIGHT)
        dot = f'<circle cx="{100 * x:.3f}%" cy="{down(y):.1f}" r="{3 if len(points) <= 60 else 0}"/>'
        pieces.append(draw.group(title, reach, dot))
    x, y = points[peak[0]]
    kind = "ink" if x < 0.25 else "ink end" if x > 0.75 else "ink mid"
    pieces.append(draw.words(peak[1], x, down(y) - 7, kind=kind))
    return draw.picture(
        [*pieces, *draw.axis(along, _TOP + _HEIGHT + 15)],
        height=_TOP + _HEIGHT + _FOOT,
        label=label,
        scale=[(text, down(share)) for text, share in scale],
    )


def _counted(degree: NDArray[np.uint64]) -> NDArray[np.int64]:
    """Return the number of vertices of each degree, from 0 to the largest."""
    counts = np.zeros(int(degree.max(initial=0)) + 1, dtype=np.int64)
    for first in range(0, len(degree), _VERTICES_COUNTED):
        some = degree[first : first + _VERTICES_COUNTED].astype(np.int64)
        counts[: int(some.max()) + 1] += np.bincount(some)
    return counts


def _logarithm(value: float, low: float, high: float) -> float:
    """Return the position of a value between two others on a logarithmic scale, 0 to 1."""
    return math.log(value / low) / math.log(high / low) if high > low else 1.0


def _decades(low: float, high: float) -> list[float]:
    """Return at most six powers of ten from `low` to `high`; up to two of them, also 2 and 5 times one."""
    first, last = math.ceil(math.log10(low) - 1e-9), math.floor(math.log10(high) + 1e-9)
    powers = [10.0**power for power in range(first, last + 1, max(1, -(-(last - first) // 5)))]
    if len(powers) > 2:
        return powers
    between = (factor * 10.0**power for power in range(first - 1, last + 1) for factor in (1, 2, 5))
    return [mark for mark in between if low * (1 - 1e-9) <= mark <= high * (1 + 1e-9)]
