"""Parquet files: edges in named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.errors import FormatError, first_clause
from evener.graph.formats.columns import choose_columns, edges_from_table, schema_of, tables
from evener.graph.formats.edges import build_graph
from evener.graph.formats.registry import Format
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of a Parquet file."""
    import pyarrow as pa
    from pyarrow import parquet

    from evener.system import memory

    source.check()
    with source.translate_errors():
        try:
            with parquet.ParquetFile(str(source.path)) as file:
                chosen = choose_columns(file.schema_arrow.names, options, source.path)
                memory.require(8 * file.metadata.num_rows, f"the edges of {source.path}")
                table = file.read(columns=chosen).select(chosen)
                table.validate(full=True)  # checks that strings are UTF-8
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            msg = f"expected a Parquet file: {first_clause(error)}; download it again"
            raise FormatError(msg, path=source.path) from error
    return build_graph(edges_from_table(table, source.path), options, source.path)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write the columns src, dst and, for weighted graphs, weight."""
    from pyarrow import parquet

    with atomic_write(target) as temporary, parquet.ParquetWriter(str(temporary), schema_of(graph)) as writer:
        for table in tables(graph):
            writer.write_table(table)


FORMAT = Format("Parquet", (".parquet", ".pq"), read, write, compressed=False)
