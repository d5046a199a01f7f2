"""Goal: the sources of a search, and where it ends: at a target, at a distance, or with all vertices."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.checks import is_number
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX
from evener.partition.distributed.graph import DistributedGraph
from evener.results.rows import ResultRows
from evener.spec.arguments import number_of_vertex

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.results.result import Result
    from evener.spec.run import Run

__all__ = ["Goal", "forget_beyond", "parse_goal", "search_each"]

kernels = KernelFile(__package__, "goal")


@dataclass(frozen=True, slots=True)
class Goal:
    """The sources of a search, and where it ends.

    Attributes
    ----------
    source : id or list of ids
        The sources as in the parameters of the result.
    numbers : tuple of int
        The distinct numbers of the sources in the graph, ascending.
    target : id or None
    target_number : int or None
    cutoff : float or None
        The largest distance that the result has.
    """

    source: Any
    numbers: tuple[int, ...]
    target: Any
    target_number: int | None
    cutoff: float | None

    @property
    def limited(self) -> bool:
        """Whether the search may end before it has reached all vertices."""
        return self.target_number is not None or self.cutoff is not None

    @property
    def parameters(self) -> dict[str, Any]:
        """The arguments, as the parameters of a result."""
        return {"source": self.source, "target": self.target, "cutoff": self.cutoff}

    def sources(self, engine: Engine) -> PartitionedArray:
        """Return the local numbers of the sources that each partition owns."""
        columns = [engine.at_vertex(number) for number in self.numbers]
        of_partitions = zip(*columns, strict=True)
        return engine.upload(
            [np.array([v for v in own if v != NO_VERTEX], np.uint32) for own in of_partitions]
        )

    def limit(self, engine: Engine, distance: PartitionedArray, unreached: float) -> float:
        """Return the largest distance of the result: the cutoff, or that of the target once it is known.

        `distance` is an array of a running search, in which the vertices that were not reached have the value
        `unreached`. This is a collective operation; all ranks must call it.
        """
        limit = math.inf if self.cutoff is None else float(self.cutoff)
        if self.target_number is None:
            return limit
        parts = zip(engine.elements, engine.at_vertex(self.target_number), distance, strict=True)
        own = [
            None if local == NO_VERTEX else element.download(part[local : local + 1])[0]
            for element, local, part in parts
        ]
        found = next(value for value in engine.gather(own) if value is not None)
        return limit if found == unreached else min(limit, float(found))


def parse_goal(
    graph: Graph, algorithm: str, source: Any, sources: Any, target: Any, cutoff: float | None
) -> Goal:
    """Return the goal of a search from the arguments of its caller.

    Raises
    ------
    ArgumentError
        If there is no source, if both `source` and `sources` are given, or if `cutoff` is negative or NaN.
    UnknownVertexError
        If a source or the target is not in the graph.
    """
    if source is not None and sources is not None:
        msg = f"{algorithm}: expected source= or sources=, found both; give all sources in sources="
        raise ArgumentError(msg)
    given = source if sources is None else sources
    if given is None:
        first = [] if isinstance(graph, DistributedGraph) else graph.ids[:1].tolist()
        example = f"source={first[0]!r}" if first else "source=ID"
        msg = (
            f"{algorithm}: expected the id of the vertex to start from, found none; give it with source=, "
            f"such as {example}, or give several with sources="
        )
        raise ArgumentError(msg)
    if cutoff is not None and not (is_number(cutoff) and cutoff >= 0):
        msg = f"cutoff=: expected a distance of at least 0, found {cutoff!r}"
        raise ArgumentError(msg)
    if sources is not None and not _has_ids(sources):
        msg = f"sources=: expected several ids, such as [5, 9], found {sources!r}; give one id with source="
        raise ArgumentError(msg)
    several = sources is not None or _is_list(graph, source)
    ids = list(given.tolist() if hasattr(given, "tolist") else given) if several else [given]
    if not ids:
        msg = "sources=: expected the id of at least one vertex, found none"
        raise ArgumentError(msg)
    try:
        numbers = np.unique(graph.numbers_of(ids)).tolist()
    except UnknownVertexError as error:
        msg = f"{error}; name another vertex with {'source' if sources is None else 'sources'}="
        raise UnknownVertexError(msg) from None
    number = None if target is None else number_of_vertex(graph, target, "target")
    return Goal(ids if len(ids) > 1 else ids[0], tuple(numbers), target, number, cutoff)


def forget_beyond(
    engine: Engine,
    limit: np.number[Any],
    unreached: np.number[Any],
    distance: PartitionedArray,
    parent: PartitionedArray,
) -> None:
    """Mark the owned vertices with a distance above `limit` as unreached; both have the type of distances."""
    engine.compute(kernels.forget_beyond, engine.owned, limit, unreached, distance, parent)


def search_each(goal: Goal, run: Run, search: Callable[[Goal], Result]) -> Result:
    """Return the results of a search from each source, in the order of `goal.source`.

    Raises
    ------
    ArgumentError
        If the run writes checkpoints: a folder has the checkpoints of one search.
    """
    if run.checkpoint is not None:
        msg = (
            "checkpoint=: expected none with each=True, found one; search from each source with a folder of "
            "its own"
        )
        raise ArgumentError(msg)
    ids = goal.source if isinstance(goal.source, list) else [goal.source]
    rows = []
    for source in ids:
        (number,) = run.graph.numbers_of([source])
        row = search(replace(goal, source=source, numbers=(int(number),)))
        for name in row:
            row[name]  # gather now: a later run reuses the arrays of the elements
        rows.append(row)
    return ResultRows(rows)


def _has_ids(value: Any) -> bool:
    """Return whether a value is a collection, which may have several ids."""
    return (
        isinstance(value, Iterable) and not isinstance(value, str | bytes) and getattr(value, "ndim", 1) > 0
    )


def _is_list(graph: Graph, source: Any) -> bool:
    """Return whether `source` has several ids. A tuple may be an id of a graph whose ids are any objects."""
    return _has_ids(source) and not (graph.has_object_ids and isinstance(source, Hashable))
