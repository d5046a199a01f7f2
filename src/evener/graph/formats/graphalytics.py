"""LDBC Graphalytics: ``NAME.properties``, ``NAME.v`` (one id per line), ``NAME.e`` (``tail head [weight]``).

Each of the three paths selects the graph. The vertex file defines the vertices, so vertices without edges and
gaps between ids stay.
"""

from __future__ import annotations

import contextlib
import glob
import re
import secrets
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FileError, FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edgelist import refuse_columns
from evener.graph.formats.edges import Edges, build_graph, count_edges, refuse_infinite, write_lines
from evener.graph.formats.file import Source, open_compressed
from evener.graph.formats.registry import COMPRESSIONS, Format
from evener.graph.formats.text_part import (
    count_lines,
    parse_in_parts,
    parse_part,
    part_of,
    refuse_compressed,
    to_common_dtype,
)
from evener.graph.formats.text_stream import open_text
from evener.graph.share import EdgeIds, EdgeShare
from evener.system import memory
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write, atomic_write_all

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["FORMAT"]

# Largest properties file.
_MAX_PROPERTIES_BYTES = 1 << 20
# Bytes per vertex for the sorted ids, and per edge for the places of its ends.
_SORT_BYTES, _PLACE_BYTES = 17, 24
# The names of links to new files begin with this.
_LINK = ".new-"


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a properties, vertex or edge file."""
    path, properties, weighted = _begin(source, options)
    ids = _read_vertices(_component_file(properties, "vertex-file", path))
    _check_count(properties, "meta.vertices", len(ids), path)
    edge_source = _component_file(properties, "edge-file", path)
    edges = _read_edges(edge_source, weighted=weighted, read_weights=options.weighted is not False)
    _check_count(properties, "meta.edges", len(edges.src), path)
    _renumber(edges, ids, edge_source.path)
    edges.directed = _read_directed(properties, path)
    return build_graph(edges, options, path)


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return this rank's edges, and its part of the vertex file."""

    def begin() -> Any:
        options.refuse_n(source.path, "a list of ids")
        path, properties, weighted = _begin(source, options)
        files = [_component_file(properties, key, path) for key in ("vertex-file", "edge-file")]
        for file in files:
            refuse_compressed(file)
        grammar = _grammar_of(files[1], weighted=weighted, read_weights=options.weighted is not False)
        return path, properties, *files, grammar, _read_directed(properties, path)

    path, properties, vertices, file, grammar, stated = on_all_ranks(world, begin)
    part = part_of(world, vertices)
    ids = parse_in_parts(world, lambda: (_read_vertices(part), count_lines(part)))
    _check_count(properties, "meta.vertices", world.allreduce(len(ids), "sum"), path)
    nothing = np.empty(0, np.uint32)
    edges = EdgeIds(nothing, nothing, None, ids, listed=True, path=file.path)
    if grammar is not None:
        found = parse_part(world, file, grammar)
        edges.src, edges.dst = found.edges.src, found.edges.dst
        edges.weights = to_common_dtype(world, found.edges.weights)
    elif options.weighted is not False and properties.get("edge-properties.names", "").strip():
        edges.weights = np.empty(0)
    _check_count(properties, "meta.edges", world.allreduce(len(edges.src), "sum"), path)
    return options.share_of(edges, stated=stated)


def _begin(source: Source, options: ReadOptions) -> tuple[Path, dict[str, str], bool]:
    """Return the properties file, the properties, and whether edges have weights."""
    refuse_columns(options, "a Graphalytics graph")
    path = _properties_path(source)
    properties = _read_properties(path)
    weighted = bool(properties.get("edge-properties.names", "").strip())
    if options.weighted and not weighted:
        raise FormatError("expected a weight in edge-properties.names, found none", path=path)
    return path, properties, weighted


def _properties_path(source: Source) -> Path:
    name = source.path.with_suffix("") if source.compression else source.path
    return name.with_suffix(".properties")


def _read_properties(path: Path) -> dict[str, str]:
    """Return the properties of the graph, without the prefix ``graph.NAME.``."""
    source = Source(path)
    source.check()
    if source.size > _MAX_PROPERTIES_BYTES:
        msg = f"expected at most {_MAX_PROPERTIES_BYTES:,} bytes of properties, found {source.size:,}"
        raise FormatError(msg, path=path)
    try:
        text = source.read_bytes().decode()
    except UnicodeDecodeError:
        raise FormatError("expected properties as text, found binary data", path=path) from None
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = re.fullmatch(r"graph\.([^=:]+)[=:](.*)", line.strip())
        if match is None:
            msg = f"expected 'graph.NAME.PROPERTY = VALUE', found {line[:60]!r}"
            raise FormatError(msg, path=path, line=number)
        # The name of a graph may hold points.
        name = match[1].strip()
        key = name.removeprefix(f"{path.stem}.")
        found[key if key != name else name.partition(".")[2]] = match[2].strip()
    return found


def _component_file(properties: dict[str, str], key: str, path: Path) -> Source:
    """Return the vertex or edge file, plain or compressed, in the folder of the properties file."""
    name = properties.get(key) or path.stem + {"vertex-file": ".v", "edge-file": ".e"}[key]
    if Path(name).name != name:
        msg = f"expected a file name without folders as {key}, found {name!r}"
        raise FormatError(msg, path=path)
    for suffix, compression in {"": None, **COMPRESSIONS}.items():
        file = path.with_name(name + suffix)
        if file.exists():
            component = Source(file, COMPRESSIONS.get(file.suffix) if compression is None else compression)
            component.check(empty=True)
            return component
    msg = f"expected the file {path.with_name(name)}, {key} of {path.name}, but it does not exist"
    raise FileError(msg)


def _read_directed(properties: dict[str, str], path: Path) -> bool:
    word = properties.get("directed", "").lower()
    if word not in ("true", "false"):
        raise FormatError(f"expected directed = true or false, found {word!r}", path=path)
    return word == "true"


def _check_count(properties: dict[str, str], key: str, found: int, path: Path) -> None:
    expected = properties.get(key)
    if expected is not None and expected != str(found):
        msg = f"expected {expected} by {key}, found {found}; download the graph again"
        raise FormatError(msg, path=path)


def _read_vertices(source: Source) -> NDArray[np.int64]:
    """Return the ids of a vertex file, ascending."""
    import pyarrow as pa
    from pyarrow import csv

    with open_text(source, empty=True) as text:
        if text.peek() is None:
            return np.empty(0, dtype=np.int64)

    def attempt(*, threads: bool) -> NDArray[np.int64]:
        with source.open() as stream:
            table = csv.read_csv(
                stream,
                read_options=csv.ReadOptions(column_names=["id"], use_threads=threads),
                convert_options=csv.ConvertOptions(column_types={"id": pa.int64()}, null_values=[]),
            )
        memory.require(_SORT_BYTES * len(table), f"the vertices of {source.path}")
        column: NDArray[np.int64] = table.column(0).to_numpy()
        return column

    try:
        ids = attempt(threads=True)
    except pa.ArrowInvalid:
        try:  # with one thread, the error names the row
            ids = attempt(threads=False)
        except pa.ArrowInvalid as error:
            row = re.search(r"Row #(\d+)", str(error))
            msg = f"expected a vertex id, an integer, in each line: {str(error).splitlines()[0]}"
            raise FormatError(msg, path=source.path, line=int(row[1]) if row else None) from error
    if len(ids) and ids.min() < 0:
        line = int((ids < 0).argmax())
        msg = f"expected vertex ids from 0 up, found {ids[line]}"
        raise FormatError(msg, path=source.path, line=line + 1)
    ids = np.sort(ids)
    repeated = np.flatnonzero(ids[1:] == ids[:-1])
    if len(repeated):
        raise FormatError(f"expected distinct vertex ids, found {ids[repeated[0]]} twice", path=source.path)
    return ids


def _read_edges(source: Source, *, weighted: bool, read_weights: bool) -> Edges:
    grammar = _grammar_of(source, weighted=weighted, read_weights=read_weights)
    if grammar is None:
        nothing = np.empty(0, dtype=np.uint32)
        return Edges(nothing, nothing, np.empty(0) if weighted else None)
    with open_text(source, empty=True) as text:
        return lines.parse(text, grammar)


def _grammar_of(source: Source, *, weighted: bool, read_weights: bool) -> lines.Grammar | None:
    """Return the syntax of the lines of an edge file; None without lines."""
    with open_text(source, empty=True) as text:
        if (first := text.peek()) is None:
            return None
    fields = len(lines.fields_of(first))
    if fields < 2 + weighted:
        msg = f"expected {2 + weighted} fields by the properties, found {fields}"
        raise FormatError(msg, path=source.path, line=1)
    return lines.Grammar(b"", fields, weighted and read_weights)


def _renumber(edges: Edges, ids: NDArray[np.int64], path: Path) -> None:
    """Replace ids of tails and heads by positions, unless the ids are ``0..n-1``."""
    memory.require(_PLACE_BYTES * len(edges.src), f"the edges of {path}")
    for end in (edges.src, edges.dst):
        place = np.minimum(np.searchsorted(ids, end), max(len(ids) - 1, 0))
        unknown = np.flatnonzero(ids[place] != end) if len(ids) else np.arange(min(len(end), 1))
        if len(unknown):
            msg = f"edge {unknown[0] + 1} names vertex {end[unknown[0]]}, which the vertex file lacks"
            raise FormatError(msg, path=path)
    if len(ids) == 0 or ids[-1] == len(ids) - 1:
        edges.n = len(ids)
        return
    edges.src = np.searchsorted(ids, edges.src).astype(np.uint32)
    edges.dst = np.searchsorted(ids, edges.dst).astype(np.uint32)
    edges.ids = ids


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write the three files; rename them after all are complete, the properties last."""
    import pyarrow as pa
    from pyarrow import csv

    if graph.has_string_ids:
        raise ArgumentError(
            f"{target}: expected integer ids for Graphalytics, found strings; write .parquet, .csv or .evg"
        )
    refuse_infinite(graph, target)
    path, vertices, edges = _file_paths(target, compression)
    _refuse_unrelated(target, path, vertices, edges)
    properties = {
        "vertex-file": vertices.name,
        "edge-file": edges.name,
        "meta.vertices": graph.n,
        "meta.edges": count_edges(graph),
        "directed": str(graph.directed).lower(),
    }
    if graph.weights is not None:
        kind = "real" if graph.weights.dtype.kind == "f" else "integer"
        properties |= {"edge-properties.names": "weight", "edge-properties.types": kind}
    with (
        contextlib.ExitStack() as links,
        atomic_write_all(vertices, edges, path) as (vertex_file, edge_file, property_file),
    ):
        with open_compressed(vertex_file, compression) as sink:
            options = csv.WriteOptions(include_header=False, quoting_style="none")
            csv.write_csv(pa.table([pa.array(graph.ids)], ["id"]), sink, options)
        with open_compressed(edge_file, compression) as sink:
            write_lines(graph, sink, delimiter=" ", widen_float32=True)
        property_file.write_text(_properties_text(path, properties))
        if path.exists():
            links.enter_context(_name_links(path, properties, (vertices, vertex_file), (edges, edge_file)))


def _properties_text(path: Path, properties: dict[str, Any]) -> str:
    return "".join(f"graph.{path.stem}.{key} = {value}\n" for key, value in properties.items())


@contextmanager
def _name_links(path: Path, properties: dict[str, Any], *moves: tuple[Path, Path]) -> Iterator[None]:
    """Let the properties name hard links to the new files until these have replaced the old ones.

    A process that ends between two renames then leaves the new graph. Its links remain until the next write.
    """
    links = [target.with_name(f"{_LINK}{secrets.token_hex(4)}.{target.name}") for target, _ in moves]
    try:
        with contextlib.suppress(OSError):  # a file system without links
            for link, (_, file) in zip(links, moves, strict=True):
                link.hardlink_to(file)
            names = dict(zip(("vertex-file", "edge-file"), (link.name for link in links), strict=True))
            with atomic_write(path) as temporary:
                temporary.write_text(_properties_text(path, properties | names))
        yield
    finally:
        # After an error, the properties may name the links. Other writes may have left theirs.
        named = set(_read_properties(path).values())
        for target, _ in moves:
            for link in path.parent.glob(f"{_LINK}????????.{glob.escape(target.name)}"):
                if link.name not in named:
                    link.unlink(missing_ok=True)


def _file_paths(target: Path, compression: str | None, /) -> tuple[Path, Path, Path]:
    """Return the paths of the uncompressed properties file, the vertex file and the edge file."""
    packed = target.suffix if compression else ""
    path = _properties_path(Source(target, compression))
    return path, path.with_name(f"{path.stem}.v{packed}"), path.with_name(f"{path.stem}.e{packed}")


def _refuse_unrelated(target: Path, path: Path, *others: Path) -> None:
    """Raise if a write would replace files that the caller did not name and that belong to no graph."""
    existing = [file for file in (path, *others) if file != target and file.exists()]
    if not existing:
        return
    try:
        keys = _read_properties(path).keys() & {"directed", "vertex-file", "edge-file", "meta.vertices"}
    except (FormatError, FileError):
        keys = set()
    if not keys:
        msg = (
            f"cannot write {target}: {existing[0].name} exists and belongs to no Graphalytics graph; "
            "move it, or give another name"
        )
        raise FileError(msg)


FORMAT = Format(
    "Graphalytics", (".properties", ".v", ".e"), read, write, sibling_files=_file_paths, read_share=read_share
)
