"""Number the vertices of a graph in the memory of a GPU.

The GPU finds the degrees, the places in the order of the policy, the owners and the numbers. They equal those
of `evener.partition.numbering.number_vertices`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.partition.gpu_vertices import VertexArrays, order_by_degree
from evener.partition.numbering import Numbering
from evener.partition.orders import PIECE, cut_positions, owner_array
from evener.partition.policy import Vertices, find_policy

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.partition.gpu_build import RowsBuild
    from evener.partition.owners import Division

__all__ = ["number_on_gpu", "upload_numbering"]


def number_on_gpu(
    build: RowsBuild,
    owners_of: Callable[[Vertices], NDArray[Any]],
    division: Division,
    directions: str,
) -> tuple[Numbering, VertexArrays] | None:
    """Return the numbers of the vertices, and the arrays of all vertices on the GPU of `build`.

    The host calls `owners_of` for policies that do not cut an order. Policies order and balance by the edges
    in `directions`. Returns None if there is no room, or if a degree is too high for the kernels.
    """
    if not build.numbers_fit(-(-build.graph.n // len(division.shares))):
        return None
    build.upload_offsets()
    if (degrees := build.degrees()) is None:
        return None
    gpu, graph, (out_degree, degree) = build.element, build.graph, degrees
    by_degree, position = order_by_degree(gpu, degree)
    if len(division.shares) == 1:
        return (
            Numbering(by_degree, position, element=gpu),
            VertexArrays(by_degree, position, out_degree, build.offsets),
        )
    order, stored = by_degree, degree
    if graph.directed and directions != "both":
        stored = out_degree if directions == "out" else build.degrees_in("in")
        order, position = order_by_degree(gpu, stored)
    if find_policy(division.policy).gpu_places is None:
        vertices = Vertices(gpu.download(order), gpu.download(stored), gpu.download(degree), graph)
        owner = gpu.upload(owners_of(vertices))
    else:
        owner = _cut_order(gpu, position, stored, division)
    del degrees, degree, stored, order, position
    numbering, vertices_by_number, numbers = _number(gpu, by_degree, owner, len(division.shares))
    return numbering, VertexArrays(vertices_by_number, numbers, out_degree, build.offsets)


def upload_numbering(
    numbering: Numbering, build: RowsBuild, out_degree: NDArray[np.uint32]
) -> VertexArrays | None:
    """Return the arrays of all vertices on the GPU of `build`, given numbers of the host.

    Returns None if there is no room.
    """
    if not build.numbers_fit(0):
        return None
    build.upload_offsets()
    upload = build.element.upload
    return VertexArrays(
        upload(numbering.vertices), upload(numbering.numbers), upload(out_degree), build.offsets
    )


def _cut_order(gpu: CudaElement, position: Any, degree: Any, division: Division) -> Any:
    """Return the owner of each vertex, by cutting the order of a policy at the shares of the edges."""
    places_of: Any = find_policy(division.policy).gpu_places
    places, n, shares = places_of(gpu, position, division.seed), len(position), division.shares
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


def _number(gpu: CudaElement, by_degree: Any, owner: Any, partitions: int) -> tuple[Numbering, Any, Any]:
    """Return the numbers of the vertices, and the vertices by number and the numbers on the GPU."""
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
    return Numbering(vertices, numbers, gpu.download(bounds).astype(np.int64), gpu), vertices, numbers
