"""Weakly connected components, on any number of partitions.

Idea: each partition links the ends of its edges, with mirrors as vertices, into trees (Afforest). First, each
vertex is linked to its neighbours of highest degree, which joins most of a skewed graph. Then all other edges
are linked, except edges of the giant tree. The tree of a mirror and the tree of its owner belong to one
component. The pairs of their labels form a small graph of trees, and its components rename the labels. One
exchange is enough for any diameter.

An edge between the giant trees of two partitions is skipped from both ends. Usually another edge joins the
two trees, or a mirror of a hub does. Otherwise, as between two halves of a lattice, a search looks for
skipped edges between giant trees.

Encoding: `component` uint32, a union-find forest in local numbers; `label` uint32, the smallest vertex number
in the tree, then in the component.

Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling (IPDPS 2018).
"""

from __future__ import annotations

from itertools import permutations
from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.arguments import ensure_placed
from evener.algorithms.recording import finish_run
from evener.algorithms.wcc import SPEC
from evener.engine.engine import Engine, PartitionedArray
from evener.kernels.kernel import KernelFile
from evener.results.result import Result
from evener.system.memory import translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from evener.engine.timeline import Progress
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["wcc"]

kernels = KernelFile(__package__)

# Neighbours of each vertex that are linked before the giant tree is skipped.
LINKED_FIRST = 2


def wcc(
    graph: Graph | PartitionedGraph,
    *,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | Literal["auto"] | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Return the component of every vertex, ignoring the direction of edges.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
    on, policy, alpha, gpu_memory
        Where to run a graph that is not placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``component``: int64, shape (n,), the id of the smallest vertex in the component, or its position in
        ``graph.ids`` if ids are strings. `outcome` has the number of ``components``.

    Raises
    ------
    ArgumentError
        For an unknown element or policy, a share outside 0..1, or a placement of a graph that is placed.
    DeviceError
        If a GPU is named and none can be used, or if a GPU fails.
    OutOfMemoryError
        If the run needs more memory than is available; `DeviceOutOfMemory` for a GPU.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([4, 7, 9], [7, 5, 9])
    >>> ev.wcc(g)["component"].tolist()
    [4, 4, 4, 9]
    """
    pg = ensure_placed(graph, SPEC, on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory)
    engine = Engine(pg, "wcc", progress=progress, host_state=SPEC.host_state)
    label = _label(engine, pg.graph.m, directed=pg.graph.directed)
    seconds = engine.finish()
    # The label of a root is its own number.
    components = int(engine.compute(kernels.count_roots, engine.owned, engine.vertices, label))
    result = Result(
        "wcc",
        pg.graph,
        {"component": lambda: pg.gather_numbers(label)},
        columns=SPEC.columns,
        parameters={},
        outcome={"components": components},
        timeline=engine.timeline,
        seconds=seconds,
        edges=pg.graph.m,
        partitioned=pg,
    )
    return finish_run(result)


def _label(engine: Engine, m: int, *, directed: bool) -> PartitionedArray:
    component, label = engine.array("uint32"), engine.array("uint32")
    offsets, targets, _ = engine.out

    engine.superstep("link", active=engine.owned, edges=m)
    engine.compute(kernels.begin, engine.vertices, component, label)
    for k in range(LINKED_FIRST):
        engine.compute(kernels.link_one, offsets, targets, engine.out_rows, k, component)
        engine.compute(kernels.compress, component)
    giant = engine.counter()
    engine.compute(kernels.find_giant, component, engine.out_rows, giant)
    engine.compute(kernels.link_rest, offsets, targets, engine.owned, LINKED_FIRST, giant, component)
    if directed:
        engine.compute(kernels.link_rest, *engine.in_[:2], engine.owned, 0, giant, component)
    engine.compute(kernels.compress, component)

    # label = min of the numbers in the tree
    engine.compute(kernels.min_labels, component, label)
    engine.compute(kernels.broadcast_labels, component, label)
    if engine.routes:
        engine.superstep("merge", active=engine.owned)
        owner_label = engine.copy(label)
        engine.pull(owner_label)
        pairs, length = engine.mirror_array("uint32", 2), engine.counter()
        engine.compute(kernels.boundary_pairs, engine.owned, component, label, owner_label, pairs, length)
        own_pairs = engine.download(pairs.first([int(count[0]) for count in engine.download(length)]))
        joined = _join(engine.gather(own_pairs))
        if met := _giants_met(engine, giant, component, label, owner_label, joined):
            joined = _join([np.stack(joined, axis=1), np.array(met, np.uint32)])
        names, smallest = (engine.upload_to_all(array) for array in joined)
        engine.compute(kernels.rename, engine.connected, label, names, smallest)
    return label


def _giants_met(
    engine: Engine,
    giant: PartitionedArray,
    component: PartitionedArray,
    label: PartitionedArray,
    owner_label: PartitionedArray,
    joined: tuple[NDArray[np.uint32], NDArray[np.uint32]],
) -> list[tuple[int, int]]:
    """Return pairs of labels of giant trees with an edge between them that `joined` does not join."""
    roots = [int(own[0]) for own in engine.download(giant)]
    giants = engine.gather(engine.values_at(label, roots))
    ends = _renamed(giants, *joined)
    neighbours = {
        pair for route in engine.routes for pair in permutations((route.mirror_partition, route.owner))
    }
    apart = {(p, q) for own in engine.gather(engine.scalar(neighbours)) for p, q in own if ends[p] != ends[q]}
    met: list[tuple[int, int]] = []
    # Each partition looks for the giant of the next partition, then of the one after it, and so on.
    for step in range(1, len(giants) if apart else 0):
        others = [(p + step) % len(giants) for p in range(len(giants))]
        own = [(partition.index, others[partition.index]) for partition in engine.partitions]
        rows = [count if pair in apart else 0 for count, pair in zip(engine.out_rows, own, strict=True)]
        edges = engine.compute(
            kernels.edges_between, *engine.out[:2], engine.per_partition(rows), giant, component, owner_label,
            engine.per_partition([giants[q] for _, q in own]), reduce=list,
        )  # fmt: skip
        met += [(giants[p], giants[q]) for p, q in enumerate(others) if edges[p]]
    return met


def _renamed(labels: Sequence[int], names: NDArray[np.uint32], smallest: NDArray[np.uint32]) -> list[int]:
    """Return the labels, with each label in `names` replaced by its partner in `smallest`."""
    places = np.searchsorted(names, labels).tolist()
    return [
        int(smallest[k]) if k < len(names) and names[k] == label else label
        for k, label in zip(places, labels, strict=True)
    ]


@translate_errors("joining the components of partitions")
def _join(pairs: list[NDArray[np.uint32]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return the labels in the pairs, ascending, and the smallest label in the component of each."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names, ends = np.unique(np.concatenate(pairs), return_inverse=True)
    ends = ends.reshape(-1, 2)
    joined = coo_array((np.ones(len(ends), np.uint8), (ends[:, 0], ends[:, 1])), shape=(len(names),) * 2)
    _, group = connected_components(joined, directed=False)
    _, first = np.unique(group, return_index=True)  # names ascend, so the first of a group is its smallest
    return names, names[first][group]
