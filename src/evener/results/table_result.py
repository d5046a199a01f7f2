"""TableResult: the result of a run whose rows are pairs, edges, walks, or one row about the whole graph."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral
from evener.graph.views import id_column
from evener.results.report.units import counted
from evener.results.result import Result
from evener.results.top import TopRows
from evener.system.agreement import collective

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import pyarrow as pa
    from numpy.typing import NDArray

    from evener.results.columns import Column

__all__ = ["TableResult"]


class TableResult(Result):
    """The result of a run whose rows are not vertices: arrays of equal length, with one value per row.

    Columns of vertices have the graph's ids. With several ranks, each rank has other rows; a row about the
    whole graph is on all ranks. An array of two dimensions is a column of lists, which end before the first
    "no vertex".

    Parameters
    ----------
    row : str
        The word for a row: "pair", "edge", "walk", or "graph" for a single row about the whole graph.
    arrays : mapping of str to ndarray or callable
        The rows of this rank. Vertices are global numbers, and "no vertex" is -1.
    algorithm, graph, columns
        As in `Result`, with its other parameters as keyword arguments.
    """

    def __init__(
        self,
        row: str,
        algorithm: str,
        graph: Any,
        arrays: Mapping[str, NDArray[Any] | Callable[[], NDArray[Any]]],
        *,
        columns: Sequence[Column],
        **facts: Any,
    ) -> None:
        gather = {name: own if callable(own) else _constant(own) for name, own in arrays.items()}
        super().__init__(algorithm, graph, gather, columns=columns, **facts)
        self.row = row

    def device(self, name: str) -> Any:
        """Return an array of the result on the GPU of the run, as for `Result`; no row has a vertex's id."""
        if name == "vertex":
            raise ArgumentError(self._no_vertices("device"))
        return super().device(name)

    def value(self, vertex: Any, name: str | None = None) -> Any:  # noqa: ARG002 - the arguments of Result
        """Raise ArgumentError: the rows are not vertices."""
        raise ArgumentError(self._no_vertices("value"))

    def to_dict(self, name: str | None = None) -> dict[Any, Any]:  # noqa: ARG002 - the argument of Result
        """Raise ArgumentError: the rows are not vertices."""
        raise ArgumentError(self._no_vertices("to_dict"))

    def _no_vertices(self, method: str) -> str:
        return (
            f"{method}: expected a value for each vertex, found a row for each {self.row}; use result[name]"
        )

    @property
    def rows(self) -> int:
        """The number of rows of this rank."""
        return len(self.gathered(next(iter(self))))

    def __repr__(self) -> str:
        names = ", ".join(self)
        rows = "the graph" if self.row == "graph" else counted(self.rows, self.row)
        return f"<Result of {self.algorithm}: {names} of {rows}, {self.seconds:.3g} s>"

    def __float__(self) -> float:
        """Return the number of a result about the whole graph: the first column of its row."""
        if self.row != "graph":
            msg = f"float: expected a result about the whole graph, found {self!r}; use one of its arrays"
            raise TypeError(msg)
        return float(self[next(iter(self))][0])

    @collective()
    def gather(self) -> TableResult | None:
        """Return the result with the rows of all ranks on rank 0, and None on other ranks.

        This is a collective operation; all ranks must call it.

        Raises
        ------
        OutOfMemoryError
            If rank 0 has no memory for all rows.
        """
        whole = cast("TableResult | None", super().gather())
        if whole is not None and self.row == "graph":
            vars(whole)["_gathered"] = {name: self.gathered(name) for name in self}  # not a row of each rank
        return whole

    @collective()
    def top(self, k: int = 10) -> list[tuple[Any, ...]]:
        """Return the rows with the largest values of the first column of numbers.

        This is a collective operation; all ranks must call it, and get the same list. If all columns are
        vertices, the first rows are returned.
        """
        if not is_integral(k) or k < 0:
            msg = f"top(k): expected an integer k >= 0, found {k!r}"
            raise ArgumentError(msg)
        number = next((one.name for one in self.columns.values() if not one.names_vertices), None)
        keys = -self[number].astype(np.float64) if number else np.zeros(self.rows)
        best = np.argsort(keys, kind="stable")[:k]
        rows = list(zip(*(self[name][best].tolist() for name in self), strict=True))
        if self.world.size == 1 or self.row == "graph":
            return TopRows(tuple(self), rows)
        of_ranks = self.world.allgather(list(zip(keys[best].tolist(), rows, strict=True)))
        merged = sorted(chain.from_iterable(of_ranks), key=lambda pair: pair[0])[:k]
        return TopRows(tuple(self), (row for _, row in merged))

    def names_of(self, vertices: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of vertices in an array of `gathered`."""
        flat = vertices.ravel()
        if self.graph.n == 0:
            integers = self.graph.has_integer_ids
            return np.full(vertices.shape, -1 if integers else None, np.int64 if integers else object)
        missing = flat < 0
        known = np.where(missing, 0, flat)
        names = self.graph.ids_of(known) if self._ids is None else self._ids[known]
        if self.graph.has_integer_ids:
            names = names.astype(np.int64)
            names[missing] = -1
        else:
            names = names.astype(object)
            names[missing] = None
        return names.reshape(vertices.shape)

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with a column for each array.

        With several ranks, the table has the rows of this rank, or of rank 0 a row about the whole graph.
        """
        import pyarrow as pa

        columns = {}
        for name, values in self.items():
            own = values[:0] if self.row == "graph" and self.world.rank else values
            if own.ndim == 2:
                columns[name] = self._lists(name, own)
            elif self.columns[name].names_vertices:
                columns[name] = id_column(self.graph, own)
            else:
                columns[name] = pa.array(own)
        return pa.table(columns)

    def _lists(self, name: str, values: NDArray[Any]) -> pa.Array:
        import pyarrow as pa

        present = self.gathered(name)[: len(values)] >= 0
        offsets = np.append(0, np.cumsum(present.sum(axis=1)))
        flat = values[present]
        items = id_column(self.graph, flat) if self.columns[name].names_vertices else pa.array(flat)
        return pa.LargeListArray.from_arrays(pa.array(offsets), items)


def _constant(values: NDArray[Any]) -> Callable[[], NDArray[Any]]:
    return lambda: values
