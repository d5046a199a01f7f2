"""Arrow's own file format, which Feather is too: edges in named columns, memory-mapped."""

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
    """Read the ends, and the weight, of an Arrow file's rows."""
    import pyarrow as pa

    source.check()
    with source.reading():
        try:
            with pa.memory_map(str(source.path)) as file:
                names = pa.ipc.open_file(file).schema.names
                chosen = choose(names, wishes, source.path)
                wanted = pa.ipc.IpcReadOptions(included_fields=[names.index(name) for name in chosen])
                table = pa.ipc.open_file(file, options=wanted).read_all().select(chosen)
                # Arrow's kernels trust what is mapped: offsets of strings are checked here, once.
                table.validate(full=True)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, OSError) and error.errno is not None:
                raise
            msg = f"expected an Arrow file: {first_clause(error)}; was it downloaded whole?"
            raise FormatError(msg, path=source.path) from error
    return graph_of(edges_of_table(table, source.path), wishes, source.path)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed whole
    """Write the columns src, dst and, if there are weights, weight."""
    import pyarrow as pa

    with replacing(target) as temporary, pa.ipc.new_file(str(temporary), schema_of(graph)) as writer:
        for table in tables(graph):
            writer.write_table(table)


FORMAT = Format("Arrow", (".arrow", ".feather", ".ipc"), read, write, compressed=False)
