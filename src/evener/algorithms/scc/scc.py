"""Strongly connected components: vertices with paths in both directions, on any number of partitions.

Idea: a vertex without a remaining in-neighbour or out-neighbour is a component, and is removed (trim). The
vertices that the vertex of most edges reaches, and those that reach it, share its component, usually the
largest. Then each remaining vertex has the smallest vertex that reaches it as its color. The vertex that
gives a color has the component of all vertices of this color that reach it. This repeats until no vertex
remains. A round removes a component at least, and usually most of them.

Encoding: `group` uint32, 2^32 - 1 for remaining vertices, and the component of others. `forward` and
`backward` uint32, the smallest value that reaches a vertex along edges, and against them.

McLendon, Hendrickson, Plimpton, Rauchwerger: Finding strongly connected components in distributed graphs
(2005); Slota, Rajamanickam, Madduri: BFS and coloring-based parallel algorithms for strongly connected
components and related problems (2014).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Unpack

from evener.algorithms.scc import SPEC
from evener.engine.checkpoints.state import VertexNumbers
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX
from evener.partition.gathered import Gathered
from evener.primitives.frontier import Frontier
from evener.primitives.label_sums import count_labels
from evener.spec.run import begin
from evener.spec.run_options import driver

if TYPE_CHECKING:
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.engine import Engine, PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.results.result import Result
    from evener.spec.run_options import RunOptions

__all__ = ["scc"]

kernels = KernelFile(__package__)

_NONE = int(NO_VERTEX)


@driver(SPEC)
def scc(graph: Graph | PartitionedGraph | str, **options: Unpack[RunOptions]) -> Result:
    """Return the strongly connected component of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights, self-loops and repeated edges do not count. Components of an undirected graph are those of
        `wcc`.

    Returns
    -------
    Result
        ``component``: shape (n,), the id of the first vertex in the component. `outcome` has the number of
        ``components``.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 2, 2], [1, 2, 0, 3])
    >>> ev.scc(g)["component"].tolist()
    [0, 0, 0, 3]
    """
    run = begin(SPEC, graph, options)
    engine = run.engine()
    with run.checkpoints(engine, {}) as checkpoints:
        group = _components(engine, checkpoints)
    components = count_labels(engine, group)
    arrays = {"component": Gathered(engine.partitioned, group, "numbers")}
    return run.finish(engine, arrays, outcome={"components": components})


def _components(engine: Engine, checkpoints: Checkpoints) -> PartitionedArray:
    """Return the smallest vertex of the component of each vertex and mirror."""
    graph = engine.partitioned.graph
    out = engine.out[:2]
    in_ = engine.in_[:2] if graph.directed else out
    group, forward, backward = (engine.array("uint32", NO_VERTEX) for _ in range(3))
    remaining, rest = engine.owned_array("uint32"), engine.owned_array("uint32")
    count, rest_count = engine.counters(2)
    frontier, pivot = Frontier(engine), _NONE
    engine.superstep("trim", active=engine.owned, edges=graph.m)
    engine.compute(kernels.begin, remaining, count)
    while True:
        [pivot] = checkpoints.step({"group": VertexNumbers(group)}, pivot)
        if checkpoints.restored:
            engine.pull(group)
        left = removed = 0
        while removed >= left // 16:
            left, removed = engine.compute(
                kernels.trim, *out, *in_, engine.vertices, group, forward, remaining, count, rest, rest_count
            )
            if left == 0:
                return group
            remaining, rest, count, rest_count = rest, remaining, rest_count, count
            engine.pull(group)
            if removed == 0:
                break
        listed = remaining, count
        if only := pivot == _NONE:
            best = engine.compute(kernels.pivot, out[0], in_[0], engine.vertices, *listed, reduce=min)
            pivot = int(best) & _NONE
        engine.superstep("reach", edges=graph.m)
        first = pivot if only else _NONE
        engine.compute(kernels.seed, engine.vertices, *listed, first, forward, frontier.members)
        frontier.spread(out, in_, group, forward)
        engine.pull(forward)
        engine.compute(kernels.seed_back, engine.vertices, *listed, forward, backward, frontier.members)
        frontier.spread(in_, out, forward, backward)
        label = _NONE
        if only:
            found = engine.compute(
                kernels.first_member, engine.vertices, *listed, forward, backward, reduce=min
            )
            label = int(found)
        engine.compute(kernels.assign, *listed, label, forward, backward, group)
        engine.pull(group)
        engine.superstep("trim")
