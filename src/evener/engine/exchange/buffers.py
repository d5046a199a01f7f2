"""Buffers: the arrays that one end of a route packs into and receives into."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

    from evener.elements.protocols import Element

__all__ = ["Buffers"]


class Buffers:
    """Arrays in an element's memory, each allocated on first use and kept for the run.

    Parameters
    ----------
    element : Element
    """

    __slots__ = ("_arrays", "element")

    def __init__(self, element: Element) -> None:
        self.element = element
        self._arrays: dict[tuple[str, str], NDArray[Any]] = {}

    def array(
        self, use: str, length: int, dtype: DTypeLike, fill: object | None = None, *, exchanged: bool = True
    ) -> NDArray[Any]:
        """Return the array of shape (length,) for a use and a type; at first undefined, or filled.

        Arrays that are sent or received need `exchanged`.
        """
        key = (use, np.dtype(dtype).char)
        if key not in self._arrays:
            self._arrays[key] = self.element.allocate(length, dtype, fill, exchanged=exchanged)
        return self._arrays[key]

    def bitmap(self, use: str, length: int, *, exchanged: bool = True) -> NDArray[Any]:
        """Return the bitmap for a use, with `length` bits; at first clear."""
        return self.array(use, (length + 63) // 64, "uint64", 0, exchanged=exchanged)
