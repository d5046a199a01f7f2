"""Weakly connected components, on any number of partitions.

Idea: each partition links its own edges, mirrors taken for vertices, into trees (Afforest: first along each
vertex's edges to its neighbours of highest degree, which joins most of a skewed graph; then the rest,
skipping the giant tree). A mirror's tree and its owner's tree are one component, so the pairs of their
labels form a small graph of trees; its components rename the labels. One exchange does, whatever the
graph's diameter: an edge between the giant trees of two partitions is skipped from both ends, and in vain
where nothing else joins the two. If they turn out apart, the giants are linked as well, and it is done again.

Encoding: `component` uint32, a union-find forest in local numbers; `label` uint32, the smallest vertex number
in the tree, then in the component.

Sutton, Ben-Nun, Barak: Optimizing Parallel Graph Connectivity Computation via Subgraph Sampling (IPDPS 2018).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.prepare import placed
from evener.engine import Engine, Spread
from evener.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.graph import Graph
    from evener.partition import PartitionedGraph
    from evener.timeline import Progress

__all__ = ["wcc"]

# Neighbours of each vertex linked before the giant tree is skipped. With 1, a uniform graph's trees are still
# many and deep (1.4 s at scale 20, one thread); with 2, 47 ms; with 3, 100 ms. R-MAT 20: 9, 11 and 14 ms.
LINKED_FIRST = 2


def wcc(
    graph: Graph | PartitionedGraph,
    *,
    on: str | Sequence[str] | None = None,
    policy: str = "auto",
    alpha: float | None = None,
    gpu_memory: str | int | None = None,
    progress: Callable[[Progress], None] | None = None,
) -> Result:
    """Which vertices are joined by a path, the direction of edges aside.

    Parameters
    ----------
    graph : Graph or PartitionedGraph
    on, policy, alpha, gpu_memory
        Where to run, for a graph that is not yet placed: see `plan`.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.

    Returns
    -------
    Result
        ``component``: int64, shape (n,), the smallest vertex in the component, by the graph's own ids. Its
        `outcome` has the number of ``components``.

    Raises
    ------
    ArgumentError
        For an element, policy or share that does not exist, or one for a graph that is placed already.
    DeviceError
        If a GPU is named and none can be used, or one fails.
    OutOfMemoryError
        If the graph takes more memory than there is; `DeviceOutOfMemory` if it is a GPU's.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([4, 7, 9], [7, 5, 9])
    >>> ev.wcc(g)["component"].tolist()
    [4, 4, 4, 9]
    """
    pg = placed(graph, "wcc", on=on, policy=policy, alpha=alpha, gpu_memory=gpu_memory, directions="both")
    engine = Engine(pg, "wcc", progress=progress)
    label = _label(engine, pg.graph.m, directed=pg.graph.directed)
    seconds = engine.finish()
    # The root of a component carries its own number.
    components = int(engine.compute("wcc.count_roots", engine.owned, engine.vertices, label))
    return Result(
        "wcc",
        pg.graph,
        {"component": lambda: pg.gather_numbers(label.parts)},
        parameters={},
        outcome={"components": components},
        timeline=engine.timeline,
        seconds=seconds,
        edges=pg.graph.m,
        partitioned=pg,
    )


def _label(engine: Engine, m: int, *, directed: bool) -> Spread:
    component, label = engine.array("uint32"), engine.array("uint32")
    offsets, targets, _ = engine.out

    engine.superstep("link", active=engine.owned, edges=m)
    engine.compute("wcc.begin", engine.vertices, component, label)
    for k in range(LINKED_FIRST):
        engine.compute("wcc.link_one", offsets, targets, engine.out_rows, k, component)
        engine.compute("wcc.compress", component)
    giant = engine.counter()
    engine.compute("wcc.commonest", component, engine.out_rows, giant)
    engine.compute("wcc.link_rest", offsets, targets, engine.owned, LINKED_FIRST, giant, 0, component)
    if directed:
        engine.compute("wcc.link_rest", *engine.in_[:2], engine.owned, 0, giant, 0, component)
    _name(engine, component, label)
    if engine.routes:
        names, smallest = _merge(engine, component, label)
        if _giants_apart(engine, giant, label, names, smallest):
            engine.superstep("link giants", active=engine.owned)
            roots = engine.hold([np.array([root], np.uint64) for root in _at(engine, component, giant)])
            engine.compute("wcc.link_rest", offsets, targets, engine.owned, LINKED_FIRST, roots, 1, component)
            _name(engine, component, label)
            names, smallest = _merge(engine, component, label)
        everywhere = (engine.hold([array] * len(engine.elements)) for array in (names, smallest))
        engine.compute("wcc.rename", engine.connected, label, *everywhere)
    return label


def _name(engine: Engine, component: Spread, label: Spread) -> None:
    """Make trees flat, and label = min of the labels in the tree."""
    engine.compute("wcc.compress", component)
    engine.compute("wcc.smallest", component, label)
    engine.compute("wcc.spread", component, label)


def _merge(engine: Engine, component: Spread, label: Spread) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Labels of trees that mirrors join, ascending, and the smallest label of the component of each."""
    engine.superstep("merge", active=engine.owned)
    owner_label = engine.copy(label)
    engine.pull(owner_label)
    pairs, length = engine.mirror_array("uint32", 2), engine.counter()
    engine.compute("wcc.boundary_pairs", engine.owned, component, label, owner_label, pairs, length)
    return _join(engine.fetch(pairs.first([int(k[0]) for k in engine.fetch(length)])))


def _giants_apart(
    engine: Engine,
    giant: Spread,
    label: Spread,
    names: NDArray[np.uint32],
    smallest: NDArray[np.uint32],
) -> bool:
    """Whether two giant trees, of partitions that share an edge, are in two components so far."""
    before = _at(engine, label, giant)
    places = np.searchsorted(names, before)
    found = [
        int(smallest[k]) if k < len(names) and names[k] == name else name
        for k, name in zip(places.tolist(), before, strict=True)
    ]
    return any(found[route.holder] != found[route.owner] for route in engine.routes)


def _at(engine: Engine, values: Spread, places: Spread) -> list[int]:
    """Each partition's value at the place that its counter holds; 0 where it has no vertices."""
    held = [int(own[0]) for own in engine.fetch(places)]
    found = engine.fetch(Spread([part[k : k + 1] for part, k in zip(values.parts, held, strict=True)]))
    return [int(own[0]) if len(own) else 0 for own in found]


def _join(pairs: list[NDArray[np.uint32]]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Names that stand for one component, ascending, and the smallest name of that component for each."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    names, ends = np.unique(np.concatenate(pairs), return_inverse=True)
    ends = ends.reshape(-1, 2)
    joined = coo_array((np.ones(len(ends), np.uint8), (ends[:, 0], ends[:, 1])), shape=(len(names),) * 2)
    _, group = connected_components(joined, directed=False)
    _, first = np.unique(group, return_index=True)  # names ascend, so the first of a group is its smallest
    return names, names[first][group]
