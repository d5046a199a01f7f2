"""Edges of a graph as a SciPy matrix, for verifiers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.sparse import csr_array

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = ["adjacency"]


def adjacency(graph: Graph, *, weights: bool = False) -> Any:
    """Return the matrix with the number, or the weight, of the edges from i to j at place (i, j)."""
    values = graph.weights if weights and graph.weights is not None else np.ones(graph.m)
    matrix = csr_array((values, graph.targets, graph.offsets.astype(np.int64)), (graph.n, graph.n))
    return matrix.astype(np.float64)
