"""Breadth-first search, direction-optimising, on any number of partitions.

Idea: while the frontier is small, its vertices push along out-edges (top-down, from a queue); when it holds
much of the graph, each unvisited vertex pulls along in-edges until it finds a member (bottom-up, from a
bitmap). Distances travel as bits: pushed to owners after a step down, pulled by mirrors before a step up.

Encoding: `distance` int32, -1 unreached; `parent` a local number, settled inside a partition at once and for
vertices reached from another partition after the search; `visited`, `frontier`, `arrived` bitmaps.

Beamer, Asanović, Patterson: Direction-Optimizing Breadth-First Search (SC 2012); T13 §6.3.2, figure 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.algorithms.prepare import NOBODY, placed, source_in
from evener.engine import Engine, Spread
from evener.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.graph import Graph
    from evener.partition import PartitionedGraph
    from evener.timeline import Progress

__all__ = ["bfs"]

# Beamer's thresholds: turn bottom-up when the frontier's out-edges exceed 1/15 of those not yet looked at,
# and top-down again when the frontier holds fewer than 1/18 of the vertices and shrinks.
EDGES_TO_TURN_UP = 15
VERTICES_TO_TURN_DOWN = 18


def bfs(
    graph: Graph | PartitionedGraph,
    source: Any = 0,
    *,
    on: str | Sequence[str] | None = None,
    policy: str = "random",
    alpha: float | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Distances in edges from a source to every vertex, and a tree of shortest paths.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Edges are followed from tail to head.
    source : id, default 0
        The vertex to start from, by the graph's own id.
    on, policy, alpha
        Where to run, for a graph that is not yet placed: see `partition`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``distance``: int32, shape (n,), -1 where unreached; ``parent``: int64, shape (n,), the id of the
        vertex before this one on a shortest path, the source's own for the source, -1 where unreached.

    Raises
    ------
    UnknownVertexError
        If the source is not in the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 3, 4], n=6)
    >>> r = ev.bfs(g, source=0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0, 1, 1, 2, 3, -1], [0, 0, 0, 1, 3, -1])
    """
    pg = placed(graph, on=on, policy=policy, alpha=alpha, directions="both")
    start = source_in(pg, source)
    engine = Engine(pg, "bfs", progress=progress)
    distance, parent = _search(engine, start, pg.graph.m, pg.graph.n)
    seconds = engine.finish()
    edges = int(engine.compute("bfs.edges_reached", engine.out[0], engine.owned, distance))
    return Result(
        "bfs",
        pg.graph,
        {
            "distance": lambda: pg.gather(distance.parts),
            "parent": lambda: pg.gather_vertices(parent.parts),
        },
        parameters={"source": source},
        timeline=engine.timeline,
        seconds=seconds,
        edges=edges if pg.graph.directed else edges // 2,
        partitioned=pg,
    )


def _search(engine: Engine, source: Spread, m: int, n: int) -> tuple[Spread, Spread]:
    distance = engine.array("int32", -1)
    parent = engine.owned_array("uint32", NOBODY)
    visited, arrived = engine.bits(), engine.bits()
    frontier, next_frontier = engine.bits(), engine.bits()
    queue, next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
    length, next_length = engine.counter(), engine.counter()
    offsets, targets, _ = engine.out
    in_offsets, in_targets, _ = engine.in_

    engine.superstep("begin")
    awake, scout = engine.compute(
        "bfs.begin", offsets, source, distance, parent, visited, queue, length, wakes=True
    )
    unexplored, level = m, 0
    while awake:
        if scout > unexplored // EDGES_TO_TURN_UP:
            engine.compute("bfs.mark_frontier", queue, length, frontier)
            before = 0
            while awake and (awake >= before or awake > n // VERTICES_TO_TURN_DOWN):
                level, before = level + 1, awake
                engine.superstep("bottom-up")
                engine.pull(frontier)
                # next = (Aᵀ ∨.∧ frontier) ∧ ¬visited
                awake = engine.compute(
                    "bfs.bottom_up_step", in_offsets, in_targets, engine.owned, engine.in_rows, level,
                    distance, parent, visited, frontier, next_frontier, wakes=True,
                )  # fmt: skip
                frontier, next_frontier = next_frontier, frontier
            scout = engine.compute("bfs.list_frontier", offsets, engine.owned, frontier, queue, length)
        else:
            level, unexplored = level + 1, unexplored - scout
            engine.superstep("top-down")
            # next = (frontier ∨.∧ A) ∧ ¬visited
            awake, scout = engine.compute(
                "bfs.top_down_step", offsets, targets, engine.owned, queue, length, level,
                distance, parent, visited, arrived, next_queue, next_length, wakes=True,
            )  # fmt: skip
            if engine.routes:
                engine.push(arrived, "or")
                reached, out_of_reached = engine.compute(
                    "bfs.arrive",
                    offsets,
                    engine.owned,
                    arrived,
                    visited,
                    distance,
                    level,
                    next_queue,
                    next_length,
                    wakes=True,
                )
                awake, scout = awake + reached, scout + out_of_reached
            queue, next_queue, length, next_length = next_queue, queue, next_length, length
    if engine.routes:
        engine.superstep("parents")
        engine.pull(distance)
        engine.compute("bfs.find_parents", in_offsets, in_targets, engine.owned, distance, parent)
    return distance, parent
