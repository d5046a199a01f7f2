"""A file to read: its path, its compression, and the words for what can be wrong with it as a file."""

from __future__ import annotations

import stat
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from evener.errors import EvenerError, FileError, FormatError, OutOfMemoryError
from evener.system import memory
from evener.system.files import NO_UTF8, named_in_utf8

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["Source", "Stream", "compressing"]


class Stream:
    """The bytes of a source, decompressed, and how far through the file they reach."""

    def __init__(self, source: Source) -> None:
        import pyarrow as pa

        self._file = pa.OSFile(str(source.path), "rb")
        packed = source.compression is not None
        self._bytes: Any = pa.CompressedInputStream(self._file, source.compression) if packed else self._file
        self._size = source.size

    def readinto(self, room: memoryview) -> int:
        """Fill `room`, less only at the end of the file; returns the number of bytes."""
        filled = 0
        while filled < len(room):
            came = self._bytes.readinto(room[filled:])
            if not came:
                break
            filled += came
        return filled

    def fraction(self) -> float:
        """Tell the share of the file that has been read."""
        return min(self._file.tell() / self._size, 1.0) if self._size else 1.0

    def close(self) -> None:
        """Close the file."""
        self._bytes.close()
        self._file.close()


@dataclass(frozen=True)
class Source:
    """A file, or a folder for the formats that are folders.

    Parameters
    ----------
    path : Path
        Where it is.
    compression : {"gzip", "zstd", "bz2"}, optional
        How its bytes are packed.
    """

    path: Path
    compression: str | None = None

    @property
    def size(self) -> int:
        """Bytes of the file as it lies on disk."""
        return self.path.stat().st_size

    def check(self, *, folder: bool = False) -> None:
        """See that the path is there, is of the right kind, and is not empty.

        Raises
        ------
        FileError
            Saying which of these is not so.
        """
        path = self.path
        try:
            status = path.stat()
        except FileNotFoundError:
            link = " (a symbolic link points to nothing)" if path.is_symlink() else ""
            msg = f"there is no file {path}{link}; check the name, or give a spec such as rmat:20"
            raise FileError(msg) from None
        except OSError as error:
            raise FileError(f"cannot read {path}: {_cause(error)}") from error
        if stat.S_ISDIR(status.st_mode) and not folder:
            raise FileError(f"{path} is a folder; expected a file of this format")
        if folder and not stat.S_ISDIR(status.st_mode):
            raise FormatError("expected a folder with a manifest and arrays, but this is a file", path=path)
        if stat.S_ISFIFO(status.st_mode) or stat.S_ISSOCK(status.st_mode):
            raise FileError(
                f"{path} is a pipe, which cannot be read twice; write it to a file, and give that"
            )
        if stat.S_ISREG(status.st_mode) and status.st_size == 0:
            raise FormatError("the file is empty; expected a graph", path=path)

    @contextmanager
    def reading(self) -> Iterator[None]:
        """Turn the errors of the system and of decompression into ours while the file is being read."""
        try:
            yield
        except EvenerError:
            raise
        except MemoryError as error:
            at_hand = memory.available()
            msg = (
                f"reading {self.path} needs more memory than the {memory.readable(at_hand)} at hand; take a "
                "smaller graph or a machine with more memory"
            )
            raise OutOfMemoryError(msg, needed=max(self.size, at_hand + 1), available=at_hand) from error
        except UnicodeEncodeError as error:
            if named_in_utf8(self.path):
                raise
            raise FileError(f"cannot read {self.path}: {NO_UTF8}") from error
        except EOFError as error:
            raise FormatError(f"the file is cut short: {error}", path=self.path) from error
        except OSError as error:
            if self.compression is not None and error.errno is None:
                msg = (
                    f"the {self.compression} data is damaged or cut short ({_cause(error)}); "
                    "was it downloaded whole? fetch it again"
                )
                raise FormatError(msg, path=self.path) from error
            raise FileError(f"cannot read {self.path}: {_cause(error)}") from error

    @contextmanager
    def stream(self) -> Iterator[Stream]:
        """Open the file for reading, decompressing as it goes."""
        with self.reading():
            stream = Stream(self)
            try:
                yield stream
            finally:
                stream.close()

    def bytes(self) -> bytes:
        """All bytes, decompressed."""
        with self.stream() as stream:
            pieces = []
            piece = bytearray(1 << 24)
            while count := stream.readinto(memoryview(piece)):
                pieces.append(bytes(memoryview(piece)[:count]))
        return b"".join(pieces)


@contextmanager
def compressing(target: Path, compression: str | None) -> Iterator[Any]:
    """Open a file for writing through a compression."""
    import pyarrow as pa

    try:
        sink = pa.output_stream(str(target), compression=compression)
        try:
            yield sink
        except BaseException:
            # On a disk that is full bzip2 cannot be closed either, which must not hide the first error.
            with suppress(pa.ArrowException, OSError):
                sink.close()
            raise
        sink.close()
    except pa.ArrowException as error:
        if type(error) is not pa.ArrowException:
            raise
        raise OSError(str(error)) from error  # a compressor's own, which has no other type


def _cause(error: OSError) -> str:
    return (error.strerror or str(error)).strip().rstrip(".").lower()
