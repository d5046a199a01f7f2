"""Weakly connected components, on any number of partitions.

Idea: each partition links the ends of its edges, with mirrors as vertices, into trees (Afforest). First,
neighbours of the largest hub are attached to it. Then each vertex is linked to its neighbours of highest
degree, which joins most of a skewed graph. Then all other edges are linked, except edges of the giant tree.
The tree of a mirror and the tree of its owner belong to one component. The pairs of their labels, of all
partitions, reach every element. Each element links them into a forest over global vertex numbers, whose roots
are the labels of the components. One exchange is enough for any diameter. On a group of GPUs, most mirrors
are in no tree: see ``group.cu``.

An edge between the giant trees of two partitions is skipped from both ends. Usually another edge joins the
two trees, or a mirror of a hub does. Otherwise, as between two halves of a lattice, a search looks for
skipped edges between giant trees.

Encoding: `component` uint32, a union-find forest in local numbers; `label` uint32, the smallest vertex number
in the tree, then in the component; `joined` uint32, a union-find forest of labels.

Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling (IPDPS 2018).
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING, Unpack

import numpy as np

from evener.algorithms.wcc import SPEC
from evener.algorithms.wcc.group import label_on_group
from evener.engine.checkpoints.state import VertexNumbers
from evener.kernels.kernel import KernelFile
from evener.partition.gathered import Gathered
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

__all__ = ["wcc"]

kernels = KernelFile(__package__)

# Neighbours of each vertex that are linked before the giant tree is skipped.
LINKED_FIRST = 2


@driver(SPEC)
def wcc(
    graph: Graph | PartitionedGraph | str,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the component of every vertex, ignoring the direction of edges.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
        Weights do not count.

    Returns
    -------
    Result
        ``component``: shape (n,), the id of the first vertex in the component. `outcome` has the number of
        ``components``.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([4, 7, 9], [7, 5, 9])
    >>> ev.wcc(g)["component"].tolist()
    [4, 4, 4, 9]
    """
    run = begin(SPEC, graph, options)
    pg = run.place()
    engine = run.engine()
    with run.checkpoints(engine, {}) as checkpoints:
        label = _label(engine, checkpoints, pg.graph)
    engine.finish()
    components = count_labels(engine, label)
    arrays = {"component": Gathered(pg, label, "numbers")}
    return run.finish(engine, arrays, outcome={"components": components})


def _label(engine: Engine, checkpoints: Checkpoints, graph: Graph) -> PartitionedArray:
    """Return the labels. The trees of a placement are of no use to another, so only labels are kept."""
    if checkpoints.active:
        label = engine.owned_array("uint32")
        checkpoints.step({"label": VertexNumbers(label)})
        if checkpoints.restored:
            pairs = zip(engine.download(label), engine.download(engine.vertices), strict=True)
            smallest = all((own <= vertices[: len(own)]).all() for own, vertices in pairs)
            checkpoints.require(smallest, "the smallest vertex of a component as its label")
            return label
    label = _join_all(engine, graph)
    checkpoints.step({"label": VertexNumbers(label)})
    return label


def _join_all(engine: Engine, graph: Graph) -> PartitionedArray:
    if engine.group is not None:
        component, label, giant, ends = label_on_group(engine, engine.group, graph, LINKED_FIRST)
    else:
        component, label, giant = _label_trees(engine, graph)
        if not engine.has_mirrors:
            return label
        ends = _join(engine, graph, component, label, giant)
    if met := _giants_met(engine, giant, component, label, ends):
        _join_pairs(engine, graph, giant, component, label, engine.upload_to_all(np.array(met, np.uint32)))
    return label


def _label_trees(engine: Engine, graph: Graph) -> tuple[PartitionedArray, PartitionedArray, PartitionedArray]:
    """Return the trees of each partition, their labels, and a vertex of each giant tree."""
    component, label = engine.array("uint32"), engine.array("uint32")
    giant = engine.counter()
    offsets, targets, _ = engine.out

    engine.superstep("link", active=engine.owned, edges=graph.m)
    engine.compute(kernels.begin, engine.vertices, engine.owned, component, label)
    engine.compute(kernels.link_first, offsets, targets, engine.out_rows, LINKED_FIRST, component)
    engine.compute(kernels.compress, engine.connected, component)
    engine.compute(kernels.find_giant, component, engine.out_rows, giant)
    engine.compute(kernels.link_rest, offsets, targets, engine.connected, LINKED_FIRST, giant, component)
    if graph.directed:
        engine.compute(kernels.link_rest, *engine.in_[:2], engine.connected, 0, giant, component)
    engine.compute(kernels.compress, engine.connected, component)

    # label = min of the numbers in the tree
    engine.compute(kernels.min_labels, engine.connected, component, label)
    engine.compute(kernels.broadcast_labels, engine.connected, component, label, publish=label)
    return component, label, giant


def _join(
    engine: Engine,
    graph: Graph,
    component: PartitionedArray,
    label: PartitionedArray,
    giant: PartitionedArray,
) -> list[int]:
    """Join the trees of all partitions at their mirrors. Return the label of each giant tree."""
    engine.superstep("merge", active=engine.owned)
    pairs, length = engine.mirror_array("uint32", 2), engine.counter()
    lengths = engine.compute(
        kernels.boundary_pairs, engine.owned, component, label, pairs, length, pull_before=label, reduce=list
    )
    own = [lengths[partition.index] for partition in engine.partitions]
    return _join_pairs(engine, graph, giant, component, label, engine.gather_to_all(pairs, own))


def _join_pairs(
    engine: Engine,
    graph: Graph,
    giant: PartitionedArray,
    component: PartitionedArray,
    label: PartitionedArray,
    pairs: PartitionedArray,
) -> list[int]:
    """Replace labels by the smallest ones that pairs join them to. Return the label of each giant tree."""
    joined = engine.local_array(graph.n, "uint32")
    ends: list[int] = engine.compute(
        kernels.join, engine.connected, giant, component, label, pairs, joined, reduce=list
    )
    return ends


def _giants_met(
    engine: Engine,
    giant: PartitionedArray,
    component: PartitionedArray,
    label: PartitionedArray,
    ends: list[int],
) -> list[tuple[int, int]]:
    """Return pairs of labels of giant trees that are joined by skipped edges only.

    `ends` are the labels of the giant trees after the partitions were joined at their mirrors.
    """
    if len(set(ends)) == 1:
        return []
    neighbours = {
        pair for route in engine.routes for pair in permutations((route.mirror_partition, route.owner))
    }
    apart = {(p, q) for own in engine.gather(engine.scalar(neighbours)) for p, q in own if ends[p] != ends[q]}
    met: list[tuple[int, int]] = []
    if apart:
        engine.pull(label)
    # Each partition looks for the giant of the next partition, then of the one after it, and so on.
    for step in range(1, len(ends) if apart else 0):
        others = [(p + step) % len(ends) for p in range(len(ends))]
        own = [(partition.index, others[partition.index]) for partition in engine.partitions]
        rows = [count if pair in apart else 0 for count, pair in zip(engine.out_rows, own, strict=True)]
        edges = engine.compute(
            kernels.edges_between, *engine.out[:2], engine.per_partition(rows), giant, component, label,
            engine.per_partition([ends[q] for _, q in own]), reduce=list,
        )  # fmt: skip
        met += [(ends[p], ends[q]) for p, q in enumerate(others) if edges[p]]
    return met
