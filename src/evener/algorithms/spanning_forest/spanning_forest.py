"""The minimum spanning forest, on any number of partitions.

Idea: each component chooses its lightest edge to another component, and joins that component (Boruvka). Edges
of equal weight are ordered by their ends, so the forest is unique. The largest component of a sample of
vertices chooses no edge: its edges are chosen from their other ends. Several partitions find the forest of
their own edges first. Other edges of a partition are in no forest of the whole graph. Ranks then merge their
forests in pairs.

Encoding: see `kernels_cpu`. A forest is two arrays of uint64: the bits of weights, and both ends.

Fallin, Gonzalez, Seo, Burtscher: A High-Performance MST Implementation for GPUs (2023); Boruvka (1926).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Unpack

import numpy as np

from evener.algorithms.spanning_forest import SPEC, kernels_cpu
from evener.elements.protocols import is_gpu
from evener.engine.array import PartitionedArray
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX
from evener.partition.block_exchange import BlockExchange, block_bounds
from evener.primitives.edge_weights import edge_weights
from evener.spec.arguments import weights_used
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions
    from evener.system.world import World

__all__ = ["spanning_forest"]

kernels = KernelFile(__package__)

_SIGN = np.uint64(1 << 63)
_HALF = np.uint64(32)
# Vertices in the sample for the largest component, about.
_SAMPLE = 1024


class Forest(NamedTuple):
    """Edges: bits of weights as in `kernels_cpu.weight_bits`, and the smaller and the larger vertex."""

    weights: Any
    ends: Any

    @property
    def values(self) -> NDArray[np.float64]:
        """The weights of edges in host memory."""
        bits: NDArray[np.uint64] = self.weights
        return np.where(bits >= _SIGN, bits ^ _SIGN, ~bits).view(np.float64)

    def download(self, element: Element) -> Forest:
        """Return the edges in host memory."""
        return Forest(element.download(self.weights), element.download(self.ends))


@driver(SPEC)
def spanning_forest(
    graph: Graph | PartitionedGraph | str,
    *,
    weights: bool | None = None,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the minimum spanning forest: a tree for each component, with the least sum of weights.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Directions do not count: an edge joins its ends both ways. Self-loops are in no tree, and one of
        several equal edges may be.
    weights : bool, optional
        Whether edges have weights. Default: if the graph has weights. Otherwise each edge weighs 1. Weights
        are compared as float64. Edges of equal weight are ordered by their ends.

    Returns
    -------
    Result
        A row for each edge of the forest: the ends ``u`` and ``v`` with ``u`` first in the order of vertices,
        and ``weight``, float64. Rows ascend by ``u``, then by ``v``. `outcome` has the sum of ``weight`` and
        the number of ``trees``; a vertex without edges is a tree.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3], [3.0, 1.0, 2.0, 1.0], directed=False)
    >>> r = ev.spanning_forest(g)
    >>> r["u"].tolist(), r["v"].tolist(), r.outcome["weight"]
    ([0, 1, 2], [2, 2, 3], 4.0)
    """
    run = begin(SPEC, graph, options)
    used = weights_used(run.graph, weights, "the spanning forest")
    engine = run.engine()
    world, n = engine.partitioned.world, run.graph.n
    with run.checkpoints(engine, {"weights": used}) as checkpoints:
        forest, holder, edges, weight = _whole_forest(engine, checkpoints, used)
    rows = _Rows(world, n, lambda: _ascending(holder, forest))
    return run.finish(
        engine,
        {"u": rows.smaller, "v": rows.larger, "weight": rows.weight},
        parameters={"weights": used},
        outcome={"weight": weight, "trees": n - edges},
    )


def _whole_forest(
    engine: Engine,
    checkpoints: Checkpoints,
    used: bool,  # noqa: FBT001 - private
) -> tuple[Forest, Element | None, int, float]:
    """Return the forest on rank 0, the element that has it, the number of its edges, and their weight.

    The element is None if the forest is in host memory. All ranks get the numbers. A checkpoint has the
    whole forest: the trees of a partition are of no use to another placement.
    """
    slots = _Slots(engine) if checkpoints.active else None
    if slots is not None:
        edges, weight = checkpoints.step(slots.arrays._asdict(), 0, 0.0)
        if checkpoints.restored:
            forest = slots.read(edges)
            above = forest.ends & np.uint64(0xFFFFFFFF)
            valid = 0 <= edges < max(engine.partitioned.graph.n, 1) and (forest.ends >> _HALF < above).all()
            valid = valid and (above < engine.partitioned.graph.n).all()
            checkpoints.require(valid, "edges whose ends are vertices")
            return forest, None, edges, weight
    forests, world = _forests(engine, used), engine.partitioned.world
    holder = engine.elements[0] if engine.single else None
    if holder is not None:
        [forest] = forests
        edges = len(forest.ends)
        weight = _total_on_element(engine, forest) if used else float(edges)
    else:
        of_elements = zip(engine.elements, forests, strict=True)
        forest = _merged(world, engine.partitioned.graph.n, [one.download(e) for e, one in of_elements])
        edges = world.allreduce(len(forest.ends), "sum")
        weight = world.allreduce(float(forest.values.sum()), "max")  # of the rank with the forest
    if slots is not None:
        slots.write(forest if holder is None else forest.download(holder))
        checkpoints.step(slots.arrays._asdict(), edges, weight)
    return forest, holder, edges, weight


class _Slots:
    """The forest of rank 0 as values of vertices: edge ``i`` is a value of vertex ``i``.

    The constructor and the methods are collective operations; all ranks must call them.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, world, n = engine, engine.partitioned.world, engine.partitioned.graph.n
        self._length = n if world.rank == 0 else 0
        bounds = np.array([0] + [n] * world.size)  # rank 0 has the block of all vertices
        self._exchange = BlockExchange(world, bounds, np.concatenate(engine.partitioned.owned_vertices()))
        self.arrays = Forest(engine.owned_array("uint64"), engine.owned_array("uint64"))

    def write(self, forest: Forest) -> None:
        cuts = np.cumsum(self._engine.owned.parts)[:-1]
        for array, values in zip(self.arrays, forest, strict=True):
            slots = np.zeros(self._length, np.uint64)
            slots[: len(values)] = values
            self._engine.write(array, np.split(self._exchange.fetch(slots), cuts))

    def read(self, edges: int) -> Forest:
        parts = (np.concatenate(self._engine.download(array)) for array in self.arrays)
        return Forest(*(self._exchange.deliver(own)[:edges] for own in parts))


def _forests(engine: Engine, used: bool) -> list[Forest]:  # noqa: FBT001 - private
    """Return the forest of the edges of each partition."""
    component, parent = engine.array("uint32"), engine.array("uint32")
    best_weight, best_ends = engine.array("uint64"), engine.array("uint64")
    tree = engine.array("uint64"), engine.array("uint64")
    own_weight, own_ends = engine.owned_array("uint64"), engine.owned_array("uint64")
    own_target = engine.owned_array("uint32")
    best, own = (best_weight, best_ends), (own_weight, own_ends, own_target)
    directions = [(*engine.out[:2], edge_weights(engine, engine.out_weights, used=used))]
    if engine.partitioned.graph.directed:
        directions.append((*engine.in_[:2], edge_weights(engine, engine.in_weights, used=used)))
    engine.compute(kernels.begin, component, parent, *best, own_weight)
    joins, edges = 1, engine.partitioned.graph.m
    while joins:
        engine.superstep("join", active=engine.owned, edges=edges)
        # Without mirrors, other components choose the edges to the largest.
        skipped = NO_VERTEX if engine.has_mirrors else _largest_component(engine, component)
        for rows in directions:
            engine.compute(
                kernels.choose,
                *rows,
                engine.vertices,
                component,
                skipped,
                engine.connected,
                best_weight,
                *own,
            )
        engine.compute(kernels.choose_by_ends, component, best_weight, own_weight, own_ends, best_ends)
        if engine.has_mirrors:
            for rows in directions:
                engine.compute(
                    kernels.choose_of_mirrors, *rows, engine.vertices, component, engine.owned, *best
                )
        joins = engine.compute(kernels.join, component, *own, *best, parent, *tree)
        if engine.has_mirrors:
            for rows in directions:
                joins += engine.compute(
                    kernels.join_mirrors,
                    *rows,
                    engine.vertices,
                    component,
                    engine.owned,
                    *best,
                    parent,
                    *tree,
                )
        engine.compute(kernels.flatten, component, parent, *best, own_weight)
    return _listed(engine, parent, tree)


def _largest_component(engine: Engine, component: PartitionedArray) -> PartitionedArray:
    """Return the component with the most vertices of a sample, on each element."""
    largest = []
    for element, own, rows in zip(engine.elements, component, engine.connected, strict=True):
        sample = element.download(element.run(own[: rows : max(rows // _SAMPLE, 1)].copy))
        components, counts = np.unique(sample, return_counts=True)
        largest.append(int(components[counts.argmax()]) if rows else NO_VERTEX)
    return PartitionedArray(largest)


def _listed(
    engine: Engine, parent: PartitionedArray, tree: tuple[PartitionedArray, PartitionedArray]
) -> list[Forest]:
    """Return the edges of the forest of each partition."""
    length = engine.counter()
    listed = engine.array("uint64"), engine.array("uint64")
    engine.compute(kernels.list_edges, parent, *tree, length, *listed)
    counts = [int(own[0]) for own in engine.download(length)]
    return [Forest(*own) for own in zip(*(array.first(counts) for array in listed), strict=True)]


def _total_on_element(engine: Engine, forest: Forest) -> float:
    """Return the sum of the weights, added in ascending order."""
    element, weights = engine.elements[0], forest.weights
    if is_gpu(element):
        weights = element.run(weights.copy)
        element.sort(weights)
    else:
        weights = np.sort(weights)
    return float(engine.compute(kernels.total_weight, PartitionedArray([weights])))


def _ascending(element: Element | None, forest: Forest) -> Forest:
    """Return the edges in host memory, in ascending order of their ends.

    `element` has the edges in its memory; None if they are in host memory.
    """
    if element is not None and is_gpu(element):
        positions = element.argsort(forest.ends)
        sorted_ = (element.run(array.__getitem__, positions) for array in forest)
        return Forest(*sorted_).download(element)
    order = np.argsort(forest.ends)
    return Forest(forest.weights[order], forest.ends[order])


def _merged(world: World, n: int, forests: list[Forest]) -> Forest:
    """Return the forest of all partitions on rank 0, and no edges on other ranks.

    This is a collective operation; all ranks must call it. In each round, half of the ranks send their
    forests.
    """
    own = forests[0] if len(forests) == 1 else _joined(n, forests)
    none = Forest(np.empty(0, np.uint64), np.empty(0, np.uint64))
    step = 1
    while step < world.size:
        sends = world.rank % (2 * step) == step
        to = world.rank - step
        packets = [own if sends and rank == to else none for rank in range(world.size)]
        received = [world.alltoall([packet[i] for packet in packets]) for i in (0, 1)]
        given = [Forest(*pair) for pair in zip(*received, strict=True) if len(pair[1])]
        if sends:
            own = none
        elif given:
            own = _joined(n, [own, *given])
        step *= 2
    return own


def _joined(n: int, forests: list[Forest]) -> Forest:
    """Return the forest of the edges of several forests."""
    weights, ends = (np.concatenate(parts) for parts in zip(*forests, strict=True))
    order = np.lexsort((ends, weights))
    ends, kept = ends[order], np.empty(len(ends), np.bool_)
    kernels_cpu.join_in_order(ends, np.arange(n, dtype=np.uint32), kept)
    return Forest(weights[order[kept]], ends[kept])


class _Rows:
    """The rows of this rank: edges in ascending order, whose smaller end is in this rank's block."""

    def __init__(self, world: World, n: int, ascending: Callable[[], Forest]) -> None:
        self._world, self._bounds, self._ascending = world, block_bounds(n, world.size), ascending
        self._rows: Forest | None = None

    def _own(self) -> Forest:
        """Return the rows, which the first call sorts and sends: a collective operation."""
        if self._rows is None:
            weights, ends = self._ascending()
            if self._world.size > 1:
                cuts = np.searchsorted(ends >> _HALF, self._bounds[1:-1])
                sent = [self._world.alltoall(np.split(values, cuts)) for values in (weights, ends)]
                weights, ends = (np.concatenate(parts) for parts in sent)
            self._rows = Forest(weights, ends)
        return self._rows

    def smaller(self) -> NDArray[np.int64]:
        return np.asarray(self._own().ends >> _HALF, np.int64)

    def larger(self) -> NDArray[np.int64]:
        return np.asarray(self._own().ends & np.uint64(0xFFFFFFFF), np.int64)

    def weight(self) -> NDArray[np.float64]:
        return self._own().values
