"""Breadth-first search, direction-optimising, on any number of partitions.

Idea: while the frontier is small, its vertices push along out-edges (top-down, from a queue); when it holds
much of the graph, each unvisited vertex pulls along in-edges until it finds a member (bottom-up, from a
bitmap). After a step down, owners are pushed the parents that their mirrors were offered; before a step up,
mirrors pull the frontier, as bits. Where one element has the whole graph, a thread of the CPU's or a block of
a GPU's takes a narrow frontier through many levels at once; a GPU takes all levels of most searches at once.

Encoding: `distance` int32, -1 unreached; `parent` and `offered` by the vertices' numbers in the graph;
`visited`, `frontier`, `arrived` bitmaps; a frontier is a queue before a step down and a bitmap before a
step up.

Beamer, Asanović, Patterson: Direction-Optimizing Breadth-First Search (SC 2012); T13 §6.3.2, figure 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.algorithms.arguments import NOBODY, at_vertex, graph_of, number_of_source, placed
from evener.algorithms.bfs import SPEC
from evener.algorithms.feedback import finish_run
from evener.engine.engine import Engine, Spread
from evener.kernels.kernel import KernelFile
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["bfs", "searched"]

kernels = KernelFile(__package__)
level_kernels = KernelFile(__package__, "levels")

# Beamer's thresholds: turn bottom-up when the frontier's out-edges exceed 1/15 of those not yet looked at,
# and top-down again when the frontier holds fewer than 1/18 of the vertices and shrinks.
EDGES_TO_TURN_UP = 15
VERTICES_TO_TURN_DOWN = 18
# From 1/60 on where the frontier is one of hubs, on average with 8 times as many edges as all vertices: what
# looks up finds them first. Of 16 searches of R-MAT 26 on 16 cores the slowest took 82 ms, not 112, most as
# long as before. Uniform 20 took 22 ms from 1/60 on, not 16, as most vertices look through rows in vain. What
# lies between 1/60 and 1/15 has 70 to 136 times the mean in R-MAT 20 and 22, once it in uniform graphs, 1.5
# times at most in nine of ten on web-NotreDame, which 1/60 slows too, and 4 to 18 times on soc-Epinions1, to
# which it makes no difference.
EDGES_TO_TURN_UP_FROM_HUBS = 60
A_HUB_HAS = 8
# A GPU by itself turns up from 1/60 on: of 16 searches of R-MAT 26 the slowest took 2.4 ms, not 2.9, with all
# edges in its memory, 3.7, not 11.8, with half of them there, and 5.9, not 11.9, with an eighth and the heads
# of other rows; most took as long as before. From 1/120 on one took 29 ms: vertices that find nobody look
# through their rows across the bus.
EDGES_TO_TURN_UP_ON_A_GPU = 60

# A step down over at least half as many edges as there are vertices floods: 26 ms against 34 for a search of
# uniform 20 on one thread. From an eighth on, R-MAT 20 took 6.9 ms, not 5.2, as few of its edges are new.
VERTICES_TO_FLOOD = 2


# A step down over no more edges than this is narrow: where one element has the whole graph, one thread or
# block takes it, as others would be woken, and told what to do, in vain. With two threads a grid of 30,000 by
# 4 takes 3 ms so, not 430, one of 1000 by 1000 40 ms, not 64, and R-MAT 20 3.3 ms, not 3.5; on an H200 they
# take 89 ms, not 990, 43 ms, not 68, and 0.52 ms, not 0.62. With twice as many edges the CPU takes 27 ms for
# the square grid and an H200 42 ms.
NARROW = 1 << 12
# So many of them are taken at once, which makes one superstep.
NARROW_LEVELS = 64
# Where a GPU takes levels of all kinds at once, up to so many narrow ones in a row are among them, which 256
# threads of the first block take while the others wait; and so many of all kinds: grids have thousands, and a
# display's GPU is not to be kept for long. On an H200 R-MAT 22 takes 0.41 ms, not 0.50 as with none among
# them, R-MAT 24 0.70, not 0.87; with four or 32, and a grid of 1000 by 1000 with any, it is about the same.
NARROW_AMONG_ALL = 8
LEVELS_AT_ONCE = 1024


def bfs(
    graph: Graph | PartitionedGraph,
    source: Any = 0,
    *,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Distances in edges from a source to every vertex, and a tree of shortest paths.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Edges are followed from tail to head. A directed graph placed with its out-edges alone is searched
        from the top down alone: slower, and in half the memory.
    source : id, default 0
        The vertex to start from, by the graph's own id.
    on, policy, alpha, gpu_memory
        Where to run, for a graph that is not yet placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``distance``: int32, shape (n,), -1 where unreached; ``parent``: int64, shape (n,), the id of the
        vertex before this one on a shortest path, the source's own for the source, -1 where unreached.

    Raises
    ------
    ArgumentError
        For an element, policy or share that does not exist, or one for a graph that is placed already.
    UnknownVertexError
        If the source is not in the graph.
    DeviceError
        If a GPU is named and none can be used, or one fails.
    OutOfMemoryError
        If the graph takes more memory than there is; `DeviceOutOfMemory` if it is a GPU's.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 3, 4], n=6)
    >>> r = ev.bfs(g, source=0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0, 1, 1, 2, 3, -1], [0, 0, 0, 1, 3, -1])
    """
    number = number_of_source(graph_of(graph, "bfs"), source)
    pg = placed(
        graph,
        "bfs",
        enough="out",
        on=on,
        policy=policy,
        alpha=alpha,
        gpu_memory=gpu_memory,
        directions="both",
    )
    return searched(pg, number, "bfs", {"source": source}, progress)


def searched(
    pg: PartitionedGraph,
    number: int,
    algorithm: str,
    parameters: Mapping[str, Any],
    progress: Callable[[Progress], None] | None,
    *,
    as_distance: Callable[[NDArray[Any]], NDArray[Any]] = lambda steps: steps,
) -> Result:
    """Search from a vertex of a placed graph, on behalf of an algorithm that gives its steps as distances."""
    engine = Engine(pg, algorithm, progress=progress, from_both_ends=not pg.graph.directed)
    upward = not pg.graph.directed or pg.directions == "both"
    distance, parent = _search(engine, pg, number, upward=upward)
    seconds = engine.finish()
    edges = int(engine.compute(kernels.edges_reached, engine.out[0], engine.owned, distance))
    result = Result(
        algorithm,
        pg.graph,
        {
            "distance": lambda: as_distance(pg.gather(distance.parts)),
            "parent": lambda: pg.gather_numbers(parent.parts),
        },
        columns=SPEC.columns,
        parameters=parameters,
        timeline=engine.timeline,
        seconds=seconds,
        edges=edges if pg.graph.directed else edges // 2,
        partitioned=pg,
    )
    return finish_run(result)


def _search(engine: Engine, pg: PartitionedGraph, number: int, *, upward: bool) -> tuple[Spread, Spread]:
    # The largest first: what follows is made ready while a GPU fills them.
    distance, parent = engine.owned_array("int32", -1), engine.owned_array("uint32", NOBODY)
    source, n = at_vertex(pg, number), pg.graph.n
    # Where there are no mirrors nothing is offered, and any array will do.
    offered = engine.array("uint32") if engine.routes else parent
    visited, before, arrived, frontier, next_frontier = engine.bitmaps(5)
    queue, next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
    length, next_length = engine.counters(2)
    offsets, targets, _ = engine.out
    in_offsets, in_targets, _ = engine.in_

    alone, gone_through = len(engine.elements) == 1, 0
    unexplored, level = [p.out.count if p.out else 0 for p in engine.partitions], 0
    # A CPU is asked between wide levels: its threads are soon woken, and the timeline tells of each.
    at_once = alone and not engine.on_one_cpu
    # Where no step goes up, any edges will do.
    up_offsets, up_targets, up_rows = (
        (in_offsets, in_targets, engine.in_rows) if upward else (offsets, targets, engine.out_rows)
    )

    begun = not at_once
    if begun:
        engine.superstep("begin")
        found, scouts = engine.compute(
            kernels.begin, offsets, engine.vertices, source, distance, parent, visited, queue, length,
            wakes=True, work=1, reduce=list,
        )  # fmt: skip
    else:
        found, scouts = [1], [0]  # the source, whose edges `all_steps` counts
    while awake := sum(found):
        scout = sum(scouts)
        # Of many vertices with few edges or none, each has to be looked at as well.
        narrow = begun and max(awake, scout) <= NARROW
        if alone and (narrow or at_once):
            # By the edges of the one before: they are not known beforehand.
            engine.superstep("narrow" if narrow else "search", active=Spread(found), edges=gone_through)
            if narrow:
                awake, scout, levels, gone_through = engine.compute(
                    level_kernels.narrow_steps, offsets, targets, engine.vertices, scout, NARROW,
                    NARROW_LEVELS, level, queue, length, distance, parent, visited, next_queue, next_length,
                    wakes=True,
                )  # fmt: skip
            else:
                awake, scout, levels, gone_through = engine.compute(
                    level_kernels.all_steps, offsets, targets, up_offsets, up_targets, engine.vertices,
                    up_rows, engine.owned, NOBODY if begun else source, awake, scout, unexplored[0], NARROW,
                    NARROW_AMONG_ALL, LEVELS_AT_ONCE, int(upward), EDGES_TO_TURN_UP_ON_A_GPU,
                    n // VERTICES_TO_TURN_DOWN, n // VERTICES_TO_FLOOD, level, queue, length, distance,
                    parent, visited, before, frontier, next_frontier, next_queue, next_length, wakes=True,
                )  # fmt: skip
                begun = True
            found, scouts, unexplored = [awake], [scout], [unexplored[0] - gone_through]
            level += levels
            if levels % 2:
                queue, next_queue, length, next_length = next_queue, queue, next_length, length
            continue
        if upward and _turns_up(engine, pg.graph, found, scouts, unexplored):
            engine.compute("frontier.to_bits", queue, length, frontier)
            smallest = 0
            while awake and (awake >= smallest or awake > n // VERTICES_TO_TURN_DOWN):
                level, smallest = level + 1, awake
                engine.superstep("bottom-up", edges=scout)
                scout = 0
                # next = (Aᵀ ∨.∧ frontier) ∧ ¬visited
                awake = engine.compute(
                    kernels.bottom_up_step, in_offsets, in_targets, engine.vertices, engine.in_rows, level,
                    distance, parent, visited, frontier, next_frontier, pulled=frontier, posts=next_frontier,
                    wakes=True,
                )  # fmt: skip
                frontier, next_frontier = next_frontier, frontier
            scouts = engine.compute(
                "frontier.to_queue", offsets, engine.owned, frontier, queue, length, reduce=list
            )
            found = [awake]
            continue
        level, unexplored = level + 1, [left - own for left, own in zip(unexplored, scouts, strict=True)]
        engine.superstep("top-down", edges=scout)
        # next = (frontier ∨.∧ A) ∧ ¬visited
        if scout < n // VERTICES_TO_FLOOD:
            found, scouts, offers = engine.compute(
                kernels.top_down_step, offsets, targets, engine.vertices, engine.owned, queue, length, level,
                distance, parent, visited, arrived, offered, next_queue, next_length,
                wakes=True, work=scout, reduce=list,
            )  # fmt: skip
        else:
            engine.compute("bits.copy", visited, before)
            engine.compute(
                kernels.scatter_parents, offsets, targets, engine.vertices, engine.owned, queue, length,
                parent, visited, offered,
            )  # fmt: skip
            found, scouts, offers = engine.compute(
                kernels.collect_new, offsets, engine.owned, before, visited, level, distance,
                arrived, next_queue, next_length, wakes=True, reduce=list,
            )  # fmt: skip
        if any(offers):
            engine.push(offered, "set", changed=arrived, work=scout)
            reached, out_of_reached = engine.compute(
                kernels.receive_parents, offsets, engine.owned, arrived, offered, visited, distance, parent,
                level, next_queue, next_length, wakes=True, work=scout, reduce=list,
            )  # fmt: skip
            found = [*found, *reached]
            scouts = [own + more for own, more in zip(scouts, out_of_reached, strict=True)]
        queue, next_queue, length, next_length = next_queue, queue, next_length, length
    return distance, parent


def _turns_up(
    engine: Engine, graph: Graph, found: list[int], scouts: list[int], unexplored: list[int]
) -> bool:
    """Whether to step up next, by the frontier, the edges out of it, and those not yet looked at."""
    out = sum(scouts)
    hubs = out * graph.n >= A_HUB_HAS * graph.m * sum(found)
    if out > sum(unexplored) / (EDGES_TO_TURN_UP_FROM_HUBS if hubs else EDGES_TO_TURN_UP):
        return True
    # Where the CPU owns the hubs, the GPU others, a step down from some of them takes the CPU longer than it
    # takes both to look up; but not where rows that find nobody are looked through across the bus.
    if any(own.mapped_edges for own in engine.partitions):
        return False
    return _slowest(engine, scouts) > _slowest(engine, unexplored) / EDGES_TO_TURN_UP


def _slowest(engine: Engine, edges: list[int]) -> float:
    """The time that the last element takes for its edges, in those of one CPU thread."""
    return max(own / element.weight for own, element in zip(edges, engine.elements, strict=True))
