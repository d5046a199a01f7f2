"""Rows: the result of a MapReduce job, one row for each key."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.results.dataset import write_rows
from evener.results.ranks import gather_on_first_rank
from evener.system.agreement import collective
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    import os
    from collections.abc import Mapping

    import pandas as pd
    import pyarrow as pa
    from numpy.typing import NDArray

    from evener.engine.timeline import Timeline
    from evener.results.result import Result
    from evener.system.world import World

__all__ = ["Rows"]


class Rows:
    """The rows of a MapReduce job, in ascending order of keys.

    With several ranks, each rank has the rows of its keys.

    Parameters
    ----------
    keys : ndarray of int64, shape (rows,)
    columns : sequence of ndarray
        The numbers of the payloads.
    single : bool
        Whether payloads are numbers instead of tuples.
    run : Result
        The run, without arrays of vertices.

    Attributes
    ----------
    keys : ndarray of int64, shape (rows,)
    values : ndarray of shape (rows,), or tuple of such arrays
        The payload of each key; a tuple has an array for each number of a payload.
    outcome : dict
        ``pairs``: the pairs that `map` returned on all ranks. ``spilled``: the bytes written to disk.
    seconds : float
        Wall time of the job, without placing the graph.
    timeline : Timeline
        The time of each stage on each element: map, hash, communication, transfer, sort, reduce and merge.
    world : World
        The ranks that have rows.
    """

    algorithm = "mapreduce"

    def __init__(
        self, keys: NDArray[np.int64], columns: list[NDArray[Any]], *, single: bool, run: Result
    ) -> None:
        self.keys = keys
        self.values = columns[0] if single else tuple(columns)
        self.world: World = run.world
        self.outcome: dict[str, Any] = run.outcome
        self.parameters: Mapping[str, Any] = run.parameters
        self.seconds: float = run.seconds
        self.timeline: Timeline = run.timeline
        self._columns, self._single, self._run = columns, single, run

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with the rows of the same job."""
        return self._run.agreed()

    def __len__(self) -> int:
        return len(self.keys)

    def __repr__(self) -> str:
        return f"<Rows of mapreduce: {len(self.keys):,} keys, {self.seconds:.3g} s>"

    @collective()
    def gather(self) -> Rows | None:
        """Return the rows of all ranks on rank 0, in ascending order of keys, and None on other ranks.

        This is a collective operation; all ranks must call it. Without other ranks, the rows themselves are
        returned.

        Raises
        ------
        OutOfMemoryError
            If rank 0 has no memory for all rows.
        """
        if self.world.size == 1:
            return self
        keys, *columns = (gather_on_first_rank(array, self.world) for array in (self.keys, *self._columns))
        if keys is None:
            return None
        order = np.argsort(keys, kind="stable")
        sorted_columns = [column[order] for column in columns if column is not None]
        whole = Rows(keys[order], sorted_columns, single=self._single, run=self._run)
        whole.world = SingleProcess()
        return whole

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table with the columns ``key`` and ``value``, or ``value_0``, ``value_1``, ...

        With several ranks, the table has the rows of this rank.
        """
        import pyarrow as pa

        names = ["value"] if self._single else [f"value_{k}" for k in range(len(self._columns))]
        return pa.table({"key": self.keys, **dict(zip(names, self._columns, strict=True))})

    def to_pandas(self) -> pd.DataFrame:
        """Return a pandas DataFrame with the columns of `to_arrow`."""
        return self.to_arrow().to_pandas()

    @collective()
    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the table of `to_arrow` to a file or to a folder atomically.

        This is a collective operation; all ranks must call it. Each rank writes its rows to one file of a
        folder. Rank 0 gathers the rows to write one file. Names are those of `Result.write`.

        Raises
        ------
        ArgumentError
            If the suffix is no format of tables, or `path` is not a path.
        FileError
            If the file cannot be written.
        """
        write_rows(self, path)

    def explain(self) -> str:
        """Return the time by stage and element, the shares of all time, and the bottleneck."""
        return self._run.explain()

    def report(self, path: str | os.PathLike[str]) -> None:
        """Write an HTML page about the run, as `Result.report` does."""
        self._run.report(path)

    def trace(self, path: str | os.PathLike[str]) -> None:
        """Write a trace of the run, as `Result.trace` does."""
        self._run.trace(path)
