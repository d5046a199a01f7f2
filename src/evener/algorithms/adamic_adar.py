"""Adamic-Adar index of pairs of vertices: a sum over common neighbours, hubs count less.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Adamic, Adar: Friends and neighbors on the web (2003).
"""

from __future__ import annotations

from evener.primitives.pair_algorithm import pair_algorithm
from evener.primitives.pair_scores import Measure

__all__ = ["SPEC", "adamic_adar", "check"]

SPEC, adamic_adar, check = pair_algorithm(
    "adamic_adar",
    "Adamic-Adar index",
    Measure("sum", "logarithm"),
    score="the sum of 1 / log d over the common neighbours, which have d neighbours; d = 1 adds 0",
    example="[2.35, 0.91]",
    synonyms=("adamic_adar_index",),
)
