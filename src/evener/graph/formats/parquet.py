"""Parquet: edges in named columns."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.errors import FormatError, first_clause
from evener.graph.formats.columns import choose, edges_of_table, schema_of, tables
from evener.graph.formats.edges import graph_of
from evener.graph.formats.registry import Format
from evener.system.files import replacing

if TYPE_CHECKING:
    from pathlib import Path

    from evener.graph.formats.edges import Wishes
    from evener.graph.formats.file import Source
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]


def read(source: Source, wishes: Wishes, /) -> Graph:
    """Read the ends, and the weight, of a Parquet file's rows."""
    import pyarrow as pa
    from pyarrow import parquet

    from evener.system import memory

    source.check()
    with source.reading():
        try:
            with parquet.ParquetFile(str(source.path)) as file:
                chosen = choose(file.schema_arrow.names, wishes, source.path)
                memory.require(8 * file.metadata.num_rows, f"the edges of {source.path}")
                table = file.read(columns=chosen).select(chosen)
                table.validate(full=True)  # that strings are UTF-8
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            msg = f"expected a Parquet file: {first_clause(error)}; was it downloaded whole?"
            raise FormatError(msg, path=source.path) from error
    return graph_of(edges_of_table(table, source.path), wishes, source.path)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed whole
    """Write the columns src, dst and, if there are weights, weight."""
    from pyarrow import parquet

    with replacing(target) as temporary, parquet.ParquetWriter(str(temporary), schema_of(graph)) as writer:
        for table in tables(graph):
            writer.write_table(table)


FORMAT = Format("Parquet", (".parquet", ".pq"), read, write, compressed=False)
