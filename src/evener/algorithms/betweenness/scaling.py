"""Scaling of path counts: the counts of a level may be scaled by a power of two, to stay within float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = ["MANY", "SHRINK", "beyond_float64"]

# If the paths of a level exceed MANY, the paths of the next level are scaled by SHRINK and stay below 2^964.
MANY = 2.0**900
SHRINK = 2.0**-64


def beyond_float64(graph: Graph, source: int, distance: int) -> str:
    """Return the error message for a level whose counts no scale brings into the range of float64."""
    (name,) = graph.ids_of(np.array([source]))
    return (
        f"the numbers of shortest paths to the vertices at distance {distance} from source "
        f"{name} differ by a factor of over 2^1700, beyond float64; omit it from sources="
    )
