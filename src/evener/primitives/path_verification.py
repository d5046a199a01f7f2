"""Verification of betweenness: the sums of dependencies, recomputed on one CPU."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from evener.primitives import path_verification_cpu as kernels
from evener.spec.answer_parts import NO_WEIGHTS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = ["path_sums"]


def path_sums(
    graph: Graph, sources: NDArray[np.int64], *, weighted: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the sums of Brandes' dependencies on some sources, of each vertex and of each stored edge.

    All sums are infinite if float64 cannot count the paths from a source. Weights must be above 0.
    """
    threads = max(1, min(numba.get_num_threads(), len(sources)))
    shape = threads, graph.n
    vertex_sums, edge_sums = np.zeros(shape), np.zeros((threads, graph.m))
    weights = graph.weights if weighted else None
    kernels.sum_paths(
        graph.offsets,
        graph.targets,
        NO_WEIGHTS if weights is None else weights,
        sources.astype(np.uint32),
        np.empty(shape),
        np.empty(shape, np.uint32),
        np.zeros(shape, np.bool_),
        np.empty(shape),
        np.empty(shape),
        vertex_sums,
        edge_sums,
    )
    return vertex_sums.sum(axis=0), edge_sums.sum(axis=0)
