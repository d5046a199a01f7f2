"""Verify betweenness of a graph in parts: run Brandes' algorithm again in float64, level by level.

All ranks process one source at a time. A pass over the edges of each rank carries the counts of paths from
one level to the next, or the dependencies back.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.betweenness.betweenness import sources_of
from evener.algorithms.betweenness.verify import allowed_difference, scale_of
from evener.spec.edges_in_parts import EdgesInParts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.results.result import Result

__all__ = ["check"]

# A level with more paths than this is scaled by _SHRINK, as in `verify_cpu`.
_MAX_PATHS, _SHRINK = 2.0**900, 2.0**-64


def check(result: Result) -> None:
    """Raise VerificationError unless `centrality` is the result of Brandes' algorithm."""
    stored, parameters, graph = result["centrality"], result.parameters, result.graph
    if graph.n == 0:
        return
    edges = EdgesInParts(result)
    drawn = None if parameters["sources"] is not None else parameters["k"]
    chosen = sources_of(graph, parameters["sources"], drawn, parameters["seed"])
    expected = np.zeros(len(stored))
    for source in chosen.tolist():
        expected += _dependencies(edges, source)
    expected *= scale_of(graph, len(chosen), normalized=parameters["normalized"])
    largest = edges.world.allreduce(float(expected.max(initial=0)), "max")
    edges.require(
        np.abs(stored - expected) <= allowed_difference(stored.dtype, expected, largest),
        f"centralities are the dependencies from {len(chosen)} sources",
        lambda v: f"has {float(stored[v])}, recomputed {expected[v]}",
    )


def _dependencies(edges: EdgesInParts, source: int) -> NDArray[np.float64]:
    """Return Brandes' dependency of each vertex of this rank's block on a source."""
    world, root = edges.world, edges.numbers == source
    level = np.where(root, 0, -1)
    paths = root.astype(np.float64)
    shrunk = [1.0]  # the factor that scaled each level
    while True:
        arriving = _carry(edges, level, paths, len(shrunk) - 1)
        following = (level < 0) & (arriving > 0)
        most = world.allreduce(float(arriving.max(initial=0, where=following)), "max")
        if most == 0:
            break
        level[following] = len(shrunk)
        shrunk.append(_SHRINK if most > _MAX_PATHS else 1.0)
        paths[following] = arriving[following] * shrunk[-1]
    dependency = np.zeros(len(level))
    for depth in range(len(shrunk) - 1, 0, -1):
        own = level == depth
        share = np.divide(1.0 + dependency, paths, out=np.zeros(len(level)), where=own) * shrunk[depth]
        through = _carry(edges, level, share, depth, back=True)
        dependency = np.where(level == depth - 1, through * paths, dependency)
    dependency[root] = 0
    return dependency


def _carry(
    edges: EdgesInParts,
    level: NDArray[np.int64],
    values: NDArray[np.float64],
    depth: int,
    *,
    back: bool = False,
) -> NDArray[np.float64]:
    """Return sums of the values of a level, along the edges to the next level or back to the one before."""
    levels, given = edges.fetch(level, values)
    sums = np.zeros(len(given))
    for tails, heads, _ in edges.pieces():
        begins, ends = (heads, tails) if back else (tails, heads)
        wanted = levels[begins] == depth
        if back:
            wanted &= levels[ends] == depth - 1
        np.add.at(sums, ends[wanted], given[begins[wanted]])
    found = np.zeros(len(values))
    edges.combine(sums, found, np.add)
    return found
