"""Verify betweenness: run Brandes' algorithm again from the same sources, in float64, as GAP does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.algorithms.betweenness import verify_cpu as kernels
from evener.algorithms.betweenness.betweenness import sources_of
from evener.spec.verification import column, fail, first_true

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer import Answer

__all__ = ["allowed_difference", "check", "claim_parameters", "scale_of"]

# Largest difference from the recomputed centrality, relative to this centrality and to the largest
# centrality.
_RELATIVE = {"float32": 1e-5, "float64": 1e-9}
_OF_LARGEST = {"float32": 1e-7, "float64": 1e-12}


def check(answer: Answer) -> None:
    """Raise VerificationError unless `centrality` is the result of Brandes' algorithm."""
    graph, parameters = answer.graph, answer.parameters
    stored = column(answer, "centrality")
    if stored.dtype.name not in _RELATIVE:
        fail(answer, "centralities are float32 or float64", f"found {stored.dtype}")
    if graph.n == 0:
        return
    # A result records its sources. Another answer may record how the sources were drawn.
    given, seed = parameters.get("sources"), parameters.get("seed")
    drawn = parameters.get("k") if given is None else None
    chosen = sources_of(graph, given, drawn, 0 if seed is None else seed)
    expected = _dependencies(graph, chosen)
    normalized = parameters.get("normalized")
    expected *= scale_of(graph, len(chosen), normalized=normalized is None or bool(normalized))
    found = stored.astype(np.float64)
    off = ~(np.abs(found - expected) <= allowed_difference(stored.dtype, expected, float(expected.max())))
    if off.any():
        v = first_true(off)
        detail = f"vertex {graph.ids[v]} has {found[v]}, recomputed {expected[v]}"
        fail(answer, f"centralities are the dependencies from {len(chosen)} sources", detail)


def allowed_difference(
    dtype: np.dtype[Any], expected: NDArray[np.float64], largest: float
) -> NDArray[np.float64]:
    """Return the largest rounding error of each centrality, given the largest expected centrality."""
    return np.asarray(_RELATIVE[dtype.name] * expected + _OF_LARGEST[dtype.name] * largest)


def _dependencies(graph: Graph, sources: NDArray[np.int64]) -> NDArray[np.float64]:
    threads = max(1, min(numba.get_num_threads(), len(sources)))
    shape = (threads, graph.n)
    score = np.zeros(shape)
    kernels.sum_dependencies(
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


def scale_of(graph: Graph, sources: int, *, normalized: bool) -> float:
    """Return the factor that scales a sum over some sources to an estimate over all sources."""
    n = graph.n
    if n <= 2 or sources == 0:
        return 0.0
    if normalized:
        return n / sources / ((n - 1) * (n - 2))
    return n / sources / (1 if graph.directed else 2)


def claim_parameters(parameters: Mapping[str, Any], *, given: Mapping[str, Any], **_: Any) -> dict[str, Any]:
    """Return the parameters for verifying a saved answer. The user's `k` replaces recorded sources."""
    return {name: value for name, value in parameters.items() if name != "sources" or "k" not in given}
