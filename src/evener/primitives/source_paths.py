"""Brandes' algorithm on one CPU: each thread searches from a source of its own, by edges or by weights.

Idea: searches from several sources run at once, and each adds its dependencies to sums of its own. The sums
are added up in a fixed order. Their number does not depend on the threads, unless the graph is large.

Encoding: see `source_paths_cpu`.

Brandes: A Faster Algorithm for Betweenness Centrality (2001).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evener.elements.protocols import is_gpu
from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.graph.graph import Graph
from evener.kernels.kernel import KernelFile
from evener.primitives.edge_weights import edge_weights
from evener.primitives.source_paths_cpu import ABSORBED, BEYOND_FLOAT64
from evener.spec.arguments import weights_used
from evener.system import memory
from evener.system.world import current_world

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.spec.run import Run

__all__ = [
    "EXACT",
    "SourcePaths",
    "check_positive_weights",
    "is_one_cpu",
    "refuse_source",
    "searches_are_faster",
]

kernels = KernelFile(__package__, "source_paths")

# Number of searches at a time, if their arrays have at most FEW_VALUES values together.
SEARCHES = 64
FEW_VALUES = 1 << 24
# Stored edges of a graph on which searches at the same time are faster than one search on all threads.
FEW_EDGES = 1 << 19
# Stored edges that the searches of a call follow, about.
EDGES_PER_CALL = 1 << 28
# Largest number of calls, each of which is a superstep.
CALLS = 1000
# Values of a search for each vertex, in 8 bytes: distance, paths, share, keys; order, vertices, place.
_VALUES_PER_VERTEX = 6
# Integers below this number are exact in float64.
EXACT = 2.0**53


class SourcePaths:
    """The arrays of several searches that run at the same time, and the sums of their dependencies.

    Parameters
    ----------
    engine : Engine
        Of one CPU.
    sources : int
        Number of sources of the run.
    weights : bool
        Whether edges have weights. Otherwise each edge weighs 1.
    of_edges : bool
        Whether to add up the dependencies of edges. Otherwise those of vertices.
    """

    def __init__(self, engine: Engine, sources: int, *, weights: bool, of_edges: bool) -> None:
        self._engine, n, m = engine, engine.owned[0], engine.out_edges[0]
        self._weighted = weights
        self._weights = edge_weights(engine, engine.out_weights, used=weights)
        wide = m if of_edges else n
        values = n * _VALUES_PER_VERTEX + wide
        searches = min(_searches(values, engine.elements[0].threads), max(sources, 1))
        if 8 * values * searches >= memory.MIN_CHECKED_BYTES:
            memory.require(8 * values * searches, "the searches from several sources")
        shape = searches, n
        self.per_call = max(searches, EDGES_PER_CALL // max(m, 1), -(-sources // CALLS))
        self._unreached = np.inf if weights else np.uint32(0xFFFFFFFF)
        dtype = engine.partitioned.graph.weight_dtype
        self._limit = EXACT if weights and dtype is not None and dtype.kind in "iu" else np.inf
        of_heap = shape if weights else (searches, 0)
        keys = searches, n + 1  # of a heap, or a scale for each distance
        arrays: list[NDArray[Any] | None] = [
            np.full(shape, self._unreached),
            np.empty(shape),
            np.empty(shape),
            np.empty(shape, np.uint32),
            np.empty(keys),
            np.empty(of_heap, np.uint32),
            np.empty(of_heap, np.uint32),
            None if of_edges else np.zeros(shape),
            np.zeros((searches, m)) if of_edges else None,
        ]
        self._arrays = [PartitionedArray([one]) for one in arrays]
        self._sums = self._arrays[-1 if of_edges else -2]
        self._ended = np.zeros((searches, 2), np.uint64)
        self._local = np.empty(n, np.uint32)
        self._local[engine.partitioned.owned_vertices()[0]] = np.arange(n, dtype=np.uint32)

    def add(self, sources: NDArray[np.int64], total: PartitionedArray) -> int:
        """Add the dependencies on some sources to `total`.

        Returns
        -------
        int
            The edges of the reached vertices.

        Raises
        ------
        ArgumentError
            If float64 does not hold the numbers of paths, or a distance.
        """
        engine, (offsets, targets, _) = self._engine, self._engine.out
        _, edges = engine.compute(
            kernels.add_sources,
            offsets,
            targets,
            self._weights,
            engine.upload([self._local[sources]]),
            self._unreached,
            self._limit,
            *self._arrays,
            PartitionedArray([self._ended]),
            count_active=True,
        )
        for source, reason in self._ended.tolist():
            if reason:
                number = int(engine.partitioned.owned_vertices()[0][source])
                refuse_source(
                    engine.partitioned.graph, number, reason, limit=self._limit if self._weighted else None
                )
        engine.compute(kernels.collect, self._sums, total)
        return int(edges)


def refuse_source(graph: Graph, source: int, reason: int, *, limit: float | None) -> NoReturn:
    """Raise ArgumentError for a source whose paths or distances float64 does not hold.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph
    source : int
        The number of the source in the graph.
    reason : {BEYOND_FLOAT64, ABSORBED, TOO_FAR}
    limit : float, optional
        Distances must be below it. Omit it if each edge weighs 1.
    """
    (name,) = graph.ids_of(np.array([source]))
    if reason == BEYOND_FLOAT64:
        if limit is not None:
            many = f"more than 2^960 shortest paths lead from source {name} to a vertex"
        else:
            many = (
                "the numbers of shortest paths to the vertices at some distance from source "
                f"{name} differ by a factor of over 2^1700, beyond float64"
            )
        msg = f"{many}; omit it from sources="
        raise ArgumentError(msg)
    if reason == ABSORBED:
        why = "a weight is too small to change a distance; use weights that differ by less"
    elif limit == EXACT:
        why = "a sum of integer weights is 2^53 or more; scale the weights"
    else:
        why = "a sum of weights is infinite; scale the weights"
    msg = f"float64 does not hold the distances from source {name}: {why}"
    raise ArgumentError(msg)


def is_one_cpu(engine: Engine) -> bool:
    """Return whether one CPU of one process has the whole graph."""
    return engine.single and not is_gpu(engine.elements[0])


def searches_are_faster(engine: Engine) -> bool:
    """Return whether many searches by edges are faster on a thread each than one after the other."""
    return is_one_cpu(engine) and engine.out_edges[0] <= FEW_EDGES


def _searches(values: int, threads: int) -> int:
    """Return the number of searches at a time, each with `values` values."""
    few = min(SEARCHES, FEW_VALUES // max(values, 1))
    if few >= threads:
        return few
    return max(1, min(threads, memory.available() // (16 * max(values, 1))))


def check_positive_weights(graph: Graph, weights: bool | None, algorithm: str) -> bool:  # noqa: FBT001 - an argument
    """Return whether an algorithm of shortest paths uses the weights of the edges.

    Raises
    ------
    ArgumentError
        If `weights` is no truth value or None, or is True and the graph has none. If a weight is not above 0.
    """
    used = weights_used(graph, weights, algorithm, least="above 0")
    if used and graph.m and not graph.weight_range[0] > 0:
        msg = (
            f"{algorithm} needs finite weights above 0 on every edge, because edges of weight 0 make endless "
            "numbers of paths; found a weight of 0"
        )
        raise ArgumentError(msg)
    return used


def place_by_size(run: Run) -> None:
    """Place a small graph on a CPU if its place is open, because a GPU searches from one source at a time."""
    is_open = run.placement.on is None and isinstance(run.given, Graph) and current_world().size == 1
    if is_open and run.graph.m <= FEW_EDGES:
        run.placement = replace(run.placement, on=("cpu",))
