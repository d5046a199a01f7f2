"""Build the partitions of a graph on several GPUs.

Each GPU receives an equal piece of the edges over its own link to the host, and writes the rows to the GPUs
that own them. If the GPUs cannot write to each other, each receives all edges and keeps its own. Each GPU
then numbers the mirrors of its partition, and sorts its rows.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise, permutations
from typing import TYPE_CHECKING, Any, cast

import numba
import numpy as np

from evener.kernels.cpu.partition import NEEDED
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.gpu_build import Built, RowsBuild, on_gpu
from evener.partition.gpu_numbers import copied
from evener.partition.partition import mirrors_below
from evener.partition.route import Route, upload_route

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.elements.cuda.element import CudaElement
    from evener.graph.graph import Graph
    from evener.partition.gpu_numbers import VertexArrays
    from evener.partition.partition import Partition

__all__ = ["build_parts"]


def build_parts(
    graph: Graph,
    bounds: NDArray[np.int64],
    arrays: Mapping[int, VertexArrays],
    directions: str,
    elements: Sequence[Element],
) -> dict[int, Built]:
    """Return the partitions that GPUs build, by number, each GPU on its own thread.

    `bounds` are those of `Numbering`. `arrays` has the arrays of all vertices in the memory of each GPU, by
    the number of its partition. The result lacks partitions of CPUs, and partitions that `build_whole` would
    not build.
    """
    groups: dict[object, list[int]] = defaultdict(list)
    for p in arrays:
        groups[elements[p].memory].append(p)
    if not groups:
        return {}
    threads = max(1, numba.get_num_threads() // len(groups))

    def allocate(group: list[int]) -> list[PartBuild]:
        parts: list[PartBuild] = []
        taken, promised = arrays[group[0]].nbytes, 0
        for p in group:
            gpu = cast("CudaElement", elements[p])
            room = gpu.room_after(taken) - promised
            part = PartBuild(graph, directions, gpu, room, p, bounds, arrays[p])
            if not part.allocate_part(len(elements) - 1):
                break  # the host counts the memory of earlier partitions
            parts.append(part)
            taken += part.row_bytes
            promised += part.most_run_bytes
            gpu.wait()  # before other GPUs write to the rows
        return parts

    def send(part: int, own: list[PartBuild]) -> None:
        try:
            if written_by_all:
                own[0].send_rows(parts, part, len(senders))
            else:
                own[0].send_rows(own)
        finally:
            own[0].element.wait()  # before the memory of another GPU may be freed

    with ThreadPoolExecutor(len(groups), initializer=numba.set_num_threads, initargs=(threads,)) as pool:
        senders = [own for own in pool.map(allocate, groups.values()) if own]
        parts = [part for own in senders for part in own]
        gpus = [own[0].element for own in senders]
        written_by_all = all(gpu.reads(other) for gpu, other in permutations(gpus, 2))
        list(pool.map(send, range(len(senders)), senders))
        built = pool.map(lambda own: [part.finish_part() for part in own], senders)
        partitions = [partition for of_gpu in built for partition in of_gpu]
    return {
        part.p: Built(partition, part.routes_of(partition, elements), part.longest_in)
        for part, partition in zip(parts, partitions, strict=True)
    }


class PartBuild(RowsBuild):
    """The rows and mirrors of one of several partitions while a GPU builds them.

    `p` is the number of the partition. `bounds` and `arrays` are those of `build_parts`.
    """

    # A number, a state, a flag, a number of flags, and a position.
    placed_bytes = 4 + 1 + 4 + 4 + 4
    offset_bytes = 0  # in the room already

    def __init__(
        self,
        graph: Graph,
        directions: str,
        element: CudaElement,
        room: int,
        p: int,
        bounds: NDArray[np.int64],
        arrays: VertexArrays,
    ) -> None:
        super().__init__(graph, directions, element, room)
        self.p, self.number_bounds, self.arrays = p, bounds, arrays
        self.offsets = arrays.offsets

    def allocate_part(self, others: int) -> bool:
        """Allocate the rows, and return true; return false if there is no room for them."""
        first, end = (int(bound) for bound in self.number_bounds[self.p : self.p + 2])
        n, owned = self.graph.n, end - first
        if not owned or not self.numbers_fit(owned):
            return False
        numbers = self.element.allocate(n, np.uint32)
        self._run("number_all", self.arrays.vertices, numbers)
        self.find_rows(self.arrays.vertices[first:end], numbers, first)
        if not self.edges_fit(n - owned, owned * others):
            return False
        self.most_run_bytes = bytes_excluding_edges(
            owned, n - owned, owned * others, sum(self.counts), directions=len(self.directions)
        )
        self.allocate_rows(0)  # compute-sanitizer does not see what other GPUs write
        return True

    @property
    def row_bytes(self) -> int:
        """Bytes of the targets and weights."""
        return sum(array.nbytes for arrays in self.edges.values() for array in arrays if array is not None)

    def finish_part(self) -> Partition:
        """Number the mirrors, sort the rows, and return the partition."""
        needed = self.element.allocate(self.graph.n, np.uint8, 0)
        self.run("mark_owned", self.owned, needed)
        for d, (targets, _) in self.edges.items():
            self.boundary[d] = self.result("mark_targets", on_gpu(targets), needed)
        vertices, mirror_bounds, position = self._number_mirrors(needed)
        return self.finish(self.p, vertices, mirror_bounds, position, self.arrays.out_degree)

    def _number_mirrors(self, needed: Any) -> tuple[Any, NDArray[np.int64], Any]:
        """Return the partition's vertices, the bounds of mirrors, and the local number of each vertex."""
        element, owned, every = self.element, len(self.owned), self.arrays.vertices
        flags = element.allocate(len(every), np.uint32)
        self._run("needed_in_order", every, needed, NEEDED, flags)
        marked = _Marked(element, flags)
        mirror_bounds = owned + mirrors_below(marked, self.number_bounds)
        vertices = element.allocate(int(mirror_bounds[-1]), np.uint32)
        position = element.allocate(len(every), np.uint32)
        self._run("number_partition", every, flags, marked.ends, self.first, owned, vertices, position)
        return vertices, mirror_bounds, position

    def routes_of(self, partition: Partition, elements: Sequence[Element]) -> list[Route]:
        """Return the routes of the mirrors by owner, with arrays in the memory of the owner."""
        bounds = partition.mirror_bounds.tolist()
        return [
            self._route(q, elements[q], begin, partition.vertices[begin:end])
            for q, (begin, end) in enumerate(pairwise(bounds))
            if end > begin
        ]

    def _route(self, q: int, owner: Element, begin: int, mirrors: Any) -> Route:
        """Return the route to owner `q`; the host builds it for an owner on a CPU."""
        first, end = (int(bound) for bound in self.number_bounds[q : q + 2])
        index = self.element.allocate(len(mirrors), np.uint32, exchanged=True)
        self._run("numbers_on_owner", mirrors, self.numbers, first, index)
        if owner.kind != "cuda":
            route = Route.from_index(self.p, q, begin, self.element.download(index), end - first)
            return upload_route(route, owner)
        gpu = cast("CudaElement", owner)
        index = copied(index, self.element, gpu)
        bitmap = gpu.allocate(-(-(end - first) // 64), np.uint64, 0)
        gpu.run(gpu.kernel("numbering.set_bits"), index, bitmap)
        counts = gpu.allocate(len(bitmap) + 1, np.uint32, 0)
        gpu.run(gpu.kernel("numbering.count_bits"), bitmap, counts)
        lowest, highest = (int(gpu.download(one)[0]) for one in (index[:1], index[-1:]))
        contiguous = highest - lowest == len(index) - 1
        rank = gpu.running_sum(counts)
        return Route(self.p, q, begin, index, bitmap, rank, lowest if contiguous else None)

    def _run(self, name: str, *args: Any) -> Any:
        """Launch a kernel of ``numbering.cu``, and return its pending result."""
        return self.element.run(self.element.kernel(f"numbering.{name}"), *args)


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
