"""Resource allocation index of pairs of vertices: a sum over common neighbours, hubs count less.

Idea and encoding: see `evener.primitives.pair_scores` and `evener.primitives.best_pairs`.

Zhou, Lü, Zhang: Predicting missing links via local information (2009).
"""

from __future__ import annotations

from evener.primitives.pair_algorithm import pair_algorithm
from evener.primitives.pair_scores import Measure

__all__ = ["SPEC", "check", "resource_allocation"]

SPEC, resource_allocation, check = pair_algorithm(
    "resource_allocation",
    "resource allocation index",
    Measure("sum", "inverse"),
    score="the sum of 1 / d over the common neighbours, which have d neighbours",
    example="[0.83, 0.33]",
    synonyms=("resource_allocation_index",),
)
