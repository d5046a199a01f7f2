"""Betweenness on a group of GPUs: for each source, one launch counts paths and one adds dependencies.

The kernels run many levels. Each GPU reads its neighbours' values in place, and the policy uses the edges of
all GPUs.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.algorithms.betweenness.scaling import MANY, SHRINK, beyond_float64
from evener.errors import ArgumentError
from evener.kernels.kernel import KernelFile

if TYPE_CHECKING:
    from evener.algorithms.betweenness.search import BetweennessState, Pace
    from evener.engine.engine import Engine, PartitionedArray
    from evener.engine.group import ElementGroup
    from evener.graph.graph import Graph

__all__ = ["GroupSearch"]

kernels = KernelFile(__package__, "group")

# Largest number of levels in one launch.
LEVELS = 1 << 10

# Numbers per level in the table of levels: COLUMNS in betweenness.cuh.
_COLUMNS = 4
# The last result of `count_paths`: Outcome in group.cu.
_MORE_LEVELS, _BEYOND_FLOAT64 = 1, 2


class GroupSearch:
    """Searches from one source after another, on all GPUs of a group.

    Parameters
    ----------
    engine : Engine
    group : ElementGroup
    graph : Graph
    state : SearchState
    push_cost : float
        Cost of pushing along an edge over the cost of pulling along it.
    """

    def __init__(
        self, engine: Engine, group: ElementGroup, graph: Graph, state: BetweennessState, *, push_cost: float
    ) -> None:
        self._engine = engine
        self._graph = graph
        self._state = state
        self._push_cost = push_cost
        self._flags = [state.frontier, state.arrived, engine.bits()]
        peers = group.addresses([state.value, state.arriving, *self._flags])
        self._neighbours = [peers, group.incoming, group.mirrored]
        self._rows = min(2 * LEVELS, graph.n + 1)
        self._table = engine.local_array(_COLUMNS * self._rows, "float64")
        # The out-edges of the last level, the unexplored edges, and whether the next level is scaled.
        self._resume = engine.local_array(3, "uint64")

    def run(self, source: int, pace: Pace) -> int:
        """Add the dependencies of a source to the centrality; return the out-edges of the reached vertices.

        Raises
        ------
        ArgumentError
            If the numbers of paths to the vertices of one level are beyond float64.
        """
        farthest, edges = self._count_paths(source, pace)
        self._add_dependencies(farthest, edges, pace)
        return edges

    def _count_paths(self, source: int, pace: Pace) -> tuple[int, int]:
        """Return the farthest level, and the out-edges of all levels."""
        engine, s = self._engine, self._state
        (offsets, targets, _), (in_offsets, in_targets, _) = engine.out, engine.in_
        owner = engine.at_vertex(source)
        level, edges, outcome = 0, 0, _MORE_LEVELS
        while outcome == _MORE_LEVELS:
            bounds, table = s.bounds_for(level + 1, LEVELS), self._table_for(level + 1)
            # The edges of the previous launch, because the next ones are not known.
            pace.level("paths", edges)
            _, levels, explored, outcome = engine.compute(
                kernels.count_paths, offsets, targets, in_offsets, in_targets, engine.in_rows, engine.owned,
                owner, self._graph.m, self._push_cost, MANY, SHRINK, level, LEVELS, s.value, s.arriving,
                s.visited, *self._flags, s.order, bounds, table, self._resume, *self._neighbours,
                count_next_active=True,
            )  # fmt: skip
            level += levels
            edges += explored
        if outcome == _BEYOND_FLOAT64:
            raise ArgumentError(beyond_float64(self._graph, source, level))
        return level, edges

    def _add_dependencies(self, farthest: int, edges: int, pace: Pace) -> None:
        engine, s = self._engine, self._state
        (offsets, targets, _), (in_offsets, in_targets, _) = engine.out, engine.in_
        for level in range(farthest, -1, -LEVELS):
            pace.level("dependencies", edges if level == farthest else 0)
            engine.compute(
                kernels.add_dependencies, offsets, targets, in_offsets, in_targets, engine.owned,
                self._push_cost, level, farthest, LEVELS, self._table, s.order, s.bounds, s.value, s.arriving,
                s.visited, *self._flags, s.centrality, *self._neighbours, count_next_active=True,
            )  # fmt: skip

    def _table_for(self, levels: int) -> PartitionedArray:
        """Return the table with room for this many levels and the levels of one more launch."""
        needed, most = levels + LEVELS, self._graph.n + 1
        if self._rows < min(needed, most):
            self._rows = min(max(2 * self._rows, needed), most)
            self._table = self._engine.lengthen(self._table, _COLUMNS * self._rows, kept=_COLUMNS * levels)
        return self._table
