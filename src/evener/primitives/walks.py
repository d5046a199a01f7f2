"""Random walks by a counter-based generator: the same seed gives the same walks on any number of threads.

Idea: a draw depends on the seed, the number of the walk and the number of the draw, so walks do
not depend on each other.
Each rank writes its part of the walks, and reads the rows of the whole graph. A weighted draw searches the
sums of the weights of a row. The bias of node2vec is a rejection: a walk draws until it accepts a target. It
searches the row of the previous vertex only if the outcome depends on this row.

Grover, Leskovec: node2vec (2016); Yang et al.: KnightKing: a fast distributed graph random walk engine, 2019.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.kernels.kernel import Kernel
from evener.partition.block_exchange import block_bounds
from evener.partition.distributed.graph import DistributedGraph
from evener.primitives import walks_cpu
from evener.system.memory import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.engine import Engine

__all__ = ["WalkRules", "random_walk_rows"]

_SUMS = Kernel(cpu=walks_cpu.sum_weights)
_WALK = Kernel(cpu=walks_cpu.walk)
# Bits of the largest sum of weights.
_SUM_BITS = 62


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


def random_walk_rows(engine: Engine, sources: NDArray[np.uint32], rules: WalkRules) -> NDArray[np.int64]:
    """Return this rank's walks, of shape (walks, length + 1), with -1 after the end of a walk.

    This is a collective operation; all ranks must call it.

    Raises
    ------
    ArgumentError
        If each rank has only a part of the graph.
    OutOfMemoryError
        If there is no memory for the walks.
    """
    graph, world = engine.partitioned.graph, engine.partitioned.world
    if isinstance(graph, DistributedGraph):
        msg = "random_walks needs the whole graph on each rank; read it with evener.read on all ranks"
        raise ArgumentError(msg)
    count = len(sources) * rules.walks_per_vertex
    first, last = map(int, block_bounds(count, world.size)[world.rank : world.rank + 2])
    require(8 * (last - first) * (rules.length + 1), f"{last - first:,} walks of {rules.length:,} steps")
    offsets, targets = read_only(graph.offsets), read_only(graph.targets)
    sums = np.empty(graph.m if rules.weighted else 0, np.uint64)
    if rules.weighted:
        require(sums.nbytes, "the sums of the weights of all rows")
        longest = int(graph.out_degree().max(initial=0))
        bits = _SUM_BITS - longest.bit_length() - math.frexp(graph.weight_range[1])[1]
        engine.superstep("sum weights")
        _on_first(engine, _SUMS, offsets, graph.weights, math.ldexp(1.0, bits), sums)
    walks = np.empty((last - first, rules.length + 1), np.int64)
    chances = np.array([1 / rules.p, 1.0, 1 / rules.q])
    engine.superstep("walk")
    _on_first(
        engine, _WALK, offsets, targets, sums, read_only(sources), rules.walks_per_vertex,
        np.uint64(rules.seed), first, *(chances / chances.max()).tolist(), float(rules.restart), walks,
    )  # fmt: skip
    return walks


def _on_first(engine: Engine, kernel: Kernel, *args: object) -> None:
    """Run a kernel on the first element of this rank."""
    element = engine.elements[0]
    element.run(element.kernel(kernel), *args)
    element.wait()
