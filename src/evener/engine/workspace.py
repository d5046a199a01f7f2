"""State: what an algorithm works on: the partitions of a graph, and arrays on the elements that hold them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.array import Spread, adjacency
from evener.errors import ArgumentError
from evener.graph.checks import type_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

    from evener.partition.partitioned import PartitionedGraph

__all__ = ["State"]


class State:
    """What an algorithm sees of a placed graph, and the arrays that it makes beside it.

    Parameters
    ----------
    partitioned : PartitionedGraph
        What `evener.partition` gives.

    Attributes
    ----------
    partitions : sequence of Partition
    elements : sequence of Element
        That of each partition.
    out, in_ : tuple of Spread
        ``(offsets, targets, blocks)`` of each partition's out-edges and in-edges, to be unpacked into
        `compute`.
    out_weights, in_weights : Spread
        The weights of these edges; None for a graph without.
    out_rows, in_rows : Spread
        The number of owned vertices up to the last one that has an out-edge, an in-edge.
    owned : Spread
        The number of owned vertices.
    connected : Spread
        The number of them up to the last one that has an out-edge, or another that is stored. Where in-edges
        are stored, or the graph is undirected, those from there on have no edge at all.
    vertices : Spread
        The graph's number of each owned vertex and each mirror, uint32.
    out_degree : Spread
        The out-edges of each owned vertex in the whole graph, uint32.
    """

    def __init__(self, partitioned: PartitionedGraph) -> None:
        self.partitions = partitioned.partitions
        self.elements = partitioned.elements
        self.out = adjacency([p.out for p in self.partitions])
        self.in_ = adjacency([p.in_ for p in self.partitions])
        self.out_weights = Spread([None if p.out is None else p.out.weights for p in self.partitions])
        self.in_weights = Spread([None if p.in_ is None else p.in_.weights for p in self.partitions])
        self.out_rows = Spread([0 if p.out is None else p.out.rows for p in self.partitions])
        self.in_rows = Spread([0 if p.in_ is None else p.in_.rows for p in self.partitions])
        self.owned = Spread([p.owned for p in self.partitions])
        self.connected = Spread([p.connected for p in self.partitions])
        self.vertices = Spread([p.vertices for p in self.partitions])
        self.out_degree = Spread([p.out_degree for p in self.partitions])
        self._values = [len(p.vertices) for p in self.partitions]
        self._words = [(count + 63) // 64 for count in self._values]

    def array(self, dtype: DTypeLike, fill: object | None = None) -> Spread:
        """A value for each owned vertex and each mirror; undefined where no `fill` is given."""
        return self._made(self._values, dtype, fill, travels=True)

    def owned_array(self, dtype: DTypeLike, fill: object | None = None) -> Spread:
        """A value for each owned vertex."""
        return self._made([p.owned for p in self.partitions], dtype, fill)

    def _made(
        self, lengths: Sequence[int], dtype: DTypeLike, fill: object | None, *, travels: bool = False
    ) -> Spread:
        pairs = zip(self.elements, lengths, strict=True)
        try:
            return Spread([e.array(length, dtype, fill, travels=travels) for e, length in pairs])
        except OverflowError:
            msg = f"an array of {np.dtype(dtype)} is filled with a number that this type holds, not {fill!r}"
            raise ArgumentError(msg) from None

    def mirror_array(self, dtype: DTypeLike, columns: int) -> Spread:
        """Some values for each mirror, undefined."""
        pairs = zip(self.elements, self.partitions, strict=True)
        return Spread([e.array(p.mirrors * columns, dtype).reshape(-1, columns) for e, p in pairs])

    def copy(self, array: Spread) -> Spread:
        """The same values again."""
        pairs = zip(self.elements, self._own(array.parts), strict=True)
        copied = [e.array(len(part), part.dtype, travels=True) for e, part in pairs]
        for element, part, copy in zip(self.elements, array.parts, copied, strict=True):
            element.call(copy.__setitem__, slice(None), part)
        return Spread(copied, bits=array.bits)

    def hold(self, values: Sequence[NDArray[Any]]) -> Spread:
        """One of the host's arrays on each element; not to be written to while the algorithm runs."""
        return Spread(
            [element.hold(own) for element, own in zip(self.elements, self._own(values), strict=True)]
        )

    def fetch(self, array: Spread) -> list[NDArray[Any]]:
        """The parts in the host's memory."""
        pairs = zip(self.elements, self._own(array.parts), strict=True)
        return [element.fetch(part) for element, part in pairs]

    def bits(self) -> Spread:
        """A flag for each owned vertex and each mirror, all clear.

        On a CPU it is an array of uint64: that of vertex v is bit ``v % 64`` of ``v // 64``. What two threads
        may set is set with `fetch_or` of `evener.kernels.cpu.atomics`. On a GPU it is a ``Bits``.
        """
        return self.bitmaps(1)[0]

    def bitmaps(self, count: int) -> list[Spread]:
        """As many as are asked for of what `bits` gives: they are cleared at once."""
        return self._zeros(self._words, count, bits=True)

    def counter(self) -> Spread:
        """One uint64 on each element, zero."""
        return self.counters(1)[0]

    def counters(self, count: int) -> list[Spread]:
        """As many as are asked for of what `counter` gives: they are cleared at once."""
        return self._zeros([1] * len(self.elements), count)

    def _zeros(self, lengths: Sequence[int], count: int, *, bits: bool = False) -> list[Spread]:
        on_each = [e.zeros(count, length) for e, length in zip(self.elements, lengths, strict=True)]
        return [Spread(parts, bits=bits) for parts in zip(*on_each, strict=True)]

    def _own(self, parts: Sequence[Any]) -> Sequence[Any]:
        """One for each partition; refuses what is for another placement."""
        if len(parts) != len(self.elements):
            msg = f"each of {len(self.elements)} partitions has one part of its own, not {len(parts)} in all"
            raise ArgumentError(msg)
        return parts

    def _check_carried(self, array: Spread, changed: Spread | None = None) -> None:
        """Refuse what is too short: kernels would read and write beyond it."""
        if not isinstance(array, Spread):
            msg = f"what is carried is a Spread, as array() and bits() give, not {type_name(array)}"
            raise ArgumentError(msg)
        if changed is not None:
            if not getattr(changed, "bits", True):
                msg = f"changed= is a bitmap, as bits() gives, not {changed.noun}"
                raise ArgumentError(msg)
            self._check_carried(changed)
        lengths = [len(part) if hasattr(part, "__len__") else 0 for part in array.parts]
        if lengths != (self._words if array.bits else self._values):
            msg = (
                "what is carried has a value for each owned vertex and each mirror, as array() and bits() "
                f"give, not {array.noun} with {lengths} for {self._values}"
            )
            raise ArgumentError(msg)
