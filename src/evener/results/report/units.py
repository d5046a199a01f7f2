"""Text for seconds, counts, rates and joules, and tables of text. `evener.system.memory` writes bytes."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from evener.errors import printable

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

__all__ = [
    "amount_text",
    "cell",
    "columns",
    "count_text",
    "counted",
    "or_dash",
    "rate_text",
    "seconds_text",
    "share_text",
    "supersteps_text",
]

Amount = TypeVar("Amount", int, float)

_DECIMAL = ("", "k", "M", "G", "T")


def seconds_text(seconds: float) -> str:
    """Return seconds as text with three digits and a unit.

    Examples
    --------
    >>> seconds_text(0.00213), seconds_text(12.34), seconds_text(200), seconds_text(7200)
    ('2.13 ms', '12.3 s', '3 min 20 s', '2 h')
    """
    if seconds >= 7200:
        hours, rest = divmod(round(seconds / 60), 60)
        return f"{hours:,} h {rest} min" if rest else f"{hours:,} h"
    if seconds >= 120:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s" if rest else f"{minutes} min"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 1e-3:
        return f"{_digits(seconds * 1e3)} ms"
    return f"{_digits(seconds * 1e9)} ns" if 0 < seconds < 1e-6 else f"{_digits(seconds * 1e6)} µs"


def count_text(count: float) -> str:
    """Return a number as text with three digits and a decimal prefix.

    Examples
    --------
    >>> count_text(1.234e9), count_text(50)
    ('1.23 G', '50')
    """
    unit = 0
    while count >= 1000 and unit < len(_DECIMAL) - 1:
        count /= 1000
        unit += 1
    return f"{_digits(count)} {_DECIMAL[unit]}".rstrip()


def rate_text(per_second: float, *, of: str = "edges") -> str:
    """Return a rate as text with a decimal prefix.

    Examples
    --------
    >>> rate_text(1.234e9), rate_text(50)
    ('1.23 G edges/s', '50 edges/s')
    """
    return f"{count_text(per_second)} {of}/s"


def amount_text(amount: float, unit: str) -> str:
    """Return joules or watts as text with three digits and a prefix.

    Examples
    --------
    >>> amount_text(0.0213, "J"), amount_text(12.34, "J"), amount_text(4200, "W")
    ('21.3 mJ', '12.3 J', '4.2 kW')
    """
    if amount >= 1000:
        return f"{count_text(amount)}{unit}"
    return f"{_digits(amount)} {unit}" if amount >= 1 else f"{_digits(amount * 1e3)} m{unit}"


def share_text(share: float) -> str:
    """Return a share as text in percent.

    Examples
    --------
    >>> share_text(0.914), share_text(0.0004), share_text(0.9996)
    ('91%', '<1%', '>99%')
    """
    if 0 < share < 0.01:
        return "<1%"
    return ">99%" if 0.99 < share < 1 else f"{share:.0%}"


def counted(count: int, noun: str) -> str:
    """Return a number of things, such as vertices, as text.

    Examples
    --------
    >>> counted(1, "vertex"), counted(1500, "edge")
    ('1 vertex', '1,500 edges')
    """
    if count == 1:
        return f"1 {noun}"
    return f"{count:,} {'vertices' if noun == 'vertex' else f'{noun}s'}"


def supersteps_text(first: int, last: int) -> str:
    """Return the name of consecutive supersteps."""
    return f"superstep {first:,}" if first == last else f"supersteps {first:,} to {last:,}"


def or_dash(amount: Amount | None, text: Callable[[Amount], str]) -> str:
    """Return the text of an amount, or a dash for zero and None."""
    return text(amount) if amount else "-"


def cell(value: object) -> str:
    """Return a value in a table or a sentence."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else printable(str(value))


def columns(heads: Sequence[str], rows: Iterable[Sequence[object]], *, left: int = 0) -> str:
    """Return an aligned table: the first `left` columns to the left, the others to the right."""
    cells = [list(heads), *([cell(value) for value in row] for row in rows)]
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return "\n".join(
        "  ".join(
            text.ljust(width) if place < left else text.rjust(width)
            for place, (text, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in cells
    )


def _digits(value: float) -> str:
    # Three digits of 999.7 are "1e+03".
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"
