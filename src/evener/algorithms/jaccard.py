"""Jaccard's coefficient of pairs of vertices: the share of the neighbours of either vertex that both have.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Jaccard: The distribution of the flora in the alpine zone (1912).
"""

from __future__ import annotations

from evener.primitives.pair_algorithm import pair_algorithm
from evener.primitives.pair_scores import Measure

__all__ = ["SPEC", "check", "jaccard"]

SPEC, jaccard, check = pair_algorithm(
    "jaccard",
    "Jaccard coefficient",
    Measure("jaccard"),
    score="the common neighbours over the neighbours of either vertex; 0 if there are none",
    example="[1.0, 0.5]",
    synonyms=("jaccard_coefficient", "jaccard_index", "all_pairs_jaccard", "jaccard_similarity"),
)
