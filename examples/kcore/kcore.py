"""K-core decomposition, on any number of CPU and GPU elements.

The k-core of a graph is what is left when vertices with fewer than k neighbours are taken away for as long as
there are any. A vertex's core number is the largest k whose core it is in.

Idea: peel level by level. Every vertex with at most `level` neighbours left is taken away and tells its
neighbours, some of which may now have too few; when nobody else goes, the next level begins.

Encoding: `lost` uint32, for each vertex how many of its neighbours are gone, and for each mirror how many are
gone that its owner has not been told of; `core` int32, -1 while the vertex is left; `queue` uint32 lists the
``length[0]`` vertices that have just been taken away.

Dasari, Desh, Zubair: ParK: An Efficient Algorithm for k-core Decomposition on Multicore Processors (2014).
"""

import sys
from pathlib import Path

import evener as ev
import kernels

CUDA = Path(__file__).with_name("kcore.cu")
PEEL = ev.Kernel(cpu=kernels.peel, cuda=CUDA)
TELL = ev.Kernel(cpu=kernels.tell, cuda=CUDA)


def kcore(placed, *, progress=None):
    """Core numbers of an undirected graph, placed by `evener.partition`: int32, by the name ``core``."""
    graph = placed.graph
    if graph.directed:
        raise ev.ArgumentError("core numbers are those of an undirected graph, and this one is directed")
    engine = ev.Engine(placed, "kcore", progress=progress)
    offsets, targets, _ = engine.out
    lost, core = engine.array("uint32", 0), engine.owned_array("int32", -1)
    queue, length = engine.owned_array("uint32"), engine.counter()

    level, left = 0, graph.n
    while left:
        engine.superstep("next level")
        while peeled := engine.compute(PEEL, level, engine.out_degree, lost, core, queue, length, wakes=True):
            left -= peeled
            engine.superstep("peel")
            engine.compute(TELL, offsets, targets, queue, length, lost)
            engine.push(lost, "add")
        level += 1

    return ev.Result(
        "kcore",
        graph,
        {"core": lambda: placed.gather(core.parts)},
        parameters={},
        timeline=engine.timeline,
        seconds=engine.finish(),
        edges=graph.m,
        partitioned=placed,
    )


if __name__ == "__main__":
    if not sys.argv[1:]:
        sys.exit("usage: python kcore.py GRAPH [ELEMENT ...], as in: python kcore.py rmat:16 cpu")
    name, *elements = sys.argv[1:]
    simple = {} if ":" in name else {"directed": False, "self_loops": "drop", "duplicates": "drop"}
    try:
        result = kcore(ev.partition(ev.read(name, **simple), on=elements or None))
    except ev.EvenerError as error:
        sys.exit(str(error))
    print(result.top(5))
    print(result.explain())
