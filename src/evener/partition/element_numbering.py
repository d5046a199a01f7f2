"""The numbering of all vertices in the memory of one element."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.partition.partition import Numbering

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.partition.partition import Partition

__all__ = ["AnyNumbering", "ElementNumbering"]


class ElementNumbering:
    """A numbering whose arrays are in the memory of an element; see `evener.partition.partition.Numbering`.

    The host copies an array at its first use.

    Parameters
    ----------
    element : Element
    vertices, local : ndarray of uint32, shape (n,)
        The vertices by partition and local number, and the local number of each vertex, in the memory of the
        element.
    owner : ndarray of uint8 or uint16, shape (n,), optional
        The partition of each vertex, in the memory of the element. Default: there is one partition.
    bounds : ndarray of uint64, shape (P + 1,), optional
        The first position of each partition in `vertices`, in host memory.
    """

    def __init__(
        self,
        element: Element,
        vertices: Any,
        local: Any,
        owner: Any = None,
        bounds: NDArray[np.uint64] | None = None,
    ) -> None:
        self._element, self._vertices, self._local, self._owner = element, vertices, local, owner
        self.bounds = np.array([0, len(vertices)], np.uint64) if bounds is None else bounds

    @cached_property
    def owner(self) -> NDArray[Any]:
        """The partition of each vertex, in host memory."""
        if self._owner is None:
            return np.zeros(len(self._vertices), np.uint8)
        return self._element.download(self._owner)

    @cached_property
    def vertices(self) -> NDArray[np.uint32]:
        """The vertices by partition and local number, in host memory."""
        return self._element.download(self._vertices)

    @cached_property
    def local(self) -> NDArray[np.uint32]:
        """The local number of each vertex, in host memory."""
        return self._element.download(self._local)

    @property
    def on_host(self) -> Numbering:
        """The same numbering in host memory."""
        return Numbering(self.owner, self.local, self.vertices, self.bounds)

    def owned_by(self, p: int) -> NDArray[np.uint32]:
        """Return the vertices of partition `p` by local number."""
        return self.vertices[int(self.bounds[p]) : int(self.bounds[p + 1])]

    def mirror_numbers(self, partition: Partition) -> NDArray[np.uint32]:
        """Return the local number, on its owner, of each mirror of a partition in host memory."""
        return self._local_of(partition.vertices[partition.owned :])

    def place_of(self, vertex: int) -> tuple[int, int]:
        """Return the owner and the local number of a vertex."""
        owner = 0 if self._owner is None else self._value(self._owner, vertex)
        return owner, self._value(self._local, vertex)

    def places_of(self, vertices: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.uint32]]:
        """Return the owners and the local numbers of vertices."""
        owner = np.zeros(len(vertices), np.uint8) if self._owner is None else self.owner[vertices]
        return owner, self._local_of(vertices)

    def _local_of(self, vertices: NDArray[Any]) -> NDArray[np.uint32]:
        local = np.empty(len(vertices), np.uint32)
        kernels.gather_values(read_only(self.local), read_only(vertices.astype(np.uint32, copy=False)), local)
        return local

    def _value(self, array: Any, vertex: int) -> int:
        return int(self._element.download(array[vertex : vertex + 1])[0])


AnyNumbering = Numbering | ElementNumbering
