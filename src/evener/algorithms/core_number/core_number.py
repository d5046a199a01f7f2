"""Core numbers: the largest k for which a vertex is in the k-core.

Idea: level by level, vertices leave whose degree is at most the level. A vertex that leaves lowers the
degrees of its neighbours, which may leave at the same level. Each partition continues until none of its
vertices leaves. Then the edges that mirrors have lost are pushed to the owners. A single element runs all
levels in one call, unless the run writes checkpoints.

Encoding: `degree` uint32, edges to vertices that have not left, but never less than the level. A vertex that
has left keeps the level at which it left, its core number. `lost` uint32, the edges that mirrors lost.

Batagelj, Zaversnik: An O(m) algorithm for cores decomposition of networks (2003); Kabir, Madduri: Parallel
k-core decomposition on multicore platforms (2017).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.algorithms.core_number import SPEC
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["core_number"]

kernels = KernelFile(__package__)


@driver(SPEC)
def core_number(graph: Graph | PartitionedGraph | str, **options: Unpack[RunOptions]) -> Result:
    """Return the core number of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights do not count. Repeated edges and self-loops count, as in `k_core`. In a directed graph, an
        edge counts at both ends.

    Returns
    -------
    Result
        ``core``: int64, shape (n,), the largest k for which the vertex is in the k-core. `outcome` has the
        largest core number as ``degeneracy``.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 2, 3], directed=False)
    >>> ev.core_number(g)["core"].tolist()
    [2, 2, 2, 1]
    """
    run = begin(SPEC, graph, options)
    engine = run.engine()
    with run.checkpoints(engine, {}) as checkpoints:
        core, largest = _peel(engine, checkpoints)
    gather = engine.partitioned.gather
    arrays = {"core": lambda: gather(core.parts).astype(np.int64)}
    return run.finish(engine, arrays, outcome={"degeneracy": largest})


def _peel(engine: Engine, checkpoints: Checkpoints) -> tuple[PartitionedArray, int]:
    """Return the core number of each owned vertex, and the largest core number."""
    both = engine.partitioned.graph.directed
    edges = (*engine.out[:2], *(engine.in_ if both else engine.out)[:2], both)
    degree, lost, changed = engine.owned_array("uint32"), engine.array("uint32", 0), engine.bits()
    remaining, rest, queue = (engine.owned_array("uint32") for _ in range(3))
    count, rest_count = engine.counters(2)
    state = engine.local_array(4, "uint64")
    engine.superstep("peel", active=engine.owned, edges=engine.partitioned.graph.m)
    engine.compute(kernels.begin, edges[0], edges[2], both, degree, remaining, count)
    all_levels = engine.single and not checkpoints.active
    level, last, fresh = 0, 0, True
    while True:
        # A run that continues lists all vertices again. The kernel drops those that have left.
        level, last, fresh = checkpoints.step({"degree": degree, "lost": lost}, level, last, fresh)
        removed, lowest = engine.compute(
            kernels.peel, *edges, level, fresh, all_levels, degree, lost, changed, remaining, count, rest,
            rest_count, queue, state, reduce=list,
        )  # fmt: skip
        if all_levels:
            return degree, int(lowest[0])
        remaining, rest, count, rest_count = rest, remaining, rest_count, count
        if fresh := sum(removed) == 0:
            level = int(min(lowest))
            if level == NO_VERTEX:
                return degree, last
            engine.superstep("peel")
        else:
            last = level
            engine.push(lost, "add", changed=changed)
