"""Overlap coefficient of pairs of vertices: common neighbours over the neighbours of the end with fewer.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Vijaymeena, Kavitha: A survey on similarity measures in text mining (2016).
"""

from __future__ import annotations

from evener.primitives.pair_algorithm import pair_algorithm
from evener.primitives.pair_scores import Measure

__all__ = ["SPEC", "check", "overlap"]

SPEC, overlap, check = pair_algorithm(
    "overlap",
    "overlap coefficient",
    Measure("overlap"),
    score="the common neighbours over the neighbours of the vertex with fewer; 0 if it has none",
    example="[1.0, 1.0]",
    synonyms=("overlap_coefficient", "all_pairs_overlap"),
)
