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
import json
import os
import re
import zlib
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.system.files import atomic_write
from evener.system.memory import require

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["CheckpointFolder", "Manifest", "Shard", "shard_name"]

_FORMAT, _VERSION = "evener checkpoint", 1
_NAME = re.compile(r"(?P<generation>\d{8})\.(?:json|\d{5,}\.(?:state|vertices))")
# Valid generations that the folder keeps.
_KEPT = 2
# Words in a row of the matrix whose sums are a checksum.
_ROW_WORDS = 512


class Shard(NamedTuple):
    """The files of one rank: their names and checksums, and the number of vertices."""

    state: str
    state_checksum: int
    vertices: str
    vertices_checksum: int
    owned: int


class Manifest(NamedTuple):
    """The content of a manifest.

    Attributes
    ----------
    run : dict
        The fingerprint of the run.
    step : int
        The steps that the run had done.
    seconds : float
        The seconds that the run had taken.
    scalars : list
    arrays : list of [str, str]
        The name and the dtype of each array, in the order of a shard.
    shards : list of Shard
        The shard of each rank.
    """

    run: dict[str, Any]
    step: int
    seconds: float
    scalars: list[Any]
    arrays: list[list[str]]
    shards: list[Shard]


class CheckpointFolder:
    """A folder of checkpoints.

    Parameters
    ----------
    path : Path

    Attributes
    ----------
    first : int
        The first generation of this run.
    oldest_kept : int
        The older of the two valid generations that are kept. It is 0 if fewer are valid, and on all ranks
        except rank 0.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.first = self.oldest_kept = 0
        # The valid generations to keep, oldest first, and their files; rank 0 knows them.
        self._kept: list[tuple[int, set[str]]] = []

    @contextmanager
    def lock(self) -> Iterator[None]:
        """Keep the folder for one run while the block runs, if its file system has locks.

        Raises
        ------
        BlockingIOError
            If another run has the folder.
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

    def read_manifest(self, generation: int) -> Manifest:
        """Return the manifest of a generation.

        Raises
        ------
        FormatError
            If the manifest cannot be read, is damaged, or has another version.
        """
        path = self.path / _manifest_name(generation)
        try:
            content = path.read_bytes()
        except OSError as error:
            raise FormatError(f"cannot be read: {(error.strerror or '').lower()}", path=path) from error
        text, end = content[:-9], content[-9:]
        if end != _end_of(text):
            raise FormatError("the manifest is damaged: its checksum does not match", path=path)
        fields = json.loads(text)
        if (fields.pop("format"), fields.pop("version")) != (_FORMAT, _VERSION):
            raise FormatError(f"expected version {_VERSION} of the format, found another", path=path)
        manifest = Manifest(**fields)
        return manifest._replace(shards=[Shard(*shard) for shard in manifest.shards])

    def commit(self, generation: int, manifest: Manifest) -> None:
        """Make a generation valid, and remove manifests that are not kept and unused files of earlier runs.

        Raises
        ------
        FileError
            If the manifest cannot be written. Then no file is removed.
        """
        fields = {"format": _FORMAT, "version": _VERSION, **manifest._asdict()}
        text = json.dumps(fields, default=lambda number: number.item()).encode()
        with atomic_write(self.path / _manifest_name(generation)) as temporary:
            temporary.write_bytes(text + _end_of(text))
        self.keep(generation, manifest)
        self.remove_unused(self.first)

    def keep(self, generation: int, manifest: Manifest) -> None:
        """Keep the files of a valid generation until two newer ones are valid."""
        names = {name for shard in manifest.shards for name in (shard.state, shard.vertices)}
        self._kept = [*self._kept, (generation, {_manifest_name(generation), *names})][-_KEPT:]
        self.oldest_kept = self._kept[0][0] if len(self._kept) == _KEPT else 0

    def remove_unused(self, before: int) -> None:
        """Remove manifests, and other files of generations before `before`, unless they are kept."""
        # Manifests first, so that no manifest names a file that was removed.
        for name in sorted(self._names(), key=lambda name: not name.endswith(".json")):
            kept = any(name in names for _, names in self._kept)
            if not kept and (name.endswith(".json") or _generation(name) < before):
                self.remove(name)

    def remove(self, name: str) -> None:
        """Remove a file; ignore errors."""
        with suppress(OSError):
            (self.path / name).unlink()

    # ---- shards -----------------------------------------------------------------------------------

    def write(self, name: str, arrays: Sequence[NDArray[Any]], *, over: str | None = None) -> int:
        """Write arrays to a file, flush it to the disk, and return its checksum.

        The file is new, or the file `over`, which is renamed and overwritten.

        Raises
        ------
        OSError
            If the file cannot be written. Then it is removed.
        """
        path = self.path / name
        try:
            if over is not None:
                (self.path / over).rename(path)
            with path.open("wb" if over is None else "r+b") as stream:
                for array in arrays:
                    stream.write(array.view(np.uint8).data)
                stream.truncate()
                os.fsync(stream.fileno())
        except OSError:
            self.remove(name)
            raise
        return _checksum(arrays)

    def read(self, name: str, dtypes: Sequence[str], length: int, checksum: int) -> list[NDArray[Any]]:
        """Return the arrays of a file: one of this length for each dtype.

        Raises
        ------
        FormatError
            If the file is missing, has another length, or another checksum.
        """
        path, sizes = self.path / name, [np.dtype(dtype).itemsize * length for dtype in dtypes]
        try:
            found = path.stat().st_size
            if found != sum(sizes):
                raise FormatError(f"expected {sum(sizes):,} bytes, found {found:,}", path=path)
            require(found, f"reading {path}")
            content = np.fromfile(path, np.uint8)
        except OSError as error:
            raise FormatError(f"cannot be read: {(error.strerror or '').lower()}", path=path) from error
        parts = np.split(content, np.cumsum(sizes)[:-1])
        if _checksum(parts) != checksum:
            raise FormatError("the file is damaged: its checksum does not match", path=path)
        return [part.view(dtype) for part, dtype in zip(parts, dtypes, strict=True)]


def shard_name(generation: int, rank: int, kind: str) -> str:
    """Return the name of a rank's file: of the kind "state" or "vertices"."""
    return f"{generation:08d}.{rank:05d}.{kind}"


def _manifest_name(generation: int) -> str:
    return f"{generation:08d}.json"


def _generation(name: str) -> int:
    return int(name[:8])


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


def _end_of(text: bytes) -> bytes:
    """Return the last line of a manifest: the CRC-32 of the text before it."""
    return f"\n{zlib.crc32(text):08x}".encode()
