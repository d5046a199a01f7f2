"""Betweenness with weights on any number of partitions: Brandes' algorithm over the edges of shortest paths.

Idea: delta-stepping finds the distances from a source. An edge is *tight* if the distance of its tail plus
its weight is the distance of its head. The tight edges have no cycle, because weights are above 0. Path
counts flow along them: a vertex is ready when all its tight in-edges are counted (Kahn), and the ready
vertices are a level. Dependencies flow back by the same levels. A single element runs many levels in one
launch.

Encoding: see `weighted_cpu`.

Brandes: A Faster Algorithm for Betweenness Centrality (2001); Kahn: Topological Sorting of Large Networks
(1962).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.betweenness.search import LevelBounds
from evener.algorithms.sssp.settle import FAR, SearchState
from evener.algorithms.sssp.sssp import bucket_width, settle_distances
from evener.engine.checkpoints.checkpoints import Checkpoints
from evener.kernels.kernel import KernelFile
from evener.primitives.edge_weights import edge_weights
from evener.primitives.source_paths import EXACT, refuse_source
from evener.primitives.source_paths_cpu import ABSORBED, BEYOND_FLOAT64, TOO_FAR
from evener.spec.algorithm import StateBytes
from evener.spec.goal import Goal

if TYPE_CHECKING:
    from evener.algorithms.betweenness.search import Pace
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph

__all__ = ["WEIGHTED_STATE", "WeightedSearch"]

kernels = KernelFile(__package__, "weighted")
level_kernels = KernelFile(__package__)

# Bytes of a search, for each vertex and for each mirror: distance, parent, two queues; value, arriving,
# waiting, order, centrality; bitmaps.
WEIGHTED_STATE = StateBytes(8 + 4 + 4 + 4 + 8 + 8 + 4 + 4 + 8 + 1, 8 + 8 + 4 + 1)
# Largest number of levels in one launch on a single element.
LEVELS = 1 << 10


class WeightedSearch:
    """The arrays of the searches of a run, allocated once for all sources.

    Parameters
    ----------
    engine : Engine
    graph : Graph
        With weights above 0.
    total : PartitionedArray
        The sums of dependencies: a value for each owned vertex or, with `of_edges`, for each stored out-edge.
    of_edges : bool
    """

    def __init__(self, engine: Engine, graph: Graph, total: PartitionedArray, *, of_edges: bool) -> None:
        self._engine, self._graph, self._total, self._of_edges = engine, graph, total, of_edges
        self._weights = edge_weights(engine, engine.out_weights, used=True)
        self._in_weights = edge_weights(engine, engine.in_weights, used=True)
        dtype = graph.weight_dtype
        integers = dtype is not None and dtype.kind in "iu"
        self._limit = EXACT if integers else math.inf
        self._width = bucket_width(engine, graph)
        self._distances = self._new_distances(integers=integers and bool(graph.weight_range[1] < FAR))
        self._value, self._waiting = engine.array("float64"), engine.array("uint32")
        self._arriving = engine.owned_array("float64", 0)
        self._order = engine.owned_array("uint32")
        self._reached, self._counted = engine.bitmaps(2)
        self._bounds = LevelBounds(engine, graph.n, LEVELS)

    def run(self, source: int, pace: Pace) -> int:
        """Add the dependencies on a source, and return the out-edges of all reached vertices.

        This is a collective operation; all ranks must call it.

        Raises
        ------
        ArgumentError
            If float64 does not hold the numbers of paths, or a distance.
        """
        beyond, absorbed = self._begin(source, pace)
        if beyond and self._distances.far == FAR:
            self._distances = self._new_distances(integers=False)
            beyond, absorbed = self._begin(source, pace)
        if beyond or absorbed:
            refuse_source(self._graph, source, int(ABSORBED if absorbed else TOO_FAR), limit=self._limit)
        levels, edges = self._count_paths(source, pace)
        self._add_dependencies(levels, pace)
        return edges

    def _new_distances(self, *, integers: bool) -> SearchState:
        nowhere = Goal(None, (), None, None, None)
        return SearchState(self._engine, Checkpoints(), nowhere, FAR if integers else np.float64(np.inf))

    def _begin(self, source: int, pace: Pace) -> tuple[int, int]:
        """Find the distances, and count the tight in-edges of each vertex; see `begin_paths`."""
        engine, distances = self._engine, self._distances
        offsets, targets, blocks = engine.in_
        distances.forget()
        own = Goal(None, (source,), None, None, None).sources(engine)
        with pace.search():
            settle_distances(engine, distances, own, self._graph.m, self._width)
        pace.level("tight edges", self._graph.m)
        engine.pull(distances.distance)
        beyond, absorbed = engine.compute(
            kernels.begin_paths, offsets, targets, self._in_weights, blocks, engine.at_vertex(source),
            distances.far, self._limit, distances.distance, self._value, self._waiting, self._reached,
            self._counted, self._order, self._bounds.array,
        )  # fmt: skip
        return int(beyond), int(absorbed)

    def _count_paths(self, source: int, pace: Pace) -> tuple[int, int]:
        """Count the paths, level by level; return the number of levels and the out-edges of all vertices."""
        engine, reached, counted = self._engine, self._reached, self._counted
        offsets, targets, _ = engine.out
        most = LEVELS if engine.single else 1
        levels, edges, following = 0, 0, 1
        while following:
            bounds = self._bounds.reserve(levels + 1, most)
            pace.level("paths")
            # paths = Aᵀ +.× paths, over the tight edges of the ready vertices
            _, taken, own_edges, many, following = engine.compute(
                kernels.count_paths, offsets, targets, self._weights, engine.owned, self._distances.distance,
                levels, most, self._value, self._waiting, reached, counted, self._order, bounds,
                count_next_active=True,
            )  # fmt: skip
            if many:
                refuse_source(self._graph, source, int(BEYOND_FLOAT64), limit=self._limit)
            edges += int(own_edges)
            levels += int(taken) if engine.single else 1
            if engine.has_mirrors:
                engine.push(self._value, "add", changed=reached)
                engine.push(self._waiting, "add", changed=counted)
                following = engine.compute(
                    kernels.append_ready, engine.owned, levels, self._waiting, reached, counted, self._order,
                    bounds,
                )  # fmt: skip
        return levels, edges

    def _add_dependencies(self, levels: int, pace: Pace) -> None:
        engine, bounds = self._engine, self._bounds.array
        offsets, targets, _ = engine.out
        kernel = kernels.add_edge_dependencies if self._of_edges else kernels.add_dependencies
        last = levels
        while last > 0:
            level, last = last - 1, 0 if engine.single else last - 1
            pace.level("dependencies")
            # dependency = paths × (A +.× (1 + dependency) / paths), over the tight edges
            engine.compute(
                kernel, offsets, targets, self._weights, self._distances.distance, level, last, self._order,
                bounds, self._arriving, self._value, self._total, count_next_active=True,
            )  # fmt: skip
            if engine.has_mirrors and last > 0:
                engine.compute(level_kernels.flag_level, self._order, bounds, level, self._reached)
                engine.pull(self._value, changed=self._reached)
