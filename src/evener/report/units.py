"""Numbers as people read them: seconds, rates, shares; bytes are written by `evener.memory.readable`."""

from __future__ import annotations

__all__ = ["rate_text", "seconds_text", "share_text"]

_DECIMAL = ("", "k", "M", "G", "T")


def seconds_text(seconds: float) -> str:
    """Write seconds with a unit that leaves three digits to read.

    Examples
    --------
    >>> seconds_text(0.00213), seconds_text(12.34), seconds_text(200)
    ('2.13 ms', '12.3 s', '3 min 20 s')
    """
    if seconds >= 120:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes} min {rest} s"
    if seconds >= 1:
        return f"{seconds:.3g} s"
    if seconds >= 1e-3:
        return f"{seconds * 1e3:.3g} ms"
    return f"{seconds * 1e6:.3g} µs"


def rate_text(per_second: float, *, of: str = "edges") -> str:
    """Write a rate with a decimal prefix.

    Examples
    --------
    >>> rate_text(1.234e9), rate_text(50)
    ('1.23 G edges/s', '50 edges/s')
    """
    unit = 0
    while per_second >= 1000 and unit < len(_DECIMAL) - 1:
        per_second /= 1000
        unit += 1
    prefix = _DECIMAL[unit]
    return f"{per_second:.3g} {prefix + ' ' if prefix else ''}{of}/s"


def share_text(share: float) -> str:
    """Write a part of a whole in percent.

    Examples
    --------
    >>> share_text(0.914), share_text(0.0004)
    ('91%', '<1%')
    """
    return "<1%" if 0 < share < 0.01 else f"{share:.0%}"
