"""Build the partitions of a graph on the GPUs of one process.

Each GPU receives an equal piece of the edges over its own link to the host, and writes the rows to the GPUs
that own them. If the GPUs cannot write to each other, each receives all edges and keeps its own. Each GPU
then numbers the mirrors of its partition, and sorts its rows.
"""

from __future__ import annotations

from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from itertools import permutations
from typing import TYPE_CHECKING, Any, cast

import numba

from evener.graph.gpu_rows import GpuRows
from evener.partition.degrees import descending_degree_on_host, vertices_as_stored
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.gpu_build import Built, RowsBuild
from evener.partition.gpu_edges_build import EdgesBuild, has_edges_on
from evener.partition.gpu_mirrors import number_mirrors, routes_of
from evener.partition.gpu_numbers import number_on_gpu, upload_numbering
from evener.partition.gpu_rows_build import PiecesBuild, has_rows_on
from evener.partition.numbering import number_vertices

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    import numpy as np
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.elements.cuda.element import CudaElement
    from evener.graph.graph import Graph
    from evener.partition.gpu_vertices import VertexArrays
    from evener.partition.numbering import Numbering
    from evener.partition.owners import Division
    from evener.partition.policy import Vertices

__all__ = ["number_and_build", "takes_rows_of_host"]


def takes_rows_of_host(graph: Graph, elements: Sequence[Element]) -> bool:
    """Return whether partitions on these elements are built from rows in host memory."""
    return _kind_of_build(graph, elements) is RowsBuild


def _kind_of_build(graph: Graph, elements: Sequence[Element]) -> type[RowsBuild]:
    if len(elements) == 1 and has_edges_on(graph, elements[0].memory):
        return EdgesBuild
    return PiecesBuild if has_rows_on(graph, elements) else RowsBuild


def _without_pieces(graph: Graph) -> type[RowsBuild]:
    """Free the pieces of rows on GPUs, and return the build from rows in host memory."""
    if isinstance(graph.gpu_edges, GpuRows):
        graph.gpu_edges.release()
    return RowsBuild


def number_and_build(
    graph: Graph,
    directions: str,
    elements: Sequence[Element],
    owners_of: Callable[[Vertices], NDArray[Any]],
    division: Division,
) -> tuple[Numbering, NDArray[np.uint32] | None, dict[int, Built]]:
    """Return the numbers of the vertices, the out-degrees if they are known, and what GPUs could build.

    The partitions of CPUs, and those that need edges in host memory, are missing. The arrays of all vertices
    on the GPUs are free afterwards, except for the numbers. If all elements of all ranks are GPUs of this
    process, a GPU numbers the vertices.
    """
    several = len(division.shares) > len(elements)
    # GPUs build partitions numbered from 0, so on several ranks the host builds all of them.
    gpus = {} if several else {p: e for p, e in enumerate(elements) if e.kind == "cuda"}
    kind = _kind_of_build(graph, elements)

    def build_on(gpu: Element, kind: type[RowsBuild]) -> RowsBuild:
        element = cast("CudaElement", gpu)
        return kind(graph, directions, element, element.room())

    # One owner needs no second order.
    stored = directions if len(division.shares) > 1 else "both"
    numbers, out_degree, first = None, None, next(iter(gpus.values()), None)
    if first is not None and len(gpus) == len(elements):
        numbers = number_on_gpu(build_on(first, kind), owners_of, division, stored)
    if numbers is not None:
        numbering, arrays = numbers
    else:
        by_degree, degree, out_degree = descending_degree_on_host(graph)
        owner = owners_of(vertices_as_stored(graph, by_degree, degree, out_degree, stored))
        del degree
        numbering, arrays = number_vertices(by_degree, owner, len(division.shares)), None
        kind = _without_pieces(graph)
        if first is not None:
            arrays = upload_numbering(numbering, build_on(first, kind), out_degree)
    if first is None or arrays is None:
        return numbering, out_degree, {}
    in_memory = {first.memory: arrays}
    for gpu in gpus.values():
        if gpu.memory not in in_memory and build_on(gpu, kind).numbers_fit(0):
            in_memory[gpu.memory] = arrays.copy_to(cast("CudaElement", gpu), cast("CudaElement", first))
    of_gpus = {p: in_memory[gpu.memory] for p, gpu in gpus.items() if gpu.memory in in_memory}
    built = _build_parts(kind, graph, numbering.bounds, of_gpus, directions, elements)
    if not built and kind is not RowsBuild:
        kind = _without_pieces(graph)
        built = _build_parts(kind, graph, numbering.bounds, of_gpus, directions, elements)
    return numbering, out_degree, built


def _build_parts(
    kind: type[RowsBuild],
    graph: Graph,
    bounds: NDArray[np.int64],
    arrays: Mapping[int, VertexArrays],
    directions: str,
    elements: Sequence[Element],
) -> dict[int, Built]:
    """Return the partitions that GPUs build, by number, each GPU on its own thread.

    `bounds` are those of `Numbering`. `arrays` has the arrays of all vertices in the memory of each GPU, by
    the number of its partition.
    """
    groups: dict[object, list[int]] = defaultdict(list)
    for p in arrays:
        groups[elements[p].memory].append(p)
    if not groups:
        return {}
    threads = max(1, numba.get_num_threads() // len(groups))

    def allocate(group: list[int]) -> list[RowsBuild]:
        parts: list[RowsBuild] = []
        taken, promised = arrays[group[0]].nbytes, 0
        for p in group:
            gpu = cast("CudaElement", elements[p])
            part = kind(graph, directions, gpu, gpu.room_after(taken) - promised)
            owned, others = int(bounds[p + 1] - bounds[p]), len(bounds) - 2
            least = bytes_excluding_edges(owned, 0, 0, 0, directions=len(part.directions))
            if not owned or least > part.room:
                break
            part.find_rows(p, bounds, arrays[p])
            if not part.edges_fit(graph.n - owned, owned * others):
                break  # the host counts the memory of earlier partitions
            # compute-sanitizer does not see what other GPUs write.
            part.allocate_rows(0 if len(groups) > 1 else None)
            parts.append(part)
            taken += part.row_bytes
            promised += part.run_bytes
            gpu.wait()  # before other GPUs write to the rows
        return parts

    def send(part: int, own: list[RowsBuild]) -> None:
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
        if kind is PiecesBuild and len(parts) < len(arrays):
            return {}  # a GPU without a partition cannot send its piece
        gpus = [own[0].element for own in senders]
        written_by_all = all(gpu.reads(other) for gpu, other in permutations(gpus, 2))
        list(pool.map(send, range(len(senders)), senders))
        if kind is PiecesBuild:
            cast("GpuRows", graph.gpu_edges).release()
        built = pool.map(lambda own: [part.finish(*number_mirrors(part)) for part in own], senders)
        partitions = [partition for of_gpu in built for partition in of_gpu]
    return {
        part.p: Built(partition, routes_of(part, partition, elements), part.longest_in)
        for part, partition in zip(parts, partitions, strict=True)
    }
