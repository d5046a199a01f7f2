"""Components on a group of GPUs: one launch labels the vertices of all of them.

The kernel reads the labels of other GPUs, and their pairs of labels, in place.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.kernels.kernel import KernelFile

if TYPE_CHECKING:
    from evener.engine.engine import Engine, PartitionedArray
    from evener.engine.group import ElementGroup
    from evener.graph.graph import Graph

__all__ = ["label_on_group"]

kernels = KernelFile(__package__, "group")


def label_on_group(
    engine: Engine, group: ElementGroup, graph: Graph, linked_first: int
) -> tuple[PartitionedArray, PartitionedArray, PartitionedArray, list[int]]:
    """Return the trees, the labels, a vertex of each giant tree, and the label of this vertex.

    `linked_first` is the number of neighbours that are linked before the giant tree is skipped.
    """
    (label,) = engine.several_arrays(("all", "uint32", None))
    giant, length, component, outside, pairs, joined = engine.work_arrays(
        (1, "uint64", 0), (1, "uint64", 0), ("all", "uint32", None), ("bits", "uint64", None),
        ("mirrors", "uint64", None), (graph.n, "uint32", None),
    )  # fmt: skip
    offsets, targets, _ = engine.out
    in_offsets, in_targets, _ = engine.in_
    engine.superstep("link", active=engine.owned, edges=graph.m)
    ends = engine.compute(
        kernels.label_together, offsets, targets, in_offsets, in_targets, engine.vertices,
        int(graph.directed), engine.out_rows, engine.owned, engine.connected, linked_first, component, label,
        giant, outside, pairs, length, joined, group.addresses([label, pairs, length, giant, outside]),
        group.mirrored, reduce=list,
    )  # fmt: skip
    return component, label, giant, ends
