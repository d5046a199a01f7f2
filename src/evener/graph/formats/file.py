"""Input and output files: compression, checks of the memory, and errors of the system and of decoders."""

from __future__ import annotations

import errno
import re
import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evener.errors import EvenerError, FileError, FormatError, first_clause
from evener.system import memory
from evener.system.files import NOT_UTF8, has_utf8_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["PART_BYTES", "Source", "Stream", "open_compressed", "require_part"]

# Bytes of decompressed content between two checks of the memory.
PART_BYTES = 1 << 24

# Content of more bytes than this may not expand by more than a factor: no graph repeats itself so often.
_FREE_BYTES, _MAX_EXPANSION = 1 << 27, 500
# No compressor makes content smaller than this.
_MAX_RATIO = 1 << 17

# Bytes of memory per byte of text, until the next check: the line "1" becomes an integer of 8 bytes.
_EXPANSION = 8


class Stream:
    """The decompressed bytes of a file, and the position in the file."""

    def __init__(self, source: Source) -> None:
        import pyarrow as pa

        self._file = pa.OSFile(str(source.path), "rb")
        compressed = source.compression is not None
        self._bytes: Any = (
            pa.CompressedInputStream(self._file, source.compression) if compressed else self._file
        )
        self._source = source
        self._size = source.size
        self._start = source.start
        self._filled = 0
        if source.start:
            self._file.seek(source.start)

    def readinto(self, buffer: memoryview) -> int:
        """Fill `buffer` with bytes and return their number, which is smaller only at the end."""
        filled = 0
        if self._bytes is self._file:
            buffer = buffer[: max(0, self._start + self._size - self._file.tell())]
        while filled < len(buffer):
            count = self._bytes.readinto(buffer[filled:])
            if not count:
                break
            filled += count
        self._filled += filled
        if self._bytes is not self._file and self._filled > _FREE_BYTES:
            self._refuse_expansion()
        return filled

    def _refuse_expansion(self) -> None:
        """Raise `FormatError` for a small file with content that would occupy a core for hours."""
        if self._filled > _MAX_EXPANSION * self._file.tell():
            msg = (
                f"expected a graph, found {self._source.compression} data that expands more than "
                f"{_MAX_EXPANSION}-fold, to {self._filled >> 20:,} MiB so far; decompress it to read it"
            )
            raise FormatError(msg, path=self._source.path)

    def fraction(self) -> float:
        """Return the fraction of the source that was read."""
        return min((self._file.tell() - self._start) / self._size, 1.0) if self._size else 1.0

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()
        self._file.close()


class _CheckedFile:
    """A stream as a Python file, for readers that keep what they read: it checks the memory for each part."""

    closed = False

    def __init__(self, source: Source, stream: Stream) -> None:
        self._source = source
        self._stream = stream
        self._unchecked = 0

    def read(self, nbytes: int) -> memoryview:
        """Return the next bytes; fewer only at the end."""
        self._unchecked += nbytes
        if self._unchecked > PART_BYTES:
            self._unchecked = 0
            require_part(PART_BYTES, self._source.path)
        piece = memoryview(bytearray(nbytes))
        with self._source.translate_errors():
            return piece[: self._stream.readinto(piece)]


def require_part(nbytes: int, path: Path) -> None:
    """Raise `OutOfMemoryError` if the memory is too small for the next bytes of a text."""
    memory.require(_EXPANSION * nbytes, f"the next part of {path}")


@dataclass(frozen=True)
class Source:
    """A file to read, a part of it, or a folder for formats that use folders.

    `compression` is gzip, zstd, bz2 or None. The bytes from `start` to `stop` are read of a file that is not
    compressed, by default all.
    """

    path: Path
    compression: str | None = None
    start: int = 0
    stop: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the file on disk, or of the part to read."""
        return (self.path.stat().st_size if self.stop is None else self.stop) - self.start

    def check(self, *, folder: bool = False, empty: bool = False) -> None:
        """Check that the path exists, is a file or a `folder` as expected, and is not empty, unless `empty`.

        Raises
        ------
        FileError
            If the path does not exist, cannot be read, or is a folder, pipe or device instead of a file.
        FormatError
            If the file is empty, or a folder is expected.
        """
        path = self.path
        try:
            status = path.stat()
        except FileNotFoundError:
            link = " (a broken symbolic link)" if path.is_symlink() else ""
            msg = f"there is no file {path}{link}; check the name, or give a spec such as rmat:20"
            raise FileError(msg) from None
        except OSError as error:
            raise FileError(f"cannot read {path}: {_cause(error)}") from error
        if stat.S_ISDIR(status.st_mode) and not folder:
            raise FileError(f"expected a file of this format, but {path} is a folder")
        if folder and not stat.S_ISDIR(status.st_mode):
            raise FormatError("expected a folder with a manifest and arrays, found a file", path=path)
        if not folder and not stat.S_ISREG(status.st_mode):
            is_pipe = stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode)
            kind = "pipe" if is_pipe else "device"
            msg = f"expected a file, but {path} is a {kind}, which cannot be read twice; save it to a file"
            raise FileError(msg)
        if not folder and not empty and status.st_size == 0:
            raise FormatError("expected a graph, but the file is empty", path=path)

    @contextmanager
    def translate_errors(self, content: str = "text") -> Iterator[None]:
        """Convert errors of the system and of decoders to errors of Evener.

        `content` is the expected content, for messages: "Parquet data".
        """
        try:
            yield
        except EvenerError:
            raise
        except MemoryError as error:
            # Arrow says "malloc of size 1152921504606847040 failed" if damaged content states a size.
            size = re.search(r"size (\d+)", str(error))
            if size and int(size[1]) > _MAX_RATIO * self.size:
                msg = f"expected {content}, but it is damaged: it states {size[1]} bytes; download it again"
                raise FormatError(msg, path=self.path) from error
            raise memory.shortage_error(f"reading {self.path}", needed=self.size) from error
        except UnicodeEncodeError as error:
            if has_utf8_path(self.path):
                raise
            raise FileError(f"cannot read {self.path}: {NOT_UTF8}") from error
        except Exception as error:
            # A seek to a place that damaged content names fails with EINVAL.
            if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
                raise FileError(f"cannot read {self.path}: {_cause(error)}") from error
            if not isinstance(error, _decoder_errors()):
                raise
            cause = _cause(error) if isinstance(error, OSError) and error.errno else first_clause(error)
            if isinstance(error, OSError) and self.compression is not None:
                msg = f"the {self.compression} data is damaged or truncated ({cause}); download it again"
            else:
                msg = f"expected {content}, but it is damaged or of another kind ({cause}); download it again"
            raise FormatError(msg, path=self.path) from error

    @contextmanager
    def stream(self) -> Iterator[Stream]:
        """Open the file for reading with decompression."""
        with self.translate_errors():
            stream = Stream(self)
            try:
                yield stream
            finally:
                stream.close()

    @contextmanager
    def open(self) -> Iterator[Any]:
        """Open the file for a reader of Arrow, decompressed, with checks of the memory."""
        import pyarrow as pa

        with self.translate_errors():
            stream = Stream(self)
        try:
            yield pa.PythonFile(_CheckedFile(self, stream), mode="r")
        finally:
            stream.close()

    def read_bytes(self) -> bytes:
        """Return all bytes, decompressed."""
        pieces: list[bytes] = []
        with self.stream() as stream:
            piece = bytearray(PART_BYTES)
            while count := stream.readinto(memoryview(piece)):
                pieces.append(bytes(memoryview(piece)[:count]))
                if count == PART_BYTES:  # the bytes that join the pieces, and the next piece
                    memory.require((len(pieces) + 1) * PART_BYTES, f"the content of {self.path}")
        return b"".join(pieces)


@contextmanager
def open_compressed(target: Path, compression: str | None) -> Iterator[Any]:
    """Open a file for writing with compression."""
    import pyarrow as pa

    try:
        sink = pa.output_stream(str(target), compression=compression)
        try:
            yield sink
        except BaseException:
            # On a full disk, closing bzip2 raises too, which must not hide the first error.
            with suppress(pa.ArrowException, OSError):
                sink.close()
            raise
        sink.close()
    except pa.ArrowException as error:
        if type(error) is not pa.ArrowException:
            raise
        raise OSError(str(error)) from error  # raised by a compressor


def _decoder_errors() -> tuple[type[Exception], ...]:
    """Return the errors of decoders for content that is damaged or of another format."""
    import lzma
    import zipfile
    import zlib

    import pyarrow as pa

    errors = (OSError, EOFError, UnicodeDecodeError, zlib.error, lzma.LZMAError, zipfile.BadZipFile)
    return *errors, pa.ArrowException


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).strip().rstrip(".").lower()
