"""LDBC Graphalytics: ``NAME.properties``, ``NAME.v`` (an id a line), ``NAME.e`` (``tail head [weight]``).

Any of the three names the graph. The vertex file counts: vertices without edges and gaps between ids are
kept.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError, FileError, FormatError
from evener.graph.formats import number_lines as lines
from evener.graph.formats.edgelist import refuse_columns, refuse_infinite, write_lines
from evener.graph.formats.edges import Edges, graph_of, stored_as
from evener.graph.formats.file import Source, compressing
from evener.graph.formats.registry import COMPRESSIONS, Format
from evener.graph.formats.text_stream import opened
from evener.system.files import replacing_together

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.formats.edges import Wishes
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Read the graph that a properties, vertex or edge file belongs to."""
    refuse_columns(wishes, "a Graphalytics graph")
    path = _properties_path(source)
    Source(path).check()
    properties = _properties(path)
    weighted = bool(properties.get("edge-properties.names", "").strip())
    if wishes.weighted and not weighted:
        raise FormatError("weights were asked for, but edge-properties.names names none", path=path)
    ids = _vertices(_part(properties, "vertex-file", path))
    _check_count(properties, "meta.vertices", len(ids), path)
    edge_source = _part(properties, "edge-file", path)
    edges = _edges(edge_source, weighted=weighted, wanted=wishes.weighted is not False)
    _check_count(properties, "meta.edges", len(edges.src), path)
    _number(edges, ids, edge_source.path)
    edges.directed = _directed(properties, path)
    return graph_of(edges, wishes, path)


def _properties_path(source: Source) -> Path:
    name = source.path.with_suffix("") if source.compression else source.path
    return name.with_suffix(".properties")


def _properties(path: Path) -> dict[str, str]:
    """Read the properties of the graph, without the ``graph.NAME.`` that each begins with."""
    try:
        text = Source(path).bytes().decode()
    except UnicodeDecodeError:
        raise FormatError("expected properties as text, but this is binary data", path=path) from None
    found = {}
    for number, line in enumerate(text.splitlines(), start=1):
        if not line.strip() or line.lstrip().startswith(("#", "!")):
            continue
        match = re.fullmatch(r"\s*graph\.(.+?)\s*[=:]\s*(.*?)\s*", line)
        if match is None:
            msg = f"expected 'graph.NAME.PROPERTY = VALUE', but {line[:60]!r} came"
            raise FormatError(msg, path=path, line=number)
        # A graph's name may itself hold points.
        key = match[1].removeprefix(f"{path.stem}.")
        found[key if key != match[1] else match[1].partition(".")[2]] = match[2]
    return found


def _part(properties: dict[str, str], key: str, path: Path) -> Source:
    """Find the vertex or edge file, plain or compressed, beside the properties."""
    name = properties.get(key) or path.stem + {"vertex-file": ".v", "edge-file": ".e"}[key]
    if Path(name).name != name:
        msg = f"{key} is {name!r}, but expected the plain name of a file in the same folder"
        raise FormatError(msg, path=path)
    for suffix, compression in {"": None, **COMPRESSIONS}.items():
        file = path.with_name(name + suffix)
        if file.exists():
            return Source(file, COMPRESSIONS.get(file.suffix) if compression is None else compression)
    msg = f"there is no file {path.with_name(name)}, which {path.name} names as {key}"
    raise FileError(msg)


def _directed(properties: dict[str, str], path: Path) -> bool:
    word = properties.get("directed", "").lower()
    if word not in ("true", "false"):
        raise FormatError(f"expected directed = true or false, but {word!r} came", path=path)
    return word == "true"


def _check_count(properties: dict[str, str], key: str, came: int, path: Path) -> None:
    said = properties.get(key)
    if said is not None and said != str(came):
        raise FormatError(f"{key} is {said}, but {came} came: was the graph downloaded whole?", path=path)


def _vertices(source: Source) -> NDArray[np.int64]:
    """Read the ids of a vertex file, ascending."""
    import pyarrow as pa
    from pyarrow import csv

    with opened(source, empty=True) as text:
        if text.peek() is None:
            return np.empty(0, dtype=np.int64)

    def attempt(*, threads: bool) -> NDArray[np.int64]:
        with source.reading(), pa.input_stream(str(source.path), compression=source.compression) as stream:
            table = csv.read_csv(
                stream,
                read_options=csv.ReadOptions(column_names=["id"], use_threads=threads),
                convert_options=csv.ConvertOptions(column_types={"id": pa.int64()}, null_values=[]),
            )
        column: NDArray[np.int64] = table.column(0).to_numpy()
        return column

    try:
        ids = attempt(threads=True)
    except pa.ArrowInvalid:
        try:  # on one thread Arrow knows the row
            ids = attempt(threads=False)
        except pa.ArrowInvalid as error:
            row = re.search(r"Row #(\d+)", str(error))
            msg = f"expected a vertex id, an integer, in each line: {str(error).splitlines()[0]}"
            raise FormatError(msg, path=source.path, line=int(row[1]) if row else None) from error
    if len(ids) and ids.min() < 0:
        line = int((ids < 0).argmax())
        msg = f"vertex ids are integers from 0 up, but {ids[line]} came"
        raise FormatError(msg, path=source.path, line=line + 1)
    ids = np.sort(ids)
    twice = np.flatnonzero(ids[1:] == ids[:-1])
    if len(twice):
        raise FormatError(f"vertex {ids[twice[0]]} is listed twice", path=source.path)
    return ids


def _edges(source: Source, *, weighted: bool, wanted: bool) -> Edges:
    with opened(source, empty=True) as text:
        if (first := text.peek()) is None:
            nothing = np.empty(0, dtype=np.uint32)
            return Edges(nothing, nothing, np.empty(0) if weighted else None)
        fields = len(lines.fields_of(first))
        if fields < 2 + weighted:
            msg = f"expected {2 + weighted} fields, as the properties say, but {fields} came"
            raise FormatError(msg, path=source.path, line=1)
        return lines.parse(text, lines.Grammar(b"", fields, weighted and wanted))


def _number(edges: Edges, ids: NDArray[np.int64], path: Path) -> None:
    """Turn the ends of edges from ids to positions, or leave them where ids are ``0..n-1`` already."""
    for end in (edges.src, edges.dst):
        place = np.minimum(np.searchsorted(ids, end), max(len(ids) - 1, 0))
        unknown = np.flatnonzero(ids[place] != end) if len(ids) else np.arange(min(len(end), 1))
        if len(unknown):
            msg = f"edge {unknown[0] + 1} names vertex {end[unknown[0]]}, which is not in the vertex file"
            raise FormatError(msg, path=path)
    if len(ids) == 0 or ids[-1] == len(ids) - 1:
        edges.n = len(ids)
        return
    edges.src = np.searchsorted(ids, edges.src).astype(np.uint32)
    edges.dst = np.searchsorted(ids, edges.dst).astype(np.uint32)
    edges.names = ids


def write(graph: Graph, target: Path, compression: str | None, /) -> None:
    """Write the three files, none of which takes its place before all are whole; the properties come last."""
    import pyarrow as pa
    from pyarrow import csv

    if graph.named_by_strings:
        raise ArgumentError(f"{target}: Graphalytics' vertex ids are integers; write .parquet, .csv or .evg")
    refuse_infinite(graph, target)
    path, vertices, edges = _places(target, compression)
    _refuse_foreign(target, path, vertices, edges)
    properties = {
        "vertex-file": vertices.name,
        "edge-file": edges.name,
        "meta.vertices": graph.n,
        "meta.edges": stored_as(graph),
        "directed": str(graph.directed).lower(),
    }
    if graph.weights is not None:
        kind = "real" if graph.weights.dtype.kind == "f" else "integer"
        properties |= {"edge-properties.names": "weight", "edge-properties.types": kind}
    with replacing_together(vertices, edges, path) as (vertex_file, edge_file, property_file):
        with compressing(vertex_file, compression) as sink:
            options = csv.WriteOptions(include_header=False, quoting_style="none")
            csv.write_csv(pa.table([pa.array(graph.ids)], ["id"]), sink, options)
        with compressing(edge_file, compression) as sink:
            write_lines(graph, sink, delimiter=" ", untyped=True)
        property_file.write_text("".join(f"graph.{path.stem}.{k} = {v}\n" for k, v in properties.items()))


def _places(target: Path, compression: str | None, /) -> tuple[Path, Path, Path]:
    """The properties, which are never compressed, the vertex file and the edge file."""
    packed = target.suffix if compression else ""
    path = _properties_path(Source(target, compression))
    return path, path.with_name(f"{path.stem}.v{packed}"), path.with_name(f"{path.stem}.e{packed}")


def _refuse_foreign(target: Path, path: Path, *others: Path) -> None:
    """Refuse to write over files that nobody named, unless they are a graph's: others have such names too."""
    beside = [file for file in (path, *others) if file != target and file.exists()]
    if not beside:
        return
    try:
        known = _properties(path).keys() & {"directed", "vertex-file", "edge-file", "meta.vertices"}
    except (FormatError, FileError):
        known = set()
    if not known:
        msg = (
            f"cannot write {target}: {beside[0].name} goes with it, but is there already and no Graphalytics "
            "graph's; move it, or name another file"
        )
        raise FileError(msg)


FORMAT = Format("Graphalytics", (".properties", ".v", ".e"), read, write, together=_places)
