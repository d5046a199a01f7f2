"""Edges to CSR: a parallel counting sort in bounded memory; checks, in-degrees and the reverse.

The edges are read a slice at a time, several times over: once to count the rows, then once for every pass.
A pass takes the rows of one range, hands their records to cache-sized buckets, and sorts each bucket.
So the records of one pass are all the memory a build takes beside its edges and its result.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import MAX_VERTICES, check_csr, check_symmetric, read_only
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CSR",
    "MAX_VERTICES",
    "EdgeSource",
    "check_csr",
    "check_symmetric",
    "from_edges",
    "from_slices",
    "in_degree",
    "rows_at",
    "transpose",
]

# Edges read at a time: a part of all, but for each thread at least the first, which stays in its own cache,
# and at most the second. Threads wait for each other after every slice: with five programs on two cores,
# building 2^27 uniform edges took 17 s at the second (5 CPU seconds), 43 s at the first (16 CPU seconds).
_SLICE, _LONGEST_SLICE = 1 << 16, 1 << 20
_SLICES = 32
# Rows are counted in this many groups, from which passes and buckets are cut.
_GROUPS = 1 << 14
# Records of a bucket, and buckets of a pass at most.
_BUCKET = 1 << 15
_BUCKETS = 1 << 11
# The records of one pass, as a share of all. A record is 8 bytes where its edge in the result is 4, so a
# third for held edges keeps records and result under twice the result, even when a sixth of the edges repeat
# (R-MAT 20: 0.25 s in 1 pass, 0.29 in 2, 0.30 in 3, 0.34 in 5). Made edges are held nowhere, which leaves
# room for a half: fewer passes, each of which makes all edges again.
_HELD_SHARE, _MADE_SHARE = 3, 2
# Places a thread has for records that are not of the pass (with one, each would wait for the one before), and
# words from one thread's places to the next's: when they shared a cache line, a pass took twice as long.
_NOWHERE, _STRIDE = 8, 32
# Fewer records than this go in one pass whatever the share (8 MiB).
_SMALL = 1 << 20


class CSR(NamedTuple):
    """The arrays of a graph: see `evener.Graph`."""

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]
    weights: NDArray[Any] | None
    ids: NDArray[Any] | None


class EdgeSource(Protocol):
    """Edges that can be had slice by slice, any number of times: arrays, a generator, another graph."""

    n: int
    m: int
    weight_dtype: np.dtype[Any] | None

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the ends of edges ``start:stop`` into two arrays of length ``stop - start``."""

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``; never called if `weight_dtype` is None."""


# ---- building ---------------------------------------------------------------------------------------


def from_edges(
    src: ArrayLike,
    dst: ArrayLike,
    weights: ArrayLike | None = None,
    *,
    symmetrise: bool,
    n: int | None = None,
    self_loops: str = "keep",
    duplicates: str = "keep",
) -> CSR:
    """Build CSR arrays from two arrays of edge ends; see `evener.Graph.from_edges`.

    Memory beside the given arrays stays under twice the result, counted before duplicates are dropped;
    strings, and arrays that are not contiguous integers of 32 or 64 bits, are converted first.
    """
    from evener.graph.ids import number_edges

    edges = number_edges(src, dst, weights, n)
    return _build(edges, symmetrise, self_loops, duplicates, _HELD_SHARE)._replace(ids=edges.ids)


def from_slices(
    source: EdgeSource, *, symmetrise: bool, self_loops: str = "keep", duplicates: str = "keep"
) -> CSR:
    """Build CSR arrays from edges that are made again for every pass instead of being stored.

    Parameters
    ----------
    source : EdgeSource
        Makes any slice of the edges.
    symmetrise : bool
        Whether to store each edge in both directions, a self-loop once.
    self_loops, duplicates : {"keep", "drop"}
        As for `evener.Graph.from_edges`.

    Raises
    ------
    OutOfMemoryError
        Before anything is allocated.
    """
    return _build(source, symmetrise, self_loops, duplicates, _MADE_SHARE)


def _build(source: EdgeSource, symmetrise: bool, self_loops: str, duplicates: str, share: int) -> CSR:  # noqa: FBT001 - private
    _check_choice("self_loops", self_loops)
    drop = _check_choice("duplicates", duplicates) == "drop"
    most = source.m * (2 if symmetrise else 1)
    width = 0 if source.weight_dtype is None else source.weight_dtype.itemsize
    result = 8 * (source.n + 1) + (4 + width) * most
    least = (8 + width) * (most // 16)
    memory.require(result + least, f"a graph of {source.n:,} vertices and up to {most:,} stored edges")
    if source.n > MAX_VERTICES:
        msg = f"a graph has at most {MAX_VERTICES:,} vertices (2^32 - 2), not {source.n:,}"
        raise ArgumentError(msg)
    weighted = source.weight_dtype is not None
    if most == 0:
        empty = np.empty(0, source.weight_dtype) if weighted else None
        return CSR(np.zeros(source.n + 1, np.uint64), np.empty(0, np.uint32), empty, None)
    return _Builder(source, symmetrise, self_loops == "keep", drop).run(share)


class _Builder:
    """One build: the buffers of a slice, the counts of the rows, and the passes over the edges."""

    def __init__(self, source: EdgeSource, symmetrise: bool, loops: bool, drop: bool) -> None:  # noqa: FBT001 - private
        import numba

        from evener.kernels.cpu import build as kernels

        self.kernels = kernels
        self.source = source
        self.threads = numba.get_num_threads()
        self.symmetrise, self.loops, self.drop = np.uint64(symmetrise), np.uint64(loops), bool(drop)
        self.weight_dtype = source.weight_dtype or np.dtype(np.float32)
        self.weighted = source.weight_dtype is not None
        self.bits = max(1, (source.n - 1).bit_length())
        self.shift = np.uint64(max(0, self.bits - _GROUPS.bit_length() + 1))
        self.groups = ((source.n - 1) >> int(self.shift)) + 1
        slice_length = min(source.m // _SLICES, self.threads * _LONGEST_SLICE)
        slice_length = min(source.m, max(slice_length, self.threads * _SLICE))
        self.src = np.empty(slice_length, np.uint32)
        self.dst = np.empty(slice_length, np.uint32)
        self.weights = np.empty(slice_length if self.weighted else 0, self.weight_dtype)

    def run(self, share: int) -> CSR:
        """Count, then sort one range of rows after the other."""
        counts = np.zeros((self.threads, self.groups), np.uint64)
        for src, dst, _ in self.slices(weights=False):
            self.kernels.count_rows(src, dst, self.shift, self.symmetrise, self.loops, counts)
        group_ends = np.concatenate([[0], counts.sum(axis=0).cumsum()]).astype(np.int64)
        stored = int(group_ends[-1])
        passes = _cut_passes(group_ends, self.room(stored, share))
        capacity = max(int(group_ends[last] - group_ends[first]) for first, last in passes)

        # Behind the records, each thread has places for those that are not of the pass.
        outside = capacity + np.arange(self.threads)[:, None] * _STRIDE + np.arange(_STRIDE)
        records = np.empty(capacity + outside.size, np.uint64)
        carried = np.empty(len(records) if self.weighted else 0, self.weight_dtype)
        offsets = np.zeros(self.source.n + 1, np.uint64)
        targets = np.empty(stored, np.uint32)
        weights = np.empty(stored if self.weighted else 0, self.weight_dtype)
        done = 0
        for first, last in passes:
            done += self.sort_range(
                counts, group_ends, first, last, outside, records, carried, done, offsets, targets, weights
            )
        del records, carried
        # In place: the tail that dropped edges leave goes back to the system, nothing is copied.
        targets.resize(done, refcheck=False)
        if self.weighted:
            weights.resize(done, refcheck=False)
        return CSR(offsets, targets, weights if self.weighted else None, None)

    def room(self, stored: int, share: int) -> int:
        """Say how many records a pass may hold: its share, or what memory leaves beside the result."""
        width = self.weight_dtype.itemsize if self.weighted else 0
        result = 8 * (self.source.n + 1) + (4 + width) * stored
        # Not all of what is left, for others use this machine too, and one pass more costs little: half of
        # it, but three quarters where each pass makes all edges again.
        left = memory.available() - result
        spare = (left * 3 // 4 if share == _MADE_SHARE else left // 2) // (8 + width)
        return max(1, min(max(-(-stored // share), _SMALL), max(spare, stored // 16)))

    def sort_range(
        self,
        counts: NDArray[np.uint64],
        group_ends: NDArray[np.int64],
        first: int,
        last: int,
        outside: NDArray[np.int64],
        records: NDArray[np.uint64],
        carried: NDArray[Any],
        done: int,
        offsets: NDArray[np.uint64],
        targets: NDArray[np.uint32],
        weights: NDArray[Any],
    ) -> int:
        """Sort the rows of groups ``first:last`` to ``targets[done:]``; returns the edges written."""
        buckets, bounds = _cut_buckets(group_ends, first, last)
        size = len(bounds) - 1
        # Thread t's records of a bucket follow those of the threads before it: no two write to one place.
        each = np.add.reduceat(counts[:, first:last], bounds[:-1] - first, axis=1).astype(np.int64)
        ends = each.T.ravel().cumsum().reshape(size, self.threads)
        cursors = np.concatenate([ends.T - each, outside], axis=1).astype(np.uint64)
        starts = np.concatenate([[0], ends[:, -1]]).astype(np.uint64)
        rows = np.minimum(bounds << int(self.shift), self.source.n).astype(np.uint64)

        for src, dst, slice_weights in self.slices(weights=self.weighted):
            self.kernels.scatter_records(
                src, dst, slice_weights, self.shift, self.symmetrise, self.loops, buckets, np.uint64(size),
                cursors, records, carried,
            )  # fmt: skip
        halves = records.view(np.uint32)
        sizes = np.empty(size, np.uint64)
        self.kernels.sort_buckets(
            records, halves, carried, starts, rows, np.uint64(done), np.uint64(self.bits), self.drop,
            targets, weights, offsets, sizes,
        )  # fmt: skip
        positions = np.uint64(done) + np.cumsum(sizes, dtype=np.uint64) - sizes
        self.kernels.place_buckets(halves, carried, starts, rows, sizes, positions, targets, weights, offsets)
        return int(sizes.sum())

    def slices(
        self, *, weights: bool
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[Any]]]:
        """Give the edges slice by slice, in the same buffers each time."""
        for start in range(0, self.source.m, len(self.src)):
            stop = min(start + len(self.src), self.source.m)
            src, dst = self.src[: stop - start], self.dst[: stop - start]
            self.source.fill(start, stop, src, dst)
            if weights:
                self.source.fill_weights(start, stop, self.weights[: stop - start])
            yield src, dst, self.weights[: stop - start]


def _cut_passes(group_ends: NDArray[np.int64], room: int) -> list[tuple[int, int]]:
    """Ranges of groups with about equal records, `room` at most but for what one group adds."""
    stored = int(group_ends[-1])
    passes = max(1, -(-stored // room))
    aims = np.arange(1, passes) * (stored / passes)
    ends = np.searchsorted(group_ends, aims)
    bounds = np.unique(np.concatenate([[0], ends, [len(group_ends) - 1]])).tolist()
    return list(itertools.pairwise(bounds))


def _cut_buckets(
    group_ends: NDArray[np.int64], first: int, last: int
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Find the bucket of each group, "nowhere" outside ``first:last``, and the groups that bound buckets."""
    before = group_ends[first:last] - group_ends[first]
    each = max(_BUCKET, int(group_ends[last] - group_ends[first]) // _BUCKETS + 1)
    _, begins, numbers = np.unique(before // each, return_index=True, return_inverse=True)
    elsewhere = np.arange(len(group_ends) - 1) % _NOWHERE
    buckets = (len(begins) + elsewhere).astype(np.uint16)
    buckets[first:last] = numbers
    return buckets, np.append(begins + first, last)


def _check_choice(name: str, value: str) -> str:
    if value not in ("keep", "drop"):
        msg = f'{name} must be "keep" or "drop", not {value!r}'
        raise ArgumentError(msg)
    return value


# ---- of a graph already built -----------------------------------------------------------------------


def in_degree(targets: NDArray[np.uint32], n: int) -> NDArray[np.uint64]:
    """How often each of `n` vertices is a target, shape (n,)."""
    import numba

    from evener.kernels.cpu import check as kernels

    degree = np.zeros(n, np.uint64)
    kernels.in_degree(read_only(targets), degree, 4 * numba.get_num_threads())
    return degree


def rows_at(offsets: NDArray[np.uint64], work: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The first rows before which so much `work` lies, of all there is: a row counts as much as an edge.

    Found by bisection, as the work before every row would take as much memory as the offsets.
    """
    low = np.zeros(len(work), np.uint64)
    high = np.full(len(work), len(offsets) - 1, np.uint64)
    while (low < high).any():
        middle = (low + high) // np.uint64(2)
        before = offsets[middle] + middle < work
        low, high = np.where(before, middle + np.uint64(1), low), np.where(before, high, middle)
    return low


def transpose(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], weights: NDArray[Any] | None = None
) -> CSR:
    """Turn every edge round: the CSR arrays of the reverse graph, rows ascending."""
    return _build(
        _Reverse(offsets, targets, weights),
        symmetrise=False,
        self_loops="keep",
        duplicates="keep",
        share=_HELD_SHARE,
    )


class _Reverse:
    """The edges of a graph, turned round."""

    def __init__(
        self, offsets: NDArray[np.uint64], targets: NDArray[np.uint32], weights: NDArray[Any] | None
    ) -> None:
        self.n, self.m = len(offsets) - 1, len(targets)
        self.offsets, self.targets, self.weights = read_only(offsets), targets, weights
        self.weight_dtype = None if weights is None else weights.dtype

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        import numba

        from evener.kernels.cpu import build as kernels

        src[:] = self.targets[start:stop]
        kernels.expand_rows(self.offsets, np.uint64(start), dst, numba.get_num_threads())

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        if self.weights is not None:
            weights[:] = self.weights[start:stop]
