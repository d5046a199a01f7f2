"""The state of a breadth-first search, and its steps: top-down, bottom-up, and many levels in one call.

`evener.algorithms.bfs.bfs` describes the steps and the encoding.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.bfs.direction import TUNING, should_go_bottom_up, should_stay_bottom_up
from evener.engine.checkpoints.state import Bounded, VertexNumbers, VertexQueue, restore
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX

if TYPE_CHECKING:
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.checkpoints.state import StateArray
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.spec.goal import Goal

__all__ = ["Search"]

kernels = KernelFile(__package__)
level_kernels = KernelFile(__package__, "levels")


class Search:
    """The arrays and the frontier of a search. Each step method runs one or more supersteps."""

    def __init__(self, engine: Engine, graph: Graph, goal: Goal, *, bottom_up: bool) -> None:
        self.engine, self.graph, self.goal, self.bottom_up = engine, graph, goal, bottom_up
        self.tuning = engine.tuning(TUNING)
        # A superstep of many levels ends at the cutoff, except after bottom-up levels on a GPU.
        self.last_level = graph.n if goal.cutoff is None else int(min(goal.cutoff, graph.n))
        # Large arrays first: a GPU fills them while the host allocates the others.
        self.distance, self.parent = engine.owned_array("int32", -1), engine.owned_array("uint32", NO_VERTEX)
        # Without mirrors, `parent` has a value for each row, so it also serves as `offered`.
        self.offered = engine.array("uint32", NO_VERTEX) if engine.routes else self.parent
        self.visited, self.arrived, self.frontier, self.next_frontier = engine.bitmaps(4)
        self.queue, self.next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
        self.length, self.next_length = engine.counters(2)
        self.level, self.frontier_vertices = 0, len(goal.numbers)
        # Edges out of the frontier and unexplored edges of each element.
        self.frontier_edges: list[int] = [0]
        self.unexplored: list[int] = engine.gather(engine.out_edges)
        # Edges of the previous superstep of a single element.
        self._explored = 0

    def limit(self) -> float:
        """Return the last level of the result: the cutoff, or the level of the target once it is known."""
        return self.goal.limit(self.engine, self.distance, -1)

    def is_narrow(self) -> bool:
        """Return whether the frontier has few vertices and few out-edges; both cost time."""
        return max(self.frontier_vertices, sum(self.frontier_edges)) <= self.tuning.narrow

    def goes_bottom_up(self) -> bool:
        """Return whether the next step is bottom-up."""
        return self.bottom_up and should_go_bottom_up(
            self.engine,
            self.tuning,
            self.graph,
            self.frontier_vertices,
            self.frontier_edges,
            self.unexplored,
        )

    def begin(self, sources: PartitionedArray) -> None:
        """Visit the sources and put them in the queue."""
        engine = self.engine
        engine.superstep("begin")
        found, self.frontier_edges = engine.compute(
            kernels.begin, engine.out[0], engine.vertices, sources, self.distance, self.parent,
            self.visited, self.queue, self.length, count_next_active=True, work_estimate=1, reduce=list,
        )  # fmt: skip
        self.frontier_vertices = sum(found)

    def end_step(self, checkpoints: Checkpoints) -> None:
        """Write a checkpoint if one is due, or continue from one."""
        arrays: dict[str, StateArray] = {
            "distance": Bounded(self.distance, -1, self.graph.n - 1),
            "parent": VertexNumbers(self.parent),
            "queue": VertexQueue(self.queue, self.length),
        }
        self.level, self.frontier_vertices, self.unexplored, self._explored = checkpoints.step(
            arrays, self.level, self.frontier_vertices, self.unexplored, self._explored
        )
        if checkpoints.restored:
            self._check(checkpoints)
            self._restore()

    def _check(self, checkpoints: Checkpoints) -> None:
        """Raise FormatError unless the arrays and numbers of a checkpoint fit together."""
        engine, level, queued = self.engine, self.level, []
        same, reached = True, True
        parts = (self.distance, self.parent, self.queue, self.length)
        for distance, parent, queue, length in zip(*map(engine.download, parts), strict=True):
            frontier = np.flatnonzero(distance == level)
            same &= np.array_equal(frontier, np.sort(queue[: int(length[0])])) and (distance <= level).all()
            reached &= ((parent == NO_VERTEX) == (distance < 0)).all()
            queued.append(len(frontier))
        checkpoints.require(same, f"the vertices of the last level, {level}, in the queue")
        checkpoints.require(reached, "a parent for each reached vertex")
        checkpoints.require(self.frontier_vertices == engine.total(queued), "the number of queued vertices")
        checkpoints.require(self._explored >= 0, "edges from 0 on")

    def _restore(self) -> None:
        """Find the visited vertices, the edges out of the frontier, and unexplored edges of each element."""
        engine = self.engine
        reached = [own >= 0 for own in engine.download(self.distance)]
        restore(engine, self.visited, reached)
        queued = zip(
            engine.download(engine.out_degree), engine.download(self.queue), engine.download(self.length),
            strict=True,
        )  # fmt: skip
        self.frontier_edges = engine.gather(
            [int(degrees[queue[: int(length[0])]].sum()) for degrees, queue, length in queued]
        )
        elements, left = len(self.frontier_edges), sum(self.unexplored)
        if len(self.unexplored) != elements:
            self.unexplored = [left // elements] * elements

    def narrow_steps(self) -> None:
        """Search many narrow levels in one call, on a single element."""
        engine, tuning = self.engine, self.tuning
        offsets, targets, _ = engine.out
        self._single_superstep("narrow")
        _, vertices, edges, levels, explored = engine.compute(
            level_kernels.narrow_steps, offsets, targets, engine.vertices, self.frontier_edges[0],
            tuning.narrow, min(tuning.narrow_levels, self.last_level - self.level), self.level,
            self.queue, self.length, self.distance, self.parent, self.visited, self.next_queue,
            self.next_length, count_active=True, count_next_active=True,
        )  # fmt: skip
        self._finish_levels(vertices, edges, levels, explored)

    def all_steps(self, source: Any) -> None:
        """Search levels of all kinds in one call, on a single element, from `source` or from the queue."""
        engine, tuning, n = self.engine, self.tuning, self.graph.n
        offsets, targets, _ = engine.out
        # The kernel needs an argument for in-edges even if there are no bottom-up steps.
        up_offsets, up_targets, up_rows = (
            (*engine.in_[:2], engine.in_rows) if self.bottom_up else (offsets, targets, engine.out_rows)
        )
        self._single_superstep("search")
        _, vertices, edges, levels, explored = engine.compute(
            level_kernels.all_steps, offsets, targets, up_offsets, up_targets, engine.vertices, up_rows,
            engine.owned, source, self.frontier_vertices, self.frontier_edges[0], self.unexplored[0],
            tuning.narrow, tuning.fused_narrow_levels, min(tuning.fused_levels, self.last_level - self.level),
            int(self.bottom_up), tuning.alpha, n // tuning.beta,
            n // tuning.flood, self.level, self.queue, self.length, self.distance, self.parent, self.visited,
            self.arrived, self.frontier, self.next_frontier, self.next_queue, self.next_length,
            count_active=True, count_next_active=True,
        )  # fmt: skip
        self._finish_levels(vertices, edges, levels, explored)

    def bottom_up_steps(self) -> None:
        """Search bottom-up until the frontier shrinks to few vertices."""
        engine = self.engine
        in_offsets, in_targets, _ = engine.in_
        engine.compute("frontier.to_bits", self.queue, self.length, self.frontier)
        before, edges = 0, sum(self.frontier_edges)
        while self.level < self.last_level and should_stay_bottom_up(
            self.tuning, self.frontier_vertices, before, self.graph.n
        ):
            self.level, before = self.level + 1, self.frontier_vertices
            engine.superstep("bottom-up", edges=edges)
            edges = 0
            # next = (Aᵀ ∨.∧ frontier) ∧ ¬visited
            self.frontier_vertices = engine.compute(
                kernels.bottom_up_step, in_offsets, in_targets, engine.vertices, engine.in_rows, self.level,
                self.distance, self.parent, self.visited, self.frontier, self.next_frontier,
                pull_before=self.frontier, publish=self.next_frontier, count_next_active=True,
            )  # fmt: skip
            self.frontier, self.next_frontier = self.next_frontier, self.frontier
        self.frontier_edges = engine.compute(
            "frontier.to_queue", engine.out[0], engine.owned, self.frontier, self.queue, self.length,
            reduce=list,
        )  # fmt: skip

    def top_down_step(self) -> None:
        """Search one level top-down."""
        engine, edges = self.engine, sum(self.frontier_edges)
        self.level += 1
        self.unexplored = [a - b for a, b in zip(self.unexplored, self.frontier_edges, strict=True)]
        engine.superstep("top-down", edges=edges)
        # next = (frontier ∨.∧ A) ∧ ¬visited
        flood = edges >= self.graph.n // self.tuning.flood
        found, self.frontier_edges, offers = self._flood() if flood else self._push(edges)
        self.frontier_vertices = sum(found)
        if any(offers):
            self._receive_parents(edges)
        self._swap_queues()

    def _push(self, edges: int) -> Any:
        """Visit and queue the neighbours of the frontier.

        Returns three numbers of each element: new vertices, their out-edges, and offered parents.
        """
        engine = self.engine
        offsets, targets, _ = engine.out
        return engine.compute(
            kernels.top_down_step, offsets, targets, engine.vertices, engine.owned, self.queue, self.length,
            self.level, self.distance, self.parent, self.visited, self.arrived, self.offered, self.next_queue,
            self.next_length, count_next_active=True, work_estimate=edges, reduce=list,
        )  # fmt: skip

    def _flood(self) -> Any:
        """Set parents of the neighbours, then visit and queue them. Returns the numbers of `_push`."""
        engine = self.engine
        offsets, targets, _ = engine.out
        engine.compute(
            kernels.scatter_parents, offsets, targets, engine.vertices, engine.owned, self.queue, self.length,
            self.parent, self.visited, self.offered,
        )  # fmt: skip
        return engine.compute(
            kernels.collect_new, offsets, engine.owned, self.parent, self.offered, self.visited, self.level,
            self.distance, self.arrived, self.next_queue, self.next_length, count_next_active=True,
            reduce=list,
        )  # fmt: skip

    def _receive_parents(self, edges: int) -> None:
        """Push the offered parents to the owners, and queue the vertices that they reach."""
        engine = self.engine
        engine.push(self.offered, "set", changed=self.arrived, work_estimate=edges)
        reached, out_of_reached = engine.compute(
            kernels.receive_parents, engine.out[0], engine.owned, self.arrived, self.offered, self.visited,
            self.distance, self.parent, self.level, self.next_queue, self.next_length, count_next_active=True,
            work_estimate=edges, reduce=list,
        )  # fmt: skip
        self.frontier_vertices += sum(reached)
        self.frontier_edges = [a + b for a, b in zip(self.frontier_edges, out_of_reached, strict=True)]

    def _single_superstep(self, phase: str) -> None:
        """Begin a superstep of a single element."""
        # The edges of the previous superstep, because the next edges are not known.
        self.engine.superstep(phase, active=self.engine.scalar(self.frontier_vertices), edges=self._explored)

    def _finish_levels(self, vertices: int, edges: int, levels: int, explored: int) -> None:
        """Note the frontier after many levels in one call."""
        self.frontier_vertices, self.frontier_edges = vertices, [edges]
        self.unexplored, self._explored = [self.unexplored[0] - explored], explored
        self.level += levels
        if levels % 2:
            self._swap_queues()

    def _swap_queues(self) -> None:
        self.queue, self.next_queue = self.next_queue, self.queue
        self.length, self.next_length = self.next_length, self.length
