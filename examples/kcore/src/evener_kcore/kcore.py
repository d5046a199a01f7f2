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
from evener.spec.arguments import ensure_placed, parse_placement
from evener.spec.recording import finish_run
from evener.system.agreement import collective
from evener_kcore import SPEC

kernels = KernelFile(__package__)


@collective()
def kcore(graph, *, on=None, policy="auto", alpha=None, gpu_memory=None, progress=None):
    """Return the core number of every vertex.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
        Undirected, without self-loops and repeated edges.
    on, policy, alpha, gpu_memory
        Where to run a graph that is not placed: see `evener.plan`.
    progress : callable, optional
        Called with a `Progress` at the start of each superstep.

    Returns
    -------
    Result
        ``core``: int32, shape (n,).

    Raises
    ------
    ArgumentError
        If the graph is directed.
    """
    if getattr(graph, "graph", graph).directed:
        raise ev.ArgumentError(
            "expected an undirected graph, found a directed one; read it with directed=False"
        )
    placement = parse_placement(SPEC, on, policy, alpha, gpu_memory)
    placed, plan = ensure_placed(graph, SPEC, placement)
    engine = ev.Engine(placed, SPEC.name, progress=progress)
    offsets, targets, _ = engine.out
    lost, core = engine.array("uint32", 0), engine.owned_array("int32", -1)
    queue, length = engine.owned_array("uint32"), engine.counter()

    level, left = 0, placed.graph.n
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

    return finish_run(engine, SPEC, {"core": core}, plan=plan)
