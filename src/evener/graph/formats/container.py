"""Evener containers (`.evg`): a folder of `.npy` arrays and a JSON manifest.

The manifest holds ``directed`` and what `evener.graph.formats.array_folder` describes. The arrays are
``offsets.npy``, ``targets.npy`` and, if present, ``weights.npy`` and ``ids.npy``. The file names are fixed,
so a manifest cannot refer to other files.

The reader maps the arrays into memory. Each read checks the headers, the lengths, and the first and last
offset. The first read of a container in a new state also checks the checksums and every rule of CSR. It
records the state as valid: see `evener.graph.formats.array_folder`. `write` records its containers as valid
too. A program that changes mapped arrays in place changes the graph. `write` replaces the folder instead.
"""

from __future__ import annotations

import hashlib
import json
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.arrays import check_csr
from evener.graph.csr import CSR, ReverseEdges
from evener.graph.formats.array_folder import (
    MANIFEST,
    ArrayFolder,
    FolderFormat,
    check_sums,
    entry_of,
    mark_validated,
    open_folder,
    write_folder,
)
from evener.graph.formats.file import Source
from evener.graph.formats.heading import Heading
from evener.graph.formats.registry import Format
from evener.graph.formats.rows import apply_options, check_options, check_symmetric
from evener.graph.generators.sources import ReversedEdges
from evener.graph.graph import Graph
from evener.graph.share import EdgeRange, EdgeShare, StoredRows
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write_folder

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions
    from evener.system.world import World

__all__ = ["FORMAT", "MappedContainer", "check", "digest_of", "is_plain_container", "open_container"]

# The permitted dtypes, or kinds of dtypes, of each array.
_ARRAYS = {"offsets": ("<u8",), "targets": ("<u4",), "weights": "iuf", "ids": "iU"}
_REQUIRED = ("offsets", "targets")
# Unicode has fewer characters, and those from the first number to the second are no characters.
_CHARACTERS, _SURROGATES, _AFTER_SURROGATES = 0x110000, 0xD800, 0xE000


class MappedContainer(NamedTuple):
    """A graph with mapped arrays, and its folder."""

    graph: Graph
    folder: ArrayFolder

    @property
    def digest(self) -> str:
        """A hash of the graph: see `digest_of`."""
        return _digest(self.graph.directed, self.folder.manifest["arrays"])


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a container."""
    if source.path.name == MANIFEST:
        source = Source(source.path.parent)
    return apply_options(open_container(source).graph, options, source.path, symmetric=True)


def read_heading(source: Source, /) -> Heading:
    """Return the sizes in the headers of the arrays."""
    if source.path.name == MANIFEST:
        source = Source(source.path.parent)
    source.check(folder=True)
    with source.translate_errors(), _format_errors(source.path):
        return Heading.of(_map_container(source.path).graph)


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return the mapped rows of a container, of which each rank uses its own."""
    if source.path.name == MANIFEST:
        source = Source(source.path.parent)

    def mapped() -> Graph:
        return open_container(source).graph

    # One rank checks the content; the others find it validated, if they share a cache folder.
    on_all_ranks(world, lambda: mapped() if world.rank == 0 else None)
    graph = on_all_ranks(world, mapped)
    return on_all_ranks(world, lambda: _share_of(graph, options, source.path, world))


def _share_of(graph: Graph, options: ReadOptions, path: Path, world: World) -> EdgeShare:
    """Return the share of a rank, with the options applied as `apply_options` does."""
    check_options(graph, options, path)
    directed = graph.directed if options.directed is None else options.directed
    if graph.directed and not directed:
        msg = (
            f"{path}: directed=False needs the reverse of every edge, which several ranks do not check; "
            "read the container with one process and write it again"
        )
        raise ArgumentError(msg)
    weights = None if options.weighted is False else graph.weights
    rows = CSR(graph.offsets, graph.targets, weights, None)
    edges: StoredRows | EdgeRange = StoredRows(rows)
    if options.self_loops != "keep" or options.duplicates != "keep":
        bounds = [graph.m * rank // world.size for rank in (world.rank, world.rank + 1)]
        edges = EdgeRange(ReversedEdges(ReverseEdges(*rows[:3])), *bounds)
    ids = graph.ids if graph.has_custom_ids else None
    return EdgeShare(edges, directed, symmetrise=False, ids=ids, **options.repeated)


def open_container(source: Source) -> MappedContainer:
    """Return the container in a folder, validated."""
    source.check(folder=True)
    path = source.path
    with source.translate_errors(), _format_errors(path):
        container = _map_container(path)
        container.folder.validate(path, lambda: check(container, path))
    return container


@contextmanager
def _format_errors(path: Path) -> Iterator[None]:
    """Convert an error of a graph's arrays to an error of the file that contains them."""
    try:
        yield
    except ArgumentError as error:
        raise FormatError(str(error), path=path) from error


def check(container: MappedContainer, path: Path) -> None:
    """Check the content of a container: checksums, every rule of CSR, and symmetry."""
    graph = container.graph
    check_sums(container.folder, path, _LAYOUT)
    ids = graph.ids if graph.has_custom_ids else None
    if ids is not None and ids.dtype.kind == "U":
        characters = ids.view(np.uint32)
        valid = (characters < _SURROGATES) | ((characters >= _AFTER_SURROGATES) & (characters < _CHARACTERS))
        if not valid.all():
            raise FormatError("expected Unicode characters in ids, found another number", path=path)
    with _format_errors(path):
        check_csr(graph.offsets, graph.targets, weights=graph.weights, ids=ids)
    if not graph.directed:
        check_symmetric(graph, path)


def digest_of(graph: Graph) -> str:
    """Return a hash of a graph, equal to the digest of its container."""
    return _digest(graph.directed, {name: entry_of(array) for name, array in _arrays_of(graph).items()})


def _digest(directed: bool, entries: dict[str, Any]) -> str:  # noqa: FBT001 - one of two facts
    return hashlib.sha256(json.dumps([directed, entries], sort_keys=True).encode()).hexdigest()


def _dtypes_of(manifest: dict[str, Any], file: Path) -> dict[str, Any]:
    """Check the facts of a manifest, and return the permitted dtypes of its arrays."""
    arrays = manifest.get("arrays")
    if type(manifest.get("directed")) is not bool or not isinstance(arrays, dict):
        raise FormatError("expected 'directed' and 'arrays' in the manifest", path=file)
    unknown = next((name for name in arrays if name not in _ARRAYS), None)
    missing = next((name for name in _REQUIRED if name not in arrays), None)
    if unknown is not None or missing is not None:
        cause = f"found {unknown!r}" if unknown is not None else f"{missing!r} is missing"
        msg = f"expected the arrays offsets and targets, and optionally weights and ids, but {cause}"
        raise FormatError(msg, path=file)
    for name in _ARRAYS.keys() - arrays.keys():
        if (file.parent / f"{name}.npy").exists():
            msg = (
                f"expected {name!r} in 'arrays', because the folder has {name}.npy; copy the container again"
            )
            raise FormatError(msg, path=file)
    return _ARRAYS


_LAYOUT = FolderFormat("evener graph", "container", 1, _dtypes_of)


def _map_container(path: Path) -> MappedContainer:
    """Map the arrays of a container into a graph, after the checks of headers and lengths."""
    folder = open_folder(path, _LAYOUT)
    offsets, targets = folder.arrays["offsets"], folder.arrays["targets"]
    weights, ids = folder.arrays.get("weights"), folder.arrays.get("ids")
    n, m = len(offsets) - 1, len(targets)
    consistent = n >= 0 and (weights is None or len(weights) == m) and (ids is None or len(ids) == n)
    if not consistent or offsets[0] != 0 or int(offsets[-1]) != m:
        msg = "expected offsets from 0 to the number of targets, and weights and ids of matching lengths"
        raise FormatError(msg, path=path)
    directed = folder.manifest["directed"]
    graph = Graph(offsets, targets, weights=weights, ids=ids, directed=directed, validate=False)
    return MappedContainer(graph, folder)


def _arrays_of(graph: Graph) -> dict[str, NDArray[Any]]:
    ids = graph.ids if graph.has_custom_ids else None
    given: dict[str, NDArray[Any] | None] = {}
    given |= {"offsets": graph.offsets, "targets": graph.targets, "weights": graph.weights, "ids": ids}
    return {name: array for name, array in given.items() if array is not None}


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write a container; replace an existing container that holds no other files."""
    arrays = _arrays_of(graph)
    # The new container is marked as validated, so check the graph first.
    check_csr(graph.offsets, graph.targets, weights=graph.weights, ids=arrays.get("ids"))
    if not graph.directed:
        check_symmetric(graph, target)
    with atomic_write_folder(target, may_replace=is_plain_container) as temporary:
        fingerprint = write_folder(temporary, _LAYOUT, {"directed": graph.directed}, arrays.items())
    mark_validated(fingerprint)


def is_plain_container(folder: Path) -> bool:
    """Return whether a folder is a container without other files."""
    names = {MANIFEST, *(f"{name}.npy" for name in _ARRAYS)}
    is_container = (folder / MANIFEST).is_file()
    return is_container and all(entry.name in names and entry.is_file() for entry in folder.iterdir())


FORMAT = Format(
    "container",
    (".evg",),
    read,
    write,
    compressed=False,
    read_share=read_share,
    read_heading=read_heading,
    is_one_file=False,
)
