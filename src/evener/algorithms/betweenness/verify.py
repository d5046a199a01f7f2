"""Betweenness: Brandes' algorithm done again for the sources used, serially and in float64 (GAP's check)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np

from evener.algorithms import verification_cpu as kernels
from evener.algorithms.betweenness.betweenness import sources_of
from evener.algorithms.verification import broken, column, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.algorithms.verification import Answer
    from evener.graph.graph import Graph

__all__ = ["check"]

# How far apart a centrality and its recomputed value may lie, relative to that value, and to the largest
# one: in float32, sums over a hub's neighbours lose the last bits of the small ones.
_RELATIVE = {"float32": 1e-5, "float64": 1e-9}
_OF_LARGEST = {"float32": 1e-7, "float64": 1e-12}


def check(answer: Answer) -> None:
    """Raise VerificationError unless `centrality` is what Brandes' algorithm gives for the same sources."""
    graph, parameters = answer.graph, answer.parameters
    stored = column(answer, "centrality")
    if stored.dtype.name not in _RELATIVE:
        broken(answer, "centralities are float32 or float64", f"they are {stored.dtype}")
    if graph.n == 0:
        return
    # A result tells the sources; of an answer from elsewhere it may be known how they were drawn.
    drawn = None if "sources" in parameters else parameters.get("k")
    chosen = sources_of(graph, parameters.get("sources"), drawn, parameters.get("seed", 0))
    expected = _dependencies(graph, chosen)
    expected *= _scale(graph, len(chosen), normalized=bool(parameters.get("normalized", True)))
    found = stored.astype(np.float64)
    allowed = _RELATIVE[stored.dtype.name] * expected + _OF_LARGEST[stored.dtype.name] * expected.max()
    off = ~(np.abs(found - expected) <= allowed)
    if off.any():
        v = first_true(off)
        detail = f"vertex {graph.ids[v]} has {found[v]}, recomputed {expected[v]}"
        broken(answer, f"centralities are the dependencies on {len(chosen)} sources", detail)


def _dependencies(graph: Graph, sources: NDArray[np.int64]) -> NDArray[np.float64]:
    threads = max(1, min(numba.get_num_threads(), len(sources)))
    shape = (threads, graph.n)
    score = np.zeros(shape)
    kernels.dependencies(
        graph.offsets,
        graph.targets,
        sources.astype(np.uint32),
        np.empty(shape, dtype=np.uint32),
        np.empty(shape, dtype=np.uint32),
        np.empty(shape),
        np.empty(shape),
        np.empty(shape),
        score,
    )
    total: NDArray[np.float64] = score.sum(axis=0)
    return total


def _scale(graph: Graph, sources: int, *, normalized: bool) -> float:
    """Return the factor by which a sum over some sources estimates the value over all."""
    n = graph.n
    if n <= 2 or sources == 0:
        return 0.0
    if normalized:
        return n / sources / ((n - 1) * (n - 2))
    return n / sources / (1 if graph.directed else 2)
