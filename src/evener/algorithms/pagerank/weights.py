"""Whether PageRank uses the weights of the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.spec.arguments import weights_used

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = ["uses_weights"]


def uses_weights(graph: Graph, weights: bool | None, semantics: str) -> bool:  # noqa: FBT001 - an argument of pagerank
    """Return whether PageRank uses the weights of the edges.

    Raises
    ------
    ArgumentError
        As `weights_used`.
    """
    if weights is None and semantics == "graphalytics":
        weights = False  # LDBC Graphalytics defines PageRank without weights
    return weights_used(graph, weights, "PageRank")
