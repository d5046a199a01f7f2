"""Result: what an algorithm found, by name, in the order of the graph's ids."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import check_path, is_integral
from evener.results.columns import Column

if TYPE_CHECKING:
    import os

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from evener.engine.timeline import Timeline
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.planning.prediction import Prediction
    from evener.results.energy.meter import Energy

__all__ = ["Result"]


class Result(Mapping[str, "NDArray[Any]"]):
    """What an algorithm found: a mapping from a name to one value a vertex, in the order of ``graph.ids``.

    Arrays are gathered from the partitions when they are first asked for. Vertices inside arrays (the
    parents of a search, the names of components) are the graph's own ids; if those are strings, they are
    positions in ``graph.ids``. -1 stands for "none".

    Pickled, as on its way to another process, or copied, a result has all its arrays and its graph, and
    ``partitioned`` is None.

    Parameters
    ----------
    algorithm : str
        Name of the algorithm.
    graph : Graph
        The graph it ran on.
    arrays : mapping of str to callable
        For each name, a function that gathers the array; the first is what `top` ranks by.
    columns : sequence of Column, optional
        What the arrays hold. Default: a number for each vertex.
    parameters : mapping
        The arguments the run had.
    timeline : Timeline
        What each superstep spent its time on.
    seconds : float
        Wall time of the algorithm, reading and partitioning not counted.
    edges : int
        Edges the rate is counted over: stored edges for connected components, times iterations for
        PageRank; for a search the edges of the vertices it reached, as Graph500 counts them: an undirected
        one once, though it is stored twice.
    outcome : mapping, optional
        What else the run found out: "iterations" and "converged" for PageRank.
    partitioned : PartitionedGraph, optional
        The partitions it ran on.
    passes : float, default 1
        How many passes it had, for what a plan expected: iterations of PageRank, sources of betweenness.

    Attributes
    ----------
    prediction : Prediction or None
        What a plan expected of the run, where one was made.
    energy : Energy or None
        The joules it took, where an `evener.results.energy.meter.Meter` measured them.

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

    def __init__(
        self,
        algorithm: str,
        graph: Graph,
        arrays: Mapping[str, Callable[[], NDArray[Any]]],
        *,
        columns: Sequence[Column] = (),
        parameters: Mapping[str, Any],
        timeline: Timeline,
        seconds: float,
        edges: int,
        outcome: Mapping[str, Any] | None = None,
        partitioned: PartitionedGraph | None = None,
        passes: float = 1,
    ) -> None:
        self.algorithm = algorithm
        self.graph = graph
        self.columns = {name: Column(name) for name in arrays} | {one.name: one for one in columns}
        self.parameters = dict(parameters)
        self.timeline = timeline
        self.seconds = float(seconds)
        self.edges = int(edges)
        self.outcome = dict(outcome or {})
        self.partitioned = partitioned
        self.prediction: Prediction | None = None
        if partitioned is not None and partitioned.forecast is not None:
            self.prediction = partitioned.forecast(partitioned, algorithm, passes)
        self.energy: Energy | None = None
        # None once it is gathered: what gathers an array keeps the elements' memory that it lies in.
        self._gather: dict[str, Callable[[], NDArray[Any]] | None] = dict(arrays)
        self._gathered: dict[str, NDArray[Any]] = {}

    # ---- the mapping ----------------------------------------------------------------------------

    def __getitem__(self, name: str) -> NDArray[Any]:
        if name not in self._gathered:
            gather = self._gather.get(name)
            if gather is None:
                msg = f"a result of {self.algorithm} has {', '.join(map(repr, self._gather))}, not {name!r}"
                raise KeyError(msg)
            self._gathered[name] = gather()
            self._gather[name] = None
        return self._gathered[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._gather)

    def __len__(self) -> int:
        return len(self._gather)

    def __contains__(self, name: object) -> bool:
        # Mapping's own would gather the array to find out.
        return name in self._gather

    __hash__ = object.__hash__

    def __eq__(self, other: object) -> bool:
        # Mapping's own would compare arrays, which have no single truth value.
        return self is other

    def __getstate__(self) -> dict[str, Any]:
        # What gathers an array leads to the memory of this process's elements, as the partitions do.
        gathered = {name: self[name] for name in self}
        return {**vars(self), "partitioned": None, "_gather": dict.fromkeys(self), "_gathered": gathered}

    @property
    def edges_per_second(self) -> float:
        """`edges` over `seconds`."""
        return self.edges / self.seconds if self.seconds else 0.0

    @property
    def edges_per_joule(self) -> float | None:
        """`edges_per_second` for each watt, also where the run was measured with others like it; or None."""
        watts = self.energy.watts if self.energy is not None else None
        return self.edges_per_second / watts if watts else None

    def __repr__(self) -> str:
        names = ", ".join(self._gather)
        return f"<Result of {self.algorithm}: {names} of {self.graph.n:,} vertices, {self.seconds:.3g} s>"

    # ---- tables ---------------------------------------------------------------------------------

    def top(self, k: int = 10) -> list[tuple[int | str, int | float]]:
        """Return the vertices with the largest values of the result's first array.

        Parameters
        ----------
        k : int, default 10
            How many; fewer if there are not as many.

        Returns
        -------
        list of (id, value)
            Largest value first; among equals, the smaller id first. For distances, the farthest vertices
            that were reached. For components, the largest ones: (component, number of its vertices).
        """
        if not is_integral(k) or k < 0:
            msg = f"top(k) needs a whole number k >= 0, not {k!r}"
            raise ArgumentError(msg)
        name = next(iter(self))
        values = self[name]
        kind = self.columns[name].kind
        if kind == "group":
            names, values = np.unique(values, return_counts=True)
            ids = self._names(names)
        elif kind == "distance":
            reached = np.flatnonzero((values >= 0) & (values != np.inf))
            values = values[reached]
            ids = self.graph.ids[reached]
        else:
            ids = self.graph.ids
        best = _largest(values, k)
        return list(zip(ids[best].tolist(), values[best].tolist(), strict=True))

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table: a column ``vertex`` with the graph's ids, then one for each array.

        Parents and components are ids like those in ``vertex``; a vertex without a parent has a null.
        """
        import pyarrow as pa

        columns = {"vertex": pa.array(self.graph.ids)}
        for name, values in self.items():
            if self.columns[name].names_vertices:
                missing = values < 0
                columns[name] = pa.array(self._names(np.where(missing, 0, values)), mask=missing)
            else:
                columns[name] = pa.array(values)
        return pa.table(columns)

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame with the columns of `to_arrow`.

        A column of integers with nulls, such as ``parent``, is of pandas' nullable type Int64: as floats, ids
        above 2^53 would be others.

        Raises
        ------
        ArgumentError
            If pandas is not installed.
        """
        import pyarrow as pa

        try:
            import pandas as pd
        except ModuleNotFoundError as error:
            msg = "to_pandas needs pandas, which is not installed: pip install pandas, or take to_arrow"
            raise ArgumentError(msg) from error
        table = self.to_arrow()
        frame = pd.DataFrame(index=range(table.num_rows))
        for name, column in zip(table.column_names, table.columns, strict=True):
            nullable = {pa.int64(): pd.Int64Dtype()} if column.null_count else {}
            frame[name] = column.to_pandas(types_mapper=nullable.get)
        return frame

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `to_arrow` to a file, whole or not at all.

        Parameters
        ----------
        path : str or path-like
            Ends in ``.parquet``, ``.csv``, ``.tsv``, ``.arrow`` or ``.feather``. All but the text formats
            also keep the algorithm's name and parameters, for ``evener verify``.

        Raises
        ------
        ArgumentError
            For another suffix, or what is no path.
        FileError
            If the file cannot be written.
        """
        from evener.results.table import write_result

        write_result(self, check_path(path, "write"))

    # ---- what the run did -----------------------------------------------------------------------

    def explain(self) -> str:
        """Return where the time went: by phase and element, the shares of all time, the bottleneck."""
        from evener.results.report.explain import explain

        return explain(self)

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write a page about the run: one HTML file that needs no other and no network, whole or not at all.

        It shows the supersteps of each element, when it did what, the placement, the frontier, the degrees of
        the graph, and, where there are any, the prediction and the joules.

        Parameters
        ----------
        path : str or path-like
            The file to make or replace.

        Raises
        ------
        ArgumentError
            If its suffix is that of another kind of file.
        FileError
            If the file cannot be written.
        """
        from evener.results.report.names import check_name
        from evener.results.report.page import page

        check_name("report", path)
        _write(path, page, self)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write when each element did what, for Perfetto or chrome://tracing, whole or not at all.

        The file is JSON in Google's trace event format: a complete event for every stretch of time that an
        element computed, sent or received, one row an element.

        Parameters
        ----------
        path : str or path-like
            The file to make or replace.

        Raises
        ------
        ArgumentError
            If its suffix is that of another kind of file.
        FileError
            If the file cannot be written.
        """
        from evener.results.report.names import check_name
        from evener.results.report.trace import trace

        check_name("trace", path)
        _write(path, trace, self)

    def _names(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Ids of vertices as arrays hold them: ids already, or positions in a graph named by strings."""
        return self.graph.ids[vertices] if self.graph.has_string_ids else vertices


def _write(path: str | os.PathLike[str], draw: Callable[[Result], str], result: Result) -> None:
    """Draw a result into a file, after seeing that it can be written."""
    from evener.system.files import atomic_write

    with atomic_write(path) as temporary:
        temporary.write_text(draw(result), encoding="utf-8")


def _largest(values: NDArray[Any], k: int) -> NDArray[np.intp]:
    """Positions of the k largest values, largest first, earlier positions first among equals."""
    k = min(k, len(values))
    if k == 0:
        return np.empty(0, dtype=np.intp)
    # A k-th largest found in linear time leaves few values to sort, however many vertices there are.
    least = np.partition(values, len(values) - k)[len(values) - k]
    above = np.flatnonzero(values > least)
    equal = np.flatnonzero(values == least)[: k - len(above)]
    chosen = np.concatenate([above, equal])
    return chosen[np.lexsort((chosen, -values[chosen].astype(np.float64)))]
