"""Verify the tree of shortest paths for a graph in parts; `check_tree` has the shared rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.sssp.range_check import EXACT, overflows
from evener.algorithms.sssp.verify import INTEGERS, tolerance_of
from evener.spec.edges_in_parts import EdgesInParts
from evener.spec.verification_tree_in_parts import check_tree

if TYPE_CHECKING:
    from evener.results.result import Result

__all__ = ["check"]


def check(result: Result) -> None:
    """Raise VerificationError unless `distance` and `parent` are a shortest-path tree of the sources."""
    own = result["distance"]
    distance = own.astype(np.float64)
    edges = EdgesInParts(result)
    rule = "no distance is negative or NaN"
    edges.require(distance >= 0, rule, lambda v: f"is at {distance[v]}, not >= 0")
    weight = edges.graph.weight_dtype
    if weight is not None and weight.kind in "iu":
        exact = (distance < EXACT) | np.isinf(distance)
        edges.require(exact, INTEGERS, lambda v: f"has distance {distance[v]:.0f}")
    own_farthest = float(distance.max(initial=0, where=np.isfinite(distance)))
    farthest = edges.world.allreduce(own_farthest, "max")
    tolerance = tolerance_of(own.dtype, weight, farthest)
    check_tree(edges, distance, weighted=weight is not None, tolerance=tolerance, overflows=overflows)
