"""Number the mirrors of a partition that a GPU builds, and build the routes to their owners."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from evener.kernels.cpu.partition import NEEDED
from evener.partition.gpu_vertices import copied
from evener.partition.partition import mirrors_below
from evener.partition.route import Route, upload_route

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.elements.cuda.element import CudaElement
    from evener.partition.gpu_build import RowsBuild
    from evener.partition.partition import Partition

__all__ = ["number_mirrors", "routes_of"]


def number_mirrors(build: RowsBuild) -> tuple[Any, NDArray[np.int64], Any]:
    """Return the partition's vertices, the bounds of mirrors, and the local number of each vertex."""
    element, arrays, owned, every = build.element, build.arrays, len(build.owned), build.arrays.vertices
    if len(build.number_bounds) == 2:
        return every, np.full(2, owned, np.int64), arrays.numbers
    needed = element.allocate(len(every), np.uint8, 0)
    build.mark_targets(needed)
    flags = element.allocate(len(every), np.uint32)
    _run(element, "needed_in_order", every, needed, NEEDED, flags)
    marked = _Marked(element, flags)
    mirror_bounds = owned + mirrors_below(marked, build.number_bounds)
    vertices = element.allocate(int(mirror_bounds[-1]), np.uint32)
    position = element.allocate(len(every), np.uint32)
    _run(element, "number_partition", every, flags, marked.ends, build.first, owned, vertices, position)
    return vertices, mirror_bounds, position


def routes_of(build: RowsBuild, partition: Partition, elements: Sequence[Element]) -> list[Route]:
    """Return the routes of the mirrors by owner, with arrays in the memory of the owner."""
    bounds = partition.mirror_bounds.tolist()
    return [
        _route(build, q, elements[q], begin, partition.vertices[begin:end])
        for q, (begin, end) in enumerate(pairwise(bounds))
        if end > begin
    ]


def _route(build: RowsBuild, q: int, owner: Element, begin: int, mirrors: Any) -> Route:
    """Return the route to owner `q`; the host builds it for an owner on a CPU."""
    element = build.element
    first, end = (int(bound) for bound in build.number_bounds[q : q + 2])
    index = element.allocate(len(mirrors), np.uint32, exchanged=True)
    _run(element, "numbers_on_owner", mirrors, build.arrays.numbers, first, index)
    if owner.kind != "cuda":
        route = Route.from_index(build.p, q, begin, element.download(index), end - first)
        return upload_route(route, owner)
    gpu = cast("CudaElement", owner)
    index = copied(index, element, gpu)
    bitmap = gpu.allocate(-(-(end - first) // 64), np.uint64, 0)
    _run(gpu, "set_bits", index, bitmap)
    counts = gpu.allocate(len(bitmap) + 1, np.uint32, 0)
    _run(gpu, "count_bits", bitmap, counts)
    lowest, highest = (int(gpu.download(one)[0]) for one in (index[:1], index[-1:]))
    contiguous = highest - lowest == len(index) - 1
    rank = gpu.running_sum(counts)
    return Route(build.p, q, begin, index, bitmap, rank, lowest if contiguous else None)


def _run(gpu: CudaElement, name: str, *args: Any) -> Any:
    """Launch a kernel of ``numbering.cu``, and return its pending result."""
    return gpu.run(gpu.kernel(f"numbering.{name}"), *args)


class _Marked:
    """Numbers of vertices that are marked by flags on a GPU."""

    def __init__(self, element: CudaElement, flags: Any) -> None:
        self._element, self._flags, self.ends = element, flags, element.running_sum(flags)

    def counts_below(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many marked numbers are below each bound."""
        ends = [self.ends[bound - 1 : bound] for bound in bounds.tolist()]
        return np.array([self._element.download(end)[0] if len(end) else 0 for end in ends], np.int64)

    def run_between(self, first: int, end: int) -> tuple[int, int]:
        """Return the first marked number of a range with one, and the end after its last one."""
        kernel = self._element.kernel("numbering.flagged_range")
        found = self._element.result(self._element.run(kernel, self._flags, first, end))
        begin, last = map(int, found)
        return begin, (1 << 64) - last

    def fill(self, first: int, end: int) -> None:
        """Mark all numbers of a range."""
        self._element.fill(self._flags[first:end], 1)
        self.ends = self._element.running_sum(self._flags)
