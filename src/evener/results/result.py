"""Result: the arrays of a run by name, in the order of the graph's ids, and facts about the run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError
from evener.graph.checks import check_path, is_integral
from evener.graph.views import html_table, id_column
from evener.results.gpu_column import GpuColumns
from evener.results.path import path_to
from evener.system.agreement import collective
from evener.system.html import escape
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    import os
    from collections.abc import Callable

    import pandas as pd
    import pyarrow as pa

    from evener.results.record import RunRecord

__all__ = ["Result", "check_name"]


# Rows of a table in a notebook.
_SHOWN = 10
_SUFFIXES = {"report": (".html", ".htm"), "trace": (".json",)}


class Result(GpuColumns):
    """The result of a run: a mapping from a name to an array with one value per vertex.

    A result has the methods of a `collections.abc.Mapping`, but is not an instance of it: libraries of data
    frames would read the arrays of a `Mapping` without the ids. They read a result as an Arrow stream.

    The arrays are in the order of `ids`. An array is gathered from the partitions on its first use. Vertices
    inside arrays (the parents of a search, the names of components) are the graph's ids. "No vertex" is -1,
    or None in arrays of ids that are not integers.

    With several ranks, each rank has the values of one block of vertices. The first use of an array is then a
    collective operation; all ranks must call it.

    A pickled or copied result contains all arrays of its rank and the graph. Its ``partitioned`` is None.
    With several ranks, a copy is a collective operation; all ranks must make it.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    graph : Graph
        The graph of the run.
    arrays : mapping of str to callable
        For each name, a function that gathers the array. `top` ranks by the first array.
    columns : sequence of Column, optional
        The meaning of the arrays. Default: a number for each vertex.
    parameters : mapping
        The arguments of the run.
    timeline : Timeline
        The time of each superstep by activity. With several ranks, that of rank 0 has the elements of all
        ranks, and that of another rank has its own elements.
    seconds : float
        Wall time of the algorithm, without reading and partitioning.
    edges : int
        Edges for the rate. Connected components: the stored edges. PageRank: the stored edges times
        iterations. A search: the edges of the reached vertices, as in Graph500; an undirected edge counts
        once.
    outcome : mapping, optional
        Facts about the run: "iterations" and "converged" for PageRank.
    partitioned : PartitionedGraph, optional
        The partitions of the run.
    passes : float, default 1
        Passes of the run, for its prediction: iterations of PageRank, sources of betweenness.

    Attributes
    ----------
    world : World
        The ranks that share the result.
    block : range
        The vertices whose values this rank has, as positions in ``graph.ids``; with one rank, all vertices.
    prediction : Prediction or None
        The prediction of the run, if a plan made the placement.
    energy : Energy or None
        The energy of the run, if a `evener.results.energy.meter.Meter` measured it.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([1, 2, 5], [2, 5, 7], directed=True)
    >>> r = ev.bfs(g, source=1)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0, 1, 2, 3], [1, 1, 2, 5])
    >>> r.top(2)
    [(7, 3), (5, 2)]
    """

    @collective()
    def gather(self) -> Result | None:
        """Return the result with the values of all vertices on rank 0, and None on other ranks.

        This is a collective operation; all ranks must call it. Without other ranks, the result is
        returned unchanged.

        Raises
        ------
        OutOfMemoryError
            If rank 0 has no memory for all values.
        """
        from evener.results.ranks import gather_ids, gather_on_first_rank

        if self.world.size == 1:
            return self
        ids = gather_ids(self)
        gathered = {name: gather_on_first_rank(self.gathered(name), self.world) for name in self}
        if self.world.rank:
            return None
        whole = object.__new__(type(self))
        vars(whole).update(vars(self), _gather=dict.fromkeys(self), _gathered=gathered, _named={})
        whole.world, whole.block, whole._ids = SingleProcess(), range(self.graph.n), ids
        return whole

    @collective()
    def top(self, k: int = 10) -> list[tuple[Any, int | float]]:
        """Return the vertices with the largest values of the result's first array.

        This is a collective operation; all ranks must call it, and get the same list.

        Parameters
        ----------
        k : int, default 10
            Number of vertices. The list is shorter if there are fewer vertices.

        Returns
        -------
        list of (id, value)
            Largest value first; among equal values, the smaller id first. For distances, the farthest reached
            vertices. For components, the largest components: (component, number of vertices). Notebooks show
            the list as a table.
        """
        if not is_integral(k) or k < 0:
            msg = f"top(k): expected an integer k >= 0, found {k!r}"
            raise ArgumentError(msg)
        from evener.results.top import largest_values

        return largest_values(self, k)

    @collective()
    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `to_arrow` to a file or to a folder atomically.

        This is a collective operation; all ranks must call it. Each rank writes its rows to one file of a
        folder. Rank 0 gathers the rows to write one file.

        Parameters
        ----------
        path : str or path-like
            A name with the suffix ``.parquet``, ``.csv``, ``.tsv``, ``.arrow`` or ``.feather``. All but the
            text formats also record the algorithm and its parameters for ``evener verify``. A name that ends
            in a slash, or a folder of an earlier result, is a data set of Parquet files.

        Raises
        ------
        ArgumentError
            If the suffix is not in this list, or `path` is not a path.
        FileError
            If the file cannot be written. After an error on one rank, all ranks raise, and a data set that
            was there is unchanged.
        """
        from evener.results.dataset import write_rows

        write_rows(self, path)

    def explain(self) -> str:
        """Return the time by phase and element, the shares of all time, and the bottleneck."""
        from evener.results.report.explain import explain

        return explain(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a self-contained HTML page about the run, atomically. Only rank 0 writes.

        The page shows the supersteps of each element, the time axis, the placement, the frontier and the
        degrees of the graph. If present, it shows the prediction and the energy.

        Parameters
        ----------
        path : str or path-like
            The file to write or replace.

        Raises
        ------
        ArgumentError
            If the suffix is not that of an HTML file.
        FileError
            If the file cannot be written.
        """
        from evener.results.report.page import page

        self._draw("report", path, page)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace of the run for Perfetto or chrome://tracing, atomically. Only rank 0 writes.

        The file is JSON in Google's trace event format. It has a complete event for every time slice in which
        an element computed, sent or received, and one row per element.

        Parameters
        ----------
        path : str or path-like
            The file to write or replace.

        Raises
        ------
        ArgumentError
            If the suffix is not that of a JSON file.
        FileError
            If the file cannot be written.
        """
        from evener.results.report.trace import trace

        self._draw("trace", path, trace)

    def _draw(self, what: str, path: str | os.PathLike[str], draw: Callable[[RunRecord], str]) -> None:
        """Write ``draw(self)`` on rank 0 atomically, after checking the name of the file."""
        from evener.system.files import atomic_write

        check_name(what, path)
        if self.world.rank == 0:
            with atomic_write(path) as temporary:
                temporary.write_text(draw(self), encoding="utf-8")

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

    @collective()
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

    @collective()
    def value(self, vertex: Any, name: str | None = None) -> Any:
        """Return the value of a vertex as a Python number, or as an id.

        With several ranks, this is a collective operation; all ranks must call it, and get the same value.

        Parameters
        ----------
        vertex : int, str or object
            The id of the vertex.
        name : str, optional
            The name of an array. Default: the first array.

        Raises
        ------
        KeyError
            If the result has no array of this name.
        UnknownVertexError
            If the vertex is not in the graph.

        Examples
        --------
        >>> import evener as ev
        >>> r = ev.bfs(ev.Graph.from_edges([1, 2, 5], [2, 5, 7]), source=1)
        >>> r.value(7), r.value(7, "parent")
        (3, 5)
        """
        from evener.results.path import value_of

        return value_of(self, vertex, self._name(name))

    def to_dict(self, name: str | None = None) -> dict[Any, Any]:
        """Return a dictionary from the id of each vertex to its value, a Python number or an id.

        With several ranks, the dictionary has the vertices of this rank.

        Parameters
        ----------
        name : str, optional
            The name of an array. Default: the first array.

        Examples
        --------
        >>> import evener as ev
        >>> ev.bfs(ev.Graph.from_edges(["a", "b"], ["b", "c"]), source="a").to_dict()
        {'a': 0, 'b': 1, 'c': 2}
        """
        return dict(zip(self.ids.tolist(), self[self._name(name)].tolist(), strict=True))

    def _name(self, name: str | None) -> str:
        """Return the name of an array; by default, that of the first array."""
        return next(iter(self)) if name is None else name

    def _ipython_key_completions_(self) -> list[str]:
        """Return the names of the arrays, which notebooks offer after ``result["``."""
        return list(self)

    def _repr_html_(self) -> str:
        """Return a line about the run and rows of its table, for notebooks.

        The rows with the largest values come first if the first array has numbers, as in `top`.
        """
        from evener.results.top import largest

        table = self.to_arrow()
        name, column = next(iter(self.columns.items()))
        if column.kind == "value" and self[name].ndim == 1:
            table = table.take(largest(self[name], _SHOWN))
        rows = zip(*(values.to_pylist() for values in table.slice(0, _SHOWN).columns), strict=True)
        return f"<p>{escape(repr(self))}</p>{html_table(table.column_names, rows)}"


def check_name(what: str, path: str | os.PathLike[str], *, said: str | None = None) -> None:
    """Raise ArgumentError unless a report or a trace can have this name. `said` is the user's word for it."""
    said = said or what
    name, suffixes = check_path(path, said), _SUFFIXES[what]
    if name.suffix.lower() not in suffixes:
        msg = f"{said}: expected a name with the suffix {suffixes[0]}, found {name}"
        raise ArgumentError(msg)
