"""Route: the path between one partition's mirrors and the partition that owns the vertices they stand for."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from evener.partition.partition import Numbering, Partition

__all__ = ["Route", "routes_between"]


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
    """

    holder: int
    owner: int
    begin: int
    index: NDArray[np.uint32]

    def __len__(self) -> int:
        return len(self.index)


def routes_between(partitions: list[Partition], numbering: Numbering) -> list[Route]:
    """All routes that carry anything, by holder and then owner."""
    routes = []
    for partition in partitions:
        for owner in range(len(partitions)):
            begin, end = (int(b) for b in partition.mirror_bounds[owner : owner + 2])
            if end > begin:
                index = numbering.local[partition.vertices[begin:end]]
                routes.append(Route(partition.index, owner, begin, index))
    return routes
