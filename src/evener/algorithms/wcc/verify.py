"""Verify weakly connected components.

The vertices of an edge have the same label, and a label is the smallest vertex of its component. An
independent union-find detects two components with the same label.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.wcc import verify_cpu as kernels
from evener.kernels.vertex import NO_VERTEX
from evener.spec.verification import edge_blocks, fail, first_true, none_found, vertex_numbers

if TYPE_CHECKING:
    from evener.spec.answer import Answer

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless `component` is the smallest vertex of each vertex's component."""
    graph = answer.graph
    ids = graph.ids
    label = vertex_numbers(answer, "component")
    numbers = np.arange(graph.n, dtype=np.uint32)
    if (label == NO_VERTEX).any():
        v = first_true(label == NO_VERTEX)
        fail(answer, "every vertex has a component", f"vertex {ids[v]} has component -1")
    if (label > numbers).any():
        v = first_true(label > numbers)
        detail = f"vertex {ids[v]} has component {ids[label[v]]}, which is larger than the vertex"
        fail(answer, "a component is named after its smallest vertex", detail)
    apart = label[label] != label
    if apart.any():
        v = first_true(apart)
        named = label[v]
        detail = f"vertex {ids[v]} has component {ids[named]}, which itself has component {ids[label[named]]}"
        fail(answer, "the vertex that names a component is a member", detail)
    blocks = edge_blocks(graph.offsets)
    first = np.empty(len(blocks) - 1, dtype=np.uint32)
    kernels.find_label_mismatch(graph.offsets, graph.targets, label, blocks, first)
    if not none_found(first):
        v = int(first.min())
        row = graph.targets[graph.offsets[v] : graph.offsets[v + 1]]
        w = row[first_true(label[row] != label[v])]
        detail = f"vertex {ids[v]} has component {ids[label[v]]}, its neighbour {ids[w]} has {ids[label[w]]}"
        fail(answer, "neighbours share a component", detail)
    kernels.union_find(graph.offsets, graph.targets, numbers)
    merged = numbers != label
    if merged.any():
        v = first_true(merged)
        labelled = f"vertex {ids[v]} has component {ids[label[v]]}"
        detail = f"{labelled}, but no path joins them; expected {ids[numbers[v]]}"
        fail(answer, "one component per label", detail)
