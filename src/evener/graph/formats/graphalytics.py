"""LDBC Graphalytics: ``NAME.properties``, ``NAME.v`` (ids) and ``NAME.e`` (``tail head [properties]``).

Each of the three paths selects the graph. The vertex file defines the vertices, so vertices without edges and
gaps between ids stay. The weight of an edge is the property that ``sssp.weight-property`` names, or else a
property with a usual name, such as weight. The reader skips other properties of edges and vertices.
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

from evener.errors import ArgumentError, FileError, FormatError, shorten
from evener.graph.arrow import WEIGHT_NAMES, ArrowColumn, note_unread_columns, plain_name
from evener.graph.edge_counts import count_edges
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edges import build_graph, refuse_infinite, write_columns, write_lines
from evener.graph.formats.file import Source, open_compressed, require_part
from evener.graph.formats.registry import COMPRESSIONS, Format
from evener.graph.formats.text_part import (
    parse_in_parts,
    parse_part,
    part_of,
    refuse_compressed,
    to_common_dtype,
)
from evener.graph.formats.text_stream import HEADING_BYTES, line_of_row, open_text
from evener.graph.share import EdgeIds, EdgeShare
from evener.system import memory
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write, atomic_write_all
from evener.system.log import log
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.formats.text_stream import Text
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["FORMAT"]

# Bytes per vertex for the sorted ids.
_SORT_BYTES = 17
# The names of links to new files begin with this.
_LINK = ".new-"
# Largest properties file.
_MAX_PROPERTIES_BYTES = 1 << 20
# The properties that the reader needs.
_KEYS = (
    r"directed|vertex-file|edge-file|meta\.vertices|meta\.edges|vertex-properties\.names|sssp\.weight-property"
    r"|edge-properties\.(?:names|types)"
)


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a properties, vertex or edge file."""
    return build_graph(_read_edges(source, options, SingleProcess()), options)


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return this rank's edges, and its part of the vertex file."""
    on_all_ranks(world, lambda: options.refuse_n(source.path, "a list of ids"))
    return options.share_of(_read_edges(source, options, world))


def _read_edges(source: Source, options: ReadOptions, world: World) -> EdgeIds:
    """Return this rank's edges, with the ids in its part of the vertex file."""

    def begin() -> Any:
        path = _properties_path(source)
        properties = _read_properties(path)
        weight = _weight_place(properties, options, path)
        files = [_component_file(properties, key, path) for key in ("vertex-file", "edge-file")]
        if world.size > 1:
            for file in files:
                refuse_compressed(file)
        grammar = _grammar_of(files[1], properties, weight)
        directed = properties.get("directed", "").lower()
        if directed not in ("true", "false"):
            raise FormatError(f"expected directed = true or false, found {directed!r}", path=path)
        return path, properties, *files, weight, grammar, directed == "true"

    path, properties, vertices, file, weight, grammar, directed = on_all_ranks(world, begin)
    part = vertices if vertices.compression is not None else part_of(world, vertices)
    ids = parse_in_parts(world, lambda: _read_vertices(part, properties))
    _check_count(properties, "meta.vertices", world.allreduce(len(ids), "sum"), path)
    if grammar is None:
        edges = EdgeIds.empty(file.path, None if weight is None else np.float64)
    else:
        edges = parse_part(world, file, grammar).edges
        edges.weights = to_common_dtype(world, edges.weights)
    _check_count(properties, "meta.edges", world.allreduce(len(edges.src), "sum"), path)
    edges.vertices, edges.listed, edges.directed = ids, True, directed
    return edges


def _properties_path(source: Source) -> Path:
    name = source.path.with_suffix("") if source.compression else source.path
    return name.with_suffix(".properties")


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
    of_graphs: dict[str, dict[str, str]] = {}
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = re.fullmatch(r"([^=:]+)[=:](.*)", line.strip())
        if match is None:
            msg = f"expected 'graph.NAME.PROPERTY = VALUE', found {line[:60]!r}"
            raise FormatError(msg, path=path, line=number)
        key, value = match[1].strip(), match[2].strip()
        # The name of a graph may hold points; other properties concern the benchmark.
        known = re.fullmatch(rf"graph\.(.+?)\.({_KEYS})", key, re.IGNORECASE)
        if known is None:
            continue
        found, name = of_graphs.setdefault(known[1], {}), known[2].lower()
        if found.setdefault(name, value) != value:
            msg = f"expected one value of {name}, found {found[name]!r} and {value!r}"
            raise FormatError(msg, path=path, line=number)
    if path.stem not in of_graphs and len(of_graphs) > 1:
        names = ", ".join(of_graphs)
        msg = f"expected the properties of one graph, or of {path.stem!r}, found {names}"
        raise FormatError(msg, path=path)
    return of_graphs.get(path.stem) or next(iter(of_graphs.values()), {})


def _weight_place(properties: dict[str, str], options: ReadOptions, path: Path) -> int | None:
    """Return the place of the weight among the properties of an edge; None if no weight is to be read."""
    if options.weighted is False:
        return None
    names, types = (_words_of(properties, f"edge-properties.{key}") for key in ("names", "types"))
    if types and len(types) != len(names):
        msg = f"expected a type for each of {len(names)} edge-properties.names, found {len(types)}"
        raise FormatError(msg, path=path)
    found = ", ".join(map(repr, names)) or "none"
    stated = properties.get("sssp.weight-property")
    if stated and stated not in names:
        msg = f"expected {stated!r}, the sssp.weight-property, in edge-properties.names, found {found}"
        raise FormatError(msg, path=path)
    usual = [name for weight in WEIGHT_NAMES for name in names if plain_name(name) == weight]
    weight = stated or next(iter(usual), None)
    if weight is not None and names.count(weight) > 1:
        raise FormatError(
            f"expected one property {weight!r} in edge-properties.names, found several", path=path
        )
    if options.weighted and weight is None:
        msg = f"expected a property named weight in edge-properties.names, found {found}"
        raise FormatError(f"{msg}; name it in sssp.weight-property", path=path)
    if not stated:
        unread = [ArrowColumn(name, numbers=True) for name in names if name != weight]
        note_unread_columns(path, unread, weight, remedy="sssp.weight-property", noun="edge property")
    return None if weight is None else names.index(weight)


def _words_of(properties: dict[str, str], key: str) -> list[str]:
    """Return the words of a list in the properties."""
    words = [word.strip() for word in properties.get(key, "").split(",")]
    return words if any(words) else []


def _check_count(properties: dict[str, str], key: str, found: int, path: Path) -> None:
    expected = properties.get(key)
    if expected is not None and expected != str(found):
        msg = f"expected {expected} by {key}, found {found}; download the graph again"
        raise FormatError(msg, path=path)


def _read_vertices(source: Source, properties: dict[str, str]) -> tuple[NDArray[np.int64], int]:
    """Return the ids of a vertex file, ascending, and the number of lines; properties may follow an id."""
    with open_text(source, empty=True) as text:
        pieces = _vertex_ids(text, with_properties=bool(properties.get("vertex-properties.names")))
        ids = np.concatenate([np.empty(0, np.int64), *pieces])
        count = text.line
    memory.require(_SORT_BYTES * len(ids), f"the vertices of {source.path}")
    ascending = np.sort(ids)
    repeated = np.flatnonzero(ascending[1:] == ascending[:-1])
    if len(repeated):
        twice = ascending[repeated[0]]
        line = line_of_row(source, int(np.flatnonzero(ids == twice)[1]))
        raise FormatError(f"expected distinct vertex ids, found {twice} twice", path=source.path, line=line)
    return ascending, count


def _vertex_ids(text: Text, *, with_properties: bool) -> Iterator[NDArray[np.int64]]:
    """Yield the ids of a vertex file in pieces."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for chunk in text.chunks():
        require_part(chunk.stop - chunk.start, text.source.path)
        for part in chunk.arrow_lines():
            rows = pc.ascii_trim_whitespace(part)
            words = rows.filter(pc.not_equal(rows, ""))
            if with_properties:
                words = pc.list_element(pc.ascii_split_whitespace(words, max_splits=1), 0)
            try:
                yield words.cast(pa.int64()).to_numpy(zero_copy_only=False)
            except pa.ArrowInvalid:
                _refuse_vertex(rows, words, text)
            if (negative := pc.index(pc.starts_with(words, "-"), pa.scalar(True)).as_py()) >= 0:  # noqa: FBT003
                _refuse_vertex(rows, words, text, negative)
            text.line += len(part)


def _refuse_vertex(rows: Any, words: Any, text: Text, wrong: int | None = None) -> None:
    """Raise `FormatError` for a word that is no id, by default the first one in a part of a vertex file."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if wrong is None:
        words = words.cast(pa.binary())
        wrong = next(i for i, word in enumerate(words) if not re.fullmatch(rb"\d{1,18}", word.as_py()))
    places = np.flatnonzero(pc.not_equal(rows, "").to_numpy(zero_copy_only=False))
    word = words[wrong].as_buffer().to_pybytes().decode("utf-8", "replace")
    word = shorten(word, 60)
    msg = f"expected a vertex id, an integer from 0 up, in each line, found {word!r}"
    raise FormatError(msg, path=text.source.path, line=text.line + 1 + int(places[wrong]))


def _grammar_of(source: Source, properties: dict[str, str], weight: int | None) -> lines.Grammar | None:
    """Return the syntax of the lines of an edge file; None without lines."""
    with open_text(source, empty=True, most=HEADING_BYTES) as text:
        for _ in text.ignored(b""):  # empty lines
            pass
        if (first := text.peek()) is None:
            return None
        line = text.line + 1
    found, names = len(lines.fields_of(first, b"")), _words_of(properties, "edge-properties.names")
    if found < 2 or (names and found != 2 + len(names)):
        msg = f"expected {2 + len(names)} fields by edge-properties.names, found {found}"
        raise FormatError(msg, path=source.path, line=line)
    if found > 2 and not names:
        msg = "%s: the graph has no weights: edges have properties, but edge-properties.names is missing"
        log.warning(msg, source.path)
    return lines.Grammar(b"", found, weight is not None, between=weight or 0)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write the three files; rename them after all are complete, the properties last."""
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
            write_columns(sink, [graph.ids])
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
    "Graphalytics",
    (".properties", ".v", ".e"),
    read,
    write,
    sibling_files=_file_paths,
    read_share=read_share,
    is_one_file=False,
)
