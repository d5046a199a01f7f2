"""Parquet files: edges in named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.formats.columns import (
    choose_columns,
    edges_from_batches,
    edges_from_table,
    read_metadata,
    schema_of,
    tables,
    width_of,
)
from evener.graph.formats.edges import build_graph
from evener.graph.formats.heading import Heading
from evener.graph.formats.ids import parse_isolated_ids
from evener.graph.formats.registry import Format
from evener.graph.share import EdgeIds, EdgeShare
from evener.system import memory
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["FORMAT"]

# Rows of a table, and bytes of a read, where a rank reads a part of a file.
_BATCH, _BUFFER = 1 << 17, 1 << 20
# Rows of a batch of names, and fewest rows per name for which Arrow builds dictionaries.
_NAME_BATCH, _LEAST_REPEATS = 1 << 20, 8


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a Parquet file."""
    with open_parquet(source) as file:
        chosen = choose_columns(file.schema_arrow, options, source.path)
        _require(file, chosen, range(file.metadata.num_rows), source)
        schema, rows = file.schema_arrow, file.metadata.num_rows
        if not _are_named(file, chosen, source):
            table = file.read(columns=chosen).select(chosen)
            table.validate(full=True)
            return build_graph(edges_from_table(table, source.path), options)
        repeated = _names_repeat(file, chosen)
    with open_parquet(source, dictionaries=repeated) as file:
        batches = file.iter_batches(_NAME_BATCH, columns=chosen)
        edges = edges_from_batches(batches, chosen, schema, rows, source.path)
    return build_graph(edges, options)


def _are_named(file: Any, chosen: list[str], source: Source) -> bool:
    """Return whether the ids are strings."""
    empty = next(_tables(file, chosen, range(0))).replace_schema_metadata(None)
    return edges_from_table(empty, source.path).names is not None


def _names_repeat(file: Any, chosen: list[str]) -> bool:
    """Return whether the first rows have few distinct names: Arrow is slow to build large dictionaries."""
    import pyarrow as pa

    first = next(file.iter_batches(_BATCH, columns=chosen), None)
    columns = [] if first is None else [first.column(name) for name in chosen[:2]]
    return all(
        pa.types.is_dictionary(column.type) and len(column) > _LEAST_REPEATS * len(column.dictionary)
        for column in columns
    )


def read_heading(source: Source, /) -> Heading | None:
    """Return the sizes in the metadata, or None if another program wrote the file."""
    with open_parquet(source) as file:
        schema, rows = file.schema_arrow, file.metadata.num_rows
    stated = read_metadata(schema)
    if "n" not in stated or "directed" not in stated or schema.names[:2] != ["src", "dst"]:
        return None
    directed = stated["directed"]
    weight_bytes = sum(width_of(field.type) for field in schema if field.name == "weight")
    return Heading(stated["n"], rows * (1 if directed else 2), directed, weight_bytes, exact=directed)


def open_parquet(source: Source, *, buffer_bytes: int = 0, dictionaries: bool = True) -> Any:
    """Return an open Parquet file, which gives strings as dictionaries unless `dictionaries` is false.

    With `buffer_bytes`, the file is read in parts of this size instead of whole columns of row groups.
    """
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(str(source.path)) as file:
        metadata, schema = file.metadata, file.schema_arrow
    strings = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    return parquet.ParquetFile(
        str(source.path),
        metadata=metadata,
        read_dictionary=strings if dictionaries else [],
        buffer_size=buffer_bytes,
    )


def _require(file: Any, chosen: list[str], rows: range, source: Source) -> None:
    """Raise `OutOfMemoryError` if the columns of some rows, and a copy of them, need too much memory."""
    width = sum(width_of(file.schema_arrow.field(name).type) for name in chosen)
    part = len(rows) / max(file.metadata.num_rows, 1)
    groups = [file.metadata.row_group(i) for i in range(file.num_row_groups)]
    strings = sum(group.total_byte_size for group in groups)  # at most, with those of other columns
    if 2 * width * len(rows) + int(strings * part) > memory.available():
        # Arrow ends the process if the statistics of a column are damaged, so only a large file gets here.
        strings = sum(
            column.total_uncompressed_size
            for group in groups
            for column in map(group.column, range(group.num_columns))
            if column.physical_type == "BYTE_ARRAY" and column.path_in_schema in chosen
        )
    memory.require(2 * width * len(rows) + int(strings * part), f"the edges of {source.path}")


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return the edges in this rank's rows of a Parquet file."""

    def own_rows() -> tuple[EdgeIds, dict[str, Any]]:
        with source.translate_errors("Parquet data"), open_parquet(source, buffer_bytes=_BUFFER) as file:
            chosen = choose_columns(file.schema_arrow, options, source.path)
            rows = file.metadata.num_rows
            own = range(rows * world.rank // world.size, rows * (world.rank + 1) // world.size)
            _require(file, chosen, own, source)
            read_rows = _named_edges if _are_named(file, chosen, source) else _edge_ids
            return read_rows(source, file, chosen, own), read_metadata(file.schema_arrow)

    edges, metadata = on_all_ranks(world, own_rows)
    isolated = metadata.get("isolated", [])
    if isolated:
        options.refuse_n(source.path, "a list of ids")
    if world.rank == 0 and isolated and edges.names is None:
        edges.vertices = parse_isolated_ids(isolated, source.path)
    edges.n, edges.directed = None if isolated else metadata.get("n"), metadata.get("directed")
    return options.share_of(edges)


def _tables(file: Any, chosen: list[str], rows: range) -> Iterator[Any]:
    """Yield some rows of a file as tables of at most `_BATCH` rows; first an empty table."""
    import pyarrow as pa

    yield file.schema_arrow.empty_table().select(chosen)
    at = 0
    for group in range(file.metadata.num_row_groups):
        following = at + file.metadata.row_group(group).num_rows
        if following > rows.start and at < rows.stop:
            for batch in file.iter_batches(_BATCH, row_groups=[group], columns=chosen):
                begin, end = max(rows.start - at, 0), min(rows.stop - at, len(batch))
                if begin < end:
                    yield pa.Table.from_batches([batch.slice(begin, end - begin)]).select(chosen)
                at += len(batch)
                if at >= rows.stop:
                    return
        at = following


def _named_edges(source: Source, file: Any, chosen: list[str], rows: range) -> EdgeIds:
    """Return the edges between strings in some rows of a file.

    The first rows also give the vertices without edges.
    """
    import pyarrow as pa

    table = pa.concat_tables(_tables(file, chosen, rows))
    table.validate(full=True)
    if rows.start:
        table = table.replace_schema_metadata(None)
    return edges_from_table(table, source.path, first_row=rows.start)


def _edge_ids(source: Source, file: Any, chosen: list[str], rows: range) -> EdgeIds:
    """Return the edges in some rows of a file."""
    ends: list[NDArray[Any]] = [np.empty(len(rows), np.uint32) for _ in range(2)]
    weights, done = None, 0
    for table in _tables(file, chosen, rows):
        plain = table.replace_schema_metadata(None)
        plain.validate(full=True)
        edges = edges_from_table(plain, source.path, first_row=rows.start + done)
        stop = done + len(plain)
        for place, values in enumerate((edges.src, edges.dst)):
            if int(values.max(initial=0)) >= 1 << 32:
                ends[place] = ends[place].astype(np.uint64, copy=False)
            ends[place][done:stop] = values
        if edges.weights is not None:
            weights = np.empty(len(rows), edges.weights.dtype) if weights is None else weights
            weights[done:stop] = edges.weights
        done = stop
    return EdgeIds(ends[0], ends[1], weights, source.path)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write the columns src, dst and, for weighted graphs, weight."""
    from pyarrow import parquet

    with atomic_write(target) as temporary, parquet.ParquetWriter(str(temporary), schema_of(graph)) as writer:
        for table in tables(graph):
            writer.write_table(table)


FORMAT = Format(
    "Parquet",
    (".parquet", ".pq"),
    read,
    write,
    compressed=False,
    read_share=read_share,
    read_heading=read_heading,
    has_columns=True,
)
