"""Parallel parser for edges in lines of numbers; errors give the line number."""

from __future__ import annotations

import re
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.graph.formats.integer_weights import BigIntegers
from evener.graph.formats.text_stream import line_of_row
from evener.graph.share import EdgeIds
from evener.system import memory

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.formats.text_stream import Chunk, Text

__all__ = ["Grammar", "LeadingZeroError", "fields_of", "mark_of", "parse"]

_MAX_UINT32 = np.iinfo(np.uint32).max
_MAX_INT64 = np.iinfo(np.int64).max
# A value that no digit has, so that ids may have leading zeros.
_NO_DIGIT = 10
_ONE_WORD = re.compile(rb" *[^ \t,\r\n]+ *\r?")
_ORDINALS = {3: "third", 4: "fourth", 5: "fifth"}
_BETWEEN = re.compile(rb"[ \t]*,[ \t]*|[ \t]+")


class LeadingZeroError(FormatError):
    """An id begins with a zero that a number does not need, so that ids may be names."""


class Grammar(NamedTuple):
    """The syntax of the lines of a format.

    Parameters
    ----------
    comments : bytes
        Bytes that begin a comment line.
    fields : int
        Number of fields in each line, at least 2, without `prefix`.
    mark : bytes
        Byte that separates the fields, also empty ones, of which a line may lack the last ones. If empty,
        blanks or a comma separate the fields.
    weighted : bool
        True if a field is the weight.
    between : int
        Number of fields between the head and the weight.
    prefix : bytes
        Byte that begins the line of each edge, or empty.
    min_id, max_id : int
        Smallest and largest vertex id. The default `max_id` is 2^63 - 1.
    remedy : str
        Advice for an id that is no integer from 0 to 2^63 - 1.
    zeros : bool
        True if an id may have leading zeros, as in 007.
    origin : str
        What states the number of fields.
    """

    comments: bytes
    fields: int
    weighted: bool = False
    between: int = 0
    prefix: bytes = b""
    mark: bytes = b""
    min_id: int = 0
    max_id: int | None = None
    remedy: str = ""
    zeros: bool = True
    origin: str = "as in the first line"


def fields_of(line: bytes, mark: bytes | None = None) -> list[bytes]:
    """Return the fields of a line, separated as in the kernel; a separator at the end separates nothing."""
    mark = mark_of(line) if mark is None else mark
    fields = [field.strip() for field in line.split(mark)] if mark else _BETWEEN.split(line.strip())
    while len(fields) > 1 and not fields[-1]:
        fields.pop()
    return fields


def mark_of(first: bytes) -> bytes:
    """Return the byte that separates the fields of the first line, also empty ones; empty for blanks.

    Tabs may also align columns. The first line decides, where tail and head are not empty.
    """
    for mark in (b"\t", b","):
        ends = first.split(mark)[:2]
        if len(ends) == 2 and all(_ONE_WORD.fullmatch(end) for end in ends):
            return mark
    return b""


def parse(text: Text, grammar: Grammar) -> EdgeIds:
    """Return the edges in the rest of a text.

    Ids are uint32 if all fit, else int64. Weights without point and exponent are int32, int64 or uint64, if
    one type holds all of them; other weights are float64.

    Raises
    ------
    FormatError
        If a line does not match the grammar. The error has the line number. `LeadingZeroError` if an id has
        leading zeros against the grammar.
    """
    begin, rows = text.line, _ParsedEdges(text, grammar)
    for chunk in text.chunks():
        rows.add(chunk)
    edges = rows.edges()
    edges.line_of = partial(line_of_row, text.source, comments=grammar.comments, after=begin, turn=text.turn)
    return edges


class _ParsedEdges:
    """The parsed edges, in arrays that grow in place."""

    def __init__(self, text: Text, grammar: Grammar) -> None:
        self._text = text
        self._grammar = grammar
        self._max_id = grammar.max_id if grammar.max_id is not None else _MAX_UINT32
        self._count = 0
        self._all_integers = True
        self._big_integers = BigIntegers()
        self._src = np.empty(0, dtype=np.uint32 if self._max_id <= _MAX_UINT32 else np.int64)
        self._dst = np.empty_like(self._src)
        self._weights = np.empty(0, dtype=np.float64)
        self._comments = np.zeros(256, dtype=np.uint8)
        self._comments[list(grammar.comments)] = 1

    def add(self, chunk: Chunk) -> None:
        """Parse one chunk."""
        from evener.kernels.cpu import text as kernel

        view = np.frombuffer(chunk.bytes, dtype=np.uint8)
        bounds = np.array(chunk.bounds(), dtype=np.uint64)
        lines = np.empty(len(bounds) - 1, dtype=np.int64)
        kernel.count_lines(view, bounds, lines)
        before = np.concatenate([[0], np.cumsum(lines)])
        total = int(before[-1])
        self._make_room(total)
        first = (self._count + before[:-1]).astype(np.uint64)
        edge_counts = np.empty_like(lines)
        faults = np.empty((len(lines), 2), dtype=np.int64)
        fractional = np.empty(len(lines), dtype=np.uint8)
        grammar, weighted = self._grammar, self._grammar.weighted
        kept_text = np.empty((total if weighted else 0, kernel.KEPT_BYTES), dtype=np.uint8)
        syntax = kernel.Syntax(
            self._comments, np.uint8(ord(grammar.prefix or b"\0")), np.uint8(ord(grammar.mark or b"\0")),
            grammar.fields, grammar.between, np.uint64(grammar.min_id), np.uint64(self._max_id),
            np.uint64(_NO_DIGIT if grammar.zeros else 0),
        )  # fmt: skip
        kernel.parse(
            view, bounds, first, self._src, self._dst, self._weights, kept_text, syntax, edge_counts, faults,
            fractional,
        )  # fmt: skip
        if faults[:, 0].any():
            part = int(np.flatnonzero(faults[:, 0])[0])
            kind = int(faults[part, 0])
            if kind == kernel.TOO_LARGE and self._grammar.max_id is None and self._max_id == _MAX_UINT32:
                self._widen()
                self.add(chunk)
                return
            self._raise_at_line(kind, chunk, int(bounds[part]), int(before[part]), int(faults[part, 1]))
        if weighted:
            self._all_integers &= not fractional.any()
            if (infinite := self._read_kept_text(chunk, kept_text, first, edge_counts)) is not None:
                part, edge = infinite
                line = self._line_of(edge, chunk.bytes, int(bounds[part]))
                self._raise_at_line(kernel.NOT_NUMBER, chunk, int(bounds[part]), int(before[part]), line)
        self._remove_gaps(first, edge_counts)
        if self._text.cut and self._grammar.mark:
            self._refuse_cut_line(chunk, total)
        self._text.line += total

    def _refuse_cut_line(self, chunk: Chunk, lines: int) -> None:
        """Raise `FormatError` if the last line of the file has fewer fields and no newline."""
        from evener.kernels.cpu import text as kernel

        begin = chunk.bytes.rfind(b"\n", chunk.start, chunk.stop - 1) + 1
        line = bytes(memoryview(chunk.bytes)[max(begin, chunk.start) : chunk.stop - 1]).strip(b" \r")
        is_edge = line.strip() and line[0] not in self._grammar.comments
        if is_edge and line.count(self._grammar.mark) + 1 < self._grammar.fields:
            self._raise_at_line(kernel.WRONG_FIELDS, chunk, chunk.start, 0, lines - 1)

    def edges(self) -> EdgeIds:
        """Return the parsed edges."""
        for array in self._arrays():
            array.resize(self._count, refcheck=False)
        weights = self._big_integers.as_integers(self._weights) if self._all_integers else self._weights
        return EdgeIds(
            self._src, self._dst, weights if self._grammar.weighted else None, self._text.source.path
        )

    def _arrays(self) -> list[NDArray[Any]]:
        return [self._src, self._dst] + [self._weights] * self._grammar.weighted

    def _make_room(self, more: int) -> None:
        needed = self._count + more
        if needed <= len(self._src):
            return
        rows = needed + needed // 4
        if len(self._src) == 0:  # extrapolate from the first chunk, plus 2%
            rows = max(needed, int(more / max(self._text.share, 1e-9) * 1.02))
        each = sum(a.itemsize for a in self._arrays())
        memory.require((rows - len(self._src)) * each, what=f"the edges of {self._text.source.path}")
        for array in self._arrays():
            array.resize(rows, refcheck=False)

    def _widen(self) -> None:
        """Convert the ids to 64 bits."""
        memory.require(16 * len(self._src), what=f"the edges of {self._text.source.path}")
        self._max_id = _MAX_INT64
        self._src = self._src.astype(np.int64)
        self._dst = self._dst.astype(np.int64)

    def _read_kept_text(
        self,
        chunk: Chunk,
        kept_text: NDArray[np.uint8],
        first: NDArray[np.uint64],
        edge_counts: NDArray[np.int64],
    ) -> tuple[int, int] | None:
        """Parse the weights that the fast path of the kernel left as NaN, with correct rounding.

        Returns the part, and the edge in the part, of the first weight that overflows; or None.
        """
        row = self._count
        for part, (begin, count) in enumerate(zip(first.astype(np.intp), edge_counts, strict=True)):
            weights = self._weights[begin : begin + count]
            late = np.flatnonzero(np.isnan(weights))
            if len(late):
                characters = np.ascontiguousarray(kept_text[begin - int(first[0]) + late])
                words = characters.view(f"S{kept_text.shape[1]}").ravel()
                weights[late] = _values(words, characters, chunk)
                if (infinite := np.isinf(weights[late])).any():
                    return part, int(late[infinite.argmax()])
                if self._all_integers:
                    self._big_integers.add(row + late, words)
            row += int(count)
        return None

    def _line_of(self, edge: int, text: bytearray, start: int) -> int:
        """Return the number of lines of a part before the line of an edge."""
        lines = -1
        while edge >= 0:
            end = text.index(b"\n", start)
            first = text[start:end].lstrip(b" \t\r")[:1]
            edge -= bool(first) and first not in self._grammar.comments
            start, lines = end + 1, lines + 1
        return lines

    def _remove_gaps(self, first: NDArray[np.uint64], edge_counts: NDArray[np.int64]) -> None:
        """Remove the unused rows of comments and empty lines."""
        for begin, count in zip(first.astype(np.intp), edge_counts, strict=True):
            if begin != self._count:
                for array in self._arrays():
                    array[self._count : self._count + count] = array[begin : begin + count]
            self._count += int(count)

    def _raise_at_line(self, kind: int, chunk: Chunk, start: int, before: int, lines: int) -> None:
        """Raise `FormatError` for the line `lines` after `start`, `before` lines into the chunk."""
        from evener.kernels.cpu import text as kernel

        start, line = _line_start(chunk.bytes, start, lines), self._text.line + before + lines
        end = chunk.bytes.index(b"\n", start)
        line_bytes = bytes(memoryview(chunk.bytes)[start:end])
        grammar = self._grammar
        place = 3 + grammar.between
        ordinal = _ORDINALS.get(place, f"{place}th")
        blanks = " \r" if grammar.mark else None
        line_text = repr(line_bytes[:60].decode("utf-8", "replace").strip(blanks))
        max_id = _MAX_INT64 if grammar.max_id is None else grammar.max_id
        id_range = f"from {grammar.min_id} to {max_id}"
        expected = {
            kernel.NEGATIVE: f"a vertex id {id_range}, found a negative id:",
            kernel.TOO_SMALL: f"a vertex id {id_range}, found a smaller id:",
            kernel.TOO_LARGE: f"a vertex id {id_range}, found a larger id:",
            kernel.NOT_INTEGER: f"two integer vertex ids {id_range}, found",
            kernel.NOT_NUMBER: f"a weight, a finite number, as {ordinal} field, found",
            kernel.WRONG_FIELDS: f"{grammar.fields} fields, {grammar.origin}, found",
            kernel.LEADING_ZERO: "vertex ids without leading zeros, found",
            kernel.EMPTY: "a tail and a head, found an empty field in",
            kernel.NO_PREFIX: f"a line that begins with {grammar.prefix.decode()!r}, found",
        }[kind]
        if max_id < grammar.min_id:
            expected = "no edges, because the heading says 0 vertices, found"
        msg = f"expected {expected} {line_text}"
        too_far = kind in (kernel.NEGATIVE, kernel.TOO_LARGE) and grammar.max_id is None
        name = kind == kernel.NOT_INTEGER or too_far
        if name and grammar.remedy:
            msg += f"; {grammar.remedy}"
        if kind == kernel.NOT_NUMBER and grammar.remedy:
            whole = len(fields_of(line_bytes, grammar.mark)) >= place
            msg += "; correct it, or read with weighted=False" if whole else "; complete the line"
        if self._text.cut and end + 1 == chunk.stop:
            msg += "; the file ends within this line, so download it again"
        error = LeadingZeroError if kind == kernel.LEADING_ZERO else FormatError
        raise error(msg, path=self._text.source.path, line=line + 1)


def _values(words: NDArray[np.bytes_], characters: NDArray[np.uint8], chunk: Chunk) -> NDArray[np.float64]:
    """Return the values of weights, and replace each long text in `words` by a short text."""
    from evener.kernels.cpu.text import KEPT_BYTES, LONG_TEXT

    long = np.flatnonzero(characters[:, 0] == LONG_TEXT)
    texts = []
    for row in long:
        start, stop = np.frombuffer(characters[row].tobytes(), "<u8", 2, offset=1).tolist()
        texts.append(bytes(chunk.bytes[start:stop]))
        digits = texts[-1].lstrip(b"+-0")
        sign = b"-" if texts[-1].startswith(b"-") else b""
        words[row] = sign + (digits or b"0")[: KEPT_BYTES - 1]  # an integer of 63 digits is too large, too
    values = words.astype(np.float64)
    values[long] = [float(text) for text in texts]
    return values


def _line_start(text: bytearray, start: int, lines: int) -> int:
    for _ in range(lines):
        start = text.index(b"\n", start) + 1
    return start
