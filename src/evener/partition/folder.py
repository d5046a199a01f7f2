"""Folder of a placed graph: write it with `write_partitioned`, and map it with `read_partitioned`.

The folder holds a manifest, the vertices, out-degrees and edges of each partition as `.npy` arrays, and the
graph as the container ``graph.evg``. The manifest may name another container of the graph instead. The reader
derives the numbering, the routes and the blocks of rows, which is faster than checking them.

Each read checks the headers, the lengths and the digest of the graph. The first read of a folder in a new
state checks every rule: see `evener.partition.folder_checks`.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.errors import ArgumentError, FileError, FormatError
from evener.graph.arrays import read_only
from evener.graph.checks import check_path, type_name
from evener.graph.formats import array_folder, container
from evener.graph.formats.array_folder import MANIFEST, FolderFormat, check_sums, open_folder, write_folder
from evener.graph.formats.file import Source
from evener.graph.graph import Graph
from evener.partition.degrees import replace_by_places
from evener.partition.folder_checks import (
    StoredPartition,
    check_lengths,
    check_partitions,
    numbering_of,
)
from evener.partition.host_build import HostBuilt
from evener.partition.partition import Edges, Partition, neighbour_order, partition_of, pending_edges
from evener.partition.partitioned import PartitionedGraph
from evener.partition.placement import Placement
from evener.partition.transfer import transfer_partitions
from evener.partition.upload import edges_on_host
from evener.system.files import atomic_write_folder
from evener.system.memory import require, translate_errors
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.system.world import World

__all__ = ["is_partitioned", "read_partitioned", "write_partitioned"]

_GRAPH = "graph.evg"
# Facts of the manifest and their types.
_FACTS = {
    "graph": (str, type(None)), "digest": (str,), "directed": (bool,), "weighted": (bool,), "policy": (str,),
    "directions": (str,), "elements": (list,), "mirror_bounds": (list,), "boundary": (list,),
    "ascending": (list,),
}  # fmt: skip
# Bytes per vertex of the numbering, and of arrays to derive it.
_NUMBERING_BYTES = 16
_MAX_PARTITIONS = 1 << 16
# Bytes of a manifest that hold its format.
_MANIFEST_BEGIN = 64
_NAME = re.compile(r"evener\.json|\d+\.(vertices|out_degree|(out|in)\.(offsets|targets|weights))\.npy")


def is_partitioned(path: str | os.PathLike[str]) -> bool:
    """Return whether a path, even one that is too long, is a folder of a placed graph, perhaps damaged."""
    folder = Path(path)
    try:
        with (folder / MANIFEST).open("rb") as manifest:
            begin = manifest.read(_MANIFEST_BEGIN)
    except OSError:
        begin = b""
    return _LAYOUT.kind.encode() in begin or os.path.isfile(folder / "0.vertices.npy")  # noqa: PTH113


def write_partitioned(
    pg: PartitionedGraph, path: str | os.PathLike[str], *, graph: str | os.PathLike[str] | None = None
) -> None:
    """Write a placed graph to a folder, atomically.

    Parameters
    ----------
    pg : PartitionedGraph
    path : path-like
        The folder to create. An existing folder of a placed graph is replaced.
    graph : path-like, optional
        An `.evg` container of the graph. The folder then names it instead of holding a copy, and cannot be
        read after the container is moved or changed.

    Raises
    ------
    FileError
        If the folder cannot be written. An existing folder stays unchanged.
    ArgumentError
        If `pg` is not a PartitionedGraph or has several ranks, or if `graph` holds another graph.

    Examples
    --------
    >>> import evener as ev
    >>> pg = ev.partition(ev.read("rmat:10"), on="cpu:1,cpu:1", policy="high", alpha=0.3)
    >>> ev.write_partitioned(pg, "placed")  # doctest: +SKIP
    >>> ev.bfs(ev.read_partitioned("placed"), source=0)  # doctest: +SKIP
    """
    if not isinstance(pg, PartitionedGraph):
        msg = f"write_partitioned: expected a PartitionedGraph, found {type_name(pg)}; use evener.partition"
        raise ArgumentError(msg)
    _require_one_rank("write_partitioned", pg.world)
    target = check_path(path, "write_partitioned")
    if graph is not None and Path(os.path.realpath(graph)).is_relative_to(os.path.realpath(target)):
        msg = f"graph=: expected a container outside the new folder {target}, found {graph}"
        raise ArgumentError(msg)
    digest = container.digest_of(pg.graph)
    if graph is not None and container.open_container(Source(Path(graph))).digest != digest:
        msg = f"graph=: expected a container of the placed graph, found another graph in {graph}"
        raise ArgumentError(msg)
    facts = {
        "graph": None if graph is None else os.path.realpath(graph),
        "digest": digest,
        "directed": pg.graph.directed,
        "weighted": pg.graph.weight_dtype is not None,
        "policy": pg.policy,
        "directions": pg.directions,
        "elements": [element.name.partition("#")[0] for element in pg.elements],
        "mirror_bounds": [p.mirror_bounds.tolist() for p in pg.partitions],
        "boundary": [[edges.boundary for edges in p.directions] for p in pg.partitions],
        "ascending": [
            [bool(element.table_columns) and not edges.host_edges for edges in p.directions]
            for element, p in zip(pg.elements, pg.partitions, strict=True)
        ],
    }
    with (
        translate_errors(f"writing {target}"),
        atomic_write_folder(target, may_replace=_is_plain) as temporary,
    ):
        if graph is None:
            container.write(pg.graph, temporary / _GRAPH, None)
        fingerprint = write_folder(temporary, _LAYOUT, facts, _arrays_of(pg))
    array_folder.mark_validated(fingerprint)


@translate_errors("reading a placed graph")
def read_partitioned(
    path: str | os.PathLike[str],
    on: str | Sequence[str] | Sequence[Element] | None = None,
    *,
    gpu_memory: str | int | None = None,
) -> PartitionedGraph:
    """Return the placed graph of a folder that `write_partitioned` wrote.

    CPU elements map the arrays from the files. GPUs get copies. A CPU copies edges that were written from a
    GPU, because it needs its rows in another order.

    Parameters
    ----------
    path : path-like
    on : str or sequence of str, optional
        As many elements as the graph was placed on, of any kinds. Default: the same elements.
    gpu_memory : str or int, optional
        As in `partition`.

    Returns
    -------
    PartitionedGraph

    Raises
    ------
    FileError
        If the folder or its graph is missing or cannot be read.
    FormatError
        If a file is damaged, or the graph has changed. The message names the file and the rule.
    ArgumentError
        If `on` names another number of elements, or an element that this machine does not have. If the job
        has several ranks.
    OutOfMemoryError
        If the placement needs more memory than is available; `DeviceOutOfMemory` for a GPU.
    """
    _require_one_rank("read_partitioned", current_world())
    source = Source(check_path(path, "read_partitioned"))
    if source.path.name == MANIFEST:
        source = Source(source.path.parent)
    source.check(folder=True)
    folder_path = source.path
    with source.translate_errors():
        folder = open_folder(folder_path, _LAYOUT)
        facts = folder.manifest
        graph = _graph_of(folder_path, facts)
        stored = _stored(folder.arrays, facts)
        check_lengths(stored, graph, folder_path)
        require(_NUMBERING_BYTES * graph.n, f"reading {folder_path}")

        def check() -> None:
            check_sums(folder, folder_path, _LAYOUT)
            check_partitions(stored, graph, folder_path)

        folder.validate(folder_path, check)
    count = len(stored)
    placement = Placement.parse(on, gpu_memory=gpu_memory)
    if on is None:
        placement = replace(placement, on=tuple(facts["elements"]))
    try:
        elements = placement.elements()
    except ArgumentError as error:
        if on is not None:
            raise
        raise FormatError(f"{error}; name the elements with on=", path=folder_path / MANIFEST) from error
    if len(elements) != count:
        names = ", ".join(element.name for element in elements)
        msg = (
            f"{folder_path}: expected {count} element{'s' * (count != 1)}, one for each partition, found "
            f"{len(elements)} ({names}); name {count} with on=, or partition the graph again"
        )
        raise ArgumentError(msg)
    numbering = numbering_of(stored, graph.n)
    directions = facts["directions"]

    def build(p: int) -> HostBuilt:
        numbers = numbering.numbers_of(stored[p].vertices[stored[p].owned :])
        return HostBuilt(_partition(p, stored[p], graph, mapped=elements[p].kind == "cpu"), numbers)

    world = current_world()
    placed = transfer_partitions(
        elements, numbering.bounds, build, {},
        prefixes=directions == "both", world=world, ranks=[world.rank] * count,
    )  # fmt: skip
    return PartitionedGraph(
        graph, elements, *placed, numbering, policy=facts["policy"], directions=directions
    )


def _require_one_rank(function: str, world: World) -> None:
    """Raise ArgumentError for several ranks, each of which has its own partitions."""
    if world.size > 1:
        msg = (
            f"{function}: expected one rank, found {world.size}; "
            "run without an MPI launcher, or partition the graph itself"
        )
        raise ArgumentError(msg)


def _arrays_of(pg: PartitionedGraph) -> Iterator[tuple[str, NDArray[Any]]]:
    """Yield the arrays of the folder by name, each in host memory."""
    for p, (element, partition) in enumerate(zip(pg.elements, pg.partitions, strict=True)):
        yield f"{p}.vertices", element.download(partition.vertices)
        yield f"{p}.out_degree", element.download(partition.out_degree)
        directions = _directions(pg.graph.directed, pg.directions)
        for direction, edges in zip(directions, partition.directions, strict=True):
            yield f"{p}.{direction}.offsets", element.download(edges.offsets)
            yield f"{p}.{direction}.targets", edges_on_host(edges.targets, element)
            if edges.weights is not None:
                yield f"{p}.{direction}.weights", edges_on_host(edges.weights, element)


def _directions(directed: bool, directions: str) -> tuple[str, ...]:  # noqa: FBT001 - one of two facts
    """Return the names of the stored adjacencies."""
    if not directed:
        return ("out",)
    return ("out", "in") if directions == "both" else (directions,)


def _dtypes_of(manifest: dict[str, Any], file: Path) -> dict[str, Any]:
    """Check the facts of a manifest, and return the permitted dtypes of its arrays."""
    _check_facts(manifest, file)
    count = len(manifest["elements"])
    directions = _directions(manifest["directed"], manifest["directions"])
    dtypes: dict[str, Any] = {}
    for p in range(count):
        dtypes |= {f"{p}.vertices": ("<u4",), f"{p}.out_degree": ("<u4",)}
        for direction in directions:
            dtypes |= {f"{p}.{direction}.offsets": ("<u8",), f"{p}.{direction}.targets": ("<u4",)}
            if manifest["weighted"]:
                dtypes[f"{p}.{direction}.weights"] = "iuf"
    if odd := sorted(manifest["arrays"].keys() ^ dtypes.keys()):
        found = "unknown" if odd[0] in manifest["arrays"] else "missing"
        raise FormatError(f"expected the arrays of {count} partitions, but {odd[0]!r} is {found}", path=file)
    return dtypes


def _check_facts(manifest: dict[str, Any], file: Path) -> None:
    """Raise FormatError if a fact of a manifest is missing or has another form."""
    for name, types in _FACTS.items():
        if name not in manifest or type(manifest[name]) not in types:
            raise FormatError(f"expected {name!r} in the manifest, of type {types[0].__name__}", path=file)
    if manifest["directions"] not in ("both", "out", "in") or not isinstance(manifest.get("arrays"), dict):
        raise FormatError('expected \'arrays\', and \'directions\' of "both", "out" or "in"', path=file)
    count = len(manifest["elements"])
    directions = _directions(manifest["directed"], manifest["directions"])
    if not 0 < count <= _MAX_PARTITIONS or not all(type(name) is str for name in manifest["elements"]):
        raise FormatError("expected names of elements in 'elements'", path=file)
    for name, kind, length in (
        ("mirror_bounds", int, count + 1),
        ("boundary", int, len(directions)),
        ("ascending", bool, len(directions)),
    ):
        rows = manifest[name]
        shaped = len(rows) == count and all(isinstance(row, list) and len(row) == length for row in rows)
        if not shaped or any(
            type(value) is not kind or not 0 <= value < 1 << 63 for row in rows for value in row
        ):
            msg = f"expected {length} values of type {kind.__name__} for each of {count} elements in {name!r}"
            raise FormatError(msg, path=file)


_LAYOUT = FolderFormat("evener partitions", "placed graph", 1, _dtypes_of)


def _graph_of(path: Path, facts: dict[str, Any]) -> Graph:
    """Return the graph of a folder, from the folder or from the container that the manifest names."""
    place = path / _GRAPH if facts["graph"] is None else Path(facts["graph"])
    if not place.is_dir():
        msg = f"cannot read {path}: its graph {place} is missing; restore it, or partition the graph again"
        raise FileError(msg)
    opened = container.open_container(Source(place))
    if opened.digest != facts["digest"] or opened.graph.directed != facts["directed"]:
        msg = f"the graph {place} has changed since it was placed; partition it again"
        raise FormatError(msg, path=path)
    return opened.graph


def _stored(arrays: dict[str, NDArray[Any]], facts: dict[str, Any]) -> list[StoredPartition]:
    directions = _directions(facts["directed"], facts["directions"])

    def rows(p: int, direction: str) -> Graph:
        offsets, targets, weights = (
            arrays.get(f"{p}.{direction}.{name}") for name in ("offsets", "targets", "weights")
        )
        return Graph(
            cast("Any", offsets), cast("Any", targets), weights=weights, directed=True, validate=False
        )

    return [
        StoredPartition(
            vertices=read_only(arrays[f"{p}.vertices"]),
            mirror_bounds=np.array(facts["mirror_bounds"][p], np.int64),
            out_degree=read_only(arrays[f"{p}.out_degree"]),
            rows={direction: rows(p, direction) for direction in directions},
            boundary=dict(zip(directions, facts["boundary"][p], strict=True)),
            ascending=dict(zip(directions, facts["ascending"][p], strict=True)),
        )
        for p in range(len(facts["elements"]))
    ]


def _partition(p: int, stored: StoredPartition, graph: Graph, *, mapped: bool) -> Partition:
    """Return a partition with mapped edges if its rows are in the order of a CPU, else with pending edges."""
    order = position = np.empty(0, np.uint32)
    if not mapped or any(stored.ascending.values()):
        order = neighbour_order(stored.vertices, stored.owned, graph.out_degree())
        position = np.arange(len(stored.vertices), dtype=np.uint32)
        replace_by_places(position, order)
    own = np.arange(stored.owned, dtype=np.uint32)
    edges: dict[str, Edges] = {}
    for direction, rows in stored.rows.items():
        own_edges = pending_edges(
            rows, own, rows.offsets, position, len(position), order, stored.boundary[direction]
        )
        if mapped and not (stored.ascending[direction] and len(order)):
            own_edges = replace(own_edges, targets=rows.targets, weights=rows.weights)
        edges[direction] = own_edges
    arrays = stored.vertices, stored.mirror_bounds, stored.out_degree
    return partition_of(p, *arrays, edges, directed=graph.directed)


def _is_plain(folder: Path) -> bool:
    """Return whether a folder is a placed graph without other files."""
    if not (folder / MANIFEST).is_file() or not is_partitioned(folder):
        return False
    others = (entry for entry in folder.iterdir() if not _NAME.fullmatch(entry.name))
    return all(entry.name == _GRAPH and container.is_plain_container(entry) for entry in others)
