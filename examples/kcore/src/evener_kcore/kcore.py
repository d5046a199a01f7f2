"""K-core decomposition, on any number of CPU and GPU elements.

The k-core of a graph is the largest subgraph in which every vertex has at least k neighbours. The core
number of a vertex is the largest k for which the vertex is in the k-core.

Idea: peel level by level. Every vertex with at most `level` remaining neighbours is removed. Each of its
neighbours loses a neighbour and may be removed next. When no vertex is left to remove, the next level begins.

Encoding: `lost` uint32, the number of removed neighbours of a vertex; at a mirror, the number that the owner
does not know yet. `core` int32, -1 for a remaining vertex; `queue` uint32, the ``length[0]`` vertices
that the last step removed.

Dasari, Desh, Zubair: ParK: An Efficient Algorithm for k-core Decomposition on Multicore Processors (2014).
"""

import evener as ev
from evener.kernels.kernel import KernelFile
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener_kcore import SPEC

kernels = KernelFile(__package__)


@driver(SPEC)
def kcore(graph, **options):
    """Return the core number of every vertex.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Undirected, without self-loops and repeated edges.

    Returns
    -------
    Result
        ``core``: int32, shape (n,).

    Raises
    ------
    ArgumentError
        If the graph is directed.
    """
    run = begin(SPEC, graph, options)
    if run.graph.directed:
        raise ev.ArgumentError(
            "expected an undirected graph, found a directed one; read it with directed=False"
        )
    engine = run.engine()
    offsets, targets, _ = engine.out
    lost, core = engine.array("uint32", 0), engine.owned_array("int32", -1)
    queue, length = engine.owned_array("uint32"), engine.counter()

    level, left = 0, run.graph.n
    while left:
        engine.superstep("next level")
        while peeled := engine.compute(
            kernels.peel, level, engine.out_degree, lost, core, queue, length, count_next_active=True
        ):
            left -= peeled
            engine.superstep("peel")
            engine.compute(kernels.decrement, offsets, targets, queue, length, lost)
            engine.push(lost, "add")
        level += 1

    return run.finish(engine, {"core": core})
