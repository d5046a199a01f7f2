"""ResultRows: the results of one search from each of several sources."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.engine.timeline import Timeline
from evener.errors import ArgumentError
from evener.graph.views import id_column
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

__all__ = ["ResultRows"]


class ResultRows(Result):
    """The results of searches with ``each=True``: a row of every array for each source.

    An array has the shape (sources, n). A table has the rows of all sources, with a column ``source``.

    Parameters
    ----------
    rows : sequence of Result
        The result of each source.

    Attributes
    ----------
    rows : list of Result
    sources : list of ids
        The source of each row.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([1, 2, 5], [2, 5, 7])
    >>> r = ev.bfs(g, sources=[2, 5], each=True)
    >>> r["distance"].tolist(), r.rows[0].path(7)
    ([[-1, 0, 1, 2], [-1, -1, 0, 1]], [2, 5, 7])
    """

    def __init__(self, rows: Sequence[Result]) -> None:
        self.rows = list(rows)
        self.sources = [row.parameters["source"] for row in rows]
        first = rows[0]
        super().__init__(
            first.algorithm,
            first.graph,
            dict.fromkeys(first, _no_array),
            columns=list(first.columns.values()),
            parameters={**first.parameters, "source": self.sources, "each": True},
            timeline=_joined([row.timeline for row in rows]),
            seconds=sum(row.seconds for row in rows),
            edges=sum(row.edges for row in rows),
            partitioned=first.partitioned,
            passes=len(rows),
        )
        self.world, self.block = first.world, first.block

    def __getitem__(self, name: str) -> NDArray[Any]:
        return np.stack([row[name] for row in self.rows])

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "partitioned": None, "world": self.rows[0].__getstate__()["world"]}

    def gather(self) -> ResultRows | None:
        """Return the rows with the values of all vertices on rank 0, and None on other ranks."""
        whole = [row.gather() for row in self.rows]
        return None if whole[0] is None else ResultRows(cast("list[Result]", whole))

    def to_arrow(self) -> pa.Table:
        """Return the tables of all rows below each other, with a column ``source`` in front."""
        import pyarrow as pa

        tables = []
        for source, row in zip(self.sources, self.rows, strict=True):
            table = row.to_arrow()
            (label,) = id_column(self.graph, np.fromiter([source], object, 1)).to_pylist()
            column = pa.array([label] * len(table), table.schema.field("vertex").type)
            tables.append(table.add_column(0, "source", column))
        return pa.concat_tables(tables)

    def to_pandas(self) -> pd.DataFrame:
        """Return the frames of all rows below each other, with a column ``source`` in front."""
        frames = [row.to_pandas() for row in self.rows]
        import pandas as pd

        for source, frame in zip(self.sources, frames, strict=True):
            vertex = frame["vertex"]
            frame.insert(0, "source", pd.Series([source] * len(vertex), dtype=vertex.dtype))
        return pd.concat(frames, ignore_index=True)

    def top(self, k: int = 10) -> list[tuple[Any, int | float]]:
        """Raise: each row has its own top vertices."""
        del k
        msg = "top: expected the result of one search, found a row for each source; use top() of one of rows"
        raise ArgumentError(msg)

    def value(self, vertex: Any, name: str | None = None) -> Any:  # noqa: ARG002 - the arguments of Result
        """Raise: each row has its own value."""
        msg = f"value: found a value of {vertex!r} for each source; use value() of one of rows"
        raise ArgumentError(msg)

    def to_dict(self, name: str | None = None) -> dict[Any, Any]:  # noqa: ARG002 - the argument of Result
        """Raise: each row has its own values."""
        msg = "to_dict: found values for each source; use to_dict() of one of rows"
        raise ArgumentError(msg)

    def path(self, vertex: Any) -> list[Any]:
        """Raise: each row has its own path."""
        msg = f"path: found a path from each source to {vertex!r}; use path() of one of rows"
        raise ArgumentError(msg)


def _no_array() -> NDArray[Any]:
    raise NotImplementedError  # `ResultRows.__getitem__` reads the rows instead


def _joined(timelines: Sequence[Timeline]) -> Timeline:
    """Return one timeline of runs that followed each other."""
    joined = Timeline()
    for timeline in timelines:
        begun = joined.spans[-1].superstep + 1 if joined.spans else 0
        joined.spans += [replace(span, superstep=begun + span.superstep) for span in timeline.spans]
        for one in timeline.slices:
            begin, end = joined.seconds + one.begin, joined.seconds + one.end
            joined.add_slice(one._replace(superstep=begun + one.superstep, begin=begin, end=end))
        joined.more_slices += timeline.more_slices
        joined.seconds += timeline.seconds
        joined.compile_seconds += timeline.compile_seconds
    return joined
