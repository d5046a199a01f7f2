"""The elements of pictures and tables on a page.

A picture is as wide as the page. Horizontal positions are shares of the width, vertical positions are pixels,
so text has the same size on any screen.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from evener.results.report.style import ACTIVITIES
from evener.results.report.units import cell, share_text
from evener.system.html import escape

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = [
    "activity_shares",
    "axis",
    "bar",
    "curve",
    "faint",
    "group",
    "key",
    "picture",
    "rule",
    "stack",
    "table",
    "ticks",
    "time_ticks",
    "words",
]

# Least width of a bar, as a share of the width.
_LEAST_WIDTH = 0.0005


def picture(
    pieces: Iterable[str], *, height: float, label: str, scale: Iterable[tuple[str, float]] = ()
) -> str:
    """Return a picture over the whole width.

    `label` describes the picture in a sentence. `scale` has the texts to its left and their vertical
    positions.
    """
    size = f'width="100%" height="{height:g}"'
    drawn = f'<svg role="img" {size} aria-label="{escape(label)}">{"".join(pieces)}</svg>'
    beside = "".join(words(text, 1, top + 4, kind="end") for text, top in scale)
    if not beside:
        return f"<figure>{drawn}</figure>"
    return f'<figure class="scaled"><svg aria-hidden="true" {size}>{beside}</svg>{drawn}</figure>'


def group(title: str, *pieces: str) -> str:
    """Return pieces with a `title` that appears under the pointer."""
    return f"<g><title>{escape(title)}</title>{''.join(pieces)}</g>"


def bar(kind: str, left: float, width: float, top: float, height: float) -> str:
    """Return a filled rectangle. `left` and `width` are shares of the picture's width."""
    shown = max(width, _LEAST_WIDTH)
    return (
        f'<rect class="{kind}" x="{_percent(left)}" width="{_percent(shown)}" y="{top:.1f}" '
        f'height="{max(height, 0):.1f}"/>'
    )


def stack(shares: Mapping[str, float], left: float, width: float, foot: float, height: float) -> str:
    """Return bars on top of each other, a share of `height` for each kind. The pointer meets all of it."""
    pieces = [bar("hit", left, width, foot - height, height)]
    for kind, share in shares.items():
        if share > 0:
            foot -= height * share
            pieces.append(bar(kind, left, width, foot, height * share))
    return "".join(pieces)


def rule(top: float, *, left: float = 0.0, right: float = 1.0, bottom: float | None = None) -> str:
    """Return a faint line: horizontal at `top`, or vertical from `top` to `bottom` if `left` is `right`."""
    return (
        f'<line class="rule" x1="{_percent(left)}" x2="{_percent(right)}" y1="{top:.1f}" '
        f'y2="{top if bottom is None else bottom:.1f}"/>'
    )


def words(text: str, left: float, top: float, *, kind: str = "") -> str:
    """Return a text with its base line at `top`.

    `kind` may contain "mid" or "end" for its alignment, and "ink" for a dark text.
    """
    named = f' class="{kind}"' if kind else ""
    return f'<text{named} x="{_percent(left)}" y="{top:.1f}">{escape(text)}</text>'


def axis(marks: Iterable[tuple[str, float]], top: float) -> Iterator[str]:
    """Yield the texts of a horizontal axis at shares of the width. Texts at its ends stay inside."""
    for text, share in marks:
        yield words(text, share, top, kind="" if share <= 0.03 else "mid" if share < 0.97 else "end")


def curve(points: Sequence[tuple[float, float]], top: float, height: float) -> str:
    """Return a line through points, in shares of the width and of `height` from the bottom."""
    path = " ".join(f"{1000 * x:.1f},{1000 * (1 - y):.1f}" for x, y in points)
    return (
        f'<svg y="{top:g}" width="100%" height="{height:g}" viewBox="0 0 1000 1000" '
        f'preserveAspectRatio="none"><polyline class="curve" points="{path}"/></svg>'
    )


def ticks(most: float, *, count: int = 4, least: float = 0.0) -> list[float]:
    """Return 0 and at least one and at most `count` other round numbers up to `most`.

    Parameters
    ----------
    most : float
        If it is not above 0, the only number is 0.
    count : int, default 4
        At least 2, so that a step is never longer than the axis.
    least : float, default 0
        The smallest step. An axis of vertices has no tick at half of a vertex.

    Examples
    --------
    >>> ticks(0.7), ticks(23, count=3), ticks(1, least=1)
    ([0.0, 0.2, 0.4, 0.6], [0.0, 10.0, 20.0], [0.0, 1.0])
    """
    if not 0 < most < math.inf:
        return [0.0]
    unit = 10.0 ** math.floor(math.log10(most / count))
    return _multiples(most, count, [unit * factor for factor in (1, 2, 5, 10, 20) if unit * factor >= least])


def time_ticks(longest: float, *, count: int = 4) -> list[float]:
    """Return ticks of an axis of seconds: above two minutes, whole minutes and hours.

    Examples
    --------
    >>> [tick / 60 for tick in time_ticks(1500)]
    [0.0, 10.0, 20.0]
    """
    if not 120 <= longest < math.inf:
        return ticks(longest, count=count)
    if longest < 7200:
        return _multiples(longest, count, [60.0 * minutes for minutes in (1, 2, 5, 10, 20, 50)])
    return [3600 * hours for hours in ticks(longest / 3600, count=count, least=1.0)]


def _multiples(most: float, count: int, steps: Sequence[float]) -> list[float]:
    """Return the multiples, from 0 to `most`, of the first step that has at most `count` others."""
    step = next(step for step in steps if int(most / step + 1e-9) <= count)
    return [round(step * i, 12 - math.floor(math.log10(step))) for i in range(int(most / step + 1e-9) + 1)]


def key(kinds: Iterable[str]) -> str:
    """Return the legend of the colours."""
    swatch = '<svg aria-hidden="true"><rect class="{0}" width="100%" height="100%"/></svg>'
    entries = "".join(f"<span>{swatch.format(kind)}{ACTIVITIES[kind]}</span>" for kind in kinds)
    return f'<p class="key">{entries}</p>'


def activity_shares(shares: Mapping[str, float]) -> str:
    """Return the shares of time by activity as text."""
    return ", ".join(f"{share_text(share)} {ACTIVITIES[kind]}" for kind, share in shares.items() if share > 0)


def faint(text: str) -> str:
    """Return a paragraph of HTML in a faint colour."""
    return f'<p class="faint">{text}</p>'


def table(
    columns: Sequence[str],
    rows: Iterable[Sequence[object]],
    *,
    label: str,
    left: int = 1,
    long: int | None = None,
) -> str:
    """Return a table that scrolls in the page.

    The first `left` columns are aligned left, and column `long` may wrap.
    """

    def cells(tag: str, row: Sequence[object], scope: str = "") -> str:
        kinds = ("left " * (place < left) + "long" * (place == long) for place in range(len(row)))
        classes = (f' class="{kind.strip()}"' if kind else "" for kind in kinds)
        return "".join(
            f"<{tag}{scope}{kind}>{escape(cell(value))}</{tag}>"
            for kind, value in zip(classes, row, strict=True)
        )

    body = "".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    head = cells("th", columns, ' scope="col"')
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{escape(label)}"><table>'
        f"<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>"
    )


def _percent(share: float) -> str:
    return f"{100 * share:.3f}".rstrip("0").rstrip(".") + "%"
