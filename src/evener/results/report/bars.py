"""Supersteps by element: a bar per superstep, stacked from computing, sending, receiving and waiting."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evener.results.report.draw import bar, group, key, picture, rule, table, time_ticks, words
from evener.results.report.style import ACTIVITIES
from evener.results.report.units import seconds_text, share_text
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


class Stack(NamedTuple):
    """Consecutive supersteps of one element, drawn as one bar."""

    first: int
    last: int
    parts: tuple[float, ...]  # seconds, in the order of ACTIVITIES
    bytes_sent: int
    active: int

    @property
    def seconds(self) -> float:
        return sum(self.parts)


def superstep_bars(timeline: Timeline) -> str:
    """Return a row of bars for each element, on one scale."""
    stacks, together = _folded(timeline)
    longest = max((stack.seconds for own in stacks.values() for stack in own), default=0.0)
    if not longest:
        return "<p>No time was recorded.</p>"
    heading = (
        "Each bar is one superstep."
        if together == 1
        else f"Folded: each bar is {together:,} of {timeline.supersteps:,} supersteps."
    )
    panels = [
        f"<h3>{_element_line(name, own)}</h3>{_panel(name, own, longest)}" for name, own in stacks.items()
    ]
    return f'<p class="faint">{heading}</p>{key(ACTIVITIES)}{"".join(panels)}'


def superstep_table(timeline: Timeline) -> str:
    """Return a table with one row per superstep, with the times of the element that was busy longest."""
    steps = timeline.by_superstep()
    rows = [
        (
            f"{step.superstep:,}",
            ", ".join(step.phases),
            f"{step.active:,}",
            *(seconds_text(part) if part else "-" for part in (step.compute, step.exchange, step.wait)),
            format_bytes(step.bytes_sent) if step.bytes_sent else "-",
        )
        for step in steps[:_MOST_ROWS]
    ]
    columns = ("superstep", "phases", "active vertices", "compute", "exchange", "wait", "sent")
    hidden = len(steps) - _MOST_ROWS
    more = f'<p class="faint">{hidden:,} more supersteps are not shown.</p>' if hidden > 0 else ""
    return (
        "<details><summary>Numbers</summary>"
        '<p class="faint">Times of the element that was busy longest.</p>'
        f"{table(columns, rows, left=2, label='Supersteps in numbers')}{more}</details>"
    )


def _folded(timeline: Timeline) -> tuple[dict[str, list[Stack]], int]:
    """Return the stacks of each element, and the number of supersteps in a stack."""
    spans: dict[str, list[Span]] = {name: [] for name in timeline.elements}
    for (_, name), span in timeline.by_superstep_and_element().items():
        spans[name].append(span)
    most = max(_LEAST_OF_AN_ELEMENT, _MOST_BARS // max(1, len(spans)))
    together = max(1, -(-timeline.supersteps // most))
    return {name: list(_stacks(own, together)) for name, own in spans.items()}, together


def _stacks(spans: Sequence[Span], together: int) -> Iterator[Stack]:
    for first in range(0, len(spans), together):
        some = spans[first : first + together]
        yield Stack(
            first=some[0].superstep,
            last=some[-1].superstep,
            parts=tuple(sum(getattr(span, kind) for span in some) for kind in ACTIVITIES),
            bytes_sent=sum(span.bytes_sent for span in some),
            active=max(span.active for span in some),
        )


def _panel(name: str, stacks: Sequence[Stack], longest: float) -> str:
    slot = 1 / max(_WIDEST, len(stacks))
    marks = time_ticks(longest, count=2)
    down = {mark: 6 + _HEIGHT * (1 - mark / longest) for mark in marks}
    foot = down[0.0]
    pieces = [rule(top) for top in down.values()]
    every = max(1, -(-len(stacks) // _NUMBERED))
    for place, stack in enumerate(stacks):
        left = (place + 0.08) * slot
        pieces.append(group(_title(name, stack), _stacked(stack, left, 0.84 * slot, foot, longest)))
        if place % every == 0:
            pieces.append(words(f"{stack.first:,}", left + 0.42 * slot, foot + 14, kind="mid"))
    slow = max(stacks, key=lambda stack: stack.seconds)
    return picture(
        pieces,
        height=foot + _FOOT,
        label=f"Time of each superstep on {name}; the longest, {_which(slow)}, {seconds_text(slow.seconds)}.",
        scale=[(seconds_text(mark) if mark else "0", top) for mark, top in down.items()],
    )


def _stacked(stack: Stack, left: float, width: float, foot: float, longest: float) -> Iterator[str]:
    yield bar("hit", left, width, 6, _HEIGHT)
    top = foot
    for kind, seconds in zip(ACTIVITIES, stack.parts, strict=True):
        height = _HEIGHT * seconds / longest
        top -= height
        if height > 0:
            yield bar(kind, left, width, top, height)


def _title(name: str, stack: Stack) -> str:
    parts = ", ".join(
        f"{word} {seconds_text(seconds)}"
        for word, seconds in zip(ACTIVITIES.values(), stack.parts, strict=True)
        if seconds
    )
    sent = f", {format_bytes(stack.bytes_sent)} sent" if stack.bytes_sent else ""
    return f"{name}, {_which(stack)}: {parts or 'no time'}{sent}, {stack.active:,} active vertices"


def _which(stack: Stack) -> str:
    if stack.first == stack.last:
        return f"superstep {stack.first:,}"
    return f"supersteps {stack.first:,} to {stack.last:,}"


def _element_line(name: str, stacks: Sequence[Stack]) -> str:
    sums = [sum(stack.parts[place] for stack in stacks) for place in range(len(ACTIVITIES))]
    whole = sum(sums) or 1.0
    shares = ", ".join(
        f"{share_text(part / whole)} {word}"
        for part, word in zip(sums, ACTIVITIES.values(), strict=True)
        if part
    )
    return f"{escape(name)} <span>{shares}</span>"
