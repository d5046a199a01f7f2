"""Breadth-first search, direction-optimizing, on any number of partitions.

Idea: while the frontier is small, its vertices push along out-edges (top-down, from a queue). When the
frontier holds much of the graph, each unvisited vertex pulls along in-edges until it finds a vertex of the
frontier (bottom-up, from a bitmap). After a top-down step, mirrors push the parents that they were offered.
Before a bottom-up step, mirrors pull the frontier as bits. A single element handles many narrow levels in
one call. A single GPU runs all levels of most searches in one kernel.

Encoding: `distance` int32, -1 unreached; `parent` and `offered` are global vertex numbers; `visited`,
`frontier` and `arrived` are bitmaps. A frontier is a queue before a top-down step and a bitmap before a
bottom-up step.

Beamer, Asanović, Patterson: Direction-Optimizing Breadth-First Search (SC 2012); T13 §6.3.2, figure 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.algorithms.arguments import ensure_placed, graph_of, number_of_source
from evener.algorithms.bfs import SPEC
from evener.algorithms.bfs.direction import TUNING, should_go_bottom_up, should_stay_bottom_up
from evener.algorithms.recording import finish_run
from evener.engine.engine import Engine, PartitionedArray
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["bfs", "run_bfs"]

kernels = KernelFile(__package__)
level_kernels = KernelFile(__package__, "levels")


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
    """Return the distance in edges from a source to every vertex, and a tree of shortest paths.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Edges are followed from tail to head. A directed graph that is placed with only its out-edges is
        searched only top-down, which is slower but needs half the memory.
    source : id, default 0
        Id of the vertex to start from.
    on, policy, alpha, gpu_memory
        Where to run a graph that is not placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``distance``: int32, shape (n,), -1 if unreached. ``parent``: int64, shape (n,), the id of the
        previous vertex on a shortest path. The parent of the source is the source; -1 if unreached.

    Raises
    ------
    ArgumentError
        For an unknown element or policy, a share outside 0..1, or a placement of a graph that is placed.
    UnknownVertexError
        If the source is not in the graph.
    DeviceError
        If a GPU is named and none can be used, or if a GPU fails.
    OutOfMemoryError
        If the run needs more memory than is available; `DeviceOutOfMemory` for a GPU.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 3, 4], n=6)
    >>> r = ev.bfs(g, source=0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0, 1, 1, 2, 3, -1], [0, 0, 0, 1, 3, -1])
    """
    number = number_of_source(graph_of(graph, "bfs"), source)
    pg = ensure_placed(
        graph, SPEC, on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory, required_directions="out"
    )
    return run_bfs(pg, number, "bfs", {"source": source}, progress)


def run_bfs(
    pg: PartitionedGraph,
    number: int,
    algorithm: str,
    parameters: Mapping[str, Any],
    progress: Callable[[Progress], None] | None,
    *,
    host_state: tuple[float, float] = SPEC.host_state,
    as_distance: Callable[[NDArray[Any]], NDArray[Any]] = lambda steps: steps,
) -> Result:
    """Return a search from one vertex, for an algorithm whose distances are numbers of edges.

    Parameters
    ----------
    pg : PartitionedGraph
    number : int
        Global number of the source.
    algorithm : str
    parameters : mapping
        Parameters of the result.
    progress : callable or None
    host_state : (float, float)
        Bytes per owned vertex and per mirror, as in `Engine`.
    as_distance : callable
        Converts distances in edges, int32 of shape (n,), to distances of the algorithm.
    """
    undirected = not pg.graph.directed
    engine = Engine(pg, algorithm, progress=progress, from_both_ends=undirected, host_state=host_state)
    distance, parent = _search(engine, pg.graph, number, bottom_up=undirected or pg.directions == "both")
    seconds = engine.finish()
    edges = int(engine.compute(kernels.edges_reached, engine.out[0], engine.owned, distance))
    result = Result(
        algorithm,
        pg.graph,
        {
            "distance": lambda: as_distance(pg.gather(distance)),
            "parent": lambda: pg.gather_numbers(parent),
        },
        columns=SPEC.columns,
        parameters=parameters,
        timeline=engine.timeline,
        seconds=seconds,
        edges=edges if pg.graph.directed else edges // 2,
        partitioned=pg,
    )
    return finish_run(result)


def _search(
    engine: Engine, graph: Graph, number: int, *, bottom_up: bool
) -> tuple[PartitionedArray, PartitionedArray]:
    tuning, n, source = engine.tuning(TUNING), graph.n, engine.at_vertex(number)
    # Large arrays first: a GPU fills them while the host allocates the others.
    distance, parent = engine.owned_array("int32", -1), engine.owned_array("uint32", NO_VERTEX)
    # Without mirrors no parent is offered, so any array serves as `offered`.
    offered = engine.array("uint32") if engine.routes else parent
    visited, before, arrived, frontier, next_frontier = engine.bitmaps(5)
    queue, next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
    length, next_length = engine.counters(2)
    offsets, targets, _ = engine.out
    in_offsets, in_targets, _ = engine.in_
    # Kernels need an argument for in-edges even if there are no bottom-up steps.
    up_offsets, up_targets, up_rows = (
        (in_offsets, in_targets, engine.in_rows) if bottom_up else (offsets, targets, engine.out_rows)
    )
    fused = engine.single and tuning.fused
    # Edges out of the frontier and unexplored edges of each element.
    frontier_edges: list[int] = [0]
    unexplored: list[int] = engine.gather(engine.out_edges)
    level, explored = 0, 0

    started = not fused
    if started:
        engine.superstep("begin")
        found, frontier_edges = engine.compute(
            kernels.begin, offsets, engine.vertices, source, distance, parent, visited, queue, length,
            count_next_active=True, work_estimate=1, reduce=list,
        )  # fmt: skip
        awake = sum(found)
    else:
        awake = 1  # the source, whose edges `all_steps` counts
    while awake:
        scout = sum(frontier_edges)
        # Vertices cost time too, so both counts must be small.
        narrow = started and max(awake, scout) <= tuning.narrow
        if engine.single and (narrow or fused):
            # The edges of the previous superstep, because the next ones are not known.
            phase = "narrow" if narrow else "search"
            engine.superstep(phase, active=engine.scalar(awake), edges=explored)
            if narrow:
                awake, scout, levels, explored = engine.compute(
                    level_kernels.narrow_steps, offsets, targets, engine.vertices, scout, tuning.narrow,
                    tuning.narrow_levels, level, queue, length, distance, parent, visited, next_queue,
                    next_length, count_next_active=True,
                )  # fmt: skip
            else:
                awake, scout, levels, explored = engine.compute(
                    level_kernels.all_steps, offsets, targets, up_offsets, up_targets, engine.vertices,
                    up_rows, engine.owned, NO_VERTEX if started else source, awake, scout, unexplored[0],
                    tuning.narrow, tuning.fused_narrow_levels, tuning.fused_levels, int(bottom_up),
                    tuning.alpha, n // tuning.beta, n // tuning.flood, level, queue, length, distance,
                    parent, visited, before, frontier, next_frontier, next_queue, next_length,
                    count_next_active=True,
                )  # fmt: skip
                started = True
            frontier_edges, unexplored = [scout], [unexplored[0] - explored]
            level += levels
            if levels % 2:
                queue, next_queue, length, next_length = next_queue, queue, next_length, length
            continue
        if bottom_up and should_go_bottom_up(engine, tuning, graph, awake, frontier_edges, unexplored):
            engine.compute("frontier.to_bits", queue, length, frontier)
            smallest = 0
            while should_stay_bottom_up(tuning, awake, smallest, n):
                level, smallest = level + 1, awake
                engine.superstep("bottom-up", edges=scout)
                scout = 0
                # next = (Aᵀ ∨.∧ frontier) ∧ ¬visited
                awake = engine.compute(
                    kernels.bottom_up_step, in_offsets, in_targets, engine.vertices, engine.in_rows, level,
                    distance, parent, visited, frontier, next_frontier, pull_before=frontier,
                    publish=next_frontier, count_next_active=True,
                )  # fmt: skip
                frontier, next_frontier = next_frontier, frontier
            frontier_edges = engine.compute(
                "frontier.to_queue", offsets, engine.owned, frontier, queue, length, reduce=list
            )
            continue
        level, unexplored = level + 1, [a - b for a, b in zip(unexplored, frontier_edges, strict=True)]
        engine.superstep("top-down", edges=scout)
        # next = (frontier ∨.∧ A) ∧ ¬visited
        if scout < n // tuning.flood:
            found, frontier_edges, offers = engine.compute(
                kernels.top_down_step, offsets, targets, engine.vertices, engine.owned, queue, length, level,
                distance, parent, visited, arrived, offered, next_queue, next_length,
                count_next_active=True, work_estimate=scout, reduce=list,
            )  # fmt: skip
        else:
            engine.compute("bits.copy", visited, before)
            engine.compute(
                kernels.scatter_parents, offsets, targets, engine.vertices, engine.owned, queue, length,
                parent, visited, offered,
            )  # fmt: skip
            found, frontier_edges, offers = engine.compute(
                kernels.collect_new, offsets, engine.owned, before, visited, level, distance,
                arrived, next_queue, next_length, count_next_active=True, reduce=list,
            )  # fmt: skip
        awake = sum(found)
        if any(offers):
            engine.push(offered, "set", changed=arrived, work_estimate=scout)
            reached, out_of_reached = engine.compute(
                kernels.receive_parents, offsets, engine.owned, arrived, offered, visited, distance, parent,
                level, next_queue, next_length, count_next_active=True, work_estimate=scout, reduce=list,
            )  # fmt: skip
            awake += sum(reached)
            frontier_edges = [a + b for a, b in zip(frontier_edges, out_of_reached, strict=True)]
        queue, next_queue, length, next_length = next_queue, queue, next_length, length
    return distance, parent
