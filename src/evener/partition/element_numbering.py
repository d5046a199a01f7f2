"""The numbering of an only partition in the memory of its element."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Partition

__all__ = ["ElementNumbering"]


class ElementNumbering:
    """The numbering of an only partition; see `evener.partition.partition.Numbering`.

    The host copies an array at its first use.

    Parameters
    ----------
    element : Element
    vertices, local : ndarray of uint32, shape (n,)
        The vertices by local number, and the local number of each vertex, in the memory of the element.
    """

    def __init__(self, element: Element, vertices: Any, local: Any) -> None:
        self._element, self._vertices, self._local = element, vertices, local
        self.bounds = np.array([0, len(vertices)], np.uint64)

    @cached_property
    def owner(self) -> NDArray[np.uint8]:
        """The only partition, for each vertex."""
        return np.zeros(len(self._vertices), np.uint8)

    @cached_property
    def vertices(self) -> NDArray[np.uint32]:
        """The vertices by local number, in host memory."""
        return self._element.download(self._vertices)

    @cached_property
    def local(self) -> NDArray[np.uint32]:
        """The local number of each vertex, in host memory."""
        return self._element.download(self._local)

    def owned_by(self, p: int) -> NDArray[np.uint32]:  # noqa: ARG002 - the only partition
        """Return the vertices by local number."""
        return self.vertices

    def mirror_numbers(self, partition: Partition) -> NDArray[np.uint32]:  # noqa: ARG002 - as above
        """Return no numbers, because there are no mirrors."""
        return np.empty(0, np.uint32)

    def place_of(self, vertex: int) -> tuple[int, int]:
        """Return the only partition and the local number of a vertex."""
        return 0, int(self._element.download(self._local[vertex : vertex + 1])[0])

    def places_of(self, vertices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return the only partition and the local numbers of vertices."""
        given = vertices.astype(np.uint32, copy=False)
        local = np.empty(len(given), np.uint32)
        kernels.gather_values(read_only(self.local), read_only(given), local)
        return np.zeros(len(given), np.uint8), local
