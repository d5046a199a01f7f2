"""Input and output files: compression, and errors of the file system."""

from __future__ import annotations

import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evener.errors import EvenerError, FileError, FormatError
from evener.system import memory
from evener.system.files import NOT_UTF8, has_utf8_path

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Source", "Stream", "open_compressed"]


class Stream:
    """The decompressed bytes of a file, and the position in the file."""

    def __init__(self, source: Source) -> None:
        import pyarrow as pa

        self._file = pa.OSFile(str(source.path), "rb")
        compressed = source.compression is not None
        self._bytes: Any = (
            pa.CompressedInputStream(self._file, source.compression) if compressed else self._file
        )
        self._size = source.size
        self._start = source.start
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
        return filled

    def fraction(self) -> float:
        """Return the fraction of the source that was read."""
        return min((self._file.tell() - self._start) / self._size, 1.0) if self._size else 1.0

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()
        self._file.close()


@dataclass(frozen=True)
class Source:
    """A file to read, a part of it, or a folder for formats that use folders.

    Parameters
    ----------
    path : Path
        Path of the file.
    compression : {"gzip", "zstd", "bz2"}, optional
        Compression of the file.
    start, stop : int
        The bytes to read of a file that is not compressed. Default: all.
    """

    path: Path
    compression: str | None = None
    start: int = 0
    stop: int | None = None

    @property
    def size(self) -> int:
        """Bytes of the file on disk, or of the part to read."""
        return (self.path.stat().st_size if self.stop is None else self.stop) - self.start

    def check(self, *, folder: bool = False) -> None:
        """Check that the path exists, is a file or folder as expected, and is not empty.

        Raises
        ------
        FileError
            If the path does not exist, cannot be read, or is a folder or pipe instead of a file.
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
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            raise FileError(
                f"expected a file, but {path} is a pipe, which cannot be read twice; save it to a file"
            )
        if stat.S_ISREG(status.st_mode) and status.st_size == 0:
            raise FormatError("expected a graph, but the file is empty", path=path)

    @contextmanager
    def translate_errors(self) -> Iterator[None]:
        """Convert errors of the system and of decompression to errors of Evener."""
        try:
            yield
        except EvenerError:
            raise
        except MemoryError as error:
            raise memory.shortage_error(f"reading {self.path}", needed=self.size) from error
        except UnicodeEncodeError as error:
            if has_utf8_path(self.path):
                raise
            raise FileError(f"cannot read {self.path}: {NOT_UTF8}") from error
        except EOFError as error:
            raise FormatError(f"the file is truncated: {error}; download it again", path=self.path) from error
        except OSError as error:
            if self.compression is not None and error.errno is None:
                msg = (
                    f"the {self.compression} data is damaged or truncated ({_cause(error)}); "
                    "download it again"
                )
                raise FormatError(msg, path=self.path) from error
            raise FileError(f"cannot read {self.path}: {_cause(error)}") from error

    @contextmanager
    def stream(self) -> Iterator[Stream]:
        """Open the file for reading with decompression."""
        with self.translate_errors():
            stream = Stream(self)
            try:
                yield stream
            finally:
                stream.close()

    def open(self) -> Any:
        """Return an open file for Arrow, decompressed; the part of a file is in memory."""
        import pyarrow as pa

        if self.stop is None:
            return pa.input_stream(str(self.path), compression=self.compression)
        return pa.BufferReader(self.read_bytes())

    def read_bytes(self) -> bytes:
        """Return all bytes, decompressed."""
        with self.stream() as stream:
            pieces = []
            piece = bytearray(1 << 24)
            while count := stream.readinto(memoryview(piece)):
                pieces.append(bytes(memoryview(piece)[:count]))
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


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).strip().rstrip(".").lower()
