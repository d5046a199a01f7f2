"""Random walks by a counter-based generator: the same seed gives the same walks on any number of threads.

Idea: a draw depends on the seed, the number of the walk and the number of the draw, so walks do
not depend on each other.
Ranks, and the elements of a rank, divide the walks. Each element reads the rows of the whole graph; a GPU has
a copy of them. A weighted draw searches the sums of the weights of a row. The bias of node2vec is a
rejection: a walk draws until it accepts a target. It searches the row of the previous vertex only if the
outcome depends on this row. After 64 rejections, a walk reads the whole row and draws from the distribution
of its targets. Sums of weights and chances are integers, so a GPU draws as a CPU does.

A step of a walk without a bias reads three sectors of 32 bytes at random places: two offsets and a target.

Grover, Leskovec: node2vec (2016); Yang et al.: KnightKing: a fast distributed graph random walk engine, 2019.
"""

from __future__ import annotations

from functools import partial
from itertools import pairwise
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import ArgumentError, DeviceOutOfMemory
from evener.graph.arrays import read_only
from evener.kernels.kernel import KernelFile
from evener.partition.block_exchange import block_bounds
from evener.partition.distributed.graph import DistributedGraph
from evener.system.memory import format_bytes, require, translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.engine.engine import Engine
    from evener.graph.graph import Graph
    from evener.partition.partition import Edges, Partition

__all__ = ["WalkRules", "random_walk_rows"]

kernels = KernelFile(__package__, "walks")

# Bits of the largest sum of weights, and the largest power of two that scales weights.
_SUM_BITS, _MAX_SCALE = 62, 1000
# Walks in a piece of the conversion to int64.
_PIECE = 1 << 14


class WalkRules(NamedTuple):
    """How walks choose their steps.

    Attributes
    ----------
    length : int
        The number of steps.
    walks_per_vertex : int
    p, q : float
        The return parameter and the in-out parameter of node2vec.
    restart : float
        The probability that a step leads to the source.
    weighted : bool
    seed : int
        At least 0 and below 2^64.
    """

    length: int
    walks_per_vertex: int
    p: float
    q: float
    restart: float
    weighted: bool
    seed: int


def random_walk_rows(
    engine: Engine, sources: NDArray[np.uint32], rules: WalkRules
) -> tuple[Callable[[], NDArray[np.int64]], int]:
    """Return a function that gathers this rank's walks, and the number of steps of all ranks.

    The walks have the shape (walks, length + 1), with -1 after the end of a walk. This is a collective
    operation; all ranks must call it. The function that it returns is not.

    Raises
    ------
    ArgumentError
        If each rank has only a part of the graph.
    OutOfMemoryError
        If there is no memory for the walks, or on a GPU for a copy of the rows.
    """
    graph, world = engine.partitioned.graph, engine.partitioned.world
    if isinstance(graph, DistributedGraph):
        msg = "random_walks needs the whole graph on each rank; read it with evener.read on all ranks"
        raise ArgumentError(msg)
    first, last = block_bounds(len(sources) * rules.walks_per_vertex, world.size)[world.rank :][:2].tolist()
    places = rules.length + 1
    require(12 * (last - first) * places, f"{last - first:,} walks of {rules.length:,} steps")
    bounds = _divide(engine, first, last)
    rows = _kept(engine, "walk_rows", partial(_rows, engine))
    if rules.weighted:
        sums = _kept(engine, "walk_sums", partial(_sums, engine, rows))
    else:
        sums = engine.local_array(0, "uint64")
    counts = [end - begin for begin, end in pairwise(bounds)]
    pairs = zip(engine.elements, counts, strict=True)
    walks = [element.allocate(count * places, "uint32") for element, count in pairs]
    chances = np.array([1 / rules.p, 1.0, 1 / rules.q])
    engine.superstep("walk", active=engine.per_partition(counts))
    steps = engine.compute(
        kernels.walk, *_columns(rows), sums, engine.upload_to_all(read_only(sources)), rules.walks_per_vertex,
        np.uint64(rules.seed), engine.per_partition(bounds[:-1]), *(chances / chances.max()).tolist(),
        float(rules.restart), places, PartitionedArray(walks),
    )  # fmt: skip
    return partial(_gather, engine.elements, walks, places), int(steps)


def _divide(engine: Engine, first: int, last: int) -> list[int]:
    """Return the bounds of the walks of each element, in proportion to its weight."""
    ends = np.cumsum([element.weight for element in engine.elements])
    return [first, *(first + np.rint(ends / ends[-1] * (last - first)).astype(np.int64)).tolist()]


@translate_errors("gathering walks")
def _gather(elements: list[Element], walks: list[Any], places: int) -> NDArray[np.int64]:
    """Return walks in host memory, with -1 in place of "no vertex"."""
    whole = np.empty((sum(map(len, walks)) // places, places), np.int64)
    begin = 0
    for element, part in zip(elements, walks, strict=True):
        own = element.download(part).reshape(-1, places)
        for at in range(0, len(own), _PIECE):
            piece = own[at : at + _PIECE]
            # "No vertex" becomes 0 and then -1.
            np.subtract(piece + np.uint32(1), 1, out=whole[begin + at :][: len(piece)], dtype=np.int64)
        begin += len(own)
    return whole


# ---- rows of the whole graph on each element ---------------------------------------------------------------


def _kept(engine: Engine, name: str, make: Callable[[], PartitionedArray]) -> PartitionedArray:
    """Return arrays that are made once and kept with the placed graph."""
    derived = [cast("Edges", partition.out).derived for partition in engine.partitions]
    if any(name not in own for own in derived):
        for own, part in zip(derived, make(), strict=True):
            own[name] = part
    return PartitionedArray([own[name] for own in derived])


def _columns(rows: PartitionedArray) -> list[PartitionedArray]:
    """Return the offsets, and the targets, of all elements."""
    return [PartitionedArray(parts) for parts in zip(*rows, strict=True)]


def _once_for_each_memory(engine: Engine, make: Callable[[Element, Partition], Any]) -> list[Any]:
    """Return a value for each element. Elements with the same memory share it."""
    of_memory: dict[object, Any] = {}
    for element, partition in zip(engine.elements, engine.partitions, strict=True):
        if element.memory not in of_memory:
            of_memory[element.memory] = make(element, partition)
    return [of_memory[element.memory] for element in engine.elements]


def _rows(engine: Engine) -> PartitionedArray:
    """Return the offsets and targets of the graph in the memory of each element."""
    graph = engine.partitioned.graph
    weighted_bytes = 0 if graph.weights is None else 16 * graph.m

    def upload(element: Element, partition: Partition) -> tuple[Any, Any]:
        _require_room(element, partition, graph.offsets.nbytes + graph.targets.nbytes + weighted_bytes)
        return element.upload(read_only(graph.offsets)), element.upload(read_only(graph.targets))

    return PartitionedArray(_once_for_each_memory(engine, upload))


def _require_room(element: Element, partition: Partition, needed: int) -> None:
    """Raise an error unless a GPU has memory for a copy of the rows."""
    room = element.room_after(partition.nbytes - partition.host_bytes)
    if room is not None and needed > room:
        msg = (
            f"random_walks needs {format_bytes(needed)} on {element.name} for a copy of all edges, and "
            f'{format_bytes(max(room, 0))} are free; place the graph with on="cpu"'
        )
        raise DeviceOutOfMemory(msg, needed=needed, available=max(room, 0))


def _sums(engine: Engine, rows: PartitionedArray) -> PartitionedArray:
    """Return the sums of the weights of each row, as integers, in the memory of each element."""
    graph = engine.partitioned.graph
    sums = _once_for_each_memory(engine, lambda element, _: element.allocate(graph.m, "uint64"))
    weights = _once_for_each_memory(engine, lambda element, _: element.upload(_weights_for(element, graph)))
    longest = int(graph.out_degree().max(initial=0))
    bits = _SUM_BITS - longest.bit_length() - frexp(graph.weight_range[1])[1]
    # The first element of each memory writes the sums of all rows.
    first = [k == next(i for i, own in enumerate(sums) if own is part) for k, part in enumerate(sums)]
    counts = engine.per_partition([graph.n * own for own in first])
    engine.superstep("sum weights", active=counts)
    engine.compute(
        kernels.sum_weights, _columns(rows)[0], PartitionedArray(weights), ldexp(1.0, min(bits, _MAX_SCALE)),
        counts, PartitionedArray(sums),
    )  # fmt: skip
    return PartitionedArray(sums)


def _weights_for(element: Element, graph: Graph) -> NDArray[Any]:
    """Return the weights of a graph in a type that the kernel of an element reads: float64 on a GPU."""
    weights = cast("NDArray[Any]", graph.weights)
    return read_only(weights if element.kind == "cpu" else weights.astype(np.float64))
