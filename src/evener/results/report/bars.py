"""Supersteps by element: a bar per superstep, stacked from computing, sending, receiving and waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evener.results.report import draw
from evener.results.report.explain import SUPERSTEP_HEADS, superstep_row
from evener.results.report.style import ACTIVITIES
from evener.results.report.units import seconds_text, supersteps_text
from evener.system.html import escape
from evener.system.memory import format_bytes

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.engine.timeline import Span, Timeline

__all__ = ["superstep_bars", "superstep_table"]

# Largest number of bars on a page, and least number per element.
_MOST_BARS, _LEAST_OF_AN_ELEMENT = 480, 24
# A bar is at most 1/_WIDEST of the width. At most _NUMBERED bars have a number.
_WIDEST, _NUMBERED = 12, 8
# Rows of the table of supersteps.
_MOST_ROWS = 1000

_HEIGHT, _FOOT = 88.0, 18.0


class Bar(NamedTuple):
    """Consecutive supersteps of one element."""

    first: int
    last: int
    parts: dict[str, float]  # seconds by activity
    bytes_sent: int
    active: int

    @property
    def seconds(self) -> float:
        return sum(self.parts.values())

    @property
    def name(self) -> str:
        return supersteps_text(self.first, self.last)


def superstep_bars(timeline: Timeline) -> str:
    """Return a row of bars for each element, on one scale."""
    spans: dict[str, list[Span]] = {name: [] for name in timeline.elements}
    for (_, name), span in timeline.by_superstep_and_element().items():
        spans[name].append(span)
    most = max(_LEAST_OF_AN_ELEMENT, _MOST_BARS // max(1, len(spans)))
    together = max(1, -(-timeline.supersteps // most))
    bars = {name: list(_bars(own, together)) for name, own in spans.items()}
    longest = max((one.seconds for own in bars.values() for one in own), default=0.0)
    if not longest:
        return "<p>No time was recorded.</p>"
    heading = (
        "Each bar is one superstep."
        if together == 1
        else f"Folded: each bar is {together:,} of {timeline.supersteps:,} supersteps."
    )
    panels = [
        f"<h3>{_element_line(name, own)}</h3>{_panel(name, own, longest)}" for name, own in bars.items()
    ]
    return f"{draw.faint(heading)}{draw.key(ACTIVITIES)}{''.join(panels)}"


def superstep_table(timeline: Timeline) -> str:
    """Return a table with one row per superstep, with the times of the element that was busy longest."""
    steps = timeline.by_superstep()
    rows = map(superstep_row, steps[:_MOST_ROWS])
    hidden = len(steps) - _MOST_ROWS
    more = draw.faint(f"{hidden:,} more supersteps are not shown.") if hidden > 0 else ""
    return (
        f"<details><summary>Numbers</summary>{draw.faint('Times of the element that was busy longest.')}"
        f"{draw.table(SUPERSTEP_HEADS, rows, left=2, label='Supersteps in numbers')}{more}</details>"
    )


def _bars(spans: Sequence[Span], together: int) -> Iterator[Bar]:
    for first in range(0, len(spans), together):
        some = spans[first : first + together]
        yield Bar(
            first=some[0].superstep,
            last=some[-1].superstep,
            parts={kind: sum(getattr(span, kind) for span in some) for kind in ACTIVITIES},
            bytes_sent=sum(span.bytes_sent for span in some),
            active=max(span.active for span in some),
        )


def _panel(name: str, bars: Sequence[Bar], longest: float) -> str:
    slot = 1 / max(_WIDEST, len(bars))
    down = {mark: 6 + _HEIGHT * (1 - mark / longest) for mark in draw.time_ticks(longest, count=2)}
    foot = down[0.0]
    pieces = [draw.rule(top) for top in down.values()]
    every = max(1, -(-len(bars) // _NUMBERED))
    for place, one in enumerate(bars):
        left = (place + 0.08) * slot
        shares = {kind: seconds / longest for kind, seconds in one.parts.items()}
        pieces.append(draw.group(_title(name, one), draw.stack(shares, left, 0.84 * slot, foot, _HEIGHT)))
        if place % every == 0:
            pieces.append(draw.words(f"{one.first:,}", left + 0.42 * slot, foot + 14, kind="mid"))
    slow = max(bars, key=lambda one: one.seconds)
    return draw.picture(
        pieces,
        height=foot + _FOOT,
        label=f"Time of each superstep on {name}; the longest, {slow.name}, {seconds_text(slow.seconds)}.",
        scale=[(seconds_text(mark) if mark else "0", top) for mark, top in down.items()],
    )


def _title(name: str, one: Bar) -> str:
    parts = ", ".join(
        f"{ACTIVITIES[kind]} {seconds_text(seconds)}" for kind, seconds in one.parts.items() if seconds
    )
    sent = f", {format_bytes(one.bytes_sent)} sent" if one.bytes_sent else ""
    return f"{name}, {one.name}: {parts or 'no time'}{sent}, {one.active:,} active vertices"


def _element_line(name: str, bars: Sequence[Bar]) -> str:
    sums = {kind: sum(one.parts[kind] for one in bars) for kind in ACTIVITIES}
    whole = sum(sums.values()) or 1.0
    shares = draw.activity_shares({kind: part / whole for kind, part in sums.items()})
    return f"{escape(name)} <span>{shares}</span>"
