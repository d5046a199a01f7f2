"""Checks that the verifiers of BFS and SSSP share: sources as roots, reached parents, and no cycle."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.vertex import NO_VERTEX
from evener.spec import verification_tree_cpu as kernels
from evener.spec.verification import fail, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer import Answer

__all__ = ["check_tree"]


def check_tree(
    answer: Answer,
    sources: NDArray[np.uint32],
    distance: NDArray[Any],
    parent: NDArray[np.uint32],
    *,
    reached: NDArray[np.bool_],
) -> None:
    """Raise VerificationError unless `parent` has trees on the reached vertices with the sources as roots."""
    ids = answer.graph.ids
    for source in sources[distance[sources] != 0]:
        fail(answer, "a source is at distance 0", f"vertex {ids[source]} is at {distance[source]}")
    for source in sources[parent[sources] != sources]:
        found = "none" if parent[source] == NO_VERTEX else ids[parent[source]]
        fail(answer, "a source is its own parent", f"vertex {ids[source]} has parent {found}")
    mismatch = reached != (parent != NO_VERTEX)
    if mismatch.any():
        v = first_true(mismatch)
        has = "no parent" if parent[v] == NO_VERTEX else f"parent {ids[parent[v]]}"
        rule = "exactly the reached vertices have a parent (rule 4)"
        fail(answer, rule, f"vertex {ids[v]} has distance {distance[v]} and {has}")
    children = np.flatnonzero(reached)
    dangling = ~reached[parent[children]]
    if dangling.any():
        v = children[first_true(dangling)]
        rule = "every parent is reached (rule 4)"
        u = parent[v]
        detail = f"vertex {ids[v]} has distance {distance[v]}, its parent {ids[u]} has {distance[u]}"
        fail(answer, rule, detail)
    roots = children[parent[children] == children]
    if len(roots) > len(sources):
        v = np.setdiff1d(roots, sources)[0]
        rule = "only sources are their own parents (rule 1)"
        fail(answer, rule, f"vertex {ids[v]} has parent {ids[v]}, the source is {ids[sources[0]]}")
    v = kernels.find_cycle(parent, np.zeros(len(parent), dtype=np.uint32))
    if v != NO_VERTEX:
        rule = "parents lead to a source without a cycle (rule 1)"
        fail(answer, rule, f"from vertex {ids[v]}, its parent {ids[parent[v]]} leads back to vertex {ids[v]}")
