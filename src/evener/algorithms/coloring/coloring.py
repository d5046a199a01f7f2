"""Coloring: a color for each vertex, different from those of its neighbours.

Idea: a vertex waits for its neighbours of higher priority, and then has the smallest color that none of them
has. A vertex of higher degree has higher priority; a hash of the seed and the vertex decides among equals. So
the colors are those of a greedy algorithm in the order of the priorities, however the graph is split. Each
partition continues until all of its vertices are colored or wait for other partitions. A single element
sorts the vertices by priority and colors them in one pass: see `in_order_cpu`. It uses the first method if
the run writes checkpoints, or if a CPU would need longer. A run that continues leaves the colored vertices
as they are, with priority 0.

Jones, Plassmann: A parallel graph coloring heuristic (1993); Hasenplaugh, Kaler, Schardl, Leiserson: Ordering
heuristics for parallel graph coloring (2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.algorithms.coloring import SPEC
from evener.engine.checkpoints.state import Bounded
from evener.graph.checks import check_seed
from evener.kernels.kernel import KernelFile
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["coloring"]

kernels = KernelFile(__package__)
in_order = KernelFile(__package__, "in_order")

# Edges. A CPU sorts the vertices if an edge begins at a vertex of at least this degree on average.
_HUB = 64
# Colors that a kernel can give.
_ALL_COLORS = 1 << 31


@driver(SPEC)
def coloring(
    graph: Graph | PartitionedGraph | str, *, seed: int = 1, **options: Unpack[RunOptions]
) -> Result:
    """Return a color for each vertex, so that no edge joins vertices of one color.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights, self-loops and the direction of edges do not count. Repeated edges count for the degree of a
        vertex.
    seed : int, default 1
        Seed of the order in which vertices of one degree are colored. The same seed gives the same colors.

    Returns
    -------
    Result
        ``color``: int64, shape (n,), from 0 on. A vertex without neighbours has color 0. `outcome` has the
        number of ``colors``, at most one more than the highest degree.

    Raises
    ------
    ArgumentError
        If `seed` is not an integer of at least 0.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> ev.coloring(g).outcome
    {'colors': 3}
    """
    key = int(np.random.SeedSequence(check_seed(seed)).generate_state(1)[0])
    run = begin(SPEC, graph, options)
    engine = run.engine()
    with run.checkpoints(engine, {"seed": int(seed)}) as checkpoints:
        color = _color(engine, checkpoints, key)
    colors = _ALL_COLORS - int(engine.compute(kernels.unused_colors, color, engine.owned, reduce=min))
    gather = engine.partitioned.gather
    arrays = {"color": lambda: gather(color.parts).astype(np.int64)}
    return run.finish(engine, arrays, parameters={"seed": int(seed)}, outcome={"colors": colors})


def _color(engine: Engine, checkpoints: Checkpoints, key: int) -> PartitionedArray:
    """Return the color of each vertex, int32. `key` mixes the seed into priorities."""
    both = engine.partitioned.graph.directed
    edges = (*engine.out[:2], *(engine.in_ if both else engine.out)[:2], both)
    priority, color = engine.array("uint64"), engine.array("int32", -1)
    state = {"color": Bounded(color, -1, engine.partitioned.graph.n - 1)}
    checkpoints.step(state)
    if checkpoints.restored:
        engine.pull(color)
    engine.superstep("order", active=engine.owned)
    engine.compute(
        kernels.prioritize, edges[0], edges[2], both, engine.vertices, engine.owned, key, color, priority
    )
    if engine.single and not checkpoints.active and _is_worth_sorting(engine):
        _color_in_order(engine, edges, priority, color)
        return color

    waits, lowered, colored = engine.array("int32", 0), engine.bits(), engine.bits()
    queue, (begun, length) = engine.owned_array("uint32"), engine.counters(2)
    engine.pull(priority)
    engine.compute(kernels.count_higher, *edges, priority, color, waits, queue, length)
    while True:
        engine.superstep("color")
        done = engine.compute(
            kernels.color_ready, *edges, priority, color, waits, queue, begun, length, lowered, colored,
            count_active=True,
        )  # fmt: skip
        checkpoints.step(state)
        if engine.single or not done:
            return color
        engine.pull(color, changed=colored)
        engine.push(waits, "add", changed=lowered)
        engine.compute(kernels.queue_lowered, color, waits, queue, length, lowered, colored)


def _is_worth_sorting(engine: Engine) -> bool:
    """Return whether the only element colors faster in order: a GPU, or a CPU if most edges are at hubs.

    A CPU reads its memory at random places in this order.
    """
    (element,), (partition,) = engine.elements, engine.partitions
    if element.kind != "cpu":
        return True
    degree = partition.out_degree.astype(np.int64)
    return bool(np.square(degree).sum() >= _HUB * degree.sum())


def _color_in_order(
    engine: Engine, edges: tuple[Any, ...], priority: PartitionedArray, color: PartitionedArray
) -> None:
    """Color a graph on one element."""
    order, ends = engine.owned_array("uint32"), engine.owned_array("uint32", 0)
    places = engine.local_array(engine.partitioned.graph.n + 1, "uint64")
    engine.compute(in_order.count_buckets, priority, ends)
    engine.compute("scan.offsets_of", ends, places)
    engine.compute(in_order.fill_buckets, priority, ends, places, order)
    engine.compute(in_order.sort_buckets, priority, places, order)
    engine.superstep("color", active=engine.owned)
    engine.compute(in_order.color_in_order, *edges, priority, ends, order, color)
