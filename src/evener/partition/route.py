"""Route: the path between the mirrors of one partition and the partition that owns their vertices."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from evener.graph.bitmap import Bitmap

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Partition

__all__ = ["Route", "routes_of", "upload_route"]


@dataclass(frozen=True, slots=True, eq=False)
class Route:
    """The mirrors that one partition has of another partition's vertices.

    Attributes
    ----------
    mirror_partition : int
        The partition with the mirrors.
    owner : int
        The partition that owns the vertices.
    begin : int
        Local number of the first mirror. The mirrors of a route are contiguous.
    index : ndarray of uint32, shape (mirrors,)
        The owner's local number of each mirrored vertex, ascending.
    owner_bitmap : ndarray of uint64, shape (words,)
        `index` as a bitmap of the owner's vertices.
    rank : ndarray of uint32, shape (words + 1,)
        Number of bits of `owner_bitmap` before each word; the last value counts all bits.
    first : int or None
        The first value of `index` if `index` is contiguous, else None. Values of a contiguous route are sent
        without packing.
    """

    mirror_partition: int
    owner: int
    begin: int
    index: NDArray[np.uint32]
    owner_bitmap: NDArray[np.uint64]
    rank: NDArray[np.uint32]
    first: int | None

    @classmethod
    def from_index(
        cls, mirror_partition: int, owner: int, begin: int, index: NDArray[np.uint32], owned: int
    ) -> Route:
        """Return the route to a partition that owns `owned` vertices."""
        bitmap = Bitmap(owned)
        bitmap.add(index)
        bitmap.count()
        contiguous = int(index[-1]) - int(index[0]) == len(index) - 1
        first_owned = int(index[0]) if contiguous else None
        return cls(mirror_partition, owner, begin, index, bitmap.words, bitmap.ranks, first_owned)

    def __len__(self) -> int:
        return len(self.index)


def routes_of(partition: Partition, numbers: NDArray[np.uint32], bounds: NDArray[np.int64]) -> list[Route]:
    """Return the routes of a partition's mirrors by owner, with arrays in host memory.

    `numbers` has the numbers of the mirrors, and `bounds` the first number of each partition.
    """
    routes = []
    ends = (partition.mirror_bounds - partition.owned).tolist()
    for owner, (begin, end) in enumerate(pairwise(ends)):
        if end > begin:
            first, last = bounds[owner : owner + 2].tolist()
            index = numbers[begin:end] - np.uint32(first)
            routes.append(
                Route.from_index(partition.index, owner, partition.owned + begin, index, last - first)
            )
    return routes


def upload_route(route: Route, element: Element) -> Route:
    """Return the same route with its arrays in the memory of the owner's element."""
    return replace(
        route,
        index=element.upload(route.index),
        owner_bitmap=element.upload(route.owner_bitmap),
        rank=element.upload(route.rank),
    )
