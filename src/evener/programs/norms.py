"""Values of all vertices, divided by their norm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["unit_length", "unit_sum"]


def unit_length(pg: PartitionedGraph, array: PartitionedArray) -> NDArray[np.float64]:
    """Return the values of this rank's block, divided by the Euclidean norm over all ranks."""
    values = pg.gather(array)
    length = math.sqrt(pg.world.allreduce(float(values @ values), "sum"))
    return np.asarray(values / (length or 1.0))


def unit_sum(pg: PartitionedGraph, array: PartitionedArray) -> NDArray[np.float64]:
    """Return the values of this rank's block, divided by their sum over all ranks."""
    values = pg.gather(array)
    return np.asarray(values / (pg.world.allreduce(float(values.sum()), "sum") or 1.0))
