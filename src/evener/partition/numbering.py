"""Numbering: the place of each vertex among the vertices of all partitions.

The *number* of a vertex counts the vertices of all partitions, ordered by partition and local number. The
numbers of an owner are a range, so a number gives the owner and the local number.
"""

from __future__ import annotations

from bisect import bisect_right
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element

__all__ = ["Numbering", "gathered", "joined", "number_vertices"]

# Places below which waking the threads takes longer than the work.
_FEW = 1 << 12


class Numbering:
    """The numbers of all vertices, in host memory or in the memory of an element.

    The host copies an array of the element at the first use of the array.

    Parameters
    ----------
    vertices : array of uint32, shape (n,)
        The vertices by number.
    numbers : array of uint32, shape (n,)
        The number of each vertex.
    bounds : ndarray of int64, shape (P + 1,), optional
        The first number of each partition, in host memory. Default: there is one partition.
    element : Element, optional
        The element whose memory has the other arrays. Default: they are in host memory.
    """

    # The number of the first vertex in `vertices`.
    first = 0

    def __init__(
        self,
        vertices: Any,
        numbers: Any,
        bounds: NDArray[np.int64] | None = None,
        element: Element | None = None,
    ) -> None:
        self._vertices, self._numbers, self._element = vertices, numbers, element
        self.bounds = np.array([0, len(vertices)]) if bounds is None else bounds

    @cached_property
    def _firsts(self) -> list[int]:
        """The first number of each partition."""
        firsts: list[int] = self.bounds[:-1].tolist()
        return firsts

    @cached_property
    def vertices(self) -> NDArray[np.uint32]:
        """The vertices by number, in host memory."""
        vertices: NDArray[np.uint32] = self._on_host("_vertices")
        return vertices

    @cached_property
    def numbers(self) -> NDArray[np.uint32]:
        """The number of each vertex, in host memory."""
        numbers: NDArray[np.uint32] = self._on_host("_numbers")
        return numbers

    def _on_host(self, name: str) -> Any:
        """Return an array in host memory, and forget the array of the element."""
        array = vars(self)[name]
        on_host = array if self._element is None else self._element.download(array)
        del vars(self)[name]
        return on_host

    def owned_range(self, p: int) -> slice:
        """Return the places of the vertices of partition `p` in `vertices`."""
        begin, end = (self.bounds[p : p + 2] - self.first).tolist()
        return slice(begin, end)

    def owned_by(self, p: int) -> NDArray[np.uint32]:
        """Return the vertices of partition `p` by local number."""
        return self.vertices[self.owned_range(p)]

    def numbers_of(self, vertices: NDArray[Any]) -> NDArray[np.uint32]:
        """Return the numbers of vertices; for one vertex, only its number is copied."""
        if self._element is not None and len(vertices) == 1 and "numbers" not in vars(self):
            return self._element.download(self._numbers[int(vertices[0]) :][:1])
        return gathered(self.numbers, vertices.astype(np.uint32, copy=False))

    def numbers_of_each(self, of_parts: list[NDArray[np.uint32] | None]) -> list[NDArray[np.uint32]]:
        """Return the numbers of the vertices of each part; None lists all vertices.

        The arrays are new if there are several partitions.
        """
        several = len(self.bounds) > 2
        return [self.numbers.copy() if several else self.numbers for _ in of_parts]

    def fetch(self, numbers: NDArray[np.uint32], values: NDArray[Any]) -> list[NDArray[Any]]:
        """Return the vertices with these numbers, and their values, given the values by number."""
        return [gathered(self.vertices, numbers), gathered(values, numbers)]

    def place_of(self, vertex: int) -> tuple[int, int]:
        """Return the owner and the local number of a vertex."""
        number = int(self.numbers_of(np.array([vertex], np.uint32))[0])
        owner = bisect_right(self._firsts, number) - 1
        return owner, number - self._firsts[owner]

    def places_of(self, vertices: NDArray[Any]) -> tuple[NDArray[np.uint16], NDArray[np.uint32]]:
        """Return the owners and the local numbers of vertices."""
        numbers = self.numbers_of(vertices)
        if len(self.bounds) == 2:
            return np.zeros(len(numbers), np.uint16), numbers
        owner = (np.searchsorted(self.bounds, numbers, side="right") - 1).astype(np.uint16)
        return owner, numbers - self.bounds.astype(np.uint32)[owner]


def number_vertices(by_degree: NDArray[np.uint32], owner: NDArray[Any], partitions: int) -> Numbering:
    """Return numbers in which the vertices of each partition are in descending degree."""
    counts = np.zeros((numba.get_num_threads(), partitions), dtype=np.uint64)
    kernels.count_owned(by_degree, owner, counts)
    bounds = np.zeros(partitions + 1, dtype=np.uint64)
    np.cumsum(counts.sum(axis=0), out=bounds[1:])
    places = bounds[:-1] + np.cumsum(counts, axis=0) - counts
    numbers, vertices = np.empty_like(by_degree), np.empty_like(by_degree)
    kernels.number_by_owner(by_degree, owner, places, numbers, vertices)
    return Numbering(vertices, numbers, bounds.astype(np.int64))


def gathered(values: NDArray[Any], places: NDArray[np.uint32]) -> NDArray[Any]:
    """Return the values at some places."""
    if len(places) < _FEW:
        return values[places]
    found = np.empty(len(places), values.dtype)
    kernels.gather_values(read_only(values), read_only(places), found)
    return found


def joined(parts: list[NDArray[np.uint32]]) -> NDArray[np.uint32]:
    """Return the values of all parts; a single part is not copied."""
    return parts[0] if len(parts) == 1 else np.concatenate(parts)
