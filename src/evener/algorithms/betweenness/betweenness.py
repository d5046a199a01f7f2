"""Betweenness centrality by Brandes' algorithm: two BSP cycles per source, on any number of partitions.

Idea: forward, a level-synchronous search counts the shortest paths to each vertex; backward, from the
farthest level on, each vertex adds its dependency to the level before. Each step pushes from the vertices
that have values, or pulls to the vertices that may receive them, along the fewer edges. A single element
takes many narrow levels on one thread or block.

Encoding: `value` float64, a vertex's paths forward and ``(1 + dependency) / paths`` backward; `arriving`
float64, what a level receives; `order` the reached vertices level by level, `bounds` the begin of each level.
The paths of a mesh exceed float64, so a level may be scaled by a power of two: only ratios between
neighbouring levels matter.

Brandes: A Faster Algorithm for Betweenness Centrality (2001); T13 §7.2, figure 18.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.arguments import graph_of, placed
from evener.algorithms.betweenness import SPEC
from evener.algorithms.feedback import finish_run
from evener.engine.engine import Engine, PartitionedArray
from evener.errors import ArgumentError
from evener.graph.checks import check_seed, is_integral
from evener.kernels.kernel import KernelFile
from evener.results.result import Result
from evener.system.memory import translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import ArrayLike, NDArray

    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["betweenness", "sources_of"]

kernels = KernelFile(__package__)
single_block_kernels = KernelFile(__package__, "single_block")

# Cost of pushing along an edge, where threads may conflict, over the cost of pulling along it.
PUSH_COST = 4

# If the paths of a level exceed MANY, those of the next level are scaled by SHRINK. An edge multiplies them
# by less than 2^64, so they stay below 2^964. A level whose counts differ by more than 2^1700 is refused.
MANY = 2.0**900
SHRINK = 2.0**-64

# Up to this many sources, the timeline has a superstep for each level; beyond, at most RUNS_OF_SOURCES
# supersteps, each with a run of sources.
SOURCES_BY_LEVEL = 16
RUNS_OF_SOURCES = 1000

# A level with at most this many vertices, out-edges and in-edges is narrow: a single element takes it on one
# thread or block, with up to NARROW_LEVELS such levels in one call.
NARROW = 1 << 12
NARROW_LEVELS = 1 << 10


def betweenness(
    graph: Graph | PartitionedGraph,
    *,
    sources: ArrayLike | None = None,
    k: int | None = None,
    seed: int = 0,
    normalized: bool = True,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """How much of the shortest paths between other vertices leads through each vertex.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Edges are followed from tail to head, each of length 1. Parallel edges are paths of their own;
        ``duplicates="drop"`` when building the graph makes them one.
    sources : sequence of ids, optional
        Count the shortest paths from these vertices alone, twice from one given twice. Default: from all.
    k : int, optional
        Count from so many vertices, drawn without repeats.
    seed : int, default 0
        For `k`.
    normalized : bool, default True
        Divide by the number of pairs that a path might join, ``(n - 1) (n - 2)``. Otherwise an undirected
        graph's values are halved, for each of its pairs is met from both ends.
    on, policy, alpha, gpu_memory
        Where to run, for a graph that is not yet placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins; its ``fraction`` is that of the sources done.

    Returns
    -------
    Result
        ``centrality``: float64, shape (n,). Its parameter ``sources`` lists the ids drawn for `k`. Up to 16
        sources, the timeline has a superstep for each level of each, or for many narrow ones; for more, at
        most 1000 supersteps, each with a run of sources. ``edges`` counts the edges of the reached vertices,
        once for both cycles.

    Raises
    ------
    ArgumentError
        If both `sources` and `k` are given; if `k` is not between 1 and n; or if, of the vertices at one
        distance from a source, some have over 2^1700 times as many shortest paths as others.
    UnknownVertexError
        If a source is not in the graph.
    DeviceError
        If a GPU is named and none can be used, or one fails.
    OutOfMemoryError
        If the graph takes more memory than there is; `DeviceOutOfMemory` if it is a GPU's.

    Notes
    -----
    From all vertices, values are those of NetworkX. From some, they are multiplied by n over the number of
    sources, to estimate the whole. Older NetworkX does so too; newer does not count the vertex itself among
    either number, which leaves the value of a single source undefined.

    Numbers of paths are float64: exact to 2^53, and to 16 digits beyond.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 3, 4], directed=False)
    >>> ev.betweenness(g, normalized=False)["centrality"].tolist()
    [0.0, 3.0, 5.0, 0.0, 0.0]
    """
    chosen = sources_of(graph_of(graph, "betweenness"), sources, k, seed)
    pg = placed(
        graph,
        "betweenness",
        passes=len(chosen),
        on=on,
        policy=policy,
        alpha=alpha,
        gpu_memory=gpu_memory,
        directions="both",
    )
    undirected = not pg.graph.directed
    engine = Engine(
        pg, "betweenness", progress=progress, from_both_ends=undirected, host_state=SPEC.host_state
    )
    centrality, edges = _accumulate(engine, pg, chosen)
    factor = _factor(pg.graph, len(chosen), normalized=normalized)
    result = Result(
        "betweenness",
        pg.graph,
        {"centrality": lambda: pg.gather(centrality) * factor},
        columns=SPEC.columns,
        parameters={
            "sources": None if sources is None and k is None else pg.graph.ids[chosen].tolist(),
            "k": k,
            "seed": seed,
            "normalized": normalized,
        },
        timeline=engine.timeline,
        seconds=engine.finish(),
        edges=edges if pg.graph.directed else edges // 2,
        partitioned=pg,
        passes=len(chosen),
    )
    return finish_run(result)


class _State:
    """The arrays of a run, allocated once for all sources."""

    def __init__(self, engine: Engine, n: int) -> None:
        self.centrality = engine.owned_array("float64", 0)
        self.value = engine.array("float64")
        self.arriving = engine.array("float64", 0)
        self.visited, self.frontier, self.arrived = engine.bitmaps(3)
        self.order = engine.owned_array("uint32")
        # Long enough for most graphs; a bound for each vertex would take as many bytes as a value for it.
        self._most = n + 2
        self._room = min(2 * NARROW_LEVELS, self._most)
        self.bounds = engine.local_array(self._room, "uint64")
        # Four numbers of each of many narrow levels: see `_count_paths`.
        self.levels = engine.local_array(4 * NARROW_LEVELS, "float64")

    def bounds_for(self, engine: Engine, levels: int) -> PartitionedArray:
        """Return `bounds` with room for this many levels and those of one more call."""
        if self._room < min(levels + NARROW_LEVELS + 1, self._most):
            self._room = min(2 * self._room, self._most)
            self.bounds = engine.lengthen(self.bounds, self._room, kept=levels + 1)
        return self.bounds


class _Pace:
    """Begins a superstep at each level or, for many sources, at each run of sources."""

    def __init__(self, engine: Engine, sources: int) -> None:
        self._engine = engine
        self._sources = sources
        self._run = -(-sources // RUNS_OF_SOURCES)
        self._by_level = sources <= SOURCES_BY_LEVEL
        self._done = 0
        self._edges = 0

    def source(self, done: int, edges: int) -> None:
        """Begin the next source, after `done` sources whose searches followed `edges` edges."""
        self._done = done
        if not self._by_level and done % self._run == 0:
            # The edges of the run before: those of the next one are not known.
            self._engine.superstep("sources", edges=edges - self._edges, fraction=done / self._sources)
            self._edges = edges

    def level(self, phase: str, edges: int = 0) -> None:
        if self._by_level:
            self._engine.superstep(phase, edges=edges, fraction=self._done / self._sources)


@translate_errors("computing betweenness")
def _accumulate(
    engine: Engine, pg: PartitionedGraph, chosen: NDArray[np.int64]
) -> tuple[PartitionedArray, int]:
    state = _State(engine, pg.graph.n)
    pace = _Pace(engine, len(chosen))
    edges = 0
    for done, source in enumerate(chosen.tolist()):
        pace.source(done, edges)
        levels = _count_paths(engine, state, pg, source, pace)
        _add_dependencies(engine, state, levels, pace)
        edges += int(levels[:, 1].sum())
    return state.centrality, edges


def _count_paths(
    engine: Engine, state: _State, pg: PartitionedGraph, source: int, pace: _Pace
) -> NDArray[np.float64]:
    """Count the paths, level by level.

    Returns
    -------
    ndarray of float64, shape (levels, 4)
        Of each level: its vertices, their out-edges, their in-edges, and the scale of their paths.
    """
    offsets, targets, _ = engine.out
    in_offsets, in_targets, in_blocks = engine.in_
    value, arriving, visited, order, bounds = (
        state.value, state.arriving, state.visited, state.order, state.bounds,
    )  # fmt: skip

    pace.level("begin")
    out_edges, in_edges = engine.compute(
        kernels.begin, offsets, in_offsets, engine.at_vertex(source), value, visited, state.frontier,
        order, bounds,
    )  # fmt: skip
    levels: list[ArrayLike] = [[(1, out_edges, in_edges, 1.0)]]
    level, awake, unexplored, scale = 0, 1, pg.graph.m - in_edges, 1.0
    single = engine.single
    while out_edges and unexplored:
        bounds = state.bounds_for(engine, level + 1)
        # Vertices with few edges cost time too.
        if single and max(awake, out_edges) <= NARROW:
            pace.level("paths of narrow levels", out_edges)
            _, made, out_edges, paths = engine.compute(
                single_block_kernels.count_paths, offsets, targets, in_offsets, level, out_edges, unexplored,
                NARROW, MANY, SHRINK, scale, value, visited, state.frontier, arriving, order, bounds,
                state.levels, count_next_active=True,
            )  # fmt: skip
            # Copied, because the next call writes to the same array.
            found = engine.download(state.levels.first([4 * made]))[0].reshape(-1, 4).copy()
            levels.append(found)
            level += made
            if not paths < math.inf:
                raise ArgumentError(_beyond_float64(pg.graph, source, level))
            if made:
                awake = int(found[-1, 0])
            unexplored -= int(found[:, 2].sum())
            scale = SHRINK if paths > MANY else 1.0
            continue
        level += 1
        # paths = (Aᵀ +.× paths of the frontier) ∧ ¬visited
        if out_edges * PUSH_COST < unexplored:
            pace.level("paths pushed", out_edges)
            engine.compute(
                kernels.push_paths, offsets, targets, order, bounds, level - 1, out_edges, value,
                visited, arriving, state.arrived,
            )  # fmt: skip
            if engine.routes:
                engine.compute(kernels.visit_mirrors, engine.owned, state.arrived, visited)
                engine.push(arriving, "add", changed=state.arrived)
        else:
            pace.level("paths pulled", unexplored)
            engine.pull(value, changed=state.frontier)
            engine.compute(
                kernels.pull_paths, in_offsets, in_targets, in_blocks, engine.in_rows, value, visited,
                state.frontier, arriving, state.arrived,
            )  # fmt: skip
        awake, out_edges, in_edges, paths = engine.compute(
            kernels.build_level, offsets, in_offsets, engine.owned, level, scale, arriving, state.arrived,
            visited, state.frontier, value, order, bounds, count_next_active=True,
        )  # fmt: skip
        if not paths < math.inf:
            raise ArgumentError(_beyond_float64(pg.graph, source, level))
        state.frontier, state.arrived = state.arrived, state.frontier
        if awake:
            levels.append([(awake, out_edges, in_edges, scale)])
        unexplored -= in_edges
        scale = SHRINK if paths > MANY else 1.0
    return np.concatenate(levels)


def _add_dependencies(engine: Engine, state: _State, levels: NDArray[np.float64], pace: _Pace) -> None:
    offsets, targets, _ = engine.out
    in_offsets, in_targets, _ = engine.in_
    value, arriving, visited, order, bounds = (
        state.value, state.arriving, state.visited, state.order, state.bounds,
    )  # fmt: skip

    vertices, out_edges, in_edges, scales = levels.T
    farthest = len(levels) - 1
    # No vertex is beyond the last level, and the dependency of the source is not needed.
    pushed = np.zeros(len(levels))
    pushed[1:-1] = in_edges[2:]
    single = engine.single
    narrow = (single & (np.maximum(vertices, pushed) <= NARROW)).tolist()
    level = len(levels)
    while level > 0:
        level -= 1
        if narrow[level]:
            begin, last = level, max(level - NARROW_LEVELS + 1, 0)
            while level > last and narrow[level - 1]:
                level -= 1
            pace.level("dependencies of narrow levels", int(pushed[level : begin + 1].sum()))
            engine.compute(
                single_block_kernels.add_dependencies, in_offsets, in_targets, order, bounds, begin, level,
                farthest, engine.upload_to_all(levels[level : begin + 2].ravel()), value, visited,
                arriving, state.arrived, state.centrality, count_next_active=True,
            )  # fmt: skip
            continue
        # arriving = A +.× (1 + dependency) / paths of the next level
        receives, to_push, to_pull = 0 < level < farthest, int(pushed[level]), int(out_edges[level])
        if receives and to_push * PUSH_COST < to_pull:
            pace.level("dependencies pushed", to_push)
            engine.compute(
                kernels.push_dependencies, in_offsets, in_targets, engine.owned, order, bounds, level + 1,
                to_push, value, visited, arriving, state.arrived,
            )  # fmt: skip
            if engine.routes:
                engine.push(arriving, "add", changed=state.arrived)
                engine.compute(kernels.discard_received, engine.owned, visited, state.arrived, arriving)
        elif receives:
            pace.level("dependencies pulled", to_pull)
            engine.compute(kernels.flag_level, order, bounds, level + 1, state.frontier)
            engine.pull(value, changed=state.frontier)
            engine.compute(
                kernels.pull_dependencies, offsets, targets, order, bounds, level, to_pull, value,
                state.frontier, arriving,
            )  # fmt: skip
        # dependency = paths × arriving; centrality += dependency
        engine.compute(
            kernels.finish_level, order, bounds, level, float(scales[level + 1]) if receives else 1.0,
            1.0 if level else 0.0, arriving, visited, value, state.centrality, count_next_active=True,
        )  # fmt: skip


def sources_of(graph: Graph, sources: ArrayLike | None, k: int | None, seed: int) -> NDArray[np.int64]:
    """The numbers of the vertices to start from: those given, `k` that are drawn, or all."""
    if sources is not None and k is not None:
        msg = "give the sources or how many to draw, not both: sources= and k= exclude each other"
        raise ArgumentError(msg)
    if sources is not None:
        return graph.numbers_of(sources)
    if k is None:
        return np.arange(graph.n)
    if not is_integral(k) or not 1 <= k <= graph.n:
        msg = f"k is how many of the {graph.n} vertices to start from, 1 to {graph.n}, not {k!r}"
        raise ArgumentError(msg)
    return np.random.default_rng(check_seed(seed)).choice(graph.n, size=int(k), replace=False)


def _factor(graph: Graph, sources: int, *, normalized: bool) -> float:
    """What makes a sum of dependencies on some sources an estimate of the centrality."""
    n = graph.n
    if n <= 2 or sources == 0:
        return 0.0
    if normalized:
        return n / sources / ((n - 1) * (n - 2))
    return n / sources / (1 if graph.directed else 2)


def _beyond_float64(graph: Graph, source: int, distance: int) -> str:
    return (
        f"of the vertices at distance {distance} from source {graph.ids[source]}, some have over 2^1700 "
        "times as many shortest paths as others: more than float64 holds; leave it out of sources="
    )
