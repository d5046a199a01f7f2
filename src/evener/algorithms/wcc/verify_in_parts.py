"""Verify weakly connected components of a graph in parts.

Each rank unites the ends of its own edges with an independent union-find. A vertex and its local root are one
edge of a smaller graph on all ranks. Its components follow from rounds in which roots join smaller roots.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.wcc import verify_cpu as kernels
from evener.partition.upload import edges_on_host
from evener.spec.edges_in_parts import EdgesInParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.results.result import Result

__all__ = ["check"]


def check(result: Result) -> None:
    """Raise VerificationError unless `component` is the smallest vertex of each vertex's component."""
    edges = EdgesInParts(result)
    label = edges.vertex_numbers("component")
    edges.require(label >= 0, "every vertex has a component", lambda _: "has component -1")
    root = _roots(edges)
    edges.require(
        label == root,
        "a component is named after its smallest vertex",
        lambda v: f"has component number {label[v]}, expected {root[v]}",
    )


def _roots(edges: EdgesInParts) -> NDArray[np.int64]:
    """Return the smallest vertex of the component of each vertex of this rank's block."""
    ends = np.concatenate([edges.vertices, _local_roots(edges)]).reshape(2, -1).astype(np.int64)
    root = edges.numbers.copy()
    while True:
        apart = ends[0] != ends[1]
        ends = ends[:, apart]
        if edges.world.allreduce(ends.shape[1], "sum") == 0:
            return root
        edges.combine_at(ends.max(axis=0), ends.min(axis=0), root, np.minimum)
        changed = True
        while changed:
            following = edges.fetch_at(root, root)
            changed = edges.world.allreduce(int((following != root).any()), "max") > 0
            root = following
        ends = edges.fetch_at(ends.ravel(), root).reshape(2, -1)


def _local_roots(edges: EdgesInParts) -> NDArray[np.uint32]:
    """Return a vertex of the component of each local vertex, in the graph of each partition's edges."""
    found, base = [], 0
    for element, partition in edges.partitions:
        own = partition.in_ if partition.out is None else partition.out
        count = partition.owned + partition.mirrors
        offsets = np.empty(count + 1, np.uint64)  # mirrors have empty rows
        offsets[: partition.owned + 1] = element.download(own.offsets)
        offsets[partition.owned + 1 :] = own.count
        root = np.arange(count, dtype=np.uint32)
        kernels.union_find(offsets, edges_on_host(own.targets, element), root)
        found.append(edges.vertices[base + root])
        base += count
    return np.concatenate(found)
