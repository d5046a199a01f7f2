"""A folder of `.npy` arrays and a JSON manifest, without pickle and archive.

The manifest ``evener.json`` holds the format version, facts of the format, and for each array its dtype, its
length and the CRC-32 of each 64 MiB. File names follow from the names of the arrays.

A cache records the folders that this user has validated. The state of a file is its device, inode, size,
mtime and ctime; no program can set ctime. A folder is valid without a new check if all its files have a
validated state. A copied, downloaded or edited file has a new state. A write to a mapped page changes ctime
only if the page is clean, so `validate` first writes all pages back. A file system without write-back (tmpfs)
does not show later writes to such a page.

The cache is the folder ``evener/checked`` in the user's cache directory. It holds one empty file per folder
of arrays, named by a hash of the states. A folder of arrays cannot mark itself as valid.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import math
import os
import stat
import zlib
from concurrent.futures import ThreadPoolExecutor
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import FormatError
from evener.graph.formats.npy import Header, read_header, write_array
from evener.system import memory
from evener.system.cache import cache_folder
from evener.system.manifest import parse_manifest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence
    from pathlib import Path

    from numpy.typing import NDArray

__all__ = ["MANIFEST", "ArrayFolder", "FolderFormat", "check_sums", "entry_of", "open_folder", "write_folder"]

MANIFEST = "evener.json"

# Bytes per checksum.
_CHECKSUM_BYTES = 1 << 26
_MAX_MANIFEST_BYTES = 1 << 24
# Version of the rules in `container.check`.
_RULES = 2
# Entries in the cache; above this number, the older half is deleted.
_MAX_ENTRIES = 4096
_CHECKED = "evener/checked"


class FolderFormat(NamedTuple):
    """A format of such folders.

    The manifest has `kind` as its "format", and `version`. Messages call the folder `noun`. `dtypes_of` is
    called with the manifest and its path. It checks the facts and the names of the arrays, and returns the
    permitted dtypes or kinds of each array.
    """

    kind: str
    noun: str
    version: int
    dtypes_of: Callable[[dict[str, Any], Path], Mapping[str, Sequence[str]]]


class ArrayFolder(NamedTuple):
    """Mapped arrays, the manifest, and the fingerprint of the files."""

    arrays: dict[str, NDArray[Any]]
    manifest: dict[str, Any]
    fingerprint: str

    def validate(self, path: Path, check: Callable[[], None]) -> None:
        """Call `check`, which raises if the folder at `path` is not valid, unless its state was validated."""
        if is_validated(self.fingerprint):
            return
        names = _file_names(self.arrays)
        with contextlib.suppress(OSError):
            for name in names:
                with (path / name).open("rb") as handle:
                    os.fsync(handle.fileno())
        check()
        with contextlib.suppress(OSError):  # another program may replace the files
            if _fingerprint({name: (path / name).stat() for name in names}) == self.fingerprint:
                mark_validated(self.fingerprint)


def open_folder(path: Path, layout: FolderFormat) -> ArrayFolder:
    """Map the arrays of a folder consistently, even while another program replaces it."""
    while True:
        # All files are opened relative to one folder handle, so they belong to one folder even if another
        # program replaces `path`. The replaced folder is then deleted, which may fail this open: try again.
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return _map_folder(folder, path, layout)
        except (FormatError, OSError):
            if os.path.samestat(os.fstat(folder), path.stat()):
                raise
        finally:
            os.close(folder)


def check_sums(folder: ArrayFolder, path: Path, layout: FolderFormat) -> None:
    """Raise `FormatError` for an array of a folder that does not match the checksums of the manifest."""
    for name, array in folder.arrays.items():
        if _checksums(array) != folder.manifest["arrays"][name]["crc32"]:
            msg = f"{name}.npy does not match the checksums of the manifest; copy the {layout.noun} again"
            raise FormatError(msg, path=path)


def entry_of(array: NDArray[Any]) -> dict[str, Any]:
    """Return the entry of an array in the manifest."""
    array = _little_endian(array)
    return {"dtype": array.dtype.str, "length": len(array), "crc32": _checksums(array)}


def write_folder(
    folder: Path, layout: FolderFormat, facts: Mapping[str, Any], arrays: Iterable[tuple[str, NDArray[Any]]]
) -> str:
    """Write the arrays and the manifest to an empty folder, and return the fingerprint of the files."""
    entries = {}
    for name, array in arrays:
        entries[name] = entry_of(array)
        write_array(folder / f"{name}.npy", _little_endian(array))
    manifest = {"format": layout.kind, "version": layout.version, **facts, "arrays": entries}
    (folder / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
    return _fingerprint({name: (folder / name).stat() for name in _file_names(entries)})


def _file_names(arrays: Iterable[str]) -> list[str]:
    return [MANIFEST, *(f"{name}.npy" for name in arrays)]


def _open_file(folder: int, name: str, path: Path, noun: str) -> IO[bytes]:
    """Open a file of a folder handle."""
    try:
        is_file = stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        is_file = False
    if not is_file and name == MANIFEST:
        raise FormatError(f"expected a {noun} folder with {MANIFEST}, but the file is missing", path=path)
    if not is_file:
        raise FormatError(
            f"expected the regular file {name}, but it is missing or of another kind", path=path
        )
    return os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb")


def _read_manifest(handle: IO[bytes], file: Path, layout: FolderFormat) -> dict[str, Any]:
    """Return the manifest, with the format and the version checked."""
    text = handle.read(_MAX_MANIFEST_BYTES + 1)
    if len(text) > _MAX_MANIFEST_BYTES:
        raise FormatError(
            f"expected a manifest of at most {_MAX_MANIFEST_BYTES} bytes, found more", path=file
        )
    manifest = parse_manifest(text, file)
    if manifest.get("format") != layout.kind:
        raise FormatError(f"expected a manifest with format {layout.kind!r}", path=file)
    if [type(manifest.get("version")), manifest.get("version")] != [int, layout.version]:
        found = manifest.get("version")
        msg = (
            f"expected format version {layout.version}, found {found!r}; read it with another Evener version"
        )
        raise FormatError(msg, path=file)
    return manifest


def _map_folder(folder: int, path: Path, layout: FolderFormat) -> ArrayFolder:
    """Map the arrays, after the checks of the manifest, of headers and of lengths."""
    with contextlib.ExitStack() as files:
        handles = {MANIFEST: files.enter_context(_open_file(folder, MANIFEST, path, layout.noun))}
        manifest = _read_manifest(handles[MANIFEST], path / MANIFEST, layout)
        dtypes = layout.dtypes_of(manifest, path / MANIFEST)
        for name, entry in manifest["arrays"].items():
            valid = isinstance(entry, dict) and isinstance(entry.get("dtype"), str)
            if not (valid and type(entry.get("length")) is int and isinstance(entry.get("crc32"), list)):
                msg = f"expected dtype, length and crc32 in the entry of {name}"
                raise FormatError(msg, path=path / MANIFEST)
        arrays = {}
        for name, entry in manifest["arrays"].items():
            file = f"{name}.npy"
            handles[file] = files.enter_context(_open_file(folder, file, path, layout.noun))
            arrays[name] = _map_array(handles[file], path, name, entry, dtypes[name])
        states = {name: os.fstat(handle.fileno()) for name, handle in handles.items()}
        return ArrayFolder(arrays, manifest, _fingerprint(states))


def _map_array(
    handle: IO[bytes], path: Path, name: str, entry: dict[str, Any], dtypes: Sequence[str]
) -> NDArray[Any]:
    header = read_header(handle, name=name, size=os.fstat(handle.fileno()).st_size, path=path)
    if header.shape != (entry["length"],) or header.dtype.str != entry["dtype"]:
        expected = f"{entry['length']} of {entry['dtype']}"
        msg = f"expected {expected} for {name} by the manifest, found {_describe(header)}"
        raise FormatError(msg, path=path)
    if header.dtype.str not in dtypes and header.dtype.kind not in dtypes:
        msg = f"expected {' or '.join(dtypes)} for {name}, found {_describe(header)}"
        raise FormatError(msg, path=path)
    if math.prod(header.shape) == 0:
        return np.empty(0, dtype=header.dtype)
    mapped = np.memmap(handle, dtype=header.dtype, mode="r", offset=header.start, shape=header.shape)
    return mapped.view(np.ndarray)


def _describe(header: Header) -> str:
    return f"{header.shape} of {header.dtype.str}"


def _little_endian(array: NDArray[Any]) -> NDArray[Any]:
    if array.dtype.kind == "O":  # Python strings
        width = max(map(len, array), default=1)
        memory.require(4 * width * len(array), f"strings of {width:,} characters")
        array = array.astype(np.str_)
    return array.astype(array.dtype.newbyteorder("<"), copy=False)


def _checksums(array: NDArray[Any]) -> list[str]:
    view = np.ascontiguousarray(array).view(np.uint8) if len(array) else np.empty(0, np.uint8)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        sums = threads.map(
            lambda at: zlib.crc32(view[at : at + _CHECKSUM_BYTES].data), range(0, len(view), _CHECKSUM_BYTES)
        )
        return [f"{value:08x}" for value in sums]


def _fingerprint(files: Mapping[str, os.stat_result]) -> str:
    """Return a hash of the states of files, given by name."""
    states = [(s.st_dev, s.st_ino, s.st_size, s.st_mtime_ns, s.st_ctime_ns) for s in files.values()]
    return hashlib.sha256(repr((_RULES, list(files), states)).encode()).hexdigest()


def is_validated(fingerprint: str) -> bool:
    """Return whether files with this fingerprint were validated before."""
    cache = cache_folder()
    return cache is not None and (cache / _CHECKED / fingerprint).exists()


def mark_validated(fingerprint: str) -> None:
    """Record files with this fingerprint as validated; on failure, the next read checks again."""
    cache = cache_folder()
    if cache is None:
        return
    folder = cache / _CHECKED
    with contextlib.suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        (folder / fingerprint).touch()
        fingerprints = list(folder.iterdir())
        if len(fingerprints) > _MAX_ENTRIES:
            for old in sorted(fingerprints, key=lambda s: s.stat().st_mtime_ns)[: _MAX_ENTRIES // 2]:
                old.unlink(missing_ok=True)
