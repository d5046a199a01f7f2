"""Betweenness centrality by Brandes' algorithm: two BSP cycles per source, on any number of partitions.

Idea: forward, a level-synchronous search counts the shortest paths to each vertex. Backward, from the
farthest level on, each vertex adds its dependency to the previous level. Each step pushes from the vertices
with values or pulls to the vertices that may receive them, along fewer edges. A single element runs many
narrow levels on one thread or block. A group of GPUs runs many levels in one launch: see `group.py`.

Encoding: `value` float64, the paths of a vertex forward and ``(1 + dependency) / paths`` backward; `arriving`
float64, the sums that a level receives; `order` the reached vertices level by level; `bounds` the begin of
each level. The path counts of a mesh exceed float64, so a level may be scaled by a power of two. Only ratios
between neighbouring levels matter. With weights, or with many sources on a small graph, each thread of a
single CPU searches from a source of its own: see `evener.primitives.source_paths`. `weighted.py` runs weights
on other elements.

Brandes: A Faster Algorithm for Betweenness Centrality (2001); T13 §7.2, figure 18.
"""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.algorithms.betweenness import SPEC
from evener.algorithms.betweenness.group import GroupSearch
from evener.algorithms.betweenness.scaling import MANY, SHRINK, beyond_float64
from evener.algorithms.betweenness.search import SOURCES_BY_LEVEL, BetweennessState, Pace
from evener.algorithms.betweenness.weighted import WEIGHTED_STATE, WeightedSearch
from evener.engine.checkpoints.state import Bounded
from evener.errors import ArgumentError
from evener.graph.checks import check_bool, check_seed, is_integral
from evener.kernels.kernel import KernelFile
from evener.primitives.source_paths import (
    SourcePaths,
    check_positive_weights,
    is_one_cpu,
    place_by_size,
    searches_are_faster,
)
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.system.memory import translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import ArrayLike, NDArray

    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["NARROW", "NARROW_LEVELS", "betweenness", "count_paths", "kernels", "sources_of"]

kernels = KernelFile(__package__)
single_block_kernels = KernelFile(__package__, "single_block")

# Cost of pushing along an edge, where threads may conflict, over the cost of pulling along it.
PUSH_COST = 4

# Largest number of vertices and edges of a narrow level, and of narrow levels in one call.
NARROW = 1 << 12
NARROW_LEVELS = 1 << 10


@driver(SPEC)
def betweenness(
    graph: Graph | PartitionedGraph | str,
    *,
    sources: ArrayLike | None = None,
    k: int | None = None,
    seed: int = 0,
    normalized: bool = True,
    weights: bool | None = False,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the share of the shortest paths between other vertices that leads through each vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Edges lead from tail to head. Parallel edges count as separate paths; build the graph with
        ``duplicates="drop"`` to merge them.
    sources : sequence of ids, optional
        Count only the shortest paths from these vertices; a repeated id counts repeatedly. Default: all.
    k : int, optional
        Number of sources to draw without repeats.
    seed : int, default 0
        Seed for `k`.
    normalized : bool, default True
        Divide by the number of pairs, ``(n - 1) (n - 2)``. Otherwise the values of an undirected graph are
        halved, because each pair is counted from both ends.
    weights : bool or None, default False
        Whether the length of an edge is its weight; None: if the graph has weights. Otherwise each edge has
        the length 1. Lengths of paths are compared as float64, without a tolerance.

    Returns
    -------
    Result
        ``centrality``: float64, shape (n,). The parameter ``sources`` lists the ids drawn for `k`. For up to
        16 sources, the timeline has a superstep for each level or for many levels. Otherwise, and with
        weights on one CPU, it has at most 1000 supersteps, each for consecutive sources. ``edges`` counts
        each edge of the reached vertices once, although several phases read it.

    Raises
    ------
    ArgumentError
        If both `sources` and `k` are given, or if `k` is not between 1 and n. If the numbers of shortest
        paths to the vertices of one level differ by a factor of more than 2^1700.

        With weights: if a weight is not above 0. If more than 2^960 paths lead to a vertex. If a weight is
        too small to change a distance, or a distance is infinite. If a sum of integer weights is 2^53 or
        more.
    UnknownVertexError
        If a source is not in the graph.

    Notes
    -----
    With all vertices as sources, values equal NetworkX's values. With some sources, values are multiplied by
    n over the number of sources, to estimate the centrality. Older versions of NetworkX do the same. Newer
    versions do not count the vertex itself in either number, so the value of a single source is undefined.

    Numbers of paths are float64: exact up to 2^53, and with 16 digits beyond.

    With weights, a graph of at most 2^19 stored edges runs on the CPU by default. Each of its threads
    searches from a source of its own; a GPU searches from one source at a time.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 3, 4], directed=False)
    >>> ev.betweenness(g, normalized=False)["centrality"].tolist()
    [0.0, 3.0, 5.0, 0.0, 0.0]
    """
    normalized = check_bool(normalized, "normalized")
    run = begin(SPEC, graph, options)
    weights = check_positive_weights(run.graph, weights, "betweenness")
    if weights:
        place_by_size(run)
        run.spec = replace(SPEC, state=WEIGHTED_STATE)
    chosen = sources_of(run.graph, sources, k, seed)
    pg = run.place(passes=len(chosen))
    engine = run.engine(from_both_ends=not pg.graph.directed)
    arguments = {"sources": chosen, "weights": True} if weights else {"sources": chosen}
    with run.checkpoints(engine, arguments) as checkpoints:
        centrality = engine.owned_array("float64", 0)
        many = len(chosen) > SOURCES_BY_LEVEL
        if is_one_cpu(engine) if weights else many and searches_are_faster(engine):
            edges = _accumulate_by_source(engine, checkpoints, chosen, centrality, weights=weights)
        else:
            edges = _accumulate(engine, checkpoints, pg, chosen, centrality, weights=weights)
    factor = _factor(pg.graph, len(chosen), normalized=normalized)
    parameters = {
        "sources": None if sources is None and k is None else pg.graph.ids_of(chosen).tolist(),
        "k": k,
        "seed": seed,
        "normalized": normalized,
        "weights": weights,
    }
    return run.finish(
        engine,
        {"centrality": lambda: pg.gather(centrality) * factor},
        parameters=parameters,
        edges=edges if pg.graph.directed else edges // 2,
        passes=len(chosen),
    )


@translate_errors("computing betweenness")
def _accumulate_by_source(
    engine: Engine,
    checkpoints: Checkpoints,
    chosen: NDArray[np.int64],
    centrality: PartitionedArray,
    *,
    weights: bool,
) -> int:
    """Add the dependencies on several sources at a time; return the out-edges of all reached vertices."""
    searches, done, edges = SourcePaths(engine, len(chosen), weights=weights, of_edges=False), 0, 0
    while done < len(chosen):
        done, edges = checkpoints.step({"centrality": Bounded(centrality, 0, math.inf)}, done, edges)
        if checkpoints.restored:
            checkpoints.require(checkpoints.steps <= done < len(chosen), f"a source below {len(chosen)}")
        engine.superstep("sources", fraction=done / len(chosen))
        edges += searches.add(chosen[done : done + searches.per_call], centrality)
        done += searches.per_call
    return edges


@translate_errors("computing betweenness")
def _accumulate(
    engine: Engine,
    checkpoints: Checkpoints,
    pg: PartitionedGraph,
    chosen: NDArray[np.int64],
    centrality: PartitionedArray,
    *,
    weights: bool,
) -> int:
    """Add the dependencies on one source after the other; return the out-edges of all reached vertices."""
    done, edges, pace = 0, 0, Pace(engine, len(chosen))
    search: Callable[[int, Pace], int]
    if weights:
        search = WeightedSearch(engine, pg.graph, centrality, of_edges=False).run
    else:
        state = BetweennessState(engine, pg.graph.n, NARROW_LEVELS, centrality)
        search = partial(_search, engine, state, pg)
        if engine.group is not None:
            search = GroupSearch(engine, engine.group, pg.graph, state, push_cost=PUSH_COST).run
    while done < len(chosen):
        done, edges = checkpoints.step({"centrality": Bounded(centrality, 0, math.inf)}, done, edges)
        if checkpoints.restored:
            checkpoints.require(checkpoints.steps <= done < len(chosen), f"a source below {len(chosen)}")
        pace.source(done, edges)
        edges += search(int(chosen[done]), pace)
        done += 1
    return edges


def _search(engine: Engine, state: BetweennessState, pg: PartitionedGraph, source: int, pace: Pace) -> int:
    """Add the dependencies on a source, level by level; return the out-edges of all reached vertices."""
    levels = count_paths(engine, state, pg, source, pace)
    _add_dependencies(engine, state, levels, pace)
    return int(levels[:, 1].sum())


def count_paths(
    engine: Engine, state: BetweennessState, pg: PartitionedGraph, source: int, pace: Pace
) -> NDArray[np.float64]:
    """Count the paths, level by level.

    Returns
    -------
    ndarray of float64, shape (levels, 4)
        For each level: its vertices, their out-edges, their in-edges, and the scale of their paths.
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
        bounds = state.bounds_for(level + 1, NARROW_LEVELS)
        # Vertices cost time too, so both counts must be small.
        if single and max(awake, out_edges) <= NARROW:
            pace.level("paths of narrow levels", out_edges)
            _, narrow_levels, out_edges, paths = engine.compute(
                single_block_kernels.count_paths, offsets, targets, in_offsets, level, out_edges, unexplored,
                NARROW, MANY, SHRINK, scale, value, visited, state.frontier, arriving, order, bounds,
                state.levels, count_next_active=True,
            )  # fmt: skip
            # Copy, because the next call writes to the same array.
            found = engine.download(state.levels.first([4 * narrow_levels]))[0].reshape(-1, 4).copy()
            levels.append(found)
            level += narrow_levels
            if not paths < math.inf:
                raise ArgumentError(beyond_float64(pg.graph, source, level))
            if narrow_levels:
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
            if engine.has_mirrors:
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
            raise ArgumentError(beyond_float64(pg.graph, source, level))
        state.frontier, state.arrived = state.arrived, state.frontier
        if awake:
            levels.append([(awake, out_edges, in_edges, scale)])
        unexplored -= in_edges
        scale = SHRINK if paths > MANY else 1.0
    return np.concatenate(levels)


def _add_dependencies(
    engine: Engine, state: BetweennessState, levels: NDArray[np.float64], pace: Pace
) -> None:
    offsets, targets, _ = engine.out
    in_offsets, in_targets, _ = engine.in_
    value, arriving, visited, order, bounds = (
        state.value, state.arriving, state.visited, state.order, state.bounds,
    )  # fmt: skip

    vertices, out_edges, in_edges, scales = levels.T
    farthest = len(levels) - 1
    # No level follows the last level, and the dependency of the source is not needed.
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
            if engine.has_mirrors:
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
    """Return the global numbers of the sources: given, `k` at random, or all vertices."""
    seed = check_seed(seed)
    if sources is not None and k is not None:
        msg = "sources= and k= exclude each other; give the sources or the number of sources to draw"
        raise ArgumentError(msg)
    if sources is not None:
        return graph.numbers_of(sources)
    if k is None:
        return np.arange(graph.n)
    if not is_integral(k) or not 1 <= k <= graph.n:
        msg = f"k=: expected a number of vertices from 1 to {graph.n}, found {k!r}"
        raise ArgumentError(msg)
    return np.random.default_rng(seed).choice(graph.n, size=int(k), replace=False)


def _factor(graph: Graph, sources: int, *, normalized: bool) -> float:
    """Return the factor from a sum of dependencies on some sources to an estimate of the centrality."""
    n = graph.n
    if n <= 2 or sources == 0:
        return 0.0
    if normalized:
        return n / sources / ((n - 1) * (n - 2))
    return n / sources / (1 if graph.directed else 2)
