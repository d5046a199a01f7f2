"""Number of common neighbours of pairs of vertices: the number of vertices with an edge to both.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Newman: Clustering and preferential attachment in growing networks (2001).
"""

from __future__ import annotations

from evener.primitives.pair_algorithm import pair_algorithm
from evener.primitives.pair_scores import Measure

__all__ = ["SPEC", "check", "common_neighbors"]

SPEC, common_neighbors, check = pair_algorithm(
    "common_neighbors",
    "number of common neighbours",
    Measure("sum"),
    score="the number of common neighbours, int64",
    example="[2, 1]",
    synonyms=("common_neighbor_count", "common_neighbours"),
)
