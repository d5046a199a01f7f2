"""Weights of a placed graph as bytes, where they fit: sweeps read the weight of every edge."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.engine.array import PartitionedArray
from evener.errors import OutOfMemoryError
from evener.spec.arguments import unsigned
from evener.system.memory import require_for_run

if TYPE_CHECKING:
    from evener.engine.engine import Engine

__all__ = ["placed_weights"]

# Bytes are shorter than other weights, and hold integers below this limit.
_LIMIT = 1 << 8


def placed_weights(engine: Engine, direction: Literal["out", "in_"]) -> PartitionedArray:
    """Return the weights of the out-edges or the in-edges, with unsigned integers in place of signed ones.

    If all elements are CPUs and all weights are integers below 256, the result has bytes. The placement keeps
    them for later runs. Without memory for the bytes, the result has the given weights.
    """
    given = unsigned(engine.out_weights if direction == "out" else engine.in_weights)
    pg = engine.partitioned
    short = all(own.dtype.kind == "u" and own.itemsize > 1 for own in given)
    if not (engine.only_cpus and short and pg.graph.weight_range[1] < _LIMIT):
        return given
    parts: list[Any] = []
    for partition, element, weights in zip(pg.partitions, pg.elements, given, strict=True):
        derived = getattr(partition, direction).derived
        if "byte_weights" not in derived:
            try:
                require_for_run(len(weights), "the weights as bytes")
                narrow = element.allocate(len(weights), np.uint8)
            except OutOfMemoryError:
                return given
            element.run(element.kernel("fill.narrow"), weights, narrow)
            derived["byte_weights"] = narrow  # filled, because other threads may read it
        parts.append(derived["byte_weights"])
    return PartitionedArray(parts)
