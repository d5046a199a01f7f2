"""Arrow and Feather files: edges in named columns, memory-mapped."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.errors import FormatError
from evener.graph.formats.columns import choose_columns, edges_from_table, schema_of, tables, width_of
from evener.graph.formats.edges import build_graph
from evener.graph.formats.registry import Format
from evener.system import memory
from evener.system.files import atomic_write

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from evener.graph.formats.file import Source
    from evener.graph.formats.read_options import ReadOptions
    from evener.graph.graph import Graph

__all__ = ["FORMAT"]

# First bytes of an Arrow stream.
_STREAM = b"\xff\xff\xff\xff"


def read(source: Source, options: ReadOptions, /) -> Graph:
    """Return the graph of an Arrow file."""
    import pyarrow as pa

    with pa.memory_map(str(source.path)) as file:
        if file.read(len(_STREAM)) == _STREAM:
            msg = (
                "expected an Arrow file, found a stream; use Graph.from_arrow(pyarrow.ipc.open_stream(path))"
            )
            raise FormatError(msg, path=source.path)
        schema = pa.ipc.open_file(file).schema
        chosen = choose_columns(schema, options, source.path)
        ipc_options = pa.ipc.IpcReadOptions(included_fields=[schema.names.index(name) for name in chosen])
        reader = pa.ipc.open_file(file, options=ipc_options)
        table = pa.Table.from_batches(_batches(reader, source), reader.schema).select(chosen)
        # Arrow does not check the string offsets of a mapped file on access.
        table.validate(full=True)
    return build_graph(edges_from_table(table, source.path), options)


def _batches(reader: Any, source: Source) -> Iterator[Any]:
    """Yield the batches of a file; only compressed batches need memory."""
    import pyarrow as pa

    if hasattr(reader, "count_rows"):  # absent from older versions of pyarrow
        values = reader.count_rows() * sum(width_of(field.type) for field in reader.schema)
        memory.require(max(0, values - source.size), f"the edges of {source.path}")
    largest = 0
    for number in range(reader.num_record_batches):
        memory.require(largest, f"the next part of {source.path}")  # batches have about equal sizes
        before = pa.total_allocated_bytes()
        yield reader.get_batch(number)
        largest = max(largest, pa.total_allocated_bytes() - before)


def write(graph: Graph, target: Path, compression: str | None, /) -> None:  # noqa: ARG001 - never compressed
    """Write the columns src, dst and, for weighted graphs, weight."""
    import pyarrow as pa

    with atomic_write(target) as temporary, pa.ipc.new_file(str(temporary), schema_of(graph)) as writer:
        for table in tables(graph):
            writer.write_table(table)


FORMAT = Format("Arrow", (".arrow", ".feather", ".ipc"), read, write, compressed=False, has_columns=True)
