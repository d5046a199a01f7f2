"""Arrays of all vertices of a graph in the memory of a GPU."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.elements.protocols import copy_between

if TYPE_CHECKING:
    from evener.elements.cuda.element import CudaElement
    from evener.elements.protocols import GpuElement

__all__ = ["VertexArrays", "copied", "order_by_degree"]


class VertexArrays(NamedTuple):
    """Arrays of all vertices in the memory of one GPU.

    Attributes
    ----------
    vertices : array of uint32, shape (n,)
        The vertices of all partitions, ordered by partition, then by local number.
    numbers : array of uint32, shape (n,)
        The number of each vertex: its place in `vertices`.
    out_degree : array of uint32, shape (n,)
    offsets : dict of array of uint64, shape (n + 1,)
        The offsets of the graph's rows by direction.
    """

    vertices: Any
    numbers: Any
    out_degree: Any
    offsets: dict[str, Any]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.vertices, self.numbers, self.out_degree, *self.offsets.values())
        return sum(array.nbytes for array in arrays)

    def copy_to(self, gpu: CudaElement, source: CudaElement) -> VertexArrays:
        """Return the arrays in the memory of another GPU, given the GPU that has them."""

        def copy(array: Any) -> Any:
            return copied(array, source, gpu)

        offsets = {direction: copy(array) for direction, array in self.offsets.items()}
        return VertexArrays(copy(self.vertices), copy(self.numbers), copy(self.out_degree), offsets)


def copied(array: Any, source: CudaElement, gpu: CudaElement) -> Any:
    """Return an array of `source` in the memory of another GPU; the same array if both have one memory."""
    if gpu.memory == source.memory:
        return array
    if not gpu.reads(source):
        return gpu.upload(source.download(array))
    target = gpu.allocate(len(array), array.dtype, exchanged=True)
    gpu.begin_round()
    gpu.wait_for(copy_between(source, gpu, array, target))
    return target


def order_by_degree(element: GpuElement, degree: Any) -> tuple[Any, Any]:
    """Return the vertices in descending degree, and the place of each vertex, on a GPU."""
    keys = element.allocate(len(degree), np.uint64)
    vertices, places = (element.allocate(len(degree), np.uint32) for _ in range(2))
    element.run(element.kernel("partition.degree_keys"), degree, keys)
    element.sort(keys)
    element.run(element.kernel("partition.number_by_keys"), keys, vertices, places)
    return vertices, places
