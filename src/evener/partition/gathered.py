"""Gathered arrays: the values of all vertices from their partitions, on the host or on the only GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.errors import ArgumentError
from evener.partition.gpu_edges_build import has_edges_on

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Gathered"]


@dataclass(frozen=True)
class Gathered:
    """An array of a placed graph that is gathered when it is called.

    Parameters
    ----------
    pg : PartitionedGraph
    parts : sequence of ndarray
        The values of the vertices of each partition.
    kind : {"values", "numbers", "vertices"}
        ``values``: numbers as they are. ``numbers``: global numbers of vertices, which become ids.
        ``vertices``: local numbers of vertices, which become ids.
    """

    pg: PartitionedGraph
    parts: Sequence[Any]
    kind: Literal["values", "numbers", "vertices"] = "values"

    def __call__(self) -> NDArray[Any]:
        """Return the values of this rank's vertices on the host.

        This is a collective operation; all ranks must call it.
        """
        if self.kind == "values":
            return self.pg.gather(self.parts)
        if self.kind == "numbers":
            return self.pg.gather_numbers(self.parts)
        return self.pg.gather_vertices(self.parts)

    @property
    def is_on_gpu(self) -> bool:
        """Whether one GPU of one process has all values, so that `on_gpu` can gather them."""
        return self.pg.world.size == 1 and [element.kind for element in self.pg.elements] == ["cuda"]

    def on_gpu(self) -> Any:
        """Return the values of all vertices in the memory of the only GPU; the host reads none of them."""
        pg, (values,) = self.pg, self.parts
        (element,), (partition,) = pg.elements, pg.partitions
        n, owned = pg.graph.n, np.uint64(partition.owned)
        if self.kind == "values":
            gathered = element.allocate(n, values.dtype)
            bits = np.dtype(f"u{values.itemsize}")
            kernel = element.kernel("partition.scatter_values")
            element.run(kernel, partition.vertices, values.view(bits), owned, gathered.view(bits))
            return gathered
        none = element.allocate(0, np.uint32)
        to_global = partition.vertices if self.kind == "vertices" else none
        gathered = element.allocate(n, np.int64)
        kernel = element.kernel("partition.scatter_ids")
        pending = element.run(kernel, partition.vertices, values, to_global, self._ids(), owned, gathered)
        if beyond := int(element.result(pending)):
            msg = f"expected numbers of vertices on {element.name}; {beyond:,} are too large"
            raise ArgumentError(msg)
        return gathered

    def _ids(self) -> Any:
        """Return the ids on the GPU, or an empty array if they are ``0..n-1``."""
        graph, (element,) = self.pg.graph, self.pg.elements
        if not graph.has_custom_ids or not graph.has_integer_ids:
            return element.allocate(0, np.int64)
        if graph.gpu_edges is not None and has_edges_on(graph, element.memory):
            return graph.gpu_edges.ids
        return element.upload(graph.ids)
