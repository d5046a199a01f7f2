"""Weakly connected components: labels are equal across every edge, and name the smallest vertex.

A union-find that shares nothing with the algorithm says which vertices belong together, so that two
components under one label are found too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms import verification_cpu as kernels
from evener.algorithms.verification import NONE, broken, edge_blocks, first_true, ran_without, vertex_numbers

if TYPE_CHECKING:
    from evener.algorithms.verification import Answer

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless `component` names the smallest vertex of each one's component."""
    graph = answer.graph
    ids = graph.ids
    label = vertex_numbers(answer, "component")
    numbers = np.arange(graph.n, dtype=np.uint32)
    if (label == NONE).any():
        v = first_true(label == NONE)
        broken(answer, "every vertex has a component", f"vertex {ids[v]} has component -1")
    if (label > numbers).any():
        v = first_true(label > numbers)
        detail = f"vertex {ids[v]} has component {ids[label[v]]}, a larger one than itself"
        broken(answer, "a component is named by its smallest vertex", detail)
    apart = label[label] != label
    if apart.any():
        v = first_true(apart)
        named = label[v]
        detail = f"vertex {ids[v]} has component {ids[named]}, which itself has component {ids[label[named]]}"
        broken(answer, "the vertex that names a component is in it", detail)
    blocks = edge_blocks(graph.offsets)
    first = np.empty(len(blocks) - 1, dtype=np.uint32)
    kernels.divided_edge(graph.offsets, graph.targets, label, blocks, first)
    if not ran_without(first):
        v = int(first.min())
        row = graph.targets[graph.offsets[v] : graph.offsets[v + 1]]
        w = row[first_true(label[row] != label[v])]
        detail = f"vertex {ids[v]} has component {ids[label[v]]}, its neighbour {ids[w]} has {ids[label[w]]}"
        broken(answer, "neighbours share a component", detail)
    kernels.smallest_member(graph.offsets, graph.targets, numbers)
    merged = numbers != label
    if merged.any():
        v = first_true(merged)
        detail = f"vertex {ids[v]} has component {ids[label[v]]}, but no path joins them: its own is {{}}"
        broken(answer, "one component a label", detail.format(ids[numbers[v]]))
