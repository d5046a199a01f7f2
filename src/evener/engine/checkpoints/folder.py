"""The files of checkpoints: shards of all ranks, and a manifest that makes a generation valid.

A generation is a checkpoint with a number. Its files in the folder are:

- ``00000007.00001.state``: the shard of rank 1, the arrays of its owned vertices one after another.
- ``00000003.00001.vertices``: the global numbers of these vertices. A run writes two such files for each
  rank, and its generations name them in turn, so that a damaged file spoils one generation only.
- ``00000007.json``: the manifest, with the checksums of the other files and of itself. It is renamed last.

To write a state, a rank renames and overwrites its state of a generation that is no longer kept. Overwriting
needs less processor time than a new file.
"""

from __future__ import annotations

import fcntl
import os
import re
import stat
import zlib
from contextlib import contextmanager, suppress
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from evener.engine.checkpoints.manifest import GENERATION, Manifest, Shard
from evener.errors import FormatError
from evener.system.files import TEMPORARY, atomic_write, remove_abandoned
from evener.system.memory import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["CheckpointFolder", "ShardWriter", "shard_name"]

_NAME = re.compile(rf"{GENERATION}\.(?:json|[0-9]{{5,}}\.(?:state|vertices))")
_TEMPORARY_MANIFEST = re.compile(rf"\.{GENERATION}\.json\.{TEMPORARY}")
# Bytes of the largest manifest that is read.
_MAX_MANIFEST_BYTES = 1 << 28
# Valid generations that the folder keeps.
_KEPT = 2
# Words in a row of the matrix whose sums are a checksum.
_ROW_WORDS = 512


class CheckpointFolder:
    """A folder of checkpoints."""

    def __init__(self, path: Path) -> None:
        self.path = path
        # The first generation of this run.
        self.first = 0
        # The older of the two valid generations that are kept; 0 if fewer are valid, and except on rank 0.
        self.oldest_kept = 0
        # The valid generations to keep, oldest first, and their files; rank 0 knows them.
        self._kept: list[tuple[int, set[str]]] = []

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep the folder for one run while the block runs, if its file system has locks.

        If another run has the folder, raise BlockingIOError.
        """
        handle = os.open(self.path, os.O_RDONLY)
        try:
            try:
                fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError as error:
                msg = "another run writes its checkpoints there; wait for its end, or name another folder"
                raise BlockingIOError(error.errno, msg) from error
            except OSError:  # a file system without locks
                pass
            yield
        finally:
            os.close(handle)

    def generations(self) -> list[int]:
        """Return the numbers of all manifests, newest first."""
        return sorted((_generation(name) for name in self._names() if name.endswith(".json")), reverse=True)

    def next_generation(self) -> int:
        """Return a number above those of all files, also of unfinished generations."""
        return max(map(_generation, self._names()), default=0) + 1

    def _names(self) -> list[str]:
        return [file.name for file in self.path.iterdir() if _NAME.fullmatch(file.name)]

    # ---- manifests --------------------------------------------------------------------------------

    def manifest_path(self, generation: int) -> Path:
        """Return the path of the manifest of a generation."""
        return self.path / _manifest_name(generation)

    def read_manifest(self, generation: int) -> Manifest:
        """Return the manifest of a generation; raise FormatError unless it is valid."""
        path = self.manifest_path(generation)
        with self._open(path) as stream:
            content = stream.read(_MAX_MANIFEST_BYTES + 1)
        if len(content) > _MAX_MANIFEST_BYTES:
            raise FormatError(f"expected at most {_MAX_MANIFEST_BYTES:,} bytes, found more", path=path)
        return Manifest.decode(content, path)

    @contextmanager
    def _open(self, path: Path) -> Iterator[IO[bytes]]:
        """Open a file of the folder to read it; raise FormatError if this fails."""
        try:
            # A pipe would wait for a writer, and a link may lead to any file.
            handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
            with os.fdopen(handle, "rb") as stream:
                if not stat.S_ISREG(os.fstat(handle).st_mode):
                    raise FormatError("expected a regular file, found another kind", path=path)
                yield stream
        except OSError as error:
            raise FormatError(f"cannot be read: {(error.strerror or '').lower()}", path=path) from error

    def commit(self, generation: int, manifest: Manifest) -> None:
        """Make a generation valid, and remove manifests that are not kept and unused files of earlier runs.

        If the manifest cannot be written, raise FileError, and remove no file.
        """
        with atomic_write(self.manifest_path(generation)) as temporary:
            temporary.write_bytes(manifest.encode())
        self.keep(generation, manifest)
        self.remove_unused(self.first)

    def keep(self, generation: int, manifest: Manifest) -> None:
        """Keep the files of a valid generation until two newer ones are valid."""
        names = {name for shard in manifest.shards for name in (shard.state, shard.vertices)}
        self._kept = [*self._kept, (generation, {_manifest_name(generation), *names})][-_KEPT:]
        self.oldest_kept = self._kept[0][0] if len(self._kept) == _KEPT else 0

    def remove_unused(self, before: int) -> None:
        """Remove manifests, and other files of generations before `before`, unless they are kept.

        Also remove the temporary files of killed runs.
        """
        # Manifests first, so that no manifest names a file that was removed.
        for name in sorted(self._names(), key=lambda name: not name.endswith(".json")):
            kept = any(name in names for _, names in self._kept)
            if not kept and (name.endswith(".json") or _generation(name) < before):
                self.remove(name)
        remove_abandoned(self.path, _TEMPORARY_MANIFEST)

    def remove(self, name: str) -> None:
        """Remove a file; ignore errors."""
        with suppress(OSError):
            (self.path / name).unlink()

    # ---- shards -----------------------------------------------------------------------------------

    def write(self, name: str, arrays: Sequence[NDArray[Any]], *, over: str | None = None) -> int:
        """Write arrays to a file, flush it to the disk, and return its checksum.

        The file is new, or the file `over`, which is renamed and overwritten. After an error, the file is
        removed.
        """
        path = self.path / name
        try:
            if over is not None:
                (self.path / over).rename(path)
            with open(path, "wb" if over is None else "r+b", opener=_open_no_link) as stream:
                stream.writelines(array.view(np.uint8).data for array in arrays)
                stream.truncate()
                os.fsync(stream.fileno())
        except OSError:
            self.remove(name)
            raise
        return _checksum(arrays)

    def read(self, name: str, dtypes: Sequence[str], length: int, checksum: int) -> list[NDArray[Any]]:
        """Return the arrays of a file: one of this length for each dtype.

        Raise FormatError if the file is missing, has another length, or another checksum.
        """
        path, sizes = self.path / name, [np.dtype(dtype).itemsize * length for dtype in dtypes]
        with self._open(path) as stream:
            found = os.fstat(stream.fileno()).st_size
            if found != sum(sizes):
                raise FormatError(f"expected {sum(sizes):,} bytes, found {found:,}", path=path)
            require(found, f"reading {path}")
            content = np.fromfile(stream, np.uint8)
        if len(content) != found:
            raise FormatError(f"expected {found:,} bytes, found {len(content):,}", path=path)
        ends = np.cumsum(sizes, dtype=np.int64).tolist()
        parts = [content[end - size : end] for end, size in zip(ends, sizes, strict=True)]
        if _checksum(parts) != checksum:
            raise FormatError("the file is damaged: its checksum does not match", path=path)
        return [part.view(dtype) for part, dtype in zip(parts, dtypes, strict=True)]


class ShardWriter:
    """Writes the shards of this rank, whose partitions own vertices with these global numbers."""

    def __init__(self, folder: CheckpointFolder, rank: int, vertices: Sequence[NDArray[np.uint32]]) -> None:
        self._folder, self._rank, self._vertices = folder, rank, vertices
        # Two files of the vertices, each with its checksum, and the generations of the files of state.
        self._vertex_files: list[tuple[str, int]] = []
        self._states: list[int] = []

    def write(self, generation: int, arrays: Sequence[NDArray[Any]], *, turn: int, oldest_kept: int) -> Shard:
        """Write the values of the owned vertices, and return the file names and checksums.

        `turn` is the file of vertices that the shard names: 0 or 1, and 0 for the first shard. The states of
        generations before `oldest_kept` may be overwritten.
        """
        if len(self._vertex_files) == turn:
            name = shard_name(generation, self._rank, "vertices")
            self._vertex_files.append((name, self._folder.write(name, self._vertices)))
        name, over = shard_name(generation, self._rank, "state"), None
        if self._states and self._states[0] < oldest_kept:
            over = shard_name(self._states.pop(0), self._rank, "state")
        checksum = self._folder.write(name, arrays, over=over)
        self._states.append(generation)
        return Shard(name, checksum, *self._vertex_files[turn], sum(map(len, self._vertices)))

    def remove(self, generation: int) -> None:
        """Remove the state of a generation that another rank could not write."""
        if generation in self._states:
            self._states.remove(generation)
            self._folder.remove(shard_name(generation, self._rank, "state"))


def shard_name(generation: int, rank: int, kind: str) -> str:
    """Return the name of a rank's file: of the kind "state" or "vertices"."""
    return f"{generation:08d}.{rank:05d}.{kind}"


def _manifest_name(generation: int) -> str:
    return f"{generation:08d}.json"


def _generation(name: str) -> int:
    return int(name.partition(".")[0])


def _open_no_link(path: str, flags: int) -> int:
    """Open a file to write it, but not the file that a link of this name leads to."""
    return os.open(path, flags | os.O_NOFOLLOW, 0o666)


def _checksum(arrays: Sequence[NDArray[Any]]) -> int:
    """Return a checksum of the bytes of arrays. It needs less time than their CRC-32.

    The bytes are a matrix of 64-bit words. The checksum is the CRC-32 of the sums of its rows and its columns
    and of the bytes that do not fill a row.
    """
    checksum, columns, rest = 0, np.zeros(_ROW_WORDS, np.uint64), np.empty(0, np.uint8)
    for array in arrays:
        content = array.view(np.uint8)
        head = content[: -len(rest) % columns.nbytes]  # completes the row that the last array began
        for part in (np.concatenate([rest, head]), content[len(head) :]):
            if len(part):
                rows, rest = np.split(part, [len(part) - len(part) % columns.nbytes])
                matrix = rows.view(np.uint64).reshape(-1, _ROW_WORDS)
                columns += matrix.sum(axis=0)
                checksum = zlib.crc32(matrix.sum(axis=1).data, checksum)
    return zlib.crc32(rest.data, zlib.crc32(columns.data, checksum))
