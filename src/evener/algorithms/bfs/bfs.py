"""Breadth-first search, direction-optimizing, on any number of partitions.

Idea: while the frontier is small, its vertices push along out-edges (top-down, from a queue). When the
frontier holds much of the graph, unvisited vertices pull along in-edges (bottom-up, from a bitmap). A vertex
stops at its first neighbour in the frontier. After a top-down step, mirrors push the parents that they were
offered. Before a bottom-up step, mirrors pull the frontier as bits. A single element handles many narrow
levels in one call. A single GPU runs all levels of most searches in one kernel.

Encoding: `distance` int32, -1 unreached; `parent` and `offered` are global vertex numbers; `visited`,
`frontier` and `arrived` are bitmaps. A frontier is a queue before a top-down step and a bitmap before a
bottom-up step.

Beamer, Asanović, Patterson: Direction-Optimizing Breadth-First Search (SC 2012); T13 §6.3.2, figure 11.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.algorithms.bfs import SPEC
from evener.algorithms.bfs.direction import TUNING
from evener.algorithms.bfs.group import search_on_group
from evener.algorithms.bfs.search import Search
from evener.graph.checks import check_bool
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX
from evener.partition.gathered import Gathered
from evener.spec.goal import Goal, forget_beyond, parse_goal, search_each
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run import Run
    from evener.spec.run_options import RunOptions

__all__ = ["bfs", "search_edges"]

kernels = KernelFile(__package__)


@driver(SPEC)
def bfs(
    graph: Graph | PartitionedGraph | str,
    source: Any = None,
    *,
    sources: Any = None,
    target: Any = None,
    cutoff: float | None = None,
    each: bool = False,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the distance in edges from the nearest source to every vertex, and a tree of shortest paths.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Edges are followed from tail to head, and weights do not count. A directed graph that is placed with
        only its out-edges is searched only top-down, which is slower but needs half the memory.
    source : id
        Id of the vertex to start from.
    sources : sequence of ids
        Ids of several vertices to start from, instead of `source`.
    target : id, optional
        The search ends with the level of this vertex. Vertices that are farther away than the target are
        reported as unreached.
    cutoff : float, optional
        Largest distance. Vertices that are farther away are reported as unreached.
    each : bool, default False
        If true, search once from each source. The result is a `ResultRows`, whose arrays have one row for
        each source, in the order of `sources`.

    Returns
    -------
    Result
        ``distance``: int32, shape (n,), -1 if unreached. ``parent``: shape (n,), the id of the previous
        vertex on a shortest path; a source is its own parent. Unreached vertices have the parent -1, or None
        if ids are not integers.

    Raises
    ------
    ArgumentError
        Without a source, or for a negative cutoff.
    UnknownVertexError
        If a source or the target is not in the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 3, 4], n=6)
    >>> r = ev.bfs(g, source=0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0, 1, 1, 2, 3, -1], [0, 0, 0, 1, 3, -1])
    >>> r.path(4)
    [0, 1, 3, 4]
    >>> ev.bfs(g, sources=[2, 3])["distance"].tolist()
    [-1, -1, 0, 0, 1, -1]
    """
    several = check_bool(each, "each")
    run = begin(SPEC, graph, options)
    goal = parse_goal(run.graph, "bfs", source, sources, target, cutoff)
    pg = run.place(required_directions="out")

    def search(goal: Goal) -> Result:
        return search_edges(run, pg, goal, goal.parameters)

    return search_each(goal, run, search) if several else search(goal)


def search_edges(
    run: Run,
    pg: PartitionedGraph,
    goal: Goal,
    parameters: Mapping[str, Any],
    *,
    floats: bool = False,
) -> Result:
    """Return a search, for an algorithm whose distances are numbers of edges.

    Distances are int32 and -1 if unreached, or with `floats` float64 and infinite.
    """
    undirected = not pg.graph.directed
    engine = run.engine(from_both_ends=undirected)
    bottom_up = undirected or pg.directions == "both"
    with run.checkpoints(engine, parameters) as checkpoints:
        distance, parent = _search(engine, checkpoints, pg.graph, goal, bottom_up=bottom_up)
    engine.finish()
    edges = int(engine.compute(kernels.edges_reached, engine.out[0], engine.owned, distance))
    arrays: dict[str, Callable[[], NDArray[Any]]] = {
        "distance": lambda: pg.gather_floats(distance, absent=-1) if floats else pg.gather(distance),
        "parent": Gathered(pg, parent, "numbers"),
    }
    edges = edges if pg.graph.directed else edges // 2
    return run.finish(engine, arrays, parameters=parameters, edges=edges)


def _search(
    engine: Engine, checkpoints: Checkpoints, graph: Graph, goal: Goal, *, bottom_up: bool
) -> tuple[PartitionedArray, PartitionedArray]:
    """Return the distances and the parents of the vertices that are not beyond the goal."""
    if engine.group is not None and not checkpoints.active:
        tuning = TUNING["group"]
        distance, parent = search_on_group(engine, engine.group, graph, goal, tuning, bottom_up=bottom_up)
    else:
        distance, parent = _search_in_steps(engine, checkpoints, graph, goal, bottom_up=bottom_up)
    if (limit := goal.limit(engine, distance, -1)) < min(graph.n, 1 << 31):  # distances are int32
        forget_beyond(engine, np.int32(limit), np.int32(-1), distance, parent)
    return distance, parent


def _search_in_steps(
    engine: Engine, checkpoints: Checkpoints, graph: Graph, goal: Goal, *, bottom_up: bool
) -> tuple[PartitionedArray, PartitionedArray]:
    # Before the arrays of the search are filled, because the host waits for the GPU that has the number.
    source = engine.at_vertex(goal.numbers[0]) if engine.single and len(goal.numbers) == 1 else None
    search = Search(engine, graph, goal, bottom_up=bottom_up)
    fused = engine.single and search.tuning.fused and not checkpoints.active
    if fused and source is not None:
        search.all_steps(source)
    else:
        search.begin(goal.sources(engine))
    while search.frontier_vertices and search.level < min(search.last_level, search.limit()):
        search.end_step(checkpoints)
        if engine.single and search.is_narrow():
            search.narrow_steps()
        elif fused:
            search.all_steps(NO_VERTEX)
        elif search.goes_bottom_up():
            search.bottom_up_steps()
        else:
            search.top_down_step()
    return search.distance, search.parent
