"""Shortest paths from one source, by delta-stepping that turns to pulling, on any number of partitions.

Idea: vertices wait in buckets of width delta; the nearest bucket is settled by relaxing its vertices'
out-edges again and again. When a bucket would relax a good part of the graph, every vertex rather looks over
its in-edges for a shorter way: an edge matters only if its weight leads from the nearest waiting vertex to
below the distance already known, and nine in ten do not. Buckets settle what these sweeps leave. Where the
CPU has the whole graph and few vertices wait, one thread relaxes the nearest, and again the nearest, as
Dijkstra does; a GPU with the whole graph goes from bucket to bucket by itself. Distances are the least fixed
point of rounded addition, so no split and no order changes a bit of them.

Encoding: `distance` uint32 for integer weights, as long as it lasts, else float64; `parent` a local number,
known to the sweeps and found afterwards for the others; `pending` a bitmap of the buckets' vertices.

Meyer, Sanders: Δ-stepping: a parallelizable shortest path algorithm (J. Algorithms 2003); Chakaravarthy et
al.: Scalable Single Source Shortest Path Algorithms for Massively Parallel Systems (IPDPS 2014).
"""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from evener.algorithms.arguments import (
    NOBODY,
    at_vertex,
    check_weights,
    graph_of,
    number_of_source,
    placed,
    unsigned,
)
from evener.algorithms.bfs.bfs import searched
from evener.algorithms.feedback import finish_run
from evener.algorithms.sssp import SPEC
from evener.engine.engine import Engine, Spread
from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.kernels.kernel import KernelFile
from evener.results.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["sssp"]

kernels = KernelFile(__package__)
single_block_kernels = KernelFile(__package__, "single_block")
tree_kernels = KernelFile(__package__, "tree")

# Sweep when a bucket would relax more than 1/20 of the edges (1/10 and 1/50 differ by less than a tenth), and
# go on while more than 1/5 lead out of the vertices a sweep lowered: on R-MAT 20 an edge that is swept takes
# 0.8 ns, one that is relaxed 4 ns and more.
EDGES_TO_SWEEP = 20
EDGES_TO_SWEEP_AGAIN = 5
# A frontier of no more waiting vertices than this is narrow: where the CPU has the whole graph one thread
# takes it, over so many edges at once, and on a large graph over more, so that looking through all vertices
# for those that wait is a tenth of it. With one thread a grid of 30,000 by 4 takes 6 ms so, not 1000, one of
# 600 by 600 51 ms, not 85, and R-MAT 19 as long.
NARROW = 1 << 12
NARROW_EDGES = 1 << 16
VERTICES_TO_AN_EDGE = 16
# Buckets that a GPU with the whole graph settles in one superstep: asking for each, and launching it, takes
# as long as most of them do. On an H200 R-MAT 20 takes 3.4 ms so, not 5.7, and a grid of 30,000 by 4 1.0 s,
# not 2.2; with 64 of them 3.5 ms and 0.97 s.
BUCKETS = 16
# Integer distances below this are held in 32 bits: with any weight below it, no sum overflows.
FAR = np.uint32(0x7FFFFFFF)
# Edges whose weights are looked at to choose delta.
_SAMPLE = 1 << 16
_NO_LIMIT = 1 << 62


class _Tree(NamedTuple):
    distance: Spread
    parent: Spread
    edges: int
    beyond: int


def sssp(
    graph: Graph | PartitionedGraph,
    source: Any = 0,
    *,
    delta: float | None = None,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Least distances from a source to every vertex, and a tree of shortest paths.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Edges are followed from tail to head. Weights are 0 or more; an edge of infinite weight is never
        used. A graph without weights has edges of length 1.
    source : id, default 0
        The vertex to start from, by the graph's own id.
    delta : float, optional
        Width of a bucket. It changes the time, not the answer. Default: twice the mean weight
        over the mean degree.
    on, policy, alpha, gpu_memory
        Where to run, for a graph that is not yet placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``distance``: float64, shape (n,), infinite where unreached; ``parent``: int64, shape (n,), the id of
        the vertex before this one on a shortest path, the source's own for the source, -1 where unreached.

    Raises
    ------
    ArgumentError
        If a weight is negative or NaN, or delta not above 0.
    UnknownVertexError
        If the source is not in the graph.
    DeviceError
        If a GPU is named and none can be used, or one fails.
    OutOfMemoryError
        If the graph takes more memory than there is; `DeviceOutOfMemory` if it is a GPU's.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 0], weights=[1.5, 4.0, 2.0, 1.0])
    >>> r = ev.sssp(g, source=0)
    >>> r["distance"].tolist(), r["parent"].tolist()
    ([0.0, 1.5, 3.5, inf], [0, 0, 1, -1])
    """
    if delta is not None and not (
        is_number(delta) and (0 < delta <= sys.float_info.max or delta == math.inf)
    ):
        msg = f"delta is the width of a bucket, a number above 0 that float64 holds, not {delta!r}"
        raise ArgumentError(msg)
    whole = graph_of(graph, "sssp")
    number, weights = number_of_source(whole, source), whole.weights
    need = "shortest paths need weights of 0 or more on every edge"
    heaviest = 0.0 if weights is None else check_weights(whole, need)
    pg = placed(graph, "sssp", on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory, directions="both")
    parameters = {"source": source, "delta": delta}
    if weights is None:
        return searched(pg, number, "sssp", parameters, progress, as_distance=_unreached_infinite)
    start = at_vertex(pg, number)
    width = _bucket_width(pg.graph) if delta is None else float(delta)
    engine = Engine(pg, "sssp", progress=progress, from_both_ends=not pg.graph.directed)
    fits = weights.dtype.kind in "iu" and heaviest < FAR
    tree = _search(engine, start, pg.graph.m, width, FAR if fits else np.float64(np.inf))
    if fits and tree.beyond:
        tree = _search(engine, start, pg.graph.m, width, np.float64(np.inf))
    distance, parent = tree.distance, tree.parent
    result = Result(
        "sssp",
        pg.graph,
        {
            "distance": lambda: _as_float(pg.gather(distance.parts)),
            "parent": lambda: pg.gather_vertices(parent.parts),
        },
        columns=SPEC.columns,
        parameters=parameters,
        timeline=engine.timeline,
        seconds=engine.finish(),
        edges=tree.edges if pg.graph.directed else tree.edges // 2,
        partitioned=pg,
    )
    return finish_run(result)


def _search(engine: Engine, source: Spread, m: int, delta: float, far: np.uint32 | np.float64) -> _Tree:
    state = _State(engine, far)
    engine.superstep("begin")
    engine.compute(kernels.begin, source, state.distance, state.pending)
    settle = _settle_alone if len(engine.elements) == 1 else _settle_together
    budget = m // EDGES_TO_SWEEP // len(engine.elements)
    while settle(engine, state, delta, far, budget):
        _sweep(engine, m, state.distance, state.parent, state.pending)
        # Sweeps leave little. A second turn to them would take as found what buckets have lowered since.
        budget = _NO_LIMIT
    return _root(engine, source, far, state.distance, state.parent, state.queue)


class _State:
    """What each partition keeps."""

    def __init__(self, engine: Engine, far: np.uint32 | np.float64) -> None:
        self.distance = engine.array(far.dtype, far)
        self.parent = engine.owned_array("uint32", NOBODY)
        self.pending, self.near = engine.bitmaps(2)
        self.queue, self.next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
        self.length, self.next_length, self.scout = engine.counters(3)


def _settle_together(
    engine: Engine, state: _State, delta: float, far: np.uint32 | np.float64, budget: int
) -> bool:
    """Settle the nearest bucket, and the next, until no vertex waits; whether one would relax too much."""
    s = state
    offsets, targets, _ = engine.out
    weights = unsigned(engine.out_weights)
    while (nearest := _nearest(engine, s.distance, s.pending)) < math.inf:
        end = _bucket_end(nearest, delta, far)
        _, edges = engine.compute(
            kernels.fill_bucket, offsets, engine.owned, end, s.distance, s.pending, s.near, s.queue, s.length,
            s.scout, wakes=True,
        )  # fmt: skip
        engine.superstep("settle", edges=edges)
        # distance = distance min (bucket min.+ A), until the bucket is empty
        left = engine.compute(
            kernels.relax_bucket, offsets, targets, weights, engine.owned, end, budget, s.distance, s.parent,
            s.pending, s.near, s.queue, s.length, s.next_queue, s.next_length, s.scout,
        )  # fmt: skip
        engine.push(s.distance, "min", changed=s.pending)
        if left:
            return True
    return False


def _settle_alone(
    engine: Engine, state: _State, delta: float, far: np.uint32 | np.float64, budget: int
) -> bool:
    """The same where nobody else has to be heard: several buckets, or a narrow frontier, at once."""
    s = state
    offsets, targets, _ = engine.out
    weights = unsigned(engine.out_weights)
    nearest, next_nearest = engine.counters(2)
    narrow_edges = max(NARROW_EDGES, sum(engine.owned.parts) // VERTICES_TO_AN_EDGE)
    most_buckets = 1 if engine.on_one_cpu else BUCKETS
    few, gone_through, taken, waiting = engine.on_one_cpu, 0, 1, 1
    while waiting:
        # Edges are those of the superstep before: how many there will be is not known.
        if few:
            engine.superstep("narrow", edges=gone_through)
            waiting, gone_through = engine.compute(
                single_block_kernels.dijkstra, offsets, targets, weights, engine.owned, NARROW, narrow_edges,
                s.distance, s.parent, s.pending, wakes=True,
            )  # fmt: skip
            few = gone_through > 0 and waiting <= NARROW
            if gone_through or not waiting:
                continue
        # So far as is known: how many the last buckets had.
        engine.superstep("settle", active=Spread([taken]), edges=gone_through)
        taken, gone_through, left, waiting = engine.compute(
            kernels.relax_buckets, offsets, targets, weights, engine.owned, delta, far, budget, most_buckets,
            s.distance, s.parent, s.pending, s.near, s.queue, s.length, s.next_queue, s.next_length, s.scout,
            nearest, next_nearest, worked=True,
        )  # fmt: skip
        few = engine.on_one_cpu and taken <= NARROW
        if left:
            return True
    return False


def _sweep(engine: Engine, m: int, distance: Spread, parent: Spread, pending: Spread) -> None:
    """Let every vertex look for a shorter way, until few edges lead out of those that found one."""
    offsets, targets, blocks = engine.in_
    weights = unsigned(engine.in_weights)
    edges = m
    while edges > m // EDGES_TO_SWEEP_AGAIN:
        floor = distance.parts[0].dtype.type(_nearest(engine, distance, pending))
        engine.superstep("sweep", active=engine.owned, edges=m)
        engine.pull(distance)
        # distance = distance min (Aᵀ min.+ distance)
        edges = engine.compute(
            kernels.sweep, offsets, targets, weights, blocks, floor, distance, parent, pending
        )


def _root(
    engine: Engine,
    source: Spread,
    far: np.uint32 | np.float64,
    distance: Spread,
    parent: Spread,
    queue: Spread,
) -> _Tree:
    """Find the parents that the sweeps did not find."""
    offsets, targets, blocks = engine.in_
    weights = unsigned(engine.in_weights)
    engine.superstep("parents", active=engine.owned)
    engine.pull(distance)
    left, beyond, edges = engine.compute(
        tree_kernels.find_parents,
        offsets,
        targets,
        weights,
        blocks,
        engine.out_degree,
        source,
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
        left -= engine.compute(
            tree_kernels.attach_zero_weight, offsets, targets, weights, *engine.out[:2],
            unsigned(engine.out_weights), engine.owned, distance, parent, rooted, waiting, queue, wakes=True,
        )  # fmt: skip
        engine.push(waiting, "or")
    return _Tree(distance, parent, int(edges), int(beyond))


def _nearest(engine: Engine, distance: Spread, pending: Spread) -> float:
    return float(engine.compute(kernels.min_pending, engine.owned, distance, pending, reduce=min))


def _bucket_end(nearest: float, delta: float, far: np.uint32 | np.float64) -> np.uint32 | np.float64:
    """Where the bucket that holds `nearest` ends: above it, whatever is lost in rounding."""
    end = max((nearest // delta + 1) * delta, math.nextafter(nearest, math.inf))
    if end >= far:
        return far
    return np.uint32(math.ceil(end)) if isinstance(far, np.uint32) else np.float64(end)


def _bucket_width(graph: Graph) -> float:
    """Twice mean weight over mean degree: within it, a vertex has about two neighbours.

    On R-MAT 20 and uniform 20 with weights 1..255, one thread: 93 and 301 ms with once that, 88 and 284 with
    twice, 82 and 307 with six times.
    """
    weights = cast("NDArray[Any]", graph.weights)
    sample = weights[:: max(1, graph.m // _SAMPLE)]
    finite = sample[np.isfinite(sample)]
    with np.errstate(over="ignore"):  # a mean beyond float64 is infinite
        mean = float(finite.mean(dtype=np.float64)) if len(finite) else 0.0
    width = 2 * mean * graph.n / graph.m if mean else 0.0
    return width if 0 < width < math.inf else 1.0


def _as_float(distance: NDArray[Any]) -> NDArray[np.float64]:
    return distance if distance.dtype.kind == "f" else np.where(distance == FAR, np.inf, distance)


def _unreached_infinite(steps: NDArray[np.int32]) -> NDArray[np.float64]:
    return np.where(steps < 0, np.inf, steps)
