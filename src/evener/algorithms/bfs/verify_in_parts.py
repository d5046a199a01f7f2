"""Verify the tree of a breadth-first search for a graph in parts; `check_tree` has the shared rules."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.spec.edges_in_parts import EdgesInParts
from evener.spec.verification_tree_in_parts import check_tree

if TYPE_CHECKING:
    from evener.results.result import Result

__all__ = ["check"]


def check(result: Result) -> None:
    """Raise VerificationError unless `distance` and `parent` are a breadth-first tree of the sources."""
    levels = result["distance"].astype(np.float64)
    edges = EdgesInParts(result)
    edges.require(levels >= -1, "no distance is negative", lambda v: f"has distance {levels[v]:.0f}, not -1")
    levels[levels == -1] = np.inf
    check_tree(edges, levels, weighted=False, tolerance=0.0)
