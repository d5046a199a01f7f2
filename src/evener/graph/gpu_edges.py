"""Edges in the memory of a GPU: their vertex numbers, and the lengths and offsets of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph import csr
from evener.graph.arrays import MAX_VERTICES, first_nan
from evener.graph.gpu_arrays import adopted, element_of
from evener.graph.ids import check_ends, check_vertex_count, check_weights, raise_too_large

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    from evener.elements.cuda.element import CudaElement
    from evener.graph.csr import CSR
    from evener.graph.gpu_arrays import GpuArray

__all__ = ["EdgeParts", "GpuEdges", "edges_on_gpu", "edges_on_host"]

# Largest span of ids for flags, per edge end, and a span that always suits: 8 bytes per id.
_SPAN_PER_END, _SMALL_SPAN = 8, 1 << 23
# Bits of an infinite weight, and all bits.
_INFINITE = {4: 0x7F800000, 8: 0x7FF0000000000000}
_ALL = (1 << 64) - 1


class EdgeParts:
    """Edges that a GPU reads in parts, and their rows.

    Attributes
    ----------
    element : CudaElement
        The GPU.
    n : int
        The number of vertices.
    weight_dtype : dtype or None
    """

    element: CudaElement
    n: int

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """The dtype of the weights, or None."""
        raise NotImplementedError

    @property
    def both_mode(self) -> int:
        """The argument `both` of kernels that count or list rows.

        0: an edge is in the row of its tail. 1: an edge is in the rows of both ends, a loop in one row.
        2: an edge is in the rows of both ends, and loops are left out.
        """
        raise NotImplementedError

    def parts(self) -> Iterable[GpuEdges]:
        """Return the edges in parts whose arrays are in memory."""
        raise NotImplementedError

    def row_lengths(self) -> Any:
        """Return the number of edges in each row, uint32 on the GPU, shape (n,)."""
        lengths = self.element.allocate(self.n, np.uint32, 0)
        for part in self.parts():
            self._run("count_rows", part.tails, part.heads, self.both_mode, lengths)
        return lengths

    def offsets_of(self, lengths: Any) -> Any:
        """Return the bounds of rows, uint64 on the GPU, shape (n + 1,), given their lengths."""
        offsets = self.element.allocate(self.n + 1, np.uint64)
        self.element.run(self.element.kernel("scan.offsets_of"), lengths, offsets)
        return offsets

    def keys_of_rows(self, local: Any, first: int, last: int, keys: Any) -> tuple[Any, Any]:
        """Return keys that sort the edges of the rows ``first:last`` by row and target, and the weights.

        Rows and targets are numbers in `local`, or vertices if it is empty. A key has the row from `first` on
        in its high half, and the target in its low half. `keys` has space for a key per edge. Without
        weights, the keys are in any order. Else keys and weights ascend by weight, and weights are unsigned
        integers with their bits.
        """
        length = self.element.allocate(1, np.uint64, 0)
        rows = self.both_mode, local, first, last, length, keys
        if self.weight_dtype is None:
            for part in self.parts():
                self._run("append_keys", part.tails, part.heads, *rows)
            return keys, None
        bits, count = np.dtype(f"u{self.weight_dtype.itemsize}"), len(keys)
        given, by_weight = (self.element.allocate(count, bits) for _ in range(2))
        for part in self.parts():
            self._run("append_weighted", part.tails, part.heads, part.weights.view(bits), *rows, given)
        # The order of the appended edges differs from run to run.
        signs = csr.weight_signs(self.weight_dtype).astype(np.uint64)
        self._run("weight_keys", given, *signs, by_weight)
        order = self.element.argsort(by_weight)
        return self._taken(keys, order), self._taken(given, order)

    def sorted_keys(self, first: int, last: int, count: int) -> tuple[Any, Any]:
        """Return the sorted keys of `keys_of_rows`, and the weights or None, on the GPU.

        `count` is the number of edges in the rows ``first:last``.
        """
        element, none = self.element, self.element.allocate(0, np.uint32)
        keys, weights = self.keys_of_rows(none, first, last, element.allocate(count, np.uint64))
        if weights is None:
            element.sort(keys)
            return keys, None
        order = element.argsort(keys)
        return self._taken(keys, order), self._taken(weights, order).view(self.weight_dtype)

    def first_of_equal(self, keys: Any, weights: Any) -> tuple[Any, Any]:
        """Return the first of equal sorted keys, and their weights or None."""
        flags = self.element.allocate(len(keys), np.uint8)
        self._run("mark_first", keys, flags)
        order = self.element.positions(flags)
        return self._taken(keys, order), self._taken(weights, order)

    def _taken(self, values: Any, order: Any) -> Any:
        """Return values in an order; None for None."""
        if values is None:
            return None
        bits = np.dtype(f"u{values.itemsize}")
        taken = self.element.allocate(len(order), bits)
        self._run("take", values.view(bits), order, taken)
        return taken.view(values.dtype)

    def _run(self, name: str, *args: Any) -> Any:
        return self.element.run(self.element.kernel(f"edge_list.{name}"), *args)


@dataclass(frozen=True, eq=False)
class GpuEdges(EdgeParts):
    """The edges of a graph in the memory of a GPU, in any order.

    Attributes
    ----------
    element : CudaElement
        The GPU.
    n : int
        The number of vertices.
    tails, heads : cupy.ndarray of uint32, shape (edges,)
        The vertex numbers of the ends of each edge.
    weights : cupy.ndarray, shape (edges,), or None
    ids : cupy.ndarray of int64, shape (n,), or None
        The id of each vertex, ascending; None if the ids are ``0..n-1``.
    both : bool
        Whether each edge is in the rows of both ends, as in an undirected graph.
    generated : bool
        Whether a GPU generated the edges; else the caller has arrays on this GPU.
    """

    element: CudaElement
    n: int
    tails: Any
    heads: Any
    weights: Any
    ids: Any
    both: bool
    generated: bool = False

    @cached_property
    def m(self) -> int:
        """Number of stored edges: an edge in two rows counts twice, a self-loop once."""
        count = len(self.tails)
        if not self.both or not count:
            return count
        return 2 * count - self._result("count_loops", self.tails, self.heads)

    @property
    def loops(self) -> int | None:
        """Number of self-loops, if the edges are in the rows of both ends; else None."""
        return 2 * len(self.tails) - self.m if self.both else None

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """The dtype of the weights, or None."""
        return None if self.weights is None else self.weights.dtype

    @property
    def both_mode(self) -> int:
        """Return the mode of stored edges."""
        return int(self.both)

    @property
    def nbytes(self) -> int:
        """Bytes of all arrays."""
        return sum(a.nbytes for a in (self.tails, self.heads, self.weights, self.ids) if a is not None)

    @cached_property
    def weight_range(self) -> tuple[float, float]:
        """The smallest and the largest weight; (1, 1) without weights or edges."""
        if self.weights is None or not len(self.weights):
            return 1.0, 1.0
        run = self.element.run
        return float(run(self.weights.min)), float(run(self.weights.max))

    def reversed(self) -> GpuEdges:
        """Return the reversed edges; the arrays are shared."""
        return replace(self, tails=self.heads, heads=self.tails)

    def parts(self) -> Iterable[GpuEdges]:
        """Return all edges: their arrays are in memory."""
        return (self,)

    def all_sorted(self) -> tuple[Any, Any]:
        """Return the sorted keys of all rows, and the weights or None, as `sorted_keys` does."""
        return self.sorted_keys(0, self.n, self.m)

    def without_loops(self) -> GpuEdges:
        """Return the edges that are no self-loops."""
        flags = self.element.allocate(len(self.tails), np.uint8)
        self._run("mark_other_ends", self.tails, self.heads, flags)
        order = self.element.positions(flags)
        tails, heads, weights = (self._taken(one, order) for one in (self.tails, self.heads, self.weights))
        return replace(self, tails=tails, heads=heads, weights=weights)

    def without_repeats(self) -> GpuEdges:
        """Return different edges: the lightest of repeated edges."""
        if self.both:
            self._run("order_ends", self.tails, self.heads)  # the arrays are copies
        keys, weights = self.first_of_equal(*replace(self, both=False).all_sorted())
        tails, heads = (self.element.allocate(len(keys), np.uint32) for _ in range(2))
        self._run("split_keys", keys, tails, heads)
        return replace(self, tails=tails, heads=heads, weights=weights)

    def weight_sample(self, count: int) -> NDArray[Any]:
        """Return about `count` of the weights, in host memory."""
        some = self.weights[:: max(1, len(self.weights) // count)]
        return self.element.download(self.element.run(some.copy))

    def host_weight_sums(self) -> NDArray[np.float64]:
        """Return the sum of the weights in each row, in host memory."""
        _, weights = self.all_sorted()
        offsets = self.offsets_of(self.row_lengths())
        sums = self.element.allocate(self.n, np.float64)
        self._run("sum_rows", offsets, weights, sums)
        return self.element.download(sums)

    def host_row_lengths(self) -> NDArray[np.uint64]:
        """Return the number of edges in each row, in host memory."""
        return self.element.download(self.row_lengths()).astype(np.uint64)

    def host_ids(self) -> NDArray[np.int64] | None:
        """Return the ids in host memory, or None if they are ``0..n-1``."""
        return None if self.ids is None else self.element.download(self.ids)

    def host_rows(self) -> CSR:
        """Return the rows in host memory."""
        download = self.element.download
        weights = None if self.weights is None else download(self.weights)
        tails, heads = download(self.tails), download(self.heads)
        return csr.from_edges(tails, heads, weights, symmetrise=self.both, n=self.n)

    def _result(self, name: str, *args: Any) -> int:
        return int(self.element.result(self._run(name, *args)))


def edges_on_gpu(
    given: Sequence[GpuArray], *, both: bool, n: int | None, self_loops: str, duplicates: str
) -> GpuEdges | None:
    """Return the edges of two or three arrays on one GPU: tails, heads and perhaps weights.

    The other arguments are as for `Graph.from_edges`; an undirected graph has `both`. The edges are copies,
    because the caller may change the arrays later. Returns None for ids with gaps so wide that the host must
    number them.

    Raises
    ------
    ArgumentError
        As for arrays in host memory; also for ids that are not integers.
    """
    no_loops = csr.check_choice("self_loops", self_loops) == "drop"
    once = csr.check_choice("duplicates", duplicates) == "drop"
    edges = _edges(given, element_of(given[0]), both=both, n=n)
    if edges is not None and no_loops:
        edges = edges.without_loops()
    return edges.without_repeats() if edges is not None and once else edges


def _edges(given: Sequence[GpuArray], element: CudaElement, *, both: bool, n: int | None) -> GpuEdges | None:
    """Return all edges, or None for ids with wide gaps."""
    tails, heads, *rest = (adopted(array, element) for array in given)
    if len(tails) != len(heads):
        msg = f"src and dst: expected the same length, found {len(tails)} and {len(heads)}"
        raise ArgumentError(msg)
    count = None if n is None else check_vertex_count(n)
    weights = _weights(rest[0], len(tails), element) if rest else None
    ends, spans = zip(
        *(_ids(a.name, end, element) for a, end in zip(given, (tails, heads), strict=False)), strict=True
    )
    span = max(spans)
    if count is not None:
        if span > count:
            raise_too_large(element.download(ends[0]), element.download(ends[1]), count)
        numbers = [element.run(end.astype, np.uint32) for end in ends]
        return GpuEdges(element, count, numbers[0], numbers[1], weights, None, both)
    if span > min(MAX_VERTICES, max(_SPAN_PER_END * 2 * len(tails), _SMALL_SPAN)):
        return None
    count, ids, numbers = _without_gaps(ends, span, element)
    return GpuEdges(element, count, numbers[0], numbers[1], weights, ids, both)


def edges_on_host(given: Sequence[GpuArray]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return tails, heads and, if given, weights of a GPU in host memory."""
    element = element_of(given[0])
    arrays = [element.download(adopted(array, element)) for array in given]
    return arrays[0], arrays[1], arrays[2] if len(arrays) > 2 else None


def _ids(name: str, given: Any, element: CudaElement) -> tuple[Any, int]:
    """Return ids as unsigned integers of 32 or 64 bits, without a copy if possible, and their span."""
    dtype = given.dtype
    if not len(given):
        return element.allocate(0, np.uint32), 0
    if dtype.kind not in "iu":
        remedy = "; convert them with astype" if dtype.kind == "f" else ""
        msg = f"{name}: expected integers in an array on a GPU, found {dtype}{remedy}"
        raise ArgumentError(msg)
    wide = np.dtype(f"{dtype.kind}{8 if dtype.itemsize > 4 else 4}")
    if dtype != wide or not given.flags.c_contiguous:
        given = element.run(given.astype, wide)
    ids = given.view(np.dtype(f"u{wide.itemsize}"))
    largest = _largest(ids, _ALL, element)
    # Viewed as unsigned, negative and too large values both exceed the limit.
    if dtype.kind == "i" and largest >> (8 * wide.itemsize - 1):
        check_ends(name, element.download(given))  # raises
    return ids, largest + 1


def _largest(values: Any, mask: int, element: CudaElement) -> int:
    """Return the largest of some unsigned integers, of which only the bits of `mask` count."""
    pending = element.run(element.kernel("edge_list.largest"), values, np.uint64(mask))
    return _ALL - int(element.result(pending))  # the kernel returns the complement


def _without_gaps(ends: Sequence[Any], span: int, element: CudaElement) -> tuple[int, Any, list[Any]]:
    """Return the number of different ids, the ids if some below `span` are missing, and vertex numbers."""
    if not span:
        return 0, None, [element.allocate(0, np.uint32) for _ in ends]
    flags = element.allocate(span, np.uint32, 0)
    mark, number = (element.kernel(f"edge_list.{name}") for name in ("mark_ids", "number_ids"))
    for end in ends:
        element.run(mark, end, flags)
    up_to = element.running_sum(flags)
    count = int(element.download(up_to[span - 1 :])[0])
    if count == span:
        return count, None, [element.run(end.astype, np.uint32) for end in ends]
    numbers = []
    for end in ends:
        numbers.append(element.allocate(len(end), np.uint32))
        element.run(number, end, up_to, numbers[-1])
    return count, element.positions(flags).view(np.int64), numbers


def _weights(values: Any, edges: int, element: CudaElement) -> Any:
    """Return a checked copy of weights on their GPU."""
    dtype = values.dtype
    if len(values) != edges or dtype.kind not in "iuf":
        check_weights(np.empty(len(values), dtype), edges)  # raises
    copied = element.run(values.astype, np.float32 if dtype == np.float16 else dtype)
    if copied.dtype.kind == "f" and edges:
        bits = copied.view(np.dtype(f"u{copied.itemsize}"))
        if _largest(bits, (1 << (8 * copied.itemsize - 1)) - 1, element) > _INFINITE[copied.itemsize]:
            edge = first_nan(element.download(copied))
            msg = f"weights: expected numbers, found NaN as the weight of edge {edge}"
            raise ArgumentError(msg)
    return copied
