"""Text for seconds, counts, rates and joules. `evener.system.memory` writes bytes."""

from __future__ import annotations

__all__ = ["amount_text", "count_text", "rate_text", "seconds_text", "share_text"]

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


def _digits(value: float) -> str:
    # Three digits of 999.7 are "1e+03".
    return f"{value:.3g}" if value < 999.5 else f"{value:.0f}"
