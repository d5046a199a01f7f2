"""Edges from lines of numbers, on all threads, with the line of whatever is wrong."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.graph.formats.edges import Edges
from evener.graph.formats.integer_weights import LargeWeights
from evener.system import memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.formats.text_stream import Text, Window

__all__ = ["Grammar", "fields_of", "parse"]

# Bytes of a chunk, the share of one thread at a time: enough to hide the 3.5 us of a parallel call.
CHUNK = 1 << 20

_SMALL = np.iinfo(np.uint32).max
_LARGE = np.iinfo(np.int64).max
_BETWEEN = re.compile(rb"[ \t]*,[ \t]*|[ \t]+")


class Grammar(NamedTuple):
    """What the lines of a format look like.

    Parameters
    ----------
    comments : bytes
        Each of these bytes, first in a line, makes it a comment.
    fields : int
        Fields in each line, 2 or more; `lead` is not one.
    weighted : bool
        Whether the third field is the weight.
    lead : bytes
        A byte that begins each edge's line, or nothing.
    least, limit : int
        The smallest and largest id; without a limit, what fits 63 bits.
    """

    comments: bytes
    fields: int
    weighted: bool = False
    lead: bytes = b""
    least: int = 0
    limit: int | None = None


def fields_of(line: bytes) -> list[bytes]:
    """Split off the fields of one line, as the kernel separates them."""
    return _BETWEEN.split(line.strip())


def parse(text: Text, grammar: Grammar, *, expected: int | None = None) -> Edges:
    """Parse the rest of a text.

    Parameters
    ----------
    text : Text
    grammar : Grammar
    expected : int, optional
        The number of edges, where the heading gives it; None estimates it from the first window.

    Returns
    -------
    Edges
        With ids in uint32 where all fit, else int64; weights in int32, int64 or uint64 if none has a point
        or an exponent and one of these holds all, else float64.

    Raises
    ------
    FormatError
        With the line that is not of the grammar.
    OutOfMemoryError
        If the edges will need more memory than there is.
    """
    rows = _Rows(text, grammar, expected)
    for window in text.windows():
        rows.add(window)
    return rows.edges()


class _Rows:
    """The edges parsed so far, in arrays that grow in place."""

    def __init__(self, text: Text, grammar: Grammar, expected: int | None) -> None:
        self._text = text
        self._grammar = grammar
        self._expected = expected
        self._limit = grammar.limit if grammar.limit is not None else _SMALL
        self._count = 0
        self._whole = True
        self._large = LargeWeights()
        self._src = np.empty(0, dtype=np.uint32 if self._limit <= _SMALL else np.int64)
        self._dst = np.empty_like(self._src)
        self._weights = np.empty(0, dtype=np.float64)
        self._comments = np.zeros(256, dtype=np.uint8)
        self._comments[list(grammar.comments)] = 1

    def add(self, window: Window) -> None:
        """Parse one window."""
        from evener.kernels.cpu import text as kernel

        view = np.frombuffer(window.bytes, dtype=np.uint8)
        bounds = _cut(window)
        lines = np.empty(len(bounds) - 1, dtype=np.int64)
        kernel.count_lines(view, bounds, lines)
        before = np.concatenate([[0], np.cumsum(lines)])
        total = int(before[-1])
        self._make_room(total)
        first = (self._count + before[:-1]).astype(np.uint64)
        found = np.empty_like(lines)
        faults = np.empty((len(lines), 2), dtype=np.int64)
        written = np.empty(len(lines), dtype=np.uint8)
        weighted = self._grammar.weighted
        spelled = np.empty((total if weighted else 0, kernel.SPELLED), dtype=np.uint8)
        kernel.parse(
            view,
            bounds,
            first,
            self._src,
            self._dst,
            self._weights,
            spelled,
            self._comments,
            np.uint8(ord(self._grammar.lead or b"\0")),
            self._grammar.fields,
            np.uint64(self._grammar.least),
            np.uint64(self._limit),
            found,
            faults,
            written,
        )
        if faults[:, 0].any():
            chunk = int(np.flatnonzero(faults[:, 0])[0])
            kind = int(faults[chunk, 0])
            if kind == kernel.TOO_LARGE and self._grammar.limit is None and self._limit == _SMALL:
                self._widen()
                self.add(window)
                return
            self._refuse(kind, window, int(bounds[chunk]), int(before[chunk]), int(faults[chunk, 1]))
        if weighted:
            self._whole &= not written.any()
            if (infinite := self._read_spelled(spelled, first, found)) is not None:
                chunk, edge = infinite
                line = self._line_of(edge, window.bytes, int(bounds[chunk]))
                self._refuse(kernel.NOT_NUMBER, window, int(bounds[chunk]), int(before[chunk]), line)
        self._close_gaps(first, found)
        self._text.line += total

    def edges(self) -> Edges:
        """Give what was parsed."""
        for array in self._arrays():
            array.resize(self._count, refcheck=False)
        weights = self._large.among(self._weights) if self._whole else self._weights
        return Edges(self._src, self._dst, weights if self._grammar.weighted else None)

    def _arrays(self) -> list[NDArray[Any]]:
        return [self._src, self._dst] + [self._weights] * self._grammar.weighted

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        if needed <= len(self._src):
            return
        if len(self._src) == 0 and self._expected is None:
            # One window in: what the file will hold, by the share of it this window is, and 2% more.
            estimate = int(more / max(self._text.share, 1e-9) * 1.02)
        else:
            estimate = needed + needed // 4 if self._count else self._expected or 0
        rows = max(needed, estimate)
        each = sum(a.itemsize for a in self._arrays())
        memory.require((rows - len(self._src)) * each, what=f"the edges of {self._text.source.path}")
        for array in self._arrays():
            array.resize(rows, refcheck=False)

    def _widen(self) -> None:
        """Go on with 64-bit ids."""
        memory.require(16 * len(self._src), what=f"the edges of {self._text.source.path}")
        self._limit = _LARGE
        self._src = self._src.astype(np.int64)
        self._dst = self._dst.astype(np.int64)

    def _read_spelled(
        self, spelled: NDArray[np.uint8], first: NDArray[np.uint64], found: NDArray[np.int64]
    ) -> tuple[int, int] | None:
        """Read, correctly rounded, the weights that one multiplication does not give exactly.

        Gives the chunk and, within it, the edge of the first that no float holds, if there is one.
        """
        row = self._count
        for chunk, (begin, count) in enumerate(zip(first.astype(np.intp), found, strict=True)):
            weights = self._weights[begin : begin + count]
            late = np.flatnonzero(np.isnan(weights))
            if len(late):
                characters = np.ascontiguousarray(spelled[begin - int(first[0]) + late])
                words = characters.view(f"S{spelled.shape[1]}").ravel()
                weights[late] = words.astype(np.float64)
                if (infinite := np.isinf(weights[late])).any():
                    return chunk, int(late[infinite.argmax()])
                if self._whole:
                    self._large.add(row + late, words)
            row += int(count)
        return None

    def _line_of(self, edge: int, text: bytearray, start: int) -> int:
        """Count the lines of a chunk before that of one of its edges."""
        lines = -1
        while edge >= 0:
            end = text.index(b"\n", start)
            first = text[start:end].lstrip(b" \t\r")[:1]
            edge -= bool(first) and first not in self._grammar.comments
            start, lines = end + 1, lines + 1
        return lines

    def _close_gaps(self, first: NDArray[np.uint64], found: NDArray[np.int64]) -> None:
        """Move edges down over the rows that comments and empty lines left."""
        for begin, count in zip(first.astype(np.intp), found, strict=True):
            if begin != self._count:
                for array in self._arrays():
                    array[self._count : self._count + count] = array[begin : begin + count]
            self._count += int(count)

    def _refuse(self, kind: int, window: Window, start: int, before: int, lines: int) -> None:
        """Refuse the line that is `lines` after the place `start`, `before` lines into the window."""
        from evener.kernels.cpu import text as kernel

        start, line = _line_start(window.bytes, start, lines), self._text.line + before + lines
        end = window.bytes.index(b"\n", start)
        whole = bytes(memoryview(window.bytes)[start:end])
        came = repr(whole[:60].decode("utf-8", "replace").strip())
        grammar = self._grammar
        limit = _LARGE if grammar.limit is None else grammar.limit
        ends = f"from {grammar.least} to {limit}"
        msg = {
            kernel.NEGATIVE: f"a vertex id is an integer {ends}, but a negative one came: {came}",
            kernel.TOO_SMALL: f"a vertex id is an integer {ends}, but a smaller one came: {came}",
            kernel.TOO_LARGE: f"a vertex id is an integer {ends}, but a larger one came: {came}",
            kernel.NOT_INTEGER: f"expected two vertex ids, which are integers {ends}, but {came} came",
            kernel.NOT_NUMBER: f"expected a weight, a finite number, as third field, but {came} came",
            kernel.FIELDS: f"expected {grammar.fields} fields, as in the first line, but {came} came",
            kernel.NOT_LED: f"expected a line that begins with {grammar.lead.decode()!r}, but {came} came",
        }[kind]
        if self._text.cut and end + 1 == window.stop:
            msg += "; the file ends within this line: was it downloaded whole?"
        raise FormatError(msg, path=self._text.source.path, line=line + 1)


def _cut(window: Window) -> NDArray[np.uint64]:
    """Cut a window into chunks at line ends."""
    text, start, stop = window
    bounds = [start]
    while bounds[-1] < stop:
        bounds.append(text.find(b"\n", min(bounds[-1] + CHUNK, stop - 1), stop) + 1)
    return np.array(bounds, dtype=np.uint64)


def _line_start(text: bytearray, start: int, lines: int) -> int:
    for _ in range(lines):
        start = text.index(b"\n", start) + 1
    return start
