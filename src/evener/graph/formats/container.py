"""Evener containers (`.evg`): a folder of `.npy` arrays and a JSON manifest.

``evener.json`` holds the format version, ``directed``, and for each array its dtype, its length and the
CRC-32 of each 64 MiB. The arrays are ``offsets.npy``, ``targets.npy`` and, if present, ``weights.npy`` and
``ids.npy``. The file names are fixed, so a manifest cannot refer to other files. The format has no pickle and
no archive.

The reader maps the arrays into memory. Each read checks the headers, the lengths, and the first and last
offset. The first read of a container in a new state also checks the checksums and every rule of CSR. It
records the state as valid: see `evener.graph.formats.validated`. `write` records its containers as valid too.
A program that changes mapped arrays in place changes the graph. `write` replaces the folder instead.
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
from evener.graph.arrays import check_csr
from evener.graph.formats import validated
from evener.graph.formats.edgelist import refuse_columns
from evener.graph.formats.file import Source
from evener.graph.formats.npy import Header, read_header, write_array
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import apply_options, check_symmetric
from evener.graph.graph import Graph
from evener.system.files import atomic_write_folder

if TYPE_CHECKING:
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions

__all__ = ["FORMAT", "check"]

MANIFEST = "evener.json"
_KIND = "evener graph"
_VERSION = 1
_ARRAYS = ("offsets", "targets", "weights", "ids")

# Bytes per checksum.
_CHECKSUM_BYTES = 1 << 26
_MAX_MANIFEST_BYTES = 1 << 24


class MappedContainer(NamedTuple):
    """A graph with mapped arrays, its manifest, and the fingerprint of its files."""

    graph: Graph
    manifest: dict[str, Any]
    fingerprint: str


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a container."""
    refuse_columns(options, "a container")
    if source.path.name == MANIFEST:
        source = Source(source.path.parent)
    source.check(folder=True)
    path = source.path
    with source.translate_errors():
        container = _open(path)
        if not validated.is_validated(container.fingerprint):
            check(container, path)
            validated.mark_validated(container.fingerprint)
    return apply_options(container.graph, options, path, symmetric=True)


def check(container: MappedContainer, path: Path) -> None:
    """Check the content of a container: checksums, every rule of CSR, and symmetry.

    Raises
    ------
    FormatError
        If the content breaks a rule. The message names the array and the rule.
    """
    graph, entries = container.graph, container.manifest["arrays"]
    arrays: dict[str, NDArray[Any] | None] = {}
    arrays |= {"offsets": graph.offsets, "targets": graph.targets, "weights": graph.weights}
    arrays["ids"] = graph.ids if graph.has_custom_ids else None
    for name, array in arrays.items():
        if array is not None and _checksums(array) != entries[name]["crc32"]:
            msg = f"{name}.npy does not match the checksums of the manifest; copy the container again"
            raise FormatError(msg, path=path)
    try:
        check_csr(graph.offsets, graph.targets, weights=graph.weights, ids=arrays["ids"])
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error
    if not graph.directed:
        check_symmetric(graph, path)


def _open(path: Path) -> MappedContainer:
    """Open a container consistently, even while another program replaces it."""
    while True:
        # All files are opened relative to one folder handle, so they belong to one container even if another
        # program replaces `path`. The replaced folder is then deleted, which may fail this open: try again.
        folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        try:
            return _map_container(folder, path)
        except (FormatError, OSError):
            if os.path.samestat(os.fstat(folder), path.stat()):
                raise
        finally:
            os.close(folder)


def _open_file(folder: int, name: str, path: Path) -> IO[bytes]:
    """Open a file of a folder handle."""
    try:
        is_file = stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        is_file = False
    if not is_file and name == MANIFEST:
        raise FormatError(f"expected a container folder with {MANIFEST}, but the file is missing", path=path)
    if not is_file:
        raise FormatError(
            f"expected the regular file {name}, but it is missing or of another kind", path=path
        )
    return os.fdopen(os.open(name, os.O_RDONLY | os.O_NOFOLLOW, dir_fd=folder), "rb")


def _read_manifest(handle: IO[bytes], path: Path) -> dict[str, Any]:
    """Return the manifest, with the types of all entries checked."""
    file = path / MANIFEST
    text = handle.read(_MAX_MANIFEST_BYTES + 1)
    if len(text) > _MAX_MANIFEST_BYTES:
        raise FormatError(
            f"expected a manifest of at most {_MAX_MANIFEST_BYTES} bytes, found more", path=file
        )
    try:
        manifest = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FormatError(f"expected a manifest in JSON: {error}", path=file) from None
    if not isinstance(manifest, dict) or manifest.get("format") != _KIND:
        raise FormatError(f"expected a manifest with format {_KIND!r}", path=file)
    if manifest.get("version") != _VERSION:
        found = manifest.get("version")
        msg = f"expected format version {_VERSION}, found {found!r}; read it with another Evener version"
        raise FormatError(msg, path=file)
    arrays = manifest.get("arrays")
    if type(manifest.get("directed")) is not bool or not isinstance(arrays, dict):
        raise FormatError("expected 'directed' and 'arrays' in the manifest", path=file)
    unknown = next((name for name in arrays if name not in _ARRAYS), None)
    missing = next((name for name in _ARRAYS[:2] if name not in arrays), None)
    if unknown is not None or missing is not None:
        cause = f"found {unknown!r}" if unknown is not None else f"{missing!r} is missing"
        msg = f"expected the arrays offsets and targets, and optionally weights and ids, but {cause}"
        raise FormatError(msg, path=file)
    for name, entry in arrays.items():
        valid = isinstance(entry, dict) and isinstance(entry.get("dtype"), str)
        if not (valid and type(entry.get("length")) is int and isinstance(entry.get("crc32"), list)):
            raise FormatError(f"expected dtype, length and crc32 in the entry of {name}", path=file)
    return manifest


def _map_container(folder: int, path: Path) -> MappedContainer:
    """Map the arrays of a container into a graph, after the checks of headers and lengths."""
    with ExitStack() as files:
        handles = {MANIFEST: files.enter_context(_open_file(folder, MANIFEST, path))}
        manifest = _read_manifest(handles[MANIFEST], path)
        arrays = {}
        for name, entry in manifest["arrays"].items():
            handle = handles[f"{name}.npy"] = files.enter_context(_open_file(folder, f"{name}.npy", path))
            arrays[name] = _map_array(handle, path, name, entry)
        fingerprint = validated.fingerprint(
            {name: os.fstat(handle.fileno()) for name, handle in handles.items()}
        )
    offsets, targets = arrays["offsets"], arrays["targets"]
    weights, ids = arrays.get("weights"), arrays.get("ids")
    n, m = len(offsets) - 1, len(targets)
    consistent = n >= 0 and (weights is None or len(weights) == m) and (ids is None or len(ids) == n)
    if not consistent or offsets[0] != 0 or int(offsets[-1]) != m:
        msg = "expected offsets from 0 to the number of targets, and weights and ids of matching lengths"
        raise FormatError(msg, path=path)
    graph = Graph(offsets, targets, weights=weights, ids=ids, directed=manifest["directed"], validate=False)
    return MappedContainer(graph, manifest, fingerprint)


def _map_array(handle: IO[bytes], path: Path, name: str, entry: dict[str, Any]) -> NDArray[Any]:
    header = read_header(handle, name=name, size=os.fstat(handle.fileno()).st_size, path=path)
    if header.shape != (entry["length"],) or header.dtype.str != entry["dtype"]:
        expected = f"{entry['length']} of {entry['dtype']}"
        msg = f"expected {expected} for {name} by the manifest, found {_describe(header)}"
        raise FormatError(msg, path=path)
    dtypes = {"offsets": ("<u8",), "targets": ("<u4",), "weights": None, "ids": None}[name]
    kinds = {"weights": "iuf", "ids": "iU"}.get(name, "u")
    if header.dtype.kind not in kinds or (dtypes and header.dtype.str not in dtypes):
        msg = f"expected {' or '.join(dtypes or kinds)} for {name}, found {_describe(header)}"
        raise FormatError(msg, path=path)
    if math.prod(header.shape) == 0:
        return np.empty(0, dtype=header.dtype)
    mapped = np.memmap(handle, dtype=header.dtype, mode="r", offset=header.start, shape=header.shape)
    return mapped.view(np.ndarray)


def _describe(header: Header) -> str:
    return f"{header.shape} of {header.dtype.str}"


def _checksums(array: NDArray[Any]) -> list[str]:
    view = np.ascontiguousarray(array).view(np.uint8) if len(array) else np.empty(0, np.uint8)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        sums = threads.map(
            lambda at: zlib.crc32(view[at : at + _CHECKSUM_BYTES].data), range(0, len(view), _CHECKSUM_BYTES)
        )
        return [f"{value:08x}" for value in sums]


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write a container; replace an existing container that holds no other files."""
    ids = graph.ids if graph.has_custom_ids else None
    # The new container is marked as validated, so check the graph first.
    check_csr(graph.offsets, graph.targets, weights=graph.weights, ids=ids)
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
    with atomic_write_folder(target, may_replace=_is_plain_container) as temporary:
        for name, array in arrays.items():
            write_array(temporary / f"{name}.npy", array)
        (temporary / MANIFEST).write_text(json.dumps(manifest, indent=1) + "\n")
        files = [MANIFEST, *(f"{name}.npy" for name in arrays)]
        fingerprint = validated.fingerprint({name: (temporary / name).stat() for name in files})
    validated.mark_validated(fingerprint)


def _is_plain_container(folder: Path) -> bool:
    """Return whether a folder is a container without other files."""
    names = {MANIFEST, *(f"{name}.npy" for name in _ARRAYS)}
    is_container = (folder / MANIFEST).is_file()
    return is_container and all(entry.name in names and entry.is_file() for entry in folder.iterdir())


FORMAT = Format("container", (".evg",), read, write, compressed=False)
