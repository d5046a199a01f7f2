"""Shortest paths from the nearest source, by delta-stepping with pulling sweeps, on any number of partitions.

Idea: vertices wait in buckets of width delta. The out-edges of the nearest bucket are relaxed until the
bucket is empty. If a bucket would relax much of the graph, a sweep runs instead: every vertex searches its
in-edges for a shorter path. The sweep skips an edge if its weight plus the distance of the nearest
waiting vertex reaches the known distance. Buckets settle the vertices that sweeps leave. A single CPU
element with few waiting vertices relaxes the nearest vertex on one thread, as Dijkstra does. A single GPU
settles several buckets in one kernel. Distances are the least fixed point of rounded addition, so they are
identical for any split and order.

Encoding: `distance` uint32 for integer weights if the distances fit, else float64; `parent` a local number,
set by sweeps and found afterwards for other vertices; `pending` a bitmap of the waiting vertices.

Meyer, Sanders: Δ-stepping: a parallelizable shortest path algorithm (J. Algorithms 2003); Chakaravarthy et
al.: Scalable Single Source Shortest Path Algorithms for Massively Parallel Systems (IPDPS 2014).
"""

from __future__ import annotations

import math
import sys
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, Unpack, cast

import numpy as np

from evener.algorithms.bfs.bfs import search_edges
from evener.algorithms.sssp import SPEC
from evener.algorithms.sssp.byte_weights import placed_weights
from evener.algorithms.sssp.group import GROUP_WIDER, GROUP_WIDTH, settle_on_group, sweep_on_group
from evener.algorithms.sssp.range_check import check_range
from evener.algorithms.sssp.settle import (
    FAR,
    TUNING,
    SearchState,
    distance_name,
    nearest_distance,
    settle_single,
    settle_together,
)
from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError
from evener.graph.checks import check_bool, is_number
from evener.kernels.kernel import KernelFile
from evener.partition.distributed.graph import DistributedGraph
from evener.partition.gathered import Gathered
from evener.spec.arguments import check_weights
from evener.spec.goal import Goal, forget_beyond, parse_goal, search_each
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run import Run
    from evener.spec.run_options import RunOptions

__all__ = ["bucket_width", "settle_distances", "sssp"]

kernels = KernelFile(__package__)
single_block_kernels = KernelFile(__package__, "single_block")
tree_kernels = KernelFile(__package__, "tree")

# Sweep if a bucket would relax more than m/EDGES_TO_SWEEP edges. Sweep again while the vertices that got a
# shorter path have more than m/EDGES_TO_SWEEP_AGAIN out-edges.
EDGES_TO_SWEEP = 20
EDGES_TO_SWEEP_AGAIN = 5
# Default width of a bucket over that of one element, for elements that exchange values after each step.
SEVERAL_WIDTH = 4
# Width of a bucket after a sweep over the width before it. Few edges are left, so exchanges cost most.
WIDER_AFTER_SWEEP = 8
# Part of a sweep, in edges, that searches the rows of hubs before all other rows.
HUB_SHARE = 1 / 4
# Edges whose weights are sampled to choose delta.
_SAMPLE = 1 << 12
_NO_LIMIT = 1 << 62


class _Tree(NamedTuple):
    """Distances, parents, the edges of reached vertices, and the number of distances beyond 32 bits."""

    distance: PartitionedArray
    parent: PartitionedArray
    edges: int
    beyond: int


@driver(SPEC)
def sssp(
    graph: Graph | PartitionedGraph | str,
    source: Any = None,
    *,
    sources: Any = None,
    target: Any = None,
    cutoff: float | None = None,
    each: bool = False,
    delta: float | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the least distance from any source to every vertex, and a tree of shortest paths.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Edges are followed from tail to head. Weights must be at least 0; an edge of infinite weight is never
        used. The edges of a graph without weights have length 1.
    source : id
        Id of the vertex to start from.
    sources : sequence of ids
        Ids of several vertices to start from, instead of `source`.
    target : id, optional
        The search ends when the distance of this vertex is known. Vertices that are farther away than the
        target are reported as unreached.
    cutoff : float, optional
        Largest distance. Vertices that are farther away are reported as unreached.
    each : bool, default False
        If true, search once from each source. The result is a `ResultRows`, whose arrays have one row for
        each source, in the order of `sources`.
    delta : float, optional
        Width of a bucket. It changes the time, not the answer. Default: twice the mean weight
        over the mean degree; more on several elements.

    Returns
    -------
    Result
        ``distance``: float64, shape (n,), infinite if unreached. ``parent``: shape (n,), the id of the
        previous vertex on a shortest path; a source is its own parent. Unreached vertices have the parent -1,
        or None if ids are not integers.

    Raises
    ------
    ArgumentError
        Without a source. If a weight or the cutoff is negative or NaN, or if `delta` is not above 0. If a
        distance is above the largest float64, or is a sum of integer weights of 2^53 or more.
    UnknownVertexError
        If a source or the target is not in the graph.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 0], weights=[1.5, 4.0, 2.0, 1.0])
    >>> r = ev.sssp(g, source=0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0.0, 1.5, 3.5, inf], [0, 0, 1, -1])
    >>> ev.sssp(g, sources=[1, 3], cutoff=1.0)["distance"].tolist()
    [1.0, 0.0, inf, 0.0]
    """
    if delta is not None and not (
        is_number(delta) and (0 < delta <= sys.float_info.max or delta == math.inf)
    ):
        msg = f"delta=: expected a number above 0 in the range of float64, found {delta!r}"
        raise ArgumentError(msg)
    several = check_bool(each, "each")
    run = begin(SPEC, graph, options)
    goal = parse_goal(run.graph, "sssp", source, sources, target, cutoff)
    dtype = run.graph.weight_dtype
    need = "shortest paths need weights of 0 or more on every edge"
    heaviest = 0.0 if dtype is None else check_weights(run.graph, need)
    pg = run.place()

    def search(goal: Goal) -> Result:
        parameters = {**goal.parameters, "delta": delta}
        if dtype is not None:
            fits = dtype.kind in "iu" and bool(heaviest < FAR)
            return _search_weights(run, pg, goal, parameters, integers=fits)
        return search_edges(run, pg, goal, parameters, floats=True)

    return search_each(goal, run, search) if several else search(goal)


def _search_weights(
    run: Run, pg: PartitionedGraph, goal: Goal, parameters: dict[str, Any], *, integers: bool
) -> Result:
    """Return a search over weights. If `integers`, try distances of 32 bits first."""
    engine = run.engine(from_both_ends=not pg.graph.directed)
    width = parameters["delta"] or bucket_width(engine, pg.graph)
    infinity = np.float64(np.inf)
    with run.checkpoints(engine, parameters) as checkpoints:
        search = partial(_search, engine, checkpoints, goal, pg.graph.m, float(width))
        tree = None
        if integers and not checkpoints.has(distance_name(infinity.dtype)):
            tree = search(FAR)
        if tree is None or tree.beyond:
            tree = search(infinity)
            check_range(pg, tree.distance, limit=goal.limit(engine, tree.distance, math.inf))
    distance, parent = tree.distance, tree.parent
    arrays: dict[str, Callable[[], NDArray[Any]]] = {
        "distance": lambda: pg.gather_floats(distance, absent=FAR),
        "parent": Gathered(pg, parent, "vertices"),
    }
    edges = tree.edges if pg.graph.directed else tree.edges // 2
    return run.finish(engine, arrays, parameters=parameters, edges=edges)


def _search(
    engine: Engine,
    checkpoints: Checkpoints,
    goal: Goal,
    m: int,
    delta: float,
    far: np.uint32 | np.float64,
) -> _Tree:
    state = SearchState(engine, checkpoints, goal, far)
    sources = goal.sources(engine)
    settle_distances(engine, state, sources, m, delta)
    limit = goal.limit(engine, state.distance, float(far))
    if limit < far:
        largest = far.dtype.type(limit)  # an integer below the limit, or the limit
        forget_beyond(engine, largest, far, state.distance, state.parent)
    tree = _find_parents(engine, checkpoints, sources, state)
    return tree if limit >= far else tree._replace(beyond=0)


def settle_distances(
    engine: Engine, state: SearchState, sources: PartitionedArray, m: int, delta: float
) -> None:
    """Find the distances from `sources`, the local numbers that each partition owns, in a graph of m edges.

    This is a collective operation; all ranks must call it. Mirrors may have larger distances than their
    owners.
    """
    state.budget = engine.equal_share(m // EDGES_TO_SWEEP)
    engine.superstep("begin")
    engine.compute(kernels.begin, sources, state.distance, state.pending)
    settle: Callable[..., bool] = settle_together
    sweep: Callable[..., None] = _sweep
    wider = WIDER_AFTER_SWEEP
    if engine.single:
        settle, wider = settle_single, engine.tuning(TUNING).wider_after_sweep
    elif state.on_group:
        settle, sweep, wider = settle_on_group, sweep_on_group, GROUP_WIDER
    while settle(engine, state, delta, state.far):
        sweep(engine, state, m, m // EDGES_TO_SWEEP_AGAIN)
        # Sweep once: few vertices are left, and a later sweep would keep parents that buckets have outdated.
        state.budget = _NO_LIMIT
        delta *= wider


def _sweep(engine: Engine, state: SearchState, m: int, few: int) -> None:
    """Search all in-edges for shorter paths, until at most `few` edges lead into the improved vertices."""
    distance, pending = state.distance, state.pending
    offsets, targets, _ = engine.in_
    weights = placed_weights(engine, "in_")
    parts = _parts_of_sweep(engine)
    edges = m
    while edges > few:
        floor = distance.dtype.type(nearest_distance(engine, distance, pending))
        engine.superstep("sweep", active=engine.owned, edges=m)
        edges = 0
        for blocks in parts:
            engine.pull(distance)
            # distance = distance min (Aᵀ min.+ distance)
            edges += engine.compute(
                kernels.sweep, offsets, targets, weights, blocks, floor, distance, state.parent, pending
            )


def _parts_of_sweep(engine: Engine) -> list[PartitionedArray]:
    """Return the blocks of rows that a sweep searches between pulls.

    Most short paths lead through hubs. On several CPUs, hubs are first, so that the other rows read the new
    distances of all hubs. A GPU searches all rows at once.
    """
    blocks = engine.in_[2]
    if not (engine.has_mirrors and engine.only_cpus):
        return [blocks]
    cuts = [int(HUB_SHARE * (len(part) - 1)) for part in blocks]
    pairs = list(zip(blocks, cuts, strict=True))
    return [
        PartitionedArray([part[: cut + 1] for part, cut in pairs]),
        PartitionedArray([part[cut:] for part, cut in pairs]),
    ]


def _find_parents(
    engine: Engine, checkpoints: Checkpoints, sources: PartitionedArray, state: SearchState
) -> _Tree:
    """Find the parents that sweeps have not found."""
    offsets, targets, blocks = engine.in_
    weights = placed_weights(engine, "in_")
    distance, parent, far = state.distance, state.parent, state.far
    engine.superstep("parents", active=engine.owned)
    if not state.mirrors_are_exact:
        engine.pull(distance)
    left, beyond, edges = engine.compute(
        tree_kernels.find_parents,
        offsets,
        targets,
        weights,
        blocks,
        engine.out_degree,
        sources,
        far,
        distance,
        parent,
    )
    if left:
        rooted, waiting = engine.bitmaps(2)
        engine.compute(
            tree_kernels.begin_zero_weight_levels, engine.owned, far, distance, parent, rooted, waiting
        )
    while left:
        engine.superstep("plateaus")
        engine.pull(rooted)
        attached = engine.compute(
            tree_kernels.attach_zero_weight, offsets, targets, weights, *engine.out[:2],
            placed_weights(engine, "out"), engine.owned, distance, parent, rooted, waiting, state.queue,
            count_next_active=True,
        )  # fmt: skip
        checkpoints.require(attached, "distances of paths that begin at a source")
        left -= attached
        engine.push(waiting, "or")
    return _Tree(distance, parent, int(edges), int(beyond))


def bucket_width(engine: Engine, graph: Graph) -> float:
    """Return the default width of a bucket."""
    return _bucket_width(graph) * (
        1 if engine.single else SEVERAL_WIDTH if engine.group is None else GROUP_WIDTH
    )


def _bucket_width(graph: Graph) -> float:
    """Return twice the mean weight over the mean degree: about two neighbours of a vertex are nearer."""
    if isinstance(graph, DistributedGraph):
        sample = graph.weight_sample
    elif graph.gpu_edges is not None:
        sample = graph.gpu_edges.weight_sample(_SAMPLE)
    else:
        sample = cast("NDArray[Any]", graph.weights)[:: max(1, graph.m // _SAMPLE)]
    finite = sample[np.isfinite(sample)]
    with np.errstate(over="ignore"):  # a mean beyond float64 is infinite
        mean = float(finite.mean(dtype=np.float64)) if len(finite) else 0.0
    width = 2 * mean * graph.n / graph.m if mean else 0.0
    return width if 0 < width < math.inf else 1.0
