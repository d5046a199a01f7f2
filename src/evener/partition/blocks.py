"""Blocks: the consecutive vertices whose values each rank holds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["block_bounds"]


def block_bounds(n: int, size: int) -> NDArray[np.int64]:
    """Return the bounds of the vertices of each rank, shape (size + 1,).

    Rank ``r`` has the vertices ``bounds[r]:bounds[r + 1]``. Blocks differ by at most one vertex.
    """
    return np.array([n * rank // size for rank in range(size + 1)], dtype=np.int64)
