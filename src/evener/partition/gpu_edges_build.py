"""Build the only partition of a graph from its edges, which are arrays in the memory of the GPU.

No edge passes through the host. The GPU counts the rows, numbers the vertices by degree, and writes a key for
each stored edge: the row and the target in local numbers. The sorted keys are the rows. The arrays equal
those that `evener.partition.gpu_build` builds from the rows of the host: parallel edges ascend by weight.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from evener.graph.gpu_edges import GpuEdges
from evener.partition.gpu_build import MAX_DEGREE, RowsBuild, on_gpu
from evener.partition.partition import EDGES_PER_BLOCK

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.graph.graph import Graph

__all__ = ["EdgesBuild", "has_edges_on"]

# Most edges that are sorted at a time. More at a time means fewer passes over all edges.
_MOST_SORTED = 1 << 30
# Most passes over all edges for a direction. With little memory, the host builds the rows.
_MOST_PASSES = 64
# Bytes per edge that is sorted: a key and its copy. With weights, also two orders, and their keys and copies.
_SORTED_BYTES, _ORDERED_BYTES = 16, 56


def has_edges_on(graph: Graph, memory: object) -> bool:
    """Return whether the edges of a graph are in the memory of a GPU."""
    edges = graph.gpu_edges
    return isinstance(edges, GpuEdges) and edges.element.memory == memory


class EdgesBuild(RowsBuild):
    """The rows of the only partition of a graph while its GPU builds them from edges."""

    def numbers_fit(self, owned: int) -> bool:
        """Return true in the same cases as for rows, if no degree can be too high for the GPU."""
        highest = self.graph.m * (2 if self.graph.directed else 1)
        return highest <= MAX_DEGREE and super().numbers_fit(owned)

    def edges_of(self, direction: str) -> GpuEdges:
        """Return the edges with tails as rows for "out", and with heads as rows for "in"."""
        edges = cast("GpuEdges", self.graph.gpu_edges)
        return edges if direction == "out" else edges.reversed()

    def offsets_of(self, direction: str) -> Any:
        """Return the bounds of the rows in one direction, which the GPU counts."""
        edges = self.edges_of(direction)
        return edges.offsets_of(edges.row_lengths())

    def edges_fit(self, mirrors: int, elsewhere: int) -> bool:
        """Return true if the partition fits, with memory to sort the edges in few passes."""
        spare, weight = self.spare(mirrors, elsewhere), self.graph.edge_bytes - 4
        each = _ORDERED_BYTES + 3 * weight if weight else _SORTED_BYTES
        # A batch ends with a block of rows.
        self._sorted_at_once = min(_MOST_SORTED, spare // each) - self.longest - EDGES_PER_BLOCK
        return self._sorted_at_once > max(self.counts, default=0) // _MOST_PASSES

    def edges_sorted(self) -> int:
        """Return the number of edges that are sorted at a time."""
        return self._sorted_at_once

    def send_rows(self, receivers: Sequence[RowsBuild], part: int = 0, parts: int = 1) -> None:
        """Do nothing: the rows are written when they are sorted."""

    def sort_rows(self, direction: str, position: Any, first: int, last: int, begin: int, keys: Any) -> None:
        """Write the rows ``first:last``, which begin at edge `begin`; `keys` has space for a key per edge."""
        element, (targets, weights) = self.element, self.edges[direction]
        keys, given = self.edges_of(direction).keys_of_rows(position, first, last, keys)
        if given is None:
            element.sort(keys)
            self.run("put_targets", keys, begin, on_gpu(targets))
            return
        # The keys ascend by weight, and the sort is stable.
        order, values = element.argsort(keys), on_gpu(weights).view(given.dtype)
        self.run("put_weighted", keys, order, given, begin, on_gpu(targets), values)
