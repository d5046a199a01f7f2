"""Build CSR from edges with a parallel counting sort in bounded memory; transpose CSR.

The builder reads the edges slice by slice, once to count the rows and once per pass. A pass covers a range of
rows. The pass scatters the records of its rows to cache-sized buckets, then sorts each bucket. The only
working memory of a build is the records of one pass.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import MAX_VERTICES, read_only
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "CSR",
    "ReverseEdges",
    "check_choice",
    "from_edges",
    "from_source",
    "in_degree",
    "rows_at",
    "transpose",
    "weight_signs",
]

# Edges per thread in a slice, smallest and largest.
_MIN_SLICE, _MAX_SLICE = 1 << 16, 1 << 20
# Slices of all edges.
_SLICES = 32
# Groups of rows to count.
_GROUPS = 1 << 14
# Records in a bucket, and most buckets in a pass.
_BUCKET = 1 << 15
_BUCKETS = 1 << 11
# A pass holds one over this number of all records, for edges in memory and for generated edges.
_STORED_SHARE, _GENERATED_SHARE = 3, 2
# Slots per thread for records outside the pass, and words between the slots of two threads.
_DISCARD_SLOTS, _DISCARD_STRIDE = 8, 32
# Records that always fit one pass (8 MiB).
_SMALL_PASS = 1 << 20


class CSR(NamedTuple):
    """The arrays of a graph; see `evener.Graph`."""

    offsets: NDArray[np.uint64]
    targets: NDArray[np.uint32]
    weights: NDArray[Any] | None
    ids: NDArray[Any] | None


class EdgeSource(Protocol):
    """Edges that the builder reads slice by slice, several times: arrays, a generator or a graph."""

    n: int
    m: int
    weight_dtype: np.dtype[Any] | None

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the tails and heads of edges ``start:stop`` to arrays of length ``stop - start``."""

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``; not called if `weight_dtype` is None."""


# ---- building ---------------------------------------------------------------------------------------


@memory.translate_errors("building a graph")
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
    """Return the CSR arrays of edges given by two arrays; see `evener.Graph.from_edges`.

    The build and its result take less than twice the memory of the result with all duplicates. Strings, and
    arrays that are not contiguous 32-bit or 64-bit integers, are converted first.
    """
    from evener.graph.ids import number_edges

    edges = number_edges(src, dst, weights, n)
    return _build(edges, symmetrise, self_loops, duplicates, _STORED_SHARE)._replace(ids=edges.ids)


@memory.translate_errors("building a graph")
def from_source(
    source: EdgeSource,
    *,
    symmetrise: bool,
    self_loops: str = "keep",
    duplicates: str = "keep",
    targets: int | None = None,
) -> CSR:
    """Return the CSR arrays of an edge source, which generates the edges again for each pass.

    `symmetrise` stores each edge in both directions, and a self-loop once. `self_loops` and `duplicates` are
    as for `evener.Graph.from_edges`. For the rows of some vertices, `targets` is the number of vertices to
    which edges lead.

    Raises
    ------
    OutOfMemoryError
        If the build needs more memory than is available, before it allocates.
    """
    return _build(source, symmetrise, self_loops, duplicates, _GENERATED_SHARE, targets)


def _build(
    source: EdgeSource,
    symmetrise: bool,  # noqa: FBT001 - private
    self_loops: str,
    duplicates: str,
    share: int,
    targets: int | None = None,
) -> CSR:
    check_choice("self_loops", self_loops)
    drop = check_choice("duplicates", duplicates) == "drop"
    max_edges = source.m * (2 if symmetrise else 1)
    width = 0 if source.weight_dtype is None else source.weight_dtype.itemsize
    result = 8 * (source.n + 1) + (4 + width) * max_edges
    min_scratch = (8 + width) * (max_edges // 16)
    what = f"a graph of {source.n:,} vertices and up to {max_edges:,} stored edges"
    memory.require(result + min_scratch, what)
    if source.n > MAX_VERTICES:
        msg = f"expected at most {MAX_VERTICES:,} vertices (2^32 - 2), found {source.n:,}"
        raise ArgumentError(msg)
    weighted = source.weight_dtype is not None
    if max_edges == 0:
        empty = np.empty(0, source.weight_dtype) if weighted else None
        return CSR(np.zeros(source.n + 1, np.uint64), np.empty(0, np.uint32), empty, None)
    return _Builder(source, symmetrise, self_loops == "keep", drop, targets or source.n).run(share)


class _Builder:
    """State of one build: the buffers of a slice and the settings of the passes."""

    def __init__(
        self,
        source: EdgeSource,
        symmetrise: bool,  # noqa: FBT001 - private
        loops: bool,  # noqa: FBT001 - private
        drop: bool,  # noqa: FBT001 - private
        targets: int,
    ) -> None:
        import numba

        from evener.kernels.cpu import build as kernels

        self.kernels = kernels
        self.source = source
        self.threads = numba.get_num_threads()
        self.symmetrise, self.loops, self.drop = np.uint64(symmetrise), np.uint64(loops), bool(drop)
        self.weight_dtype = source.weight_dtype or np.dtype(np.float32)
        self.weighted = source.weight_dtype is not None
        # Kernels move and compare the bits of weights, so one compilation serves all types of one width.
        self.bits_dtype = np.dtype(f"u{self.weight_dtype.itemsize}")
        self.signs = weight_signs(self.weight_dtype)
        self.bits = max(1, (targets - 1).bit_length())
        self.shift = np.uint64(max(0, (source.n - 1).bit_length() - _GROUPS.bit_length() + 1))
        self.groups = ((source.n - 1) >> int(self.shift)) + 1
        slice_length = min(source.m // _SLICES, self.threads * _MAX_SLICE)
        slice_length = min(source.m, max(slice_length, self.threads * _MIN_SLICE))
        self.src = np.empty(slice_length, np.uint32)
        self.dst = np.empty(slice_length, np.uint32)
        self.weights = np.empty(slice_length if self.weighted else 0, self.weight_dtype)

    def run(self, share: int) -> CSR:
        """Return the CSR arrays: count the rows, then sort one range of rows per pass."""
        counts = np.zeros((self.threads, self.groups), np.uint64)
        for src, dst, _ in self.slices(weights=False):
            self.kernels.count_rows(src, dst, self.shift, self.symmetrise, self.loops, counts)
        group_ends = np.concatenate([[0], counts.sum(axis=0).cumsum()]).astype(np.int64)
        stored = int(group_ends[-1])
        passes = _cut_passes(group_ends, self.pass_capacity(stored, share))
        capacity = max(int(group_ends[last] - group_ends[first]) for first, last in passes)

        # Each thread has discard slots after the records, for records outside the pass.
        discard_slots = (
            capacity + np.arange(self.threads)[:, None] * _DISCARD_STRIDE + np.arange(_DISCARD_STRIDE)
        )
        records = np.empty(capacity + discard_slots.size, np.uint64)
        record_weights = np.empty(len(records) if self.weighted else 0, self.bits_dtype)
        offsets = np.zeros(self.source.n + 1, np.uint64)
        targets = np.empty(stored, np.uint32)
        weights = np.empty(stored if self.weighted else 0, self.weight_dtype)
        done = 0
        for first, last in passes:
            done += self.sort_range(
                counts, group_ends, first, last, discard_slots, records, record_weights, done, offsets,
                targets, weights.view(self.bits_dtype),
            )  # fmt: skip
        del records, record_weights
        # resize shrinks in place and returns the unused tail to the system.
        targets.resize(done, refcheck=False)
        if self.weighted:
            weights.resize(done, refcheck=False)
        return CSR(offsets, targets, weights if self.weighted else None, None)

    def pass_capacity(self, stored: int, share: int) -> int:
        """Return the largest number of records in a pass, from its share and the available memory."""
        width = self.weight_dtype.itemsize if self.weighted else 0
        result = 8 * (self.source.n + 1) + (4 + width) * stored
        # Leave memory to other programs. Generated edges use more, because each pass generates all of them.
        left = memory.available() - result
        spare = (left * 3 // 4 if share == _GENERATED_SHARE else left // 2) // (8 + width)
        return max(1, min(max(-(-stored // share), _SMALL_PASS), max(spare, stored // 16)))

    def sort_range(
        self,
        counts: NDArray[np.uint64],
        group_ends: NDArray[np.int64],
        first: int,
        last: int,
        discard_slots: NDArray[np.int64],
        records: NDArray[np.uint64],
        record_weights: NDArray[Any],
        done: int,
        offsets: NDArray[np.uint64],
        targets: NDArray[np.uint32],
        weights: NDArray[Any],
    ) -> int:
        """Sort the rows of groups ``first:last`` into ``targets[done:]``; return the number of edges."""
        buckets, bounds = _cut_buckets(group_ends, first, last)
        size = len(bounds) - 1
        # In each bucket, thread t writes after threads 0..t-1, so no two threads share a position.
        each = np.add.reduceat(counts[:, first:last], bounds[:-1] - first, axis=1).astype(np.int64)
        ends = each.T.ravel().cumsum().reshape(size, self.threads)
        cursors = np.concatenate([ends.T - each, discard_slots], axis=1).astype(np.uint64)
        starts = np.concatenate([[0], ends[:, -1]]).astype(np.uint64)
        rows = np.minimum(bounds << int(self.shift), self.source.n).astype(np.uint64)

        for src, dst, slice_weights in self.slices(weights=self.weighted):
            self.kernels.scatter_records(
                src, dst, slice_weights, self.shift, self.symmetrise, self.loops, buckets, np.uint64(size),
                cursors, records, record_weights,
            )  # fmt: skip
        halves = records.view(np.uint32)
        sizes = np.empty(size, np.uint64)
        self.kernels.sort_buckets(
            records, halves, record_weights, starts, rows, np.uint64(done), np.uint64(self.bits), self.drop,
            self.signs, targets, weights, offsets, sizes,
        )  # fmt: skip
        positions = np.uint64(done) + np.cumsum(sizes, dtype=np.uint64) - sizes
        self.kernels.place_buckets(
            halves, record_weights, starts, rows, sizes, positions, targets, weights, offsets
        )
        return int(sizes.sum())

    def slices(
        self, *, weights: bool
    ) -> Iterator[tuple[NDArray[np.uint32], NDArray[np.uint32], NDArray[Any]]]:
        """Yield the edges slice by slice, in buffers that the next slice overwrites."""
        for start in range(0, self.source.m, len(self.src)):
            stop = min(start + len(self.src), self.source.m)
            src, dst = self.src[: stop - start], self.dst[: stop - start]
            self.source.fill(start, stop, src, dst)
            if weights:
                self.source.fill_weights(start, stop, self.weights[: stop - start])
            yield src, dst, self.weights[: stop - start].view(self.bits_dtype)


def weight_signs(dtype: np.dtype[Any]) -> NDArray[Any]:
    """Return the bits to flip in weights with a clear and with a set highest bit; see `sort_buckets`."""
    highest, every = 1 << (8 * dtype.itemsize - 1), (1 << (8 * dtype.itemsize)) - 1
    flips = {"u": (0, 0), "i": (highest, highest), "f": (highest, every)}
    return np.array(flips[dtype.kind], f"u{dtype.itemsize}")


def _cut_passes(group_ends: NDArray[np.int64], room: int) -> list[tuple[int, int]]:
    """Return ranges of groups with about equal records; a range exceeds `room` by less than a group."""
    stored = int(group_ends[-1])
    passes = max(1, -(-stored // room))
    aims = np.arange(1, passes) * (stored / passes)
    ends = np.searchsorted(group_ends, aims)
    bounds = np.unique(np.concatenate([[0], ends, [len(group_ends) - 1]])).tolist()
    return list(itertools.pairwise(bounds))


def _cut_buckets(
    group_ends: NDArray[np.int64], first: int, last: int
) -> tuple[NDArray[np.uint16], NDArray[np.int64]]:
    """Return the bucket of each group, a discard slot outside ``first:last``, and the bucket bounds."""
    before = group_ends[first:last] - group_ends[first]
    each = max(_BUCKET, int(group_ends[last] - group_ends[first]) // _BUCKETS + 1)
    _, begins, numbers = np.unique(before // each, return_index=True, return_inverse=True)
    slots = np.arange(len(group_ends) - 1) % _DISCARD_SLOTS
    buckets = (len(begins) + slots).astype(np.uint16)
    buckets[first:last] = numbers
    return buckets, np.append(begins + first, last)


def check_choice(name: str, value: str) -> str:
    """Return an option that is "keep" or "drop"; raise `ArgumentError` for other values."""
    if value not in ("keep", "drop"):
        msg = f'{name}=: expected "keep" or "drop", found {value!r}'
        raise ArgumentError(msg)
    return value


# ---- operations on CSR ------------------------------------------------------------------------------


@memory.translate_errors("counting the edges of a graph")
def in_degree(targets: NDArray[np.uint32], n: int) -> NDArray[np.uint64]:
    """Return the number of in-edges of each of `n` vertices, shape (n,)."""
    from evener.kernels.cpu import check as kernels

    degree = np.zeros(n, np.uint64)
    kernels.in_degree(read_only(targets), degree)
    return degree


def rows_at(offsets: NDArray[np.uint64], work: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the first rows at which the work so far reaches each value of `work`, uint64 of shape (k,).

    The work of a row is one plus its edges. Bisection avoids an array as large as the offsets.
    """
    low = np.zeros(len(work), np.uint64)
    high = np.full(len(work), len(offsets) - 1, np.uint64)
    while (low < high).any():
        middle = (low + high) // np.uint64(2)
        before = offsets[middle] + middle < work
        low, high = np.where(before, middle + np.uint64(1), low), np.where(before, high, middle)
    return low


@memory.translate_errors("reversing a graph")
def transpose(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], weights: NDArray[Any] | None = None
) -> CSR:
    """Return the CSR arrays of the graph with every edge reversed."""
    return _build(
        ReverseEdges(offsets, targets, weights),
        symmetrise=False,
        self_loops="keep",
        duplicates="keep",
        share=_STORED_SHARE,
    )


class ReverseEdges:
    """The reversed edges of a graph, as an `EdgeSource`."""

    def __init__(
        self, offsets: NDArray[np.uint64], targets: NDArray[np.uint32], weights: NDArray[Any] | None
    ) -> None:
        self.n, self.m = len(offsets) - 1, len(targets)
        self.offsets, self.targets, self.weights = read_only(offsets), targets, weights
        self.weight_dtype = None if weights is None else weights.dtype

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the targets and the rows of edges ``start:stop``."""
        import numba

        from evener.kernels.cpu import build as kernels

        src[:] = self.targets[start:stop]
        kernels.expand_rows(self.offsets, np.uint64(start), dst, numba.get_num_threads())

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``."""
        if self.weights is not None:
            weights[:] = self.weights[start:stop]
