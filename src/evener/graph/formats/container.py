"""Evener's own container (`.evg`): a folder of plain `.npy` arrays and one JSON manifest.

``evener.json`` holds the format's version, ``directed``, and for each array its dtype, its length and the
CRC-32 of each 64 MiB of it. The arrays are ``offsets.npy``, ``targets.npy`` and, where there are any,
``weights.npy`` and ``ids.npy``; their names are fixed, so a manifest cannot point anywhere else. There is
no pickle and no archive.

A container is opened memory-mapped. Its headers, lengths and outermost offsets are checked every time. Its
content (checksums, and every rule of CSR: 0.44 ns an edge) is checked the first time this user meets the
files in this state, and then remembered: see `evener.graph.formats.validated`. What `write` has
just checked and written is remembered too, so it opens in milliseconds from the start. As with any
memory-mapped file, a program that changes the arrays while they are in use changes the graph under it;
`write` never does, it replaces the folder.
"""

from __future__ import annotations

import json
import math
import os
import stat
import zlib
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from typing import IO, TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph import csr as build
from evener.graph.formats import validated as trust
from evener.graph.formats.edgelist import refuse_columns
from evener.graph.formats.file import Source
from evener.graph.formats.npy import Header, read_header, write_array
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import check_symmetric, wished
from evener.graph.graph import Graph
from evener.system.files import replacing_folder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.edges import Wishes

__all__ = ["FORMAT", "check"]

MANIFEST = "evener.json"
_KIND = "evener graph"
_VERSION = 1
_ARRAYS = ("offsets", "targets", "weights", "ids")

# Bytes under one checksum: large enough that a thread's start is lost in it, small enough to use all cores.
_PIECE = 1 << 26
_MOST_MANIFEST = 1 << 24


class Opened(NamedTuple):
    """A container whose arrays are mapped, and the state (`trust.stamp`) of the very files they came from."""

    graph: Graph
    manifest: dict[str, Any]
    stamp: str


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Open a container."""
    refuse_columns(wishes, "a container")
    if source.path.name == MANIFEST:
        source = Source(source.path.parent)
    source.check(folder=True)
    path = source.path
    with source.reading():
        opened = _opened(path)
        if not trust.known(opened.stamp):
            check(opened, path)
            trust.remember(opened.stamp)
    return wished(opened.graph, wishes, path, symmetric=True)


def check(opened: Opened, path: Path) -> None:
    """Check the whole content of a container: checksums, every rule of CSR, symmetry.

    Raises
    ------
    FormatError
        Naming the array and the rule it breaks.
    """
    graph, entries = opened.graph, opened.manifest["arrays"]
    arrays: dict[str, NDArray[Any] | None] = {}
    arrays |= {"offsets": graph.offsets, "targets": graph.targets, "weights": graph.weights}
    arrays["ids"] = graph.ids if graph.has_own_ids else None
    for name, array in arrays.items():
        if array is not None and _checksums(array) != entries[name]["crc32"]:
            msg = f"{name}.npy does not have the checksums it should: it was damaged or changed; copy it anew"
            raise FormatError(msg, path=path)
    try:
        build.check_csr(graph.offsets, graph.targets, weights=graph.weights, ids=arrays["ids"])
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error
    if not graph.directed:
        check_symmetric(graph, path)


def _opened(path: Path) -> Opened:
    """Open a container as one program wrote it, even while another one replaces it."""
    while True:
        # The folder is opened once and its files are opened from it, so all of them are of one container,
        # whatever takes its place at `path`. What is replaced is then removed, perhaps before its last file
        # is open: if so, the one that is there now is opened.
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return _mapped(folder, path)
        except (FormatError, OSError):
            if os.path.samestat(os.fstat(folder), path.stat()):
                raise
        finally:
            os.close(folder)


def _file(folder: int, name: str, path: Path) -> IO[bytes]:
    """Open a file of a folder that is open."""
    try:
        plain = stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        plain = False
    if not plain and name == MANIFEST:
        raise FormatError(f"expected a container, but the folder has no {MANIFEST}", path=path)
    if not plain:
        raise FormatError(f"{name} is missing, or is not a plain file", path=path)
    return os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb")


def _manifest(handle: IO[bytes], path: Path) -> dict[str, Any]:
    """Read the manifest, with nothing in it that is not expected."""
    file = path / MANIFEST
    text = handle.read(_MOST_MANIFEST + 1)
    if len(text) > _MOST_MANIFEST:
        raise FormatError(f"the manifest has more than {_MOST_MANIFEST} bytes", path=file)
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"the manifest is no JSON: {error}", path=file) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _KIND:
        raise FormatError(f"expected a manifest of format {_KIND!r}", path=file)
    if manifest.get("version") != _VERSION:
        msg = f"expected version {_VERSION}, but {manifest.get('version')!r} came: it needs another Evener"
        raise FormatError(msg, path=file)
    arrays = manifest.get("arrays")
    if type(manifest.get("directed")) is not bool or not isinstance(arrays, dict):
        raise FormatError("the manifest lacks 'directed' or 'arrays'", path=file)
    unknown = next((name for name in arrays if name not in _ARRAYS), None)
    missing = next((name for name in _ARRAYS[:2] if name not in arrays), None)
    if unknown is not None or missing is not None:
        what = f"{unknown!r} came" if unknown is not None else f"{missing!r} is missing"
        raise FormatError(
            f"expected the arrays {', '.join(_ARRAYS)} (the last two at will), but {what}", path=file
        )
    for name, entry in arrays.items():
        sound = isinstance(entry, dict) and isinstance(entry.get("dtype"), str)
        if not (sound and type(entry.get("length")) is int and isinstance(entry.get("crc32"), list)):
            raise FormatError(f"the entry of {name} lacks dtype, length or crc32", path=file)
    return manifest


def _mapped(folder: int, path: Path) -> Opened:
    """Map the arrays as they lie on disk into a graph, after the checks that take no time."""
    with ExitStack() as files:
        handles = {MANIFEST: files.enter_context(_file(folder, MANIFEST, path))}
        manifest = _manifest(handles[MANIFEST], path)
        arrays = {}
        for name, entry in manifest["arrays"].items():
            handle = handles[f"{name}.npy"] = files.enter_context(_file(folder, f"{name}.npy", path))
            arrays[name] = _map(handle, path, name, entry)
        stamp = trust.stamp({name: os.fstat(handle.fileno()) for name, handle in handles.items()})
    offsets, targets = arrays["offsets"], arrays["targets"]
    weights, ids = arrays.get("weights"), arrays.get("ids")
    n, m = len(offsets) - 1, len(targets)
    fits = n >= 0 and (weights is None or len(weights) == m) and (ids is None or len(ids) == n)
    if not fits or offsets[0] != 0 or int(offsets[-1]) != m:
        msg = "the arrays do not fit each other: offsets must run from 0 to the number of targets"
        raise FormatError(msg, path=path)
    graph = Graph(offsets, targets, weights=weights, ids=ids, directed=manifest["directed"], validate=False)
    return Opened(graph, manifest, stamp)


def _map(handle: IO[bytes], path: Path, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    header = read_header(handle, name=name, size=os.fstat(handle.fileno()).st_size, path=path)
    if header.shape != (entry["length"],) or header.dtype.str != entry["dtype"]:
        said = f"{entry['length']} of {entry['dtype']}"
        msg = f"the manifest says {said} for {name}, but the array is {_said(header)}"
        raise FormatError(msg, path=path)
    wanted = {"offsets": ("<u8",), "targets": ("<u4",), "weights": None, "ids": None}[name]
    by_kind = {"weights": "iuf", "ids": "iU"}.get(name, "u")
    if header.dtype.kind not in by_kind or (wanted and header.dtype.str not in wanted):
        msg = f"expected {' or '.join(wanted or by_kind)} for {name}, but the array is {_said(header)}"
        raise FormatError(msg, path=path)
    if math.prod(header.shape) == 0:
        return np.empty(0, dtype=header.dtype)
    mapped = np.memmap(handle, dtype=header.dtype, mode="r", offset=header.start, shape=header.shape)
    return mapped.view(np.ndarray)


def _said(header: Header) -> str:
    return f"{header.shape} of {header.dtype.str}"


def _checksums(array: NDArray[Any]) -> list[str]:
    view = np.ascontiguousarray(array).view(np.uint8) if len(array) else np.empty(0, np.uint8)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        sums = threads.map(lambda at: zlib.crc32(view[at : at + _PIECE].data), range(0, len(view), _PIECE))
        return [f"{value:08x}" for value in sums]


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write a container; one that is there, with nothing else in it, is replaced when the new is whole."""
    ids = graph.ids if graph.has_own_ids else None
    # What is remembered as sound is checked, whoever made the graph.
    build.check_csr(graph.offsets, graph.targets, weights=graph.weights, ids=ids)
    if not graph.directed:
        check_symmetric(graph, target)
    given: dict[str, NDArray[Any] | None] = {"offsets": graph.offsets, "targets": graph.targets}
    given |= {"weights": graph.weights, "ids": ids}
    arrays = {name: array for name, array in given.items() if array is not None}
    arrays = {name: array.astype(array.dtype.newbyteorder("<"), copy=False) for name, array in arrays.items()}
    entries = {
        name: {"dtype": array.dtype.str, "length": len(array), "crc32": _checksums(array)}
        for name, array in arrays.items()
    }
    manifest = {"format": _KIND, "version": _VERSION, "directed": graph.directed, "arrays": entries}
    with replacing_folder(target, ours=_holds_no_other_file) as temporary:
        for name, array in arrays.items():
            write_array(temporary / f"{name}.npy", array)
        (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        files = [MANIFEST, *(f"{name}.npy" for name in arrays)]
        stamp = trust.stamp({name: (temporary / name).stat() for name in files})
    trust.remember(stamp)


def _holds_no_other_file(folder: Path) -> bool:
    """Whether a folder is a container in which nobody keeps anything else: it goes as the new one comes."""
    own = {MANIFEST, *(f"{name}.npy" for name in _ARRAYS)}
    is_container = (folder / MANIFEST).is_file()
    return is_container and all(entry.name in own and entry.is_file() for entry in folder.iterdir())


FORMAT = Format("container", (".evg",), read, write, compressed=False)
