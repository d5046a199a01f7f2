"""Layout: the arrays and numbers that every run on a partitioned graph uses."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

from evener.engine.array import PartitionedArray

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.partition.partition import Edges
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Layout", "layout_of"]


class Layout:
    """The part of a `Workspace` that is equal in all runs on a partitioned graph; see there.

    The constructor is a collective operation; all ranks must call it.
    """

    def __init__(self, partitioned: PartitionedGraph) -> None:
        partitions = partitioned.partitions
        own = [
            (element.weight, p.mirrors > 0, p.host_edges > 0, element.kind == "cpu")
            for element, p in zip(partitioned.elements, partitions, strict=True)
        ]
        weights, mirrored, host_edges, cpus = zip(*chain(*partitioned.world.allgather(own)), strict=True)
        # The weights of the elements of all ranks.
        self._weights: Sequence[float] = weights
        self.has_mirrors = any(mirrored)
        self.reads_host_edges = any(host_edges)
        self.only_cpus = all(cpus)
        self.element = PartitionedArray(partitioned.elements)
        self.owned = PartitionedArray([p.owned for p in partitions])
        self.connected = PartitionedArray([p.connected for p in partitions])
        self.vertices = PartitionedArray([p.vertices for p in partitions])
        self.out_degree = PartitionedArray([p.out_degree for p in partitions])
        # The lengths of an array and of a bitmap for each partition.
        self._values = [len(p.vertices) for p in partitions]
        self._words = [(count + 63) // 64 for count in self._values]
        # The same lengths by name, for `several_arrays`.
        self._lengths: list[dict[int | str, Any]] = [
            {"owned": p.owned, "mirrors": p.mirrors, "all": values, "bits": words}
            for p, values, words in zip(partitions, self._values, self._words, strict=True)
        ]
        out, in_ = [p.out for p in partitions], [p.in_ for p in partitions]
        self.out = _of(out, "offsets"), _of(out, "targets"), _of(out, "blocks")
        self.in_ = _of(in_, "offsets"), _of(in_, "targets"), _of(in_, "blocks")
        self.out_weights, self.in_weights = _of(out, "weights"), _of(in_, "weights")
        self.out_rows, self.in_rows = _of(out, "rows", 0), _of(in_, "rows", 0)
        self.out_edges = _of(out, "count", 0)


def _of(directions: Sequence[Edges | None], name: str, missing: Any = None) -> PartitionedArray:
    """Return an attribute of each partition's edges in one direction; `missing` if they are not stored."""
    return PartitionedArray([missing if edges is None else getattr(edges, name) for edges in directions])


def layout_of(partitioned: PartitionedGraph) -> Layout:
    """Return the layout of a partitioned graph, which the first call builds.

    This is a collective operation; all ranks must call it.
    """
    # Building a layout is slower than a search of a small graph.
    if Layout not in partitioned.run_cache:
        partitioned.run_cache[Layout] = Layout(partitioned)
    layout: Layout = partitioned.run_cache[Layout]
    return layout
