"""Workspace: the partitions of a graph as an algorithm sees them, and the arrays that it allocates."""

from __future__ import annotations

from math import prod
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from evener.elements.protocols import copy_between
from evener.engine.array import PartitionedArray
from evener.engine.layout import Layout, layout_of
from evener.errors import ArgumentError
from evener.kernels.vertex import NO_VERTEX
from evener.partition.kept_arrays import take_arrays
from evener.system.memory import require_for_run, translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.partition.kept_arrays import Arrays
    from evener.partition.partitioned import PartitionedGraph

    T = TypeVar("T")

__all__ = ["Workspace"]

# How a world reduces values over ranks, for reductions that it can do without gathering them.
_WORLD_OPERATIONS: dict[Any, Any] = {sum: "sum", min: "min", max: "max"}


class Workspace(Layout):
    """The partitions of a graph as an algorithm sees them, and the arrays that it allocates.

    Parameters
    ----------
    partitioned : PartitionedGraph
    algorithm : str
        The algorithm's name, which decides if kept arrays are used.

    Attributes
    ----------
    partitions : sequence of Partition
        The partitions of this rank.
    elements : sequence of Element
        The element of each partition.
    element : PartitionedArray
        The elements, as an argument of a `Kernel` that is a Python function.
    out, in_ : tuple of PartitionedArray
        ``(offsets, targets, blocks)`` of the out-edges and in-edges, to be unpacked into `compute`.
    out_weights, in_weights : PartitionedArray
        The weights of the out-edges and in-edges; None for a graph without weights.
    out_rows, in_rows : PartitionedArray
        The number of owned vertices up to the last one with an out-edge, with an in-edge.
    out_edges : PartitionedArray
        The number of stored out-edges.
    owned : PartitionedArray
        The number of owned vertices.
    connected : PartitionedArray
        The number of owned vertices up to the last one with a stored edge. If in-edges are stored, or the
        graph is undirected, the vertices after it have no edges.
    vertices : PartitionedArray
        The graph's number of each owned vertex and each mirror, uint32.
    out_degree : PartitionedArray
        The out-edges of each owned vertex in the whole graph, uint32.
    has_mirrors : bool
        Whether a partition of any rank has mirrors.
    reads_host_edges : bool
        Whether an element of any rank reads edges from host memory across a bus.
    only_cpus : bool
        Whether the elements of all ranks are CPUs.
    """

    def __init__(self, partitioned: PartitionedGraph, algorithm: str) -> None:
        vars(self).update(vars(layout_of(partitioned)))  # the attributes that `Layout` sets
        self.partitioned = partitioned
        self.partitions = partitioned.partitions
        self.elements = partitioned.elements
        self._world = partitioned.world
        # The work arrays of the run before, and those of this run.
        self._kept = take_arrays(partitioned, algorithm)
        self._used: Arrays = {}

    # ---- the machine ----------------------------------------------------------------------------

    @property
    def single(self) -> bool:
        """Whether one element of one rank has the whole graph."""
        return len(self.elements) == 1 and self._world.size == 1

    def tuning(self, presets: Mapping[str, T]) -> T:
        """Return the preset of the element's kind, or that of "cpu" if several elements run."""
        return presets[self.elements[0].kind if self.single else "cpu"]

    def equal_share(self, total: int) -> int:
        """Return the share of each element if all elements of all ranks get equal parts of a total."""
        return total // len(self._weights)

    def slowest(self, edges: Sequence[int]) -> float:
        """Return the largest number of edges that an element has for each of its CPU threads.

        A GPU counts as many threads. `edges` has a number for each element of all ranks, as `gather` and
        ``reduce=list`` return them.
        """
        return max(own / weight for own, weight in zip(edges, self._weights, strict=True))

    def gather(self, values: Sequence[T]) -> list[T]:
        """Return the values of the partitions of all ranks, in the order of partitions.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        values : sequence
            One value for each partition of this rank.
        """
        return [value for own in self._world.allgather(list(self._checked_parts(values))) for value in own]

    def total(self, values: Sequence[int]) -> int:
        """Return the sum of numbers over the partitions of all ranks.

        This is a collective operation; all ranks must call it.
        """
        return int(self._world.allreduce(sum(self._checked_parts(values)), "sum"))

    def _reduce_over_ranks(self, results: list[Any], reduce: Callable[[Iterable[Any]], Any]) -> Any:
        """Reduce the values of this rank's elements, and then over ranks."""
        if results[0] is None:
            return None
        operation = _WORLD_OPERATIONS.get(reduce)
        if operation is None:
            return _reduce_values(self.gather(results), reduce)
        own = results[0] if len(results) == 1 else _reduce_values(results, reduce)
        return self._world.allreduce(own, operation)

    # ---- arrays ---------------------------------------------------------------------------------

    def array(self, dtype: DTypeLike, fill: object | None = None) -> PartitionedArray:
        """Return an array with a value for each owned vertex and mirror; undefined without `fill`."""
        return self._allocate(self._values, dtype, fill, exchanged=True)

    def owned_array(self, dtype: DTypeLike, fill: object | None = None) -> PartitionedArray:
        """Return an array with a value for each owned vertex; undefined without `fill`."""
        return self._allocate(self.owned.parts, dtype, fill)

    def edge_array(self, dtype: DTypeLike, fill: object | None = None) -> PartitionedArray:
        """Return an array with a value for each stored out-edge; undefined without `fill`."""
        return self._allocate(self.out_edges.parts, dtype, fill)

    def mirror_array(self, dtype: DTypeLike, columns: int) -> PartitionedArray:
        """Return an undefined array of shape (mirrors, columns) for each partition."""
        pairs = zip(self.elements, self.partitions, strict=True)
        return PartitionedArray(
            [e.allocate(p.mirrors * columns, dtype).reshape(-1, columns) for e, p in pairs]
        )

    def local_array(self, length: int, dtype: DTypeLike) -> PartitionedArray:
        """Return an undefined array of shape (length,) for each partition."""
        return self._allocate([length] * len(self.elements), dtype, None)

    def several_arrays(self, *wanted: tuple[int | str, DTypeLike, int | None]) -> list[PartitionedArray]:
        """Return several arrays. A GPU allocates them at once, and frees them together.

        Parameters
        ----------
        *wanted : (int or str, dtype, int or None)
            The length, the type, and the value of each byte of each array. The length is a number, or "owned"
            or "mirrors" for a value for each of them, or "all" for both, or "bits" for a bitmap (of uint64).
            An array with None is undefined. A GPU fills consecutive arrays of equal bytes at once.
        """
        on_each = [
            element.allocate_several(
                [(own.get(length, length), dtype, byte) for length, dtype, byte in wanted]
            )
            for element, own in zip(self.elements, self._lengths, strict=True)
        ]
        return [
            PartitionedArray(parts, bits=length == "bits")
            for (length, _, _), *parts in zip(wanted, *on_each, strict=True)
        ]

    def work_arrays(self, *wanted: tuple[int | str, DTypeLike, int | None]) -> list[PartitionedArray]:
        """Return several arrays as `several_arrays` does, for a run whose result does not contain them.

        The next run of the algorithm on the placed graph gets the same arrays.
        """
        arrays = self._kept.pop(wanted, None)
        if arrays is None:
            arrays = self.several_arrays(*wanted)
        else:
            fills = [byte for _, _, byte in wanted]
            for p, element in enumerate(self.elements):
                element.fill_several([array.parts[p] for array in arrays], fills)
        self._used[wanted] = arrays
        return arrays

    def _allocate(
        self, lengths: Sequence[int], dtype: DTypeLike, fill: object | None, *, exchanged: bool = False
    ) -> PartitionedArray:
        pairs = zip(self.elements, lengths, strict=True)
        try:
            parts = [e.allocate(length, dtype, fill, exchanged=exchanged) for e, length in pairs]
        except OverflowError:
            msg = f"fill: expected a number that {np.dtype(dtype)} holds, found {fill!r}"
            raise ArgumentError(msg) from None
        return PartitionedArray(parts)

    def copy(self, array: PartitionedArray) -> PartitionedArray:
        """Return a copy of an array."""
        pairs = zip(self.elements, self._checked_parts(array.parts), strict=True)
        copies = [e.allocate(len(part), part.dtype, exchanged=True) for e, part in pairs]
        for element, part, copy in zip(self.elements, array.parts, copies, strict=True):
            element.run(copy.__setitem__, slice(None), part)
        return PartitionedArray(copies, bits=array.bits)

    def lengthen(self, array: PartitionedArray, length: int, kept: int) -> PartitionedArray:
        """Return an array of shape (length,) for each partition, with the first `kept` values of `array`."""
        longer = self.local_array(length, array.dtype)
        for element, old, new in zip(self.elements, array.parts, longer.parts, strict=True):
            element.run(new.__setitem__, slice(kept), old[:kept])
        return longer

    def bits(self) -> PartitionedArray:
        """Return a bitmap with a clear flag for each owned vertex and mirror.

        On a CPU a bitmap is an array of uint64: the flag of vertex v is bit ``v % 64`` of word ``v // 64``.
        Set flags that two threads may set with `fetch_or` of `evener.kernels.cpu.atomics`. On a GPU a bitmap
        is a ``Bits``.
        """
        return self.bitmaps(1)[0]

    def bitmaps(self, count: int) -> list[PartitionedArray]:
        """Return several bitmaps as `bits` does; one fill clears them all."""
        return self._zeros(self._words, count, bits=True)

    def counter(self) -> PartitionedArray:
        """Return an array of one uint64 zero for each partition."""
        return self.counters(1)[0]

    def counters(self, count: int) -> list[PartitionedArray]:
        """Return several counters as `counter` does; one fill clears them all."""
        return self._zeros([1] * len(self.elements), count)

    def _zeros(self, lengths: Sequence[int], count: int, *, bits: bool = False) -> list[PartitionedArray]:
        on_each = [e.zeros(count, length) for e, length in zip(self.elements, lengths, strict=True)]
        return [PartitionedArray(parts, bits=bits) for parts in zip(*on_each, strict=True)]

    # ---- values of the host ---------------------------------------------------------------------

    def scalar(self, value: Any) -> PartitionedArray:
        """Return the same value for each partition, for example as the `active` of a superstep."""
        return PartitionedArray([value] * len(self.elements))

    def per_partition(self, values: Sequence[Any]) -> PartitionedArray:
        """Return an array of one given value for each partition of this rank."""
        return PartitionedArray(self._checked_parts(values))

    def at_vertex(self, number: int) -> PartitionedArray:
        """Return a vertex's local number for the partition that owns it, and 2^32 - 1 for all others.

        `number` is the vertex's number in the graph.
        """
        owner, local = self.partitioned.place_of(number)
        return PartitionedArray(
            [np.uint32(local if p.index == owner else NO_VERTEX) for p in self.partitions]
        )

    def upload(self, values: Sequence[NDArray[Any]]) -> PartitionedArray:
        """Return one host array on each element. Do not write to it while the algorithm runs."""
        pairs = zip(self.elements, self._checked_parts(values), strict=True)
        return PartitionedArray([element.upload(part) for element, part in pairs])

    def upload_to_all(self, values: NDArray[Any]) -> PartitionedArray:
        """Return the same host array on each element. Do not write to it while the algorithm runs."""
        return self.upload([values] * len(self.elements))

    def download(self, array: PartitionedArray) -> list[NDArray[Any]]:
        """Return the parts of an array in host memory."""
        pairs = zip(self.elements, self._checked_parts(array.parts), strict=True)
        return [element.download(part) for element, part in pairs]

    def gather_to_all(self, array: PartitionedArray, lengths: Sequence[int]) -> PartitionedArray:
        """Return the first rows of all parts on each element, in the order of partitions.

        This is a collective operation; all ranks must call it.

        Parameters
        ----------
        array : PartitionedArray
            Parts with the same type, and the same shape of a row.
        lengths : sequence of int
            The number of rows to gather from each partition of this rank.

        Returns
        -------
        PartitionedArray
            Elements may share one array. Do not write to it.
        """
        parts = array.first(self._checked_parts(lengths)).parts
        peers = {element.peers for element in self.elements}
        if self._world.size > 1 or len(peers) > 1 or None in peers:
            return self.upload_to_all(_concatenate(self.gather(self.download(PartitionedArray(parts)))))
        shape = (sum(lengths), *parts[0].shape[1:])
        gathered = [
            e.allocate(prod(shape), array.dtype, exchanged=True).reshape(shape) for e in self.elements
        ]
        for element, target in zip(self.elements, gathered, strict=True):
            element.begin_round()
            begin = 0
            for sender, part in zip(self.elements, parts, strict=True):
                own = target[begin : begin + len(part)]
                begin += len(part)
                if len(part):
                    element.wait_for(copy_between(sender, element, part, own))
        return PartitionedArray(gathered)

    # ---- checks ---------------------------------------------------------------------------------

    def _checked_parts(self, parts: Sequence[Any]) -> Sequence[Any]:
        """Return the parts; raise an error unless there is one for each partition."""
        if len(parts) != len(self.elements):
            msg = f"expected one part for each of {len(self.elements)} partitions, found {len(parts)}"
            raise ArgumentError(msg)
        return parts

    def _require_host_state(self, algorithm: str, per_owned: float, per_mirror: float) -> None:
        """Raise an error if host memory has no room for the state; `partition` has checked each GPU."""
        nbytes = 0.0
        for element, owned, values in zip(self.elements, self.owned.parts, self._values, strict=True):
            if element.addressable:
                nbytes += per_owned * owned + per_mirror * (values - owned)
        require_for_run(int(nbytes), f"{algorithm} on a graph of {sum(self.owned.parts):,} vertices")


@translate_errors("gathering an array of all partitions")
def _concatenate(parts: list[NDArray[Any]]) -> NDArray[Any]:
    return np.concatenate(parts)


def _reduce_values(results: Sequence[Any], reduce: Callable[[Iterable[Any]], Any]) -> Any:
    if isinstance(results[0], tuple):
        return tuple(reduce(column) for column in zip(*results, strict=True))
    return reduce(results)
