"""Verify betweenness: run Brandes' algorithm again from the same sources, in float64, as GAP does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np

from evener.algorithms.betweenness import verify_cpu as kernels
from evener.algorithms.betweenness.betweenness import sources_of
from evener.primitives.path_verification import path_sums, paths_in_parts
from evener.primitives.source_paths import check_positive_weights
from evener.spec.answer_parts import parts_of
from evener.spec.verification import fail

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["OF_LARGEST", "RELATIVE", "Levels", "check", "claim_parameters", "levels_in_parts"]

# Largest difference from the recomputed centrality, relative to this centrality and to the largest
# centrality.
RELATIVE = {"float32": 1e-5, "float64": 1e-9}
OF_LARGEST = {"float32": 1e-7, "float64": 1e-12}


class Levels(NamedTuple):
    """The search from a source, for each vertex of a block.

    Attributes
    ----------
    level : ndarray of int
        The distance; -1 if unreached.
    paths : ndarray of float64
        The shortest paths, times a factor of the level.
    share : ndarray of float64
        What a path of the previous level adds to its tail: ``(1 + dependency) / paths``, in the factor of
        the previous level.
    dependency : ndarray of float64
    """

    level: NDArray[np.int64]
    paths: NDArray[np.float64]
    share: NDArray[np.float64]
    dependency: NDArray[np.float64]


def check(answer: Answer) -> None:
    """Raise VerificationError unless `centrality` is the result of Brandes' algorithm."""
    parts, graph, parameters = parts_of(answer), answer.graph, answer.parameters
    stored = parts.column("centrality")
    if stored.dtype.name not in RELATIVE:
        fail(answer, "centralities are float32 or float64", f"found {stored.dtype}")
    if graph.n == 0:
        return
    # A result records its sources. Another answer may record how the sources were drawn.
    given, seed = parameters.get("sources"), parameters.get("seed")
    drawn = parameters.get("k") if given is None else None
    chosen = sources_of(graph, given, drawn, 0 if seed is None else seed)
    weighted = check_positive_weights(graph, parameters.get("weights", False), "betweenness")
    if not parts.whole:
        expected = np.zeros(len(stored))
    else:
        expected = path_sums(graph, chosen, weighted=True)[0] if weighted else _dependencies(graph, chosen)
    search = paths_in_parts if weighted else levels_in_parts
    for source in [] if parts.whole else chosen.tolist():
        dependency = search(parts, source).dependency
        dependency[np.arange(parts.block.start, parts.block.stop) == source] = 0
        expected += dependency
    normalized = parameters.get("normalized")
    expected *= _scale_of(graph, len(chosen), normalized=normalized is None or bool(normalized))
    largest = parts.reduce(float(expected.max(initial=0)), "max")
    allowed = RELATIVE[stored.dtype.name] * expected + OF_LARGEST[stored.dtype.name] * largest
    found = stored.astype(np.float64)
    parts.require(
        np.abs(found - expected) <= allowed,
        f"centralities are the dependencies from {len(chosen)} sources",
        lambda v: f"vertex {parts.id(v)} has {parts.at(found, v)}, recomputed {parts.at(expected, v)}",
    )


def _dependencies(graph: Graph, sources: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return the sum of Brandes' dependencies of each vertex on some sources, one source per thread."""
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


def levels_in_parts(parts: AnswerParts, source: int) -> Levels:
    """Return the search from a source for each vertex of this rank's block, level by level.

    Sums over in-edges carry the counts of paths from one level to the next, and sums over out-edges carry the
    dependencies back. This is a collective operation; all ranks must call it.
    """
    level = np.where(np.arange(parts.block.start, parts.block.stop) == source, 0, -1)
    paths = np.where(level == 0, 1.0, 0.0)
    shrunk = [1.0]  # the factor that scaled each level
    while True:
        arriving = parts.row_sums(np.where(level == len(shrunk) - 1, paths, 0.0), "in")
        following = (level < 0) & (arriving > 0)
        most = parts.reduce(float(arriving.max(initial=0, where=following)), "max")
        if most == 0:
            break
        level[following] = len(shrunk)
        shrunk.append(kernels.SHRINK if most > kernels.MAX_PATHS else 1.0)
        paths[following] = arriving[following] * shrunk[-1]
    dependency, share = np.zeros(len(level)), np.zeros(len(level))
    for depth in range(len(shrunk) - 1, -1, -1):
        own = level == depth
        np.divide((1.0 + dependency) * shrunk[depth], paths, out=share, where=own)
        if depth:
            through = parts.row_sums(np.where(own, share, 0.0), "out")
            dependency = np.where(level == depth - 1, through * paths, dependency)
    return Levels(level, paths, share, dependency)


def _scale_of(graph: Graph, sources: int, *, normalized: bool) -> float:
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
