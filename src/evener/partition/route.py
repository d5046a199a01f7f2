"""Route: the path between one partition's mirrors and the partition that owns the vertices they stand for."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Numbering, Partition

__all__ = ["Route", "place", "routes_of"]

# Vertices whose bits are set at a time, for they take a byte each until they are packed.
_AT_A_TIME = 1 << 24


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """The mirrors that one partition holds of another's vertices.

    Attributes
    ----------
    holder : int
        The partition with the mirrors.
    owner : int
        The partition that owns the vertices.
    begin : int
        The first of the mirrors in the holder's numbering; they lie in one run.
    index : ndarray of uint32, shape (mirrors,)
        The owner's number of each, ascending.
    held : ndarray of uint64, shape (words,)
        `index` as a bitmap of the owner's vertices.
    before : ndarray of uint32, shape (words + 1,)
        The bits of `held` before each word, and in all.
    first : int or None
        The owner's number of the first, if the owner numbers all of them one after another: then values need
        not be picked out to travel.
    """

    holder: int
    owner: int
    begin: int
    index: NDArray[np.uint32]
    held: NDArray[np.uint64]
    before: NDArray[np.uint32]
    first: int | None

    @classmethod
    def from_index(cls, holder: int, owner: int, begin: int, index: NDArray[np.uint32], owned: int) -> Route:
        """A route to a partition that owns `owned` vertices."""
        held = np.zeros((owned + 63) // 64, np.uint64)
        for first in range(0, owned, _AT_A_TIME):
            here = np.array([first, min(first + _AT_A_TIME, owned)], np.uint32)
            from_, to = np.searchsorted(index, here).tolist()
            words = held[first // 64 : (first + _AT_A_TIME) // 64]
            bits = np.zeros(len(words) * 64, dtype=bool)
            bits[index[from_:to] - here[0]] = True
            words[:] = np.packbits(bits, bitorder="little").view(np.uint64)
        before = np.zeros(len(held) + 1, np.uint32)
        np.cumsum(np.bitwise_count(held), dtype=np.uint32, out=before[1:])
        in_a_row = int(index[-1]) - int(index[0]) == len(index) - 1
        return cls(holder, owner, begin, index, held, before, int(index[0]) if in_a_row else None)

    def __len__(self) -> int:
        return len(self.index)


def routes_of(holder: Partition, numbering: Numbering) -> list[Route]:
    """The routes of a partition's mirrors, by owner; its arrays are the host's."""
    routes = []
    for owner in range(len(numbering.bounds) - 1):
        begin, end = (int(b) for b in holder.mirror_bounds[owner : owner + 2])
        if end > begin:
            index = numbering.local[holder.vertices[begin:end]]
            owned = int(numbering.bounds[owner + 1] - numbering.bounds[owner])
            routes.append(Route.from_index(holder.index, owner, begin, index, owned))
    return routes


def place(route: Route, element: Element) -> Route:
    """The same route with its arrays in the memory of its owner's element."""
    index, held, before = (element.upload(a) for a in (route.index, route.held, route.before))
    return replace(route, index=index, held=held, before=before)
