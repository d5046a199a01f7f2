"""Brandes' algorithm on one CPU: each thread searches from a source of its own, by edges or by weights.

Idea: searches from several sources run at once, and each adds its dependencies to sums of its own. The sums
are added up in a fixed order. Their number does not depend on the threads, unless the graph is large.

Encoding: see `source_paths_cpu`.

Brandes: A Faster Algorithm for Betweenness Centrality (2001).
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.protocols import is_gpu
from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.kernels.kernel import KernelFile
from evener.partition.partitioned import PartitionedGraph
from evener.primitives.edge_weights import edge_weights
from evener.primitives.source_paths_cpu import ABSORBED, BEYOND_FLOAT64
from evener.spec.arguments import weights_used
from evener.system import memory
from evener.system.world import current_world

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.spec.run import Run

__all__ = [
    "SourcePaths",
    "check_positive_weights",
    "require_one_cpu",
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
_EXACT = 2.0**53


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
        self._limit = _EXACT if weights and dtype is not None and dtype.kind in "iu" else np.inf
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
                self._refuse(source, reason)
        engine.compute(kernels.collect, self._sums, total)
        return int(edges)

    def _refuse(self, source: int, reason: int) -> None:
        partitioned = self._engine.partitioned
        (name,) = partitioned.graph.ids_of(partitioned.owned_vertices()[0][[source]])
        if reason == BEYOND_FLOAT64:
            if self._weighted:
                many = f"more than 2^960 shortest paths lead from source {name} to a vertex"
            else:
                many = (
                    "the numbers of shortest paths to the vertices at some distance from source "
                    f"{name} differ by a factor of over 2^1700, beyond float64"
                )
            raise ArgumentError(f"{many}; omit it from sources=")
        if reason == ABSORBED:
            why = "a weight is too small to change a distance; use weights that differ by less"
        elif self._limit == _EXACT:
            why = "a sum of integer weights is 2^53 or more; scale the weights"
        else:
            why = "a sum of weights is infinite; scale the weights"
        raise ArgumentError(f"float64 does not hold the distances from source {name}: {why}")


def searches_are_faster(engine: Engine) -> bool:
    """Return whether many searches by edges are faster on a thread each than one after the other."""
    single_cpu = engine.single and not is_gpu(engine.elements[0])
    return single_cpu and engine.out_edges[0] <= FEW_EDGES


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


def require_one_cpu(run: Run, what: str) -> None:
    """Place a run on a CPU if its place is open; raise an error if it is not one CPU of one process.

    Raises
    ------
    ArgumentError
        If there are several elements or ranks, or a GPU. The message begins with `what`.
    """
    if current_world().size > 1:
        msg = f"{what} runs in one process, and there are {current_world().size} ranks; start one process"
        raise ArgumentError(msg)
    given = run.given
    if isinstance(given, PartitionedGraph):
        kinds = [element.kind for element in given.elements]
    else:
        if run.placement.on is None:
            run.placement = replace(run.placement, on=("cpu",))
        kinds = run.placement.kinds
    if len(kinds) > 1 or "cuda" in kinds:
        found = "a GPU" if len(kinds) == 1 else f"{len(kinds)} elements"
        msg = f'{what} runs on one CPU, and the graph is on {found}; place it with on="cpu"'
        raise ArgumentError(msg)
