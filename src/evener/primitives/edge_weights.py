"""Weights of edges as arguments of kernels, also for graphs without weights."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.array import PartitionedArray

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.engine.engine import Engine

__all__ = ["edge_weights", "unit_weights", "unsigned_weights"]


def edge_weights(engine: Engine, weights: PartitionedArray, *, used: bool) -> PartitionedArray:
    """Return the weights of stored edges for kernels; if they are not used, each edge weighs 1.

    Signed integers become unsigned. They must not be negative.
    """
    if not used:
        return PartitionedArray([unit_weights(element) for element in engine.elements])
    return PartitionedArray([unsigned_weights(own) for own in weights])


def unsigned_weights(weights: Any) -> Any:
    """Return the weights of a partition, with unsigned integers in place of signed integers."""
    return weights.view(f"u{weights.itemsize}") if weights.dtype.kind == "i" else weights


def unit_weights(element: Element) -> Any:
    """Return what kernels of an element read as weights of 1: None on a CPU, no weights on a GPU."""
    return None if element.kind == "cpu" else element.allocate_edges(0, np.dtype(np.float32), 0)
