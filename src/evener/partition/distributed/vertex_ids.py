"""Vertex ids: number ids that are spread over all ranks.

A vertex's number is the position of its id among all ids in ascending order, as `evener.read` numbers them.
Dense ids are numbered by a bitmap of all possible ids, which takes 1.5 bits per id on every rank. Sparse ids
and strings are sorted: each rank gets the ids of a range, and answers the ranks that use them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FormatError
from evener.graph.arrays import MAX_VERTICES, read_only
from evener.graph.bitmap import Bitmap
from evener.graph.ids import EdgeArrays, distinct
from evener.kernels.cpu import numbering as kernels
from evener.partition.block_exchange import block_bounds
from evener.system.agreement import on_all_ranks
from evener.system.memory import require

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.share import EdgeIds
    from evener.system.world import World

__all__ = ["check_vertex_count", "number_ids"]

# Largest span of ids of a bitmap, per edge end of a rank, and a span whose bitmap is always small (1.5 MiB).
_SPAN_PER_END, _SMALL_SPAN = 8, 1 << 23
# Ids of a rank in the sample that divides ids between ranks.
_SAMPLE = 1 << 10
# Ids to sort in one step.
_SORT_CHUNK = 1 << 22


def check_vertex_count(n: int) -> None:
    """Raise if a graph has too many vertices for numbers of 32 bits."""
    if n > MAX_VERTICES:
        msg = f"expected at most {MAX_VERTICES:,} vertices (2^32 - 2), found {n:,}; use a smaller graph"
        raise ArgumentError(msg)


def number_ids(world: World, edges: EdgeIds) -> tuple[EdgeArrays, NDArray[Any] | None]:
    """Return the edges of this rank between vertex numbers, and the ids of this rank's block.

    This is a collective operation; all ranks must call it. The ids are None if they are ``0..n-1``. Raises
    FormatError if an edge names a vertex that is not listed, a vertex is listed twice, or an id is too large.
    """
    if world.allreduce(int(edges.names is not None), "max"):
        return _by_names(world, edges)
    ends = [edges.src, edges.dst]
    if edges.n is not None:
        on_all_ranks(world, lambda: _check_below(edges))
        src, dst = (read_only(end.astype(np.uint32, copy=False)) for end in ends)
        return EdgeArrays(src, dst, edges.weights, edges.n), None
    largest = max((int(end.max()) for end in [*ends, edges.vertices] if len(end)), default=-1)
    span, most = world.allreduce((1 + largest, len(edges.src)), "max")
    wide = np.uint64 if span > 1 << 32 else np.uint32
    if span > 1 << 63:
        raise FormatError(f"expected ids below 2^63, found {span - 1}", path=edges.path)
    edges.src, edges.dst = (end.astype(wide, copy=False) for end in ends)
    if span > max(_SPAN_PER_END * 2 * most, _SMALL_SPAN):
        return _by_search(world, edges)
    return _by_bitmap(world, edges, span)


def _check_below(edges: EdgeIds) -> None:
    """Raise if an id is not below the number of vertices."""
    for end in (edges.src, edges.dst):
        if len(end) and (largest := int(end.max())) >= (edges.n or 0):
            msg = f"expected ids below n = {edges.n}, found {largest}; omit n="
            raise FormatError(msg, path=edges.path)


def _by_bitmap(world: World, edges: EdgeIds, span: int) -> tuple[EdgeArrays, NDArray[np.int64] | None]:
    """Number dense ids by their rank in a bitmap of all ids."""
    used = Bitmap(span)
    used.add(edges.vertices.astype(np.uint64))
    if not edges.listed:
        for end in (edges.src, edges.dst):
            used.add(end)
    # Each rank merges the words of one range.
    cuts = block_bounds(len(used.words), world.size)
    own = np.bitwise_or.reduce(world.alltoall(np.split(used.words, cuts[1:-1])))
    if own_parts := world.alltoall([own] * world.size):
        used.words = np.concatenate(own_parts)
    n = used.count()
    check_vertex_count(n)
    if edges.listed:
        _check_listed(world, edges, used.words)
        _check_distinct(world, edges, n)
    src, dst = read_only(edges.src), read_only(edges.dst)
    if n == span:
        return EdgeArrays(src, dst, edges.weights, n), None
    lookup = used.words, used.ranks
    return EdgeArrays(src, dst, edges.weights, n, None, lookup), _ids_of_block(world, *lookup, n)


def _ids_of_block(
    world: World, bitmap: NDArray[np.uint64], ranks: NDArray[np.uint32], n: int
) -> NDArray[np.int64]:
    """Return the ids of this rank's block, given the bitmap of all ids."""
    begin, end = block_bounds(n, world.size)[world.rank : world.rank + 2]
    first = max(int(np.searchsorted(ranks, begin, side="right")) - 1, 0)
    last = int(np.searchsorted(ranks, end, side="left"))
    base = ranks[first]
    ids = np.empty(int(ranks[last] - base), np.int64)
    kernels.list_marked_ids(bitmap[first:last], ranks[first:last] - base, ids)
    return ids[begin - base : end - base] + 64 * first


def _check_distinct(world: World, edges: EdgeIds, n: int) -> None:
    """Raise on all ranks if a vertex is listed twice."""
    listed = world.allreduce(len(edges.vertices), "sum")
    if listed != n:
        raise FormatError(f"expected distinct vertex ids, found {listed - n} repeated", path=edges.path)


def _check_listed(world: World, edges: EdgeIds, bitmap: NDArray[np.uint64]) -> None:
    """Raise on all ranks if an edge names a vertex that is not listed."""

    def check() -> None:
        for start in range(0, len(edges.src), _SORT_CHUNK):
            for end in (edges.src, edges.dst):
                ids = end[start : start + _SORT_CHUNK].astype(np.uint64)
                marked = bitmap[ids >> np.uint64(6)] >> (ids & np.uint64(63)) & np.uint64(1)
                if not marked.all():
                    raise _unlisted(edges, ids[marked == 0][0])

    on_all_ranks(world, check)


def _unlisted(edges: EdgeIds, vertex: Any) -> FormatError:
    return FormatError(f"an edge names vertex {vertex}, which the vertex file lacks", path=edges.path)


def _by_search(world: World, edges: EdgeIds) -> tuple[EdgeArrays, NDArray[np.int64] | None]:
    """Number sparse ids: a range of ids for each rank, and answers to the ranks that use them."""
    wide = edges.src.dtype
    vertices = edges.vertices.astype(wide)
    used = [
        distinct(end[start : start + _SORT_CHUNK])
        for end in (edges.src, edges.dst)
        for start in range(0, len(end), _SORT_CHUNK)
    ]
    own = distinct(np.concatenate([vertices, *used]))
    listed = distinct(vertices) if edges.listed else own
    del vertices, used
    numbers, ids, n = _search(world, edges, own, listed)
    src, dst = (_looked_up(end, own, numbers) for end in (edges.src, edges.dst))
    return EdgeArrays(read_only(src), read_only(dst), edges.weights, n), ids.astype(np.int64)


def _by_names(world: World, edges: EdgeIds) -> tuple[EdgeArrays, NDArray[Any]]:
    """Number strings: a range of strings for each rank, and answers to the ranks that use them."""
    names = np.asarray(edges.names)
    if world.allreduce(int(edges.n is not None), "max"):
        msg = f"n = {edges.n} requires the integer ids 0..n-1, but the ids are strings; remove n"
        raise ArgumentError(f"{edges.path}: {msg}")
    width = world.allreduce(max(map(len, names.tolist()), default=1), "max")
    on_all_ranks(world, lambda: require(2 * 4 * width * len(names), f"the list of ids of {edges.path}"))
    own = names.astype(f"U{width}")
    numbers, ids, n = _search(world, edges, own, own)
    src, dst = (numbers[end] for end in (edges.src, edges.dst))
    return EdgeArrays(read_only(src), read_only(dst), edges.weights, n), ids


def _search(
    world: World, edges: EdgeIds, own: NDArray[Any], listed: NDArray[Any]
) -> tuple[NDArray[np.uint32], NDArray[Any], int]:
    """Return the numbers of this rank's ids, the ids of this rank's block, and the number of vertices.

    `own` has the ids that this rank uses, and `listed` those that are vertices; both are distinct and sorted.
    """
    step = max(1, len(listed) // _SAMPLE)
    sample = np.sort(np.concatenate(world.allgather(listed[::step])))
    # Without any id, every rank gets nothing.
    splitters = sample[[len(sample) * rank // world.size for rank in range(1, world.size) if len(sample)]]
    parts = [0] * (world.size - 1 - len(splitters))
    received = world.alltoall(np.split(listed, [*parts, *np.searchsorted(listed, splitters)]))
    ids = distinct(np.concatenate(received))
    counts = world.allgather(len(ids))
    n, first = sum(counts), sum(counts[: world.rank])
    check_vertex_count(n)
    if edges.listed:
        _check_distinct(world, edges, n)
    # Ask for the number of each id that this rank uses.
    asked = world.alltoall(np.split(own, [*parts, *np.searchsorted(own, splitters)]))
    answers = [_numbers(ids, wanted, first) for wanted in asked]
    numbers = np.concatenate(world.alltoall(answers))

    def check() -> None:
        if (missing := np.flatnonzero(numbers == _ABSENT)).size:
            raise _unlisted(edges, own[missing[0]])

    on_all_ranks(world, check)
    cuts = np.clip(block_bounds(n, world.size)[1:-1] - first, 0, len(ids))
    return numbers, np.concatenate(world.alltoall(np.split(ids, cuts))), n


_ABSENT = np.uint32(0xFFFFFFFF)


def _numbers(ids: NDArray[Any], wanted: NDArray[Any], first: int) -> NDArray[np.uint32]:
    """Return the numbers of ids, of which the first has the number `first`; `_ABSENT` for other ids."""
    if not len(ids):
        return np.full(len(wanted), _ABSENT, np.uint32)
    places = np.minimum(np.searchsorted(ids, wanted), len(ids) - 1)
    return np.where(ids[places] == wanted, places + first, _ABSENT).astype(np.uint32)


def _looked_up(end: NDArray[Any], ids: NDArray[Any], numbers: NDArray[np.uint32]) -> NDArray[np.uint32]:
    """Return the numbers of the ends of edges, given the ids that they use and their numbers."""
    found = np.empty(len(end), np.uint32)
    for start in range(0, len(end), _SORT_CHUNK):
        piece = slice(start, start + _SORT_CHUNK)
        found[piece] = numbers[np.searchsorted(ids, end[piece])]
    return found
