"""Number the vertices of a graph in the memory of a GPU, for partitions on several GPUs.

The GPU finds the degrees, the places in the order of the policy, the owners and the numbers. They equal those
of `evener.partition.numbering.number_vertices`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.elements.protocols import copy_between
from evener.partition.gpu_build import RowsBuild
from evener.partition.numbering import Numbering
from evener.partition.orders import PIECE, cut_positions, owner_array
from evener.partition.policy import Vertices, find_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.graph.graph import Graph

__all__ = ["VertexArrays", "copied", "has_room", "number_on_gpu", "upload_numbering"]


class VertexArrays(NamedTuple):
    """Arrays of all vertices in the memory of one GPU.

    Attributes
    ----------
    vertices : array of uint32, shape (n,)
        The vertices of all partitions, ordered by partition, then by local number.
    out_degree : array of uint32, shape (n,)
    offsets : dict of array of uint64, shape (n + 1,)
        The offsets of the graph's rows by direction.
    """

    vertices: Any
    out_degree: Any
    offsets: dict[str, Any]

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        arrays = (self.vertices, self.out_degree, *self.offsets.values())
        return sum(array.nbytes for array in arrays)

    def copy_to(self, gpu: CudaElement, source: CudaElement) -> VertexArrays:
        """Return the arrays in the memory of another GPU, given the GPU that has them."""
        offsets = {direction: copied(array, source, gpu) for direction, array in self.offsets.items()}
        return VertexArrays(copied(self.vertices, source, gpu), copied(self.out_degree, source, gpu), offsets)


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


def number_on_gpu(
    graph: Graph,
    gpu: CudaElement,
    owners_of: Callable[[Vertices], NDArray[Any]],
    *,
    directions: str,
    policy: str,
    shares: NDArray[np.float64],
    seed: int,
) -> tuple[Numbering, VertexArrays] | None:
    """Return the numbers of the vertices, and the arrays of all vertices on the GPU.

    The host calls `owners_of` for policies that do not cut an order. Returns None in the same cases as
    `build_whole`.
    """
    build = RowsBuild(graph, directions, gpu, gpu.room())
    if (degrees := build.begin()) is None:
        return None
    out_degree, degree = degrees
    by_degree, position = build.number(degree)
    order, stored = by_degree, degree
    if graph.directed and directions != "both":
        stored = out_degree if directions == "out" else build.degrees_in("in")
        order, position = build.number(stored)
    if find_policy(policy).gpu_places is None:
        vertices = Vertices(gpu.download(order), gpu.download(stored), gpu.download(degree), graph)
        owner = gpu.upload(owners_of(vertices))
    else:
        owner = _cut_order(gpu, position, stored, policy, shares, seed)
    del degrees, degree, stored, order, position
    numbering, by_number = _number(gpu, by_degree, owner, len(shares))
    return numbering, VertexArrays(by_number, out_degree, build.offsets)


def upload_numbering(
    numbering: Numbering, graph: Graph, gpu: CudaElement, out_degree: NDArray[np.uint32], directions: str
) -> VertexArrays | None:
    """Return the arrays of all vertices on a GPU, given numbers of the host; None if there is no room."""
    if not has_room(graph, gpu, directions):
        return None
    build = RowsBuild(graph, directions, gpu, gpu.room())
    build.upload_offsets()
    return VertexArrays(gpu.upload(numbering.vertices), gpu.upload(out_degree), build.offsets)


def has_room(graph: Graph, gpu: CudaElement, directions: str) -> bool:
    """Return whether a GPU has room for the arrays of all vertices, and its kernels support the graph."""
    return RowsBuild(graph, directions, gpu, gpu.room()).numbers_fit(0)


def _cut_order(
    gpu: CudaElement,
    position: Any,
    degree: Any,
    policy: str,
    shares: NDArray[np.float64],
    seed: int,
) -> Any:
    """Return the owner of each vertex, by cutting the order of a policy at the shares of the edges."""
    places_of: Any = find_policy(policy).gpu_places
    places, n = places_of(gpu, position, seed), len(position)
    sums = gpu.allocate(-(-n // PIECE), np.uint64, 0)
    gpu.run(gpu.kernel("numbering.sum_pieces"), degree, places, PIECE, sums)

    def degrees_from(first: int) -> NDArray[np.uint32]:
        found = gpu.allocate(min(PIECE, n - first), np.uint32)
        gpu.run(gpu.kernel("numbering.degrees_from"), degree, places, first, found)
        return gpu.download(found)

    cuts = cut_positions(gpu.download(sums), degrees_from, shares / shares.sum(), n)
    owner = gpu.allocate(n, owner_array(0, len(shares)).dtype)
    gpu.run(gpu.kernel("numbering.owners_of_places"), places, gpu.upload(np.array(cuts, np.uint64)), owner)
    return owner


def _number(gpu: CudaElement, by_degree: Any, owner: Any, partitions: int) -> tuple[Numbering, Any]:
    """Return the numbers of the vertices, and the vertices by number on the GPU."""
    n = len(by_degree)
    keys, bounds = gpu.allocate(n, np.uint64), gpu.allocate(partitions + 1, np.uint64)
    gpu.run(gpu.kernel("numbering.owner_keys"), by_degree, owner, keys)
    gpu.sort(keys)
    gpu.run(gpu.kernel("numbering.owner_bounds"), keys, bounds)
    vertices = gpu.allocate(n, np.uint32)
    gpu.run(gpu.kernel("numbering.vertices_of_keys"), keys, by_degree, vertices)
    del keys, by_degree
    numbers = gpu.allocate(n, np.uint32)
    gpu.run(gpu.kernel("numbering.number_all"), vertices, numbers)
    return Numbering(vertices, numbers, gpu.download(bounds).astype(np.int64), gpu), vertices
