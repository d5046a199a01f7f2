"""A text file as windows of whole lines, the next one read and decompressed while one is parsed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

from evener.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.graph.formats.file import Source, Stream

__all__ = ["Text", "Window", "opened"]

# Bytes read at a time. Parsing 50 M edges took the same 0.9 s with 16, 32 and 64 MiB, and 1.0 s with 8.
WINDOW = 1 << 25

# Room before each window for the line that the one before it ended in.
ROOM = 1 << 20

_MARK = b"\xef\xbb\xbf"
_SIGNATURES = {
    b"\x1f\x8b": "gzip data (end its name in .gz)",
    b"\x28\xb5\x2f\xfd": "zstd data (end its name in .zst)",
    b"BZh": "bzip2 data (end its name in .bz2)",
    b"PAR1": "a Parquet file (end its name in .parquet)",
    b"ARROW1": "an Arrow file (end its name in .arrow)",
    b"PK\x03\x04": "a zip archive, as .npz files are",
    b"\x93NUMPY": "a NumPy array",
}


class Window(NamedTuple):
    """Whole lines: ``bytes[start:stop]`` ends with a line end."""

    bytes: bytearray
    start: int
    stop: int


class Text:
    """The lines of a source: a heading taken line by line, then windows.

    Parameters
    ----------
    source : Source
    stream : Stream
    reader : ThreadPoolExecutor
        The thread that reads ahead.
    """

    def __init__(self, source: Source, stream: Stream, reader: ThreadPoolExecutor) -> None:
        self.source = source
        self.line = 0  # lines before the position
        self.share = 0.0  # of the file's bytes that the windows so far came from
        self.cut = False  # whether the file ended within a line
        self._stream = stream
        self._reader = reader
        packed = source.compression is not None
        room = WINDOW if packed else min(WINDOW, source.size + 1)
        self._spare = bytearray(ROOM + room + 1)
        self._rest = b""
        self._coming = reader.submit(self._fill, bytearray(ROOM + room + 1))
        self._window = self._next()
        self._skip_mark()
        self._refuse_binary()

    def peek(self) -> bytes | None:
        """Look at the next line of the heading without its line end, or None at the end of the text."""
        text, start, stop = self._window
        while start == stop:
            if not stop:
                return None
            self._window = text, start, stop = self._next()
        return bytes(memoryview(text)[start : text.index(b"\n", start)]).rstrip(b"\r")

    def skip(self) -> None:
        """Go on to the next line."""
        text, start, stop = self._window
        self._window = Window(text, text.index(b"\n", start) + 1, stop)
        self.line += 1

    def windows(self) -> Iterator[Window]:
        """Whatever the heading left, window by window; add the lines of each to `line`."""
        while self._window.stop:
            if self._window.start < self._window.stop:
                yield self._window
            self._window = self._next()

    def _fill(self, room: bytearray) -> tuple[bytearray, int, float]:
        with self.source.reading():
            return room, self._stream.readinto(memoryview(room)[ROOM:-1]), self._stream.fraction()

    def _next(self) -> Window:
        """Give the next window; it is empty and ends at 0 when there is no more."""
        text, count, self.share = self._coming.result()
        begin, end = ROOM - len(self._rest), ROOM + count
        text[begin:ROOM] = self._rest
        self._rest = b""
        if begin == end:
            return Window(text, 0, 0)
        if end < len(text) - 1:  # the file's end
            if text[end - 1] != ord("\n"):
                text[end] = ord("\n")
                end += 1
                self.cut = True
            stop = end
        else:
            stop = text.rfind(b"\n", begin, end) + 1
            if end - max(stop, begin) > ROOM:
                msg = f"expected lines of text, but one is longer than {ROOM:,} bytes"
                raise FormatError(msg, path=self.source.path)
            stop = max(stop, begin)
            self._rest = bytes(memoryview(text)[stop:end])
        self._coming = self._reader.submit(self._fill, self._spare)
        self._spare = text
        if begin == stop:  # no line ended here
            return self._next()
        return Window(text, begin, stop)

    def _skip_mark(self) -> None:
        """Some editors of Windows begin a text in UTF-8 with its byte-order mark."""
        text, start, stop = self._window
        if text.startswith(_MARK, start, stop):
            self._window = Window(text, start + len(_MARK), stop)

    def _refuse_binary(self) -> None:
        text, start, stop = self._window
        head = bytes(memoryview(text)[start : min(stop, start + (1 << 16))])
        kind = next((kind for mark, kind in _SIGNATURES.items() if head.startswith(mark)), None)
        if kind or b"\0" in head:
            raise FormatError(f"expected text, but this is {kind or 'binary data'}", path=self.source.path)


@contextmanager
def opened(source: Source, *, empty: bool = False) -> Iterator[Text]:
    """Open the text of a source, which is refused if there is none, unless it may be `empty`."""
    with source.stream() as stream:
        reader = ThreadPoolExecutor(1, "evener-read")
        try:
            text = Text(source, stream, reader)
            if not empty and text.peek() is None:
                raise FormatError("the file is empty; expected a graph", path=source.path)
            yield text
        finally:
            # The thread must be done with the stream before the stream is closed.
            reader.shutdown(wait=True, cancel_futures=True)
