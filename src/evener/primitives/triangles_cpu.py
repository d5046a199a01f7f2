"""Triangles of oriented rows: counted for each vertex, weighted by directions, or given to a function.

Each worker takes chunks of vertices. The row of a vertex `u` is entered in a table, in which the rows of its
targets `v` are looked up. A common neighbour `w` completes a triangle. The vertices are in ascending order of
degree: `u`, `v`, `w`.

Arrays are those of `neighbour_rows_cpu`. The vertices from `first_row` on have the rows of `other_offsets`. A
kernel finds the triangles whose vertex `u` is owned, and whose vertex `v` has one of these rows.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.chunks import chunk_count
from evener.kernels.cpu.jit import inline_step, inlined, parallel, uncached_parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk
from evener.primitives.common_neighbours_cpu import common_neighbours, enter_row, leave_row, new_table
from evener.primitives.neighbour_rows_cpu import longest_row

__all__ = ["coefficients", "count_directed", "count_mutual", "count_triangles", "visit_triangles"]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
# Vertices in a chunk.
_CHUNK = np.uint64(1 << 8)


@vertex_step
def _add_times(row_targets, u, begin, end, times, total, triangles):
    """Add what a row counted to its vertex and to its targets."""
    if total > _ZERO:
        fetch_add(triangles, u, total)
        for e in range(begin, end):
            if times[e - begin] > 0:
                fetch_add(triangles, row_targets[e], np.uint64(times[e - begin]))


@inline_step
def _triangles_of(row_offsets, row_targets, u, first, other_offsets, other_targets, table, times, triangles):
    begin, end = row_offsets[u], row_offsets[u + _ONE]
    mask = enter_row(row_targets, begin, end, table)
    times[: end - begin] = 0
    total = _ZERO
    for e in range(begin, end):
        v = np.uint64(row_targets[e]) - first
        if v < np.uint64(len(other_offsets) - 1):
            count = common_neighbours(other_targets, other_offsets[v], other_offsets[v + _ONE], mask, table)
            for i in range(count):
                times[table.found[i]] += 1
            times[e - begin] += count
            total += count
    leave_row(row_targets, begin, end, table)
    _add_times(row_targets, u, begin, end, times, total, triangles)
    return total


@inline_step
def _count_by_worker(
    row_offsets, row_targets, first_row, other_offsets, other_targets, longest, triangles, counter
):
    owned = np.uint64(len(row_offsets) - 1)
    table = new_table(longest)
    times = np.empty(longest, np.uint64)
    total = _ZERO
    first = take_chunk(counter, _CHUNK)
    while first < owned:
        for u in range(first, min(first + _CHUNK, owned)):
            if row_offsets[u + _ONE] - row_offsets[u] > _ONE:
                total += _triangles_of(
                    row_offsets, row_targets, u, first_row, other_offsets, other_targets, table, times,
                    triangles,
                )  # fmt: skip
        first = take_chunk(counter, _CHUNK)
    return total


@parallel
def count_triangles(row_offsets, row_targets, first_row, other_offsets, other_targets, triangles):
    """Add the triangles of each vertex and mirror. Return the number of triangles."""
    longest = max(longest_row(row_offsets), longest_row(other_offsets))
    counter = new_counter()
    total = _ZERO
    for _ in prange(WORKERS):
        total += _count_by_worker(
            row_offsets, row_targets, np.uint64(first_row), other_offsets, other_targets, longest, triangles,
            counter,
        )  # fmt: skip
    return total


# ---- edges in one or both directions -----------------------------------------------------------------------


@inline_step
def _directed_triangles_of(
    row_offsets, row_targets, mutual, u, first, other_offsets, other_targets, other_mutual, opposite, table,
    times, triangles,
):  # fmt: skip
    begin, end = row_offsets[u], row_offsets[u + _ONE]
    mask = enter_row(row_targets, begin, end, table)
    times[: end - begin] = 0
    total = _ZERO
    for e in range(begin, end):
        v = np.uint64(row_targets[e]) - first
        if v < np.uint64(len(other_offsets) - 1):
            other = other_offsets[v]
            count = common_neighbours(other_targets, other, other_offsets[v + _ONE], mask, table)
            to_v = _ONE + np.uint64(mutual[e])
            of_v = of_u = _ZERO
            for i in range(count):
                place = table.found[i]
                to_w = _ONE + np.uint64(mutual[begin + place])
                between = _ONE + np.uint64(other_mutual[other + table.positions[i]])
                product = to_v * to_w * between
                times[place] += to_v if opposite else product
                of_v += to_w if opposite else product
                of_u += between if opposite else product
            times[e - begin] += of_v
            total += of_u
    leave_row(row_targets, begin, end, table)
    _add_times(row_targets, u, begin, end, times, total, triangles)


@inline_step
def _directed_by_worker(
    row_offsets, row_targets, mutual, first_row, other_offsets, other_targets, other_mutual, opposite,
    longest, triangles, counter,
):  # fmt: skip
    owned = np.uint64(len(row_offsets) - 1)
    table = new_table(longest)
    times = np.empty(longest, np.uint64)
    first = take_chunk(counter, _CHUNK)
    while first < owned:
        for u in range(first, min(first + _CHUNK, owned)):
            if row_offsets[u + _ONE] - row_offsets[u] > _ONE:
                _directed_triangles_of(
                    row_offsets, row_targets, mutual, u, first_row, other_offsets, other_targets,
                    other_mutual, opposite, table, times, triangles,
                )  # fmt: skip
        first = take_chunk(counter, _CHUNK)


@parallel
def count_directed(
    row_offsets,
    row_targets,
    mutual,
    first_row,
    other_offsets,
    other_targets,
    other_mutual,
    opposite,
    triangles,
):
    """Add the directed triangles of each vertex and mirror.

    A triangle counts for a vertex once for each choice of a direction of its three edges. If `opposite`, it
    counts once for each direction of the edge between the other two vertices.
    """
    longest = max(longest_row(row_offsets), longest_row(other_offsets))
    counter = new_counter()
    for _ in prange(WORKERS):
        _directed_by_worker(
            row_offsets, row_targets, mutual, np.uint64(first_row), other_offsets, other_targets,
            other_mutual, opposite, longest, triangles, counter,
        )  # fmt: skip


@inline_step
def _count_mutual(row_offsets, row_targets, mutual, counts, first, last):
    for v in range(first, last):
        for e in range(row_offsets[v], row_offsets[v + _ONE]):
            if mutual[e] > 0:
                fetch_add(counts, v, np.uint32(1))
                fetch_add(counts, row_targets[e], np.uint32(1))


@parallel
def count_mutual(row_offsets, row_targets, mutual, counts):
    """Add the mutual neighbours of each vertex and mirror."""
    owned = np.uint64(len(row_offsets) - 1)
    for r in prange(chunk_count(owned, _CHUNK)):
        first = np.uint64(r) * _CHUNK
        _count_mutual(row_offsets, row_targets, mutual, counts, first, min(first + _CHUNK, owned))


@vertex_step
def _pairs_of(links, mutual, directed):
    """Return how many pairs of neighbours there are.

    If `directed`, count ordered pairs of links, but not the two links of a mutual edge.
    """
    if directed:
        return links * (links - 1) - 2 * mutual
    return (links - mutual) * (links - mutual - 1)


@parallel
def coefficients(links, mutual, triangles, factor, directed, coefficient):
    """Write the clustering coefficient of each owned vertex. Return the sums of it and of its denominator.

    The denominator is the pairs of neighbours or, if `directed`, of links to them. A mutual neighbour has two
    links. The numerator is `factor` times the triangles.
    """
    total = 0.0
    all_pairs = 0
    for v in prange(len(coefficient)):
        pairs = _pairs_of(np.int64(links[v]), np.int64(mutual[v]), directed)
        value = factor * triangles[v] / pairs if pairs > 0 else 0.0
        coefficient[v] = value
        total += value
        all_pairs += pairs
    return total, all_pairs


# ---- functions of triangles ----------------------------------------------------------------------------


def visit_triangles(visit):
    """Return a kernel that calls ``visit(u, v, w, arguments)`` for each triangle, with local numbers.

    `arguments` has the arguments of the kernel after its rows. Several threads call `visit` at the same time.
    """
    called = inlined(visit)

    @inline_step
    def visit_by_worker(
        row_offsets, row_targets, first_row, other_offsets, other_targets, longest, arguments, counter
    ):
        owned = np.uint64(len(row_offsets) - 1)
        table = new_table(longest)
        first = take_chunk(counter, _CHUNK)
        while first < owned:
            for u in range(first, min(first + _CHUNK, owned)):
                begin, end = row_offsets[u], row_offsets[u + _ONE]
                mask = enter_row(row_targets, begin, end, table)
                for e in range(begin, end):
                    v = np.uint64(row_targets[e]) - first_row
                    if v < np.uint64(len(other_offsets) - 1):
                        other, other_end = other_offsets[v], other_offsets[v + _ONE]
                        count = common_neighbours(other_targets, other, other_end, mask, table)
                        for i in range(count):
                            w = np.uint64(row_targets[begin + table.found[i]])
                            called(u, np.uint64(row_targets[e]), w, arguments)
                leave_row(row_targets, begin, end, table)
            first = take_chunk(counter, _CHUNK)

    @uncached_parallel
    def visit_all(row_offsets, row_targets, first_row, other_offsets, other_targets, *arguments):
        longest = max(longest_row(row_offsets), longest_row(other_offsets))
        counter = new_counter()
        for _ in prange(WORKERS):
            visit_by_worker(
                row_offsets, row_targets, np.uint64(first_row), other_offsets, other_targets, longest,
                arguments, counter,
            )  # fmt: skip

    return visit_all
