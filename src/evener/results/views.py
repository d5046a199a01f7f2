"""Views of a result: tables for other libraries and notebooks, and the paths of a search."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError
from evener.graph.views import html_table, id_column
from evener.results.path import path_to
from evener.results.record import RunRecord
from evener.system.agreement import collective
from evener.system.html import escape

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa


__all__ = ["ResultViews"]

# Rows of a table in a notebook.
_SHOWN = 10


class ResultViews(RunRecord):
    """The methods of a `Result` that show its arrays."""

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: a column ``vertex`` with the graph's ids, then a column for each array.

        Parents and components are ids, as in ``vertex``. A vertex without a parent has a null. Ids that are
        neither integers nor strings, such as tuples, become text, their `repr`. With several ranks, the table
        has the rows of this rank.
        """
        import pyarrow as pa

        graph = self.graph
        columns = {"vertex": id_column(graph, self.ids)}
        for name, values in self.items():
            vertices = self.columns[name].names_vertices
            columns[name] = id_column(graph, values) if vertices else pa.array(values)
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame with the columns of `to_arrow`.

        A column of integers with nulls, such as ``parent``, has pandas' nullable type Int64, because floats
        cannot represent all ids above 2^53. Ids that are neither integers nor strings are the objects
        themselves.

        Raises
        ------
        ArgumentError
            If pandas is not installed.
        """
        import pyarrow as pa

        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            msg = "to_pandas needs pandas, which is not installed; pip install pandas, or use to_arrow"
            raise ArgumentError(msg) from error
        table = self.to_arrow()
        frame = pd.DataFrame(index=range(table.num_rows))
        for name, column in zip(table.column_names, table.columns, strict=True):
            nullable = {pa.int64(): pd.Int64Dtype()} if column.null_count else {}
            frame[name] = column.to_pandas(types_mapper=nullable.get)
        if self.graph.has_object_ids:
            for name in table.column_names:
                if name == "vertex" or self.columns[name].names_vertices:
                    frame[name] = pd.Series(list(self.ids if name == "vertex" else self[name]), dtype=object)
        return frame

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table of `to_arrow` as an Arrow stream, for polars, DuckDB and other libraries."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @collective(name="Result.path")
    def path(self, vertex: Any) -> list[Any]:
        """Return the ids on the path of a search from its source to a vertex; none if it was not reached.

        With several sources, the path begins at a nearest source. With several ranks, this is a collective
        operation; all ranks must call it, and get the same path.

        Raises
        ------
        ArgumentError
            If the result has no parents.
        UnknownVertexError
            If the vertex is not in the graph.

        Examples
        --------
        >>> import evener as ev
        >>> g = ev.Graph.from_edges([1, 2, 5], [2, 5, 7])
        >>> ev.bfs(g, source=1).path(7)
        [1, 2, 5, 7]
        """
        if "parent" not in self:
            msg = f"path: expected the result of a search, found a result of {self.algorithm}"
            raise ArgumentError(msg)
        return path_to(self, vertex)

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names of the arrays, which notebooks offer after ``result["``."""
        return list(self)

    def _repr_html_(self) -> str:
        """Return a line about the run and the first rows of its table, for notebooks."""
        table = self.to_arrow().slice(0, _SHOWN)
        rows = zip(*(column.to_pylist() for column in table.columns), strict=True)
        return f"<p>{escape(repr(self))}</p>{html_table(table.column_names, rows)}"
