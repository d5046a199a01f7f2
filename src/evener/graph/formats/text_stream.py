"""Text files as chunks of whole lines; a thread reads the next chunk during parsing."""

from __future__ import annotations

import re
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evener.graph.formats.file import Source, Stream

__all__ = ["Chunk", "Text", "is_utf8", "line_of_row", "open_text", "refuse_binary"]

# Bytes per part of a chunk; a thread parses one part at a time.
PART_BYTES = 1 << 20

# Bytes per read, and per read of a small part of a file.
CHUNK_BYTES, MIN_CHUNK_BYTES = 1 << 25, 1 << 22

# Bytes per read of a heading.
HEADING_BYTES = 1 << 20

# Lines of comments to look at one by one; a heading is shorter.
FIRST_LINES = 1000

# Bytes of the longest line; each buffer begins with space for a partial line.
MAX_LINE_BYTES = 1 << 20

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_CARRIAGE_RETURNS = (
    "expected lines that end with newlines, found carriage returns; convert it with tr '\\r' '\\n'"
)
_CONVERT = "read it with NetworkX, and use Graph.from_networkx"
_SIGNATURES = {
    b"\x1f\x8b": "gzip data (rename it to .gz)",
    b"\x28\xb5\x2f\xfd": "zstd data (rename it to .zst)",
    b"BZh": "bzip2 data (rename it to .bz2)",
    b"PAR1": "a Parquet file (rename it to .parquet)",
    b"ARROW1": "an Arrow file (rename it to .arrow)",
    b"PK\x03\x04": "a zip archive, as .npz files are",
    b"\x93NUMPY": "a NumPy array",
    b"\xff\xfe": "UTF-16 text (save it as UTF-8)",
    b"\xfe\xff": "UTF-16 text (save it as UTF-8)",
    b"version https://git-lfs": "a pointer of Git LFS (run git lfs pull)",
    b"<!DOCTYPE": "a web page (download the file itself)",
    b"<!doctype": "a web page (download the file itself)",
    b"<html": "a web page (download the file itself)",
    b"<?xml": f"XML, such as GraphML ({_CONVERT})",
    b"<graphml": f"GraphML ({_CONVERT})",
    b"graph [": f"GML ({_CONVERT})",
    b"*Vertices": f"a Pajek file ({_CONVERT})",
    b"*vertices": f"a Pajek file ({_CONVERT})",
    b"[[": f"JSON ({_CONVERT})",
    b'{"': f"JSON ({_CONVERT})",
}


class Chunk(NamedTuple):
    """Whole lines: ``bytes[start:stop]`` ends with a newline."""

    bytes: bytearray
    start: int
    stop: int

    def bounds(self) -> list[int]:
        """Return the bounds of parts of about `PART_BYTES`, cut at newlines."""
        bounds = [self.start]
        while bounds[-1] < self.stop:
            bounds.append(self.bytes.find(b"\n", min(bounds[-1] + PART_BYTES, self.stop - 1), self.stop) + 1)
        return bounds

    def arrow_lines(self) -> Iterator[Any]:
        """Yield the lines of each part as Arrow strings, which end with newlines; UTF-8 is not checked."""
        import pyarrow as pa

        for start, stop in pairwise(self.bounds()):
            content = bytes(memoryview(self.bytes)[start:stop])
            ends = np.flatnonzero(np.frombuffer(content, np.uint8) == ord("\n"))
            offsets = np.zeros(len(ends) + 1, np.int32)
            offsets[1:] = ends + 1
            buffers = pa.py_buffer(offsets), pa.py_buffer(content)
            yield pa.StringArray.from_buffers(len(ends), *buffers)


class Text:
    """The lines of a file: first single lines of the heading, then chunks.

    The thread of `reader` reads ahead, at most `most` bytes at once. `turn` is a rank and the number of
    ranks: `chunks` yields the chunks of this rank, which takes turns with the others.
    """

    def __init__(
        self, source: Source, stream: Stream, reader: ThreadPoolExecutor, turn: tuple[int, int], most: int
    ) -> None:
        self.source = source
        self.turn = turn
        self.line = 0  # Lines before the current position.
        self.offset = source.start  # Bytes before the current line, while lines are skipped one by one.
        self.share = 0.0  # Fraction of the chunks of this rank so far.
        self.cut = False  # Whether the last line has no newline.
        self._stream = stream
        self._reader = reader
        room = min(CHUNK_BYTES, most)
        if source.compression is None:
            room = min(room, source.size + 1)
        if source.stop is not None or turn[1] > 1:  # several ranks may share a memory
            room = min(room, max(MIN_CHUNK_BYTES, source.size >> 4))
        self._spare = bytearray(MAX_LINE_BYTES + room + 1)
        self._partial_line = b""
        self._next_read = reader.submit(self._fill, bytearray(MAX_LINE_BYTES + room + 1))
        self._chunk = self._next()
        if not source.start:
            self._skip_byte_order_mark()
            self._refuse_binary()

    def peek(self) -> bytes | None:
        """Return the next line without its newline, or None at the end; do not advance."""
        text, start, stop = self._chunk
        while start == stop:
            if not stop:
                return None
            self._chunk = text, start, stop = self._next()
        return bytes(memoryview(text)[start : text.index(b"\n", start)]).rstrip(b"\r")

    def ignored(self, comments: bytes, *, kept: bytes | None = None) -> Iterator[bytes]:
        """Advance over comments and empty lines, and yield comments: the first ones, and those of interest.

        A byte of `comments` begins a comment. After the first `FIRST_LINES` lines, only comments that begin
        with `kept` are of interest, by default none.
        """
        begin = self.line
        while (line := self.peek()) is not None:
            content = line.lstrip()
            if content and content[0] not in comments:
                return
            if self.line - begin < FIRST_LINES:
                self.skip()
                if content:
                    yield line
            else:
                yield from self._skip_ignored(comments, kept)

    def _skip_ignored(self, comments: bytes, kept: bytes | None) -> Iterator[bytes]:
        """Advance over comments and empty lines of the chunk at the speed of a kernel."""
        from evener.kernels.cpu import text as kernel

        marks = np.zeros(256, np.uint8)
        marks[list(comments)] = 1
        text, start, stop = self._chunk
        view = np.frombuffer(text, np.uint8)
        end, lines = kernel.skip_ignored(view, np.uint64(start), np.uint64(stop), marks)
        at = start
        while kept and (at := text.find(kept, at, int(end))) >= 0:
            after = text.index(b"\n", at)
            if at == start or text[at - 1] == ord("\n"):
                yield bytes(memoryview(text)[at:after]).rstrip(b"\r")
            at = after
        self._chunk = Chunk(text, int(end), stop)
        self.line += int(lines)
        self.offset += int(end) - start

    def skip_lines(self, count: int) -> None:
        """Advance by some lines."""
        while count:
            self.peek()  # continues in the next chunk at the end of a chunk
            text, start, stop = self._chunk
            lines = min(count, text.count(b"\n", start, stop))
            if lines < count:
                end = stop
            else:
                ends = np.flatnonzero(np.frombuffer(text, np.uint8, stop - start, start) == ord("\n"))
                end = start + int(ends[lines - 1]) + 1
            self._chunk = Chunk(text, end, stop)
            self.line += lines
            self.offset += end - start
            count -= lines

    def skip(self) -> None:
        """Advance to the next line."""
        text, start, stop = self._chunk
        end = text.index(b"\n", start) + 1
        self._chunk = Chunk(text, end, stop)
        self.line += 1
        self.offset += end - start

    def chunks(self) -> Iterator[Chunk]:
        """Yield the rest of the text in chunks; the caller adds the lines of each chunk to `line`."""
        rank, ranks = self.turn
        number = 0
        while self._chunk.stop:
            text, start, stop = self._chunk
            if number % ranks == rank:
                self.share = min(1.0, self.share * (number // ranks + 1) * ranks / (number + 1))
                if start < stop:
                    yield self._chunk
            else:
                self.line += text.count(b"\n", start, stop)
            self._chunk = self._next()
            number += 1

    def _fill(self, room: bytearray) -> tuple[bytearray, int, float]:
        with self.source.translate_errors():
            return room, self._stream.readinto(memoryview(room)[MAX_LINE_BYTES:-1]), self._stream.fraction()

    def _next(self) -> Chunk:
        """Return the next chunk; at the end of the file, an empty chunk that stops at 0."""
        while (chunk := self._next_read_chunk()) is None:
            pass
        return chunk

    def _next_read_chunk(self) -> Chunk | None:
        """Return the whole lines of the next read; None if it holds no newline."""
        text, count, self.share = self._next_read.result()
        begin, end = MAX_LINE_BYTES - len(self._partial_line), MAX_LINE_BYTES + count
        text[begin:MAX_LINE_BYTES] = self._partial_line
        self._partial_line = b""
        if begin == end:
            return Chunk(text, 0, 0)
        if end < len(text) - 1:  # end of the file
            if text[end - 1] != ord("\n"):
                text[end] = ord("\n")
                end += 1
                self.cut = True
            stop = end
        else:
            stop = text.rfind(b"\n", begin, end) + 1
            if end - max(stop, begin) > MAX_LINE_BYTES:
                msg = f"expected lines of at most {MAX_LINE_BYTES:,} bytes, found a longer line"
                raise FormatError(msg, path=self.source.path)
            stop = max(stop, begin)
            self._partial_line = bytes(memoryview(text)[stop:end])
        self._next_read = self._reader.submit(self._fill, self._spare)
        self._spare = text
        return Chunk(text, begin, stop) if begin < stop else None

    def _skip_byte_order_mark(self) -> None:
        """Skip the UTF-8 byte-order mark that some editors write."""
        text, start, stop = self._chunk
        if text.startswith(_BYTE_ORDER_MARK, start, stop):
            self._chunk = Chunk(text, start + len(_BYTE_ORDER_MARK), stop)
            self.offset += len(_BYTE_ORDER_MARK)

    def _refuse_binary(self) -> None:
        text, start, stop = self._chunk
        head = bytes(memoryview(text)[start : min(stop, start + (1 << 16))])
        refuse_binary(head, self.source.path)
        if within := re.search(rb"\r+[^\r\n]", head):
            line = head.count(b"\n", 0, within.start()) + 1
            raise FormatError(_CARRIAGE_RETURNS, path=self.source.path, line=line)


def refuse_binary(head: bytes, path: Path) -> None:
    """Raise `FormatError` if the first bytes of a file are no text."""
    kind = next((kind for mark, kind in _SIGNATURES.items() if head.startswith(mark)), None)
    if kind or b"\0" in head:
        raise FormatError(f"expected lines of text, found {kind or 'binary data'}", path=path)
    if b"\r" in (text := head.strip()) and b"\n" not in text:
        raise FormatError(_CARRIAGE_RETURNS, path=path, line=1)


@contextmanager
def open_text(
    source: Source, *, empty: bool = False, turn: tuple[int, int] = (0, 1), most: int = CHUNK_BYTES
) -> Iterator[Text]:
    """Open a file as text; `turn` and `most` are as for `Text`. An empty file needs `empty`."""
    with source.stream() as stream:
        reader = ThreadPoolExecutor(1, "evener-read")
        try:
            text = Text(source, stream, reader, turn, most)
            if not empty and text.peek() is None:
                raise FormatError("expected a graph, but the file is empty", path=source.path)
            yield text
        finally:
            # The thread must finish before the stream is closed.
            reader.shutdown(wait=True, cancel_futures=True)


def line_of_row(
    source: Source, row: int, *, comments: bytes = b"", after: int = 0, turn: tuple[int, int] = (0, 1)
) -> int:
    """Return the line number of a row from 1, for messages: readers keep no line numbers of rows.

    `row` counts from 0 the lines that are not empty and do not begin with a byte of `comments`, after the
    first `after` lines. `turn` is as for `Text`: only the rows of this rank count.
    """
    import pyarrow.compute as pc

    with open_text(source, empty=True, turn=turn) as text:
        text.skip_lines(after)
        for chunk in text.chunks():
            for lines in chunk.arrow_lines():
                content = pc.ascii_trim_whitespace(lines)
                is_row = pc.not_equal(content, "")
                for mark in comments:
                    is_row = pc.and_not(is_row, pc.starts_with(content, chr(mark)))
                rows = np.flatnonzero(is_row.to_numpy(zero_copy_only=False))
                if row < len(rows):
                    return text.line + 1 + int(rows[row])
                row -= len(rows)
                text.line += len(lines)
        return text.line


def is_utf8(line: bytes) -> bool:
    """Return whether bytes are UTF-8 text."""
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return True
