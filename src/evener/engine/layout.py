"""Layout: the arrays and numbers that every run on a partitioned graph uses."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, NamedTuple
from weakref import WeakKeyDictionary

from evener.engine.array import PartitionedArray, adjacency

if TYPE_CHECKING:
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Layout", "layout_of"]


class Layout(NamedTuple):
    """The arrays and numbers of a partitioned graph, named as in `Workspace`.

    `values` and `words` are the lengths of an array and of a bitmap for each partition. `weights` has the
    weights of the elements of all ranks.
    """

    element: PartitionedArray
    out: tuple[PartitionedArray, PartitionedArray, PartitionedArray]
    in_: tuple[PartitionedArray, PartitionedArray, PartitionedArray]
    out_weights: PartitionedArray
    in_weights: PartitionedArray
    out_rows: PartitionedArray
    in_rows: PartitionedArray
    out_edges: PartitionedArray
    owned: PartitionedArray
    connected: PartitionedArray
    vertices: PartitionedArray
    out_degree: PartitionedArray
    values: list[int]
    words: list[int]
    weights: list[float]
    has_mirrors: bool
    reads_host_edges: bool
    only_cpus: bool


# Cached, because building a layout is slower than a search of a small graph.
_layouts: WeakKeyDictionary[PartitionedGraph, Layout] = WeakKeyDictionary()


def layout_of(partitioned: PartitionedGraph) -> Layout:
    """Return the layout of a partitioned graph, which the first call builds.

    This is a collective operation; all ranks must call it.
    """
    layout = _layouts.get(partitioned)
    if layout is None:
        layout = _layouts[partitioned] = _build_layout(partitioned)
    return layout


def _build_layout(partitioned: PartitionedGraph) -> Layout:
    partitions = partitioned.partitions
    values = [len(p.vertices) for p in partitions]
    own = [
        (element.weight, p.mirrors > 0, p.host_edges > 0, element.kind == "cpu")
        for element, p in zip(partitioned.elements, partitions, strict=True)
    ]
    weights, mirrored, host_edges, cpus = zip(*chain(*partitioned.world.allgather(own)), strict=True)
    return Layout(
        element=PartitionedArray(partitioned.elements),
        out=adjacency([p.out for p in partitions]),
        in_=adjacency([p.in_ for p in partitions]),
        out_weights=PartitionedArray([None if p.out is None else p.out.weights for p in partitions]),
        in_weights=PartitionedArray([None if p.in_ is None else p.in_.weights for p in partitions]),
        out_rows=PartitionedArray([0 if p.out is None else p.out.rows for p in partitions]),
        in_rows=PartitionedArray([0 if p.in_ is None else p.in_.rows for p in partitions]),
        out_edges=PartitionedArray([0 if p.out is None else p.out.count for p in partitions]),
        owned=PartitionedArray([p.owned for p in partitions]),
        connected=PartitionedArray([p.connected for p in partitions]),
        vertices=PartitionedArray([p.vertices for p in partitions]),
        out_degree=PartitionedArray([p.out_degree for p in partitions]),
        values=values,
        words=[(count + 63) // 64 for count in values],
        weights=list(weights),
        has_mirrors=any(mirrored),
        reads_host_edges=any(host_edges),
        only_cpus=all(cpus),
    )
