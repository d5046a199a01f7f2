"""Lines of two names with one separator, which all threads read; other lines need the readers of all syntax.

No name is empty, begins or ends with a blank, or holds a quote. In edge lists, no name holds a blank, a comma
or a control character.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from evener.graph.formats.ids import ids_of_names
from evener.graph.names import NameTable
from evener.graph.share import EdgeIds
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.text_stream import Chunk, Text

__all__ = ["PlainNames", "read_plain_names"]


@dataclass
class PlainNames:
    """The edges of a text: `ends` has the tails and the heads, as codes of names."""

    names: NameTable
    ends: list[NDArray[np.uint32]]

    def first_rows(self, count: int) -> list[list[str]]:
        """Return the names of tail and head of the first edges."""
        rows = range(min(count, len(self.ends[0])))
        return [[self.names.name(int(end[row])) for end in self.ends] for row in rows]

    def repeats_first(self) -> bool:
        """Return whether a name of the first edge is the tail or head of another edge."""
        first = [end[0] for end in self.ends]
        return any(bool(np.isin(end[1:], first).any()) for end in self.ends)

    def edges(self, path: Path, *, directed: bool | None = None, isolated: Sequence[str] = ()) -> EdgeIds:
        """Return the edges between numbers; `isolated` has the names of vertices without edges."""
        import pyarrow as pa

        self.names.add(pa.array(isolated, pa.string()), np.empty(len(isolated), np.uint32))
        ids = ids_of_names(self.names, self.ends, path)
        return EdgeIds(self.ends[0], self.ends[1], None, path, directed, names=ids)


def read_plain_names(
    text: Text, separator: str, comments: bytes = b"", ends: bytes = b""
) -> PlainNames | None:
    """Return the edges in the rest of a text, or None if a line has another syntax.

    Empty lines, and lines that begin with a byte of `comments`, are no edges. No name holds a byte of `ends`.
    """
    reader = _Reader(text, separator, comments, ends)
    if not all(map(reader.add, text.chunks())) or not _are_plain(reader.names):
        return None
    return PlainNames(reader.names, [end[: reader.count] for end in reader.ends])


def _are_plain(names: NameTable) -> bool:
    """Return whether names are UTF-8 text without blanks at their ends."""
    import pyarrow as pa
    import pyarrow.compute as pc

    content = names.content()
    if content.max(initial=0) < 128 and content.min(initial=255) > ord(" "):
        return True
    strings = names.strings()
    try:
        strings.validate(full=True)
    except pa.ArrowInvalid:
        return False
    return bool(pc.all(pc.equal(pc.ascii_trim(strings, " \t"), strings)).as_py())


class _Reader:
    """The names and edges so far."""

    def __init__(self, text: Text, separator: str, comments: bytes, ends: bytes) -> None:
        from evener.kernels.cpu.names import Syntax

        self.names, self.count = NameTable(text.source.path), 0
        self.ends = [np.empty(0, np.uint32) for _ in range(2)]
        self._text = text
        marks = comments, {*ends, *b'\0\n\r"', ord(separator)}
        self._syntax = Syntax(np.uint8(ord(separator)), *(np.uint64(sum(1 << c for c in m)) for m in marks))

    def add(self, chunk: Chunk) -> bool:
        """Read a chunk; return false if a line has another syntax."""
        from evener.kernels.cpu.text import count_lines

        view = np.frombuffer(chunk.bytes, np.uint8)
        bounds = np.array(chunk.bounds(), np.uint64)
        lines = np.empty(len(bounds) - 1, np.int64)
        count_lines(view, bounds, lines)
        self._text.line += int(lines.sum())
        self._make_room(int(lines.sum()))
        begins = (self.count + np.cumsum(lines) - lines).astype(np.uint64)
        stops = begins.copy()
        if not self.names.add_lines(view, bounds, stops, self.ends, self._syntax):
            return False
        for begin, stop in zip(begins.tolist(), stops.tolist(), strict=True):
            if begin != self.count:  # after lines without edges
                for end in self.ends:
                    end[self.count : self.count + stop - begin] = end[begin:stop]
            self.count += stop - begin
        return True

    def _make_room(self, more: int) -> None:
        needed = self.count + more
        if needed <= len(self.ends[0]):
            return
        rows = needed + needed // 4
        if not self.count:  # extrapolate from the first chunk, plus 2%
            rows = max(needed, int(more / max(self._text.share, 1e-9) * 1.02))
        memory.require(8 * rows, f"the edges of {self._text.source.path}")
        for place, end in enumerate(self.ends):
            self.ends[place] = np.empty(rows, np.uint32)
            self.ends[place][: self.count] = end[: self.count]
