"""Parallel parser of number lines: ``tail head [weight] [more]`` from bytes to edges.

A chunk of whole lines is cut into parts at newlines. A first kernel counts the newlines of each part. The
counts give each part its first row and its first line number. So the parts are independent, and errors have
line numbers.

Encoding: `text` uint8; `bounds` uint64[parts + 1]; `lines` int64[parts] newlines of each part; `first`
uint64[parts] the row of the first line of each part; `edge_counts` int64[parts] edges of each part; `faults`
int64[parts, 2] error kind and line in the part; `fractional` uint8[parts] 1 if a weight has a point or an
exponent.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import njit, prange

from evener.kernels.cpu.jit import CACHE, inline_step, parallel, serial

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = [
    "EMPTY",
    "KEPT_BYTES",
    "LEADING_ZERO",
    "LONG_TEXT",
    "NEGATIVE",
    "NOT_INTEGER",
    "NOT_NUMBER",
    "NO_PREFIX",
    "TOO_LARGE",
    "TOO_SMALL",
    "WRONG_FIELDS",
    "Syntax",
    "count_lines",
    "parse",
    "skip_ignored",
]


class Syntax(NamedTuple):
    """The syntax of the lines.

    `comments` uint8[256] marks the bytes that begin a comment line. `prefix` is the byte that begins the line
    of each edge, or 0. `mark` is the byte that separates fields, also empty ones, or 0 for blanks and commas.
    `fields` is the number of fields per line; with a mark, it is the largest number, without empty fields at
    the end. `between` is the number of fields between the head and the weight. `min_id` and `max_id` bound
    the ids. No id of several digits may begin with the digit `unfit`; 10 permits all.
    """

    comments: NDArray[np.uint8]
    prefix: np.uint8
    mark: np.uint8
    fields: int
    between: int
    min_id: np.uint64
    max_id: np.uint64
    unfit: np.uint64


# Errors of a line.
NEGATIVE, NOT_INTEGER, TOO_SMALL, TOO_LARGE, NOT_NUMBER, WRONG_FIELDS, NO_PREFIX = 1, 2, 3, 4, 5, 6, 7
LEADING_ZERO, EMPTY = 8, 9

# Bytes of a weight for Python to parse, if the fast path is not exact.
KEPT_BYTES = 64
# First byte of a row that holds the bounds of a longer text, in two uint64.
LONG_TEXT = 255
_KEPT_BYTES, _NONE, _LONG_TEXT = np.uint64(KEPT_BYTES), np.uint8(0), np.uint8(LONG_TEXT)
_BYTE = np.uint64(255)

_NEWLINE, _TAB, _RETURN, _SPACE, _COMMA = (np.uint8(c) for c in b"\n\t\r ,")
_PLUS, _MINUS, _POINT, _SMALL_E, _LOWER = (np.uint8(c) for c in b"+-.e\x20")
_ONE, _NINE, _TEN, _ZERO = np.uint64(1), np.uint64(9), np.uint64(10), np.uint64(ord("0"))
_FIELD_ENDS = np.uint64(sum(1 << c for c in b"\n\t\r ,"))  # bit c is set for each byte c that ends a field
_ZEROS = np.uint64(0)
_DIGITS = np.uint64(19)  # 10^19 fits 64 bits, so 19 digits do not overflow

# One operation on an integer up to 2^53 and a power of ten up to 10^22 is exact (Clinger 1990).
_EXACT = np.uint64(1 << 53)
_POWERS = np.array([10.0**k for k in range(23)])
_MAX_POWER = np.int64(22)
_MAX_MANTISSA = np.uint64((1 << 64) // 10 - 1)  # largest mantissa that can take one more digit

# No fastmath, because multiplication by a reciprocal is not exact.
_exact_step = njit(nogil=True, cache=CACHE, error_model="numpy", inline="never")


@inline_step
def _ends_field(byte):
    """Return whether a field ends before this byte."""
    return byte <= _COMMA and (_FIELD_ENDS >> np.uint64(byte)) & _ONE != _ZEROS


@inline_step
def _skip_blanks(text, at, blank):
    """Return the position after spaces, carriage returns, and `blank`, which is a tab or a space."""
    while text[at] == _SPACE or text[at] == blank or text[at] == _RETURN:
        at += _ONE
    return at


@inline_step
def _skip_separator(text, at, blank, mark):
    """Return the position after blanks and at most one `mark`; it is unchanged without a separator."""
    at = _skip_blanks(text, at, blank)
    if text[at] == mark:
        at = _skip_blanks(text, at + _ONE, blank)
    return at


@inline_step
def _count_fields(text, at, seen, blank, mark, marked):
    """Count the fields up to the end of a line, after `seen` fields; return the end, and the last field.

    If `marked`, only `mark` separates these fields, and the last field is the last one that is not empty.
    """
    last = seen
    while text[at] != _NEWLINE:
        seen += 1
        begin = at
        while not (text[at] == mark or text[at] == _NEWLINE if marked else _ends_field(text[at])):
            at += _ONE
        if at > begin or not marked:
            last = seen
        at = _skip_separator(text, at, blank, mark)
    return at, last


@inline_step
def _read_integer(text, at, min_id, max_id, unfit):
    """Read an unsigned integer; return its value, its end, and an error kind or 0."""
    value = np.uint64(0)
    begin = at
    digit = np.uint64(text[at]) - _ZERO
    if digit == unfit and np.uint64(text[at + _ONE]) - _ZERO <= _NINE:
        return value, at, LEADING_ZERO
    while digit <= _NINE:
        value = value * _TEN + digit
        at += _ONE
        digit = np.uint64(text[at]) - _ZERO
    after = text[at]
    if at == begin:
        if _ends_field(after):
            return value, at, WRONG_FIELDS if after == _NEWLINE else EMPTY
        return value, at, NEGATIVE if after == _MINUS else NOT_INTEGER
    if not _ends_field(after):
        return value, at, NOT_INTEGER
    if at - begin > _DIGITS or value > max_id:
        return value, at, TOO_LARGE
    return value, at, TOO_SMALL if value < min_id else 0


@_exact_step
def _read_decimal(text, at):
    """Read a decimal; return value (NaN if not exact), end, error kind or 0, and whether it is whole."""
    negative = text[at] == _MINUS
    if negative or text[at] == _PLUS:
        at += _ONE
    mantissa = np.uint64(0)
    exponent = np.int64(0)
    digits = 0
    exact = True
    whole = True
    fraction = False
    while True:
        digit = np.uint64(text[at]) - _ZERO
        if digit <= _NINE:
            digits += 1
            if mantissa <= _MAX_MANTISSA:
                mantissa = mantissa * _TEN + digit
                exponent -= np.int64(fraction)
            else:
                exact = False
        elif text[at] == _POINT and not fraction:
            fraction = True
            whole = False
        else:
            break
        at += _ONE
    if digits == 0:
        return np.nan, at, NOT_NUMBER, whole
    if text[at] | _LOWER == _SMALL_E:
        whole = False
        at += _ONE
        down = text[at] == _MINUS
        if down or text[at] == _PLUS:
            at += _ONE
        power = np.int64(0)
        begin = at
        while np.uint64(text[at]) - _ZERO <= _NINE:
            power = min(power * 10 + np.int64(text[at]) - np.int64(_ZERO), 9999)
            at += _ONE
        if at == begin:
            return np.nan, at, NOT_NUMBER, whole
        exponent += -power if down else power
    after = text[at]
    if not _ends_field(after):
        return np.nan, at, NOT_NUMBER, whole
    if not exact or mantissa > _EXACT or exponent > _MAX_POWER or exponent < -_MAX_POWER:
        return np.nan, at, 0, whole
    value = np.float64(mantissa)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return -value if negative else value, at, 0, whole


@inline_step
def _read_weight(text, at, row, base, weights, kept_text):
    """Read and store a weight; return its end, an error kind or 0, and whether it is an integer."""
    value, end, fault, whole = _read_decimal(text, at)
    if fault == 0 and np.isnan(value):
        if end - at > _KEPT_BYTES:
            kept_text[row - base, 0] = _LONG_TEXT
            for k in range(8):
                kept_text[row - base, k + 1] = np.uint8((at >> np.uint64(8 * k)) & _BYTE)
                kept_text[row - base, k + 9] = np.uint8((end >> np.uint64(8 * k)) & _BYTE)
        else:
            for k in range(_KEPT_BYTES):
                kept_text[row - base, k] = text[at + k] if k < end - at else _NONE
    weights[row] = value
    return end, fault, whole


@inline_step
def _parse_lines(text, at, stop, row, base, src, dst, weights, kept_text, syntax):
    """Parse a part; return its edges, an error kind or 0, its line, and whether a weight has a fraction."""
    comments, prefix, mark, fields, between, min_id, max_id, unfit = syntax
    begin = row
    line = 0
    fractional = False
    weighted = len(weights) > 0
    marked = mark != _NONE
    blank = _SPACE if mark == _TAB else _TAB
    mark = mark if marked else _COMMA
    while at < stop:
        start = at
        at = _skip_blanks(text, at, _TAB)
        fault = 0
        if text[at] == _NEWLINE:
            at += _ONE
        elif comments[text[at]]:
            while text[at] != _NEWLINE:
                at += _ONE
            at += _ONE
        else:
            if prefix:
                if text[at] != prefix:
                    return row - begin, NO_PREFIX, line, fractional
                at = _skip_blanks(text, at + _ONE, blank)
            elif blank == _SPACE:
                at = _skip_blanks(text, start, blank)
            tail, at, fault = _read_integer(text, at, min_id, max_id, unfit)
            if fault == 0:
                head, at, fault = _read_integer(
                    text, _skip_separator(text, at, blank, mark), min_id, max_id, unfit
                )
                src[row] = tail
                dst[row] = head
            seen = 2
            if fault == 0 and weighted:
                at = _skip_separator(text, at, blank, mark)
                for _ in range(between):
                    while not _ends_field(text[at]):
                        at += _ONE
                    at = _skip_separator(text, at, blank, mark)
                at, fault, whole = _read_weight(text, at, row, base, weights, kept_text)
                fractional |= not whole
                seen = 3 + between
            if fault == 0:
                at = _skip_separator(text, at, blank, mark)
                at, last = _count_fields(text, at, seen, blank, mark, marked)
                if last > fields or (last < fields and not marked):
                    fault = WRONG_FIELDS
            if fault != 0:
                return row - begin, fault, line, fractional
            row += _ONE
            at += _ONE
        line += 1
    return row - begin, 0, line, fractional


@inline_step
def _count_newlines(text, start, stop):
    """Return the number of newlines between two positions."""
    total = np.uint64(0)
    for at in range(start, stop):
        total += np.uint64(text[at] == _NEWLINE)
    return total


@serial
def skip_ignored(text, at, stop, comments):
    """Return the begin of the first line that is no comment and not empty, and the lines before it.

    Without such a line, return `stop`. `comments` uint8[256] marks the bytes that begin a comment line.
    """
    lines = np.int64(0)
    while at < stop:
        begin = at
        at = _skip_blanks(text, at, _TAB)
        if text[at] != _NEWLINE:
            if not comments[text[at]]:
                return begin, lines
            while text[at] != _NEWLINE:
                at += _ONE
        at += _ONE
        lines += 1
    return at, lines


@parallel
def count_lines(text, bounds, lines):
    """Write the number of newlines of each part to `lines`."""
    for part in prange(len(lines)):
        lines[part] = _count_newlines(text, bounds[part], bounds[part + 1])


@parallel
def parse(text, bounds, first, src, dst, weights, kept_text, syntax, edge_counts, faults, fractional):
    """Parse all parts; the edges of a part go to `src`, `dst` and `weights` from row ``first[part]`` on.

    If `weights` is empty, the kernel skips a third field. If the fast path is not exact, the weight becomes
    NaN and its text goes to `kept_text` uint8[lines, KEPT_BYTES], or the bounds of a longer text.
    """
    for part in prange(len(first)):
        edges, fault, line, point = _parse_lines(
            text, bounds[part], bounds[part + 1], first[part], first[0], src, dst, weights, kept_text, syntax
        )
        edge_counts[part] = edges
        faults[part, 0] = fault
        faults[part, 1] = line
        fractional[part] = point
