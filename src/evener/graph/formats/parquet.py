"""Parquet files: edges in named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.formats.columns import (
    choose_columns,
    edges_from_table,
    read_metadata,
    schema_of,
    tables,
    width_of,
)
from evener.graph.formats.edges import build_graph
from evener.graph.formats.ids import parse_isolated_ids
from evener.graph.formats.registry import Format
from evener.graph.share import EdgeIds, EdgeShare
from evener.system import memory
from evener.system.agreement import on_all_ranks
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterable
    from pathlib import Path

    from numpy.typing import NDArray

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["FORMAT"]


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a Parquet file."""
    source.check()
    with open_parquet(source) as file:
        chosen = choose_columns(file.schema_arrow.names, options, source.path)
        _require(file, chosen, range(file.num_row_groups), source)
        table = file.read(columns=chosen).select(chosen)
        table.validate(full=True)  # checks that strings are UTF-8
    return build_graph(edges_from_table(table, source.path), options, source.path)


def open_parquet(source: Source) -> Any:
    """Return an open Parquet file, which gives strings as dictionaries."""
    import pyarrow as pa
    from pyarrow import parquet

    with parquet.ParquetFile(str(source.path)) as file:
        metadata, schema = file.metadata, file.schema_arrow
    strings = [f.name for f in schema if pa.types.is_string(f.type) or pa.types.is_large_string(f.type)]
    return parquet.ParquetFile(str(source.path), metadata=metadata, read_dictionary=strings)


def _require(file: Any, chosen: list[str], groups: Iterable[int], source: Source) -> None:
    """Raise `OutOfMemoryError` if the columns of row groups, and a copy of them, need too much memory."""
    width = sum(width_of(file.schema_arrow.field(name).type) for name in chosen)
    nbytes = 0
    for group in map(file.metadata.row_group, groups):
        columns = (group.column(place) for place in range(group.num_columns))
        strings = (c for c in columns if c.physical_type == "BYTE_ARRAY" and c.path_in_schema in chosen)
        nbytes += 2 * width * group.num_rows + sum(c.total_uncompressed_size for c in strings)
    memory.require(nbytes, f"the edges of {source.path}")


def read_share(source: Source, options: ReadOptions, world: World, /) -> EdgeShare:
    """Return the edges in this rank's row groups of a Parquet file with integer ids."""

    def own_rows() -> tuple[EdgeIds, dict[str, Any]]:
        source.check()
        with source.translate_errors("Parquet data"), open_parquet(source) as file:
            groups, first = _own_groups(file.metadata, world)
            chosen = choose_columns(file.schema_arrow.names, options, source.path)
            _require(file, chosen, groups, source)
            tables = (file.read_row_group(group, columns=chosen) for group in groups)
            empty = file.schema_arrow.empty_table().select(chosen)
            metadata = read_metadata(file.schema_arrow)
            return _edge_ids(source, [empty, *tables], chosen, first), metadata

    edges, metadata = on_all_ranks(world, own_rows)
    isolated = metadata.get("isolated", [])
    if options.n is not None and isolated:
        msg = f"n = {options.n} requires the integer ids 0..n-1, but the file has a list of ids; remove n"
        raise ArgumentError(f"{source.path}: {msg}")
    if world.rank == 0 and isolated:
        edges.vertices = parse_isolated_ids(isolated, source.path)
    edges.n = options.n if options.n is not None else None if isolated else metadata.get("n")
    directed = next((d for d in (options.directed, metadata.get("directed")) if d is not None), True)
    return EdgeShare(edges, directed, not directed, options.self_loops, options.duplicates)


def _own_groups(metadata: Any, world: World) -> tuple[range, int]:
    """Return the row groups of a rank, which divide the rows about equally, and the rows before them."""
    rows = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    ends = np.cumsum([0, *rows])
    cuts = [int(np.searchsorted(ends, ends[-1] * rank // world.size)) for rank in range(world.size)] + [
        len(rows)
    ]
    begin, end = cuts[world.rank : world.rank + 2]
    return range(begin, end), int(ends[begin])


def _edge_ids(source: Source, tables: Iterable[Any], chosen: list[str], first_row: int) -> EdgeIds:
    """Return the edges of several tables, one after another."""
    columns: list[list[NDArray[Any]]] = [[], [], []]
    for table in tables:
        plain = table.select(chosen).replace_schema_metadata(None)
        plain.validate(full=True)
        edges = edges_from_table(plain, source.path, first_row=first_row)
        if edges.ids is not None:
            msg = (
                f"{source.path}: expected integer ids, because several ranks read the file, found strings; "
                "read it with one process, and write a container"
            )
            raise ArgumentError(msg)
        ends = [_narrowed(edges.src), _narrowed(edges.dst)]
        for column, values in zip(columns, [*ends, edges.weights], strict=True):
            if values is not None:
                column.append(values)
        first_row += len(plain)
    src, dst = (np.concatenate(column) for column in columns[:2])
    return EdgeIds(src, dst, np.concatenate(columns[2]) if columns[2] else None, path=source.path)


def _narrowed(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids as uint32 if all fit, else as uint64."""
    return ids.astype(np.uint32 if int(ids.max(initial=0)) < 1 << 32 else np.uint64, copy=False)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write the columns src, dst and, for weighted graphs, weight."""
    from pyarrow import parquet

    with atomic_write(target) as temporary, parquet.ParquetWriter(str(temporary), schema_of(graph)) as writer:
        for table in tables(graph):
            writer.write_table(table)


FORMAT = Format("Parquet", (".parquet", ".pq"), read, write, compressed=False, read_share=read_share)
