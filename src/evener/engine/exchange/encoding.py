"""What travels, in bytes: an exchange is dense or sparse, whichever is fewer."""

from __future__ import annotations

__all__ = ["bit_bytes", "dense_bytes", "sparse_bytes"]

_POSITION_BYTES = 4


def sparse_bytes(flagged: int, itemsize: int) -> int:
    """Of what changed alone: a position with each value."""
    return flagged * (_POSITION_BYTES + itemsize)


def dense_bytes(mirrors: int, itemsize: int) -> int:
    """Of all values, with a bit that says whether each counts."""
    return mirrors * itemsize + bit_bytes(mirrors)


def bit_bytes(mirrors: int) -> int:
    """Of a bit for each."""
    return (mirrors + 7) // 8
