"""Verify colors: no edge joins equal colors, and the colors are those of the greedy algorithm.

A color of the greedy algorithm is the smallest that no neighbour of higher priority has. So each smaller
color is at a neighbour.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.spec.answer_parts import parts_of
from evener.spec.verification import fail, first_true

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError if an edge joins equal colors, or a vertex could have a smaller color."""
    parts = parts_of(answer)
    color = parts.column("color")
    parts.require(
        color >= 0, "colors count from 0 on", lambda v: f"vertex {parts.id(v)} has color {parts.at(color, v)}"
    )
    found = []
    for rows, (own,) in zip(parts.rows(), parts.fetch(color), strict=True):
        for tails, heads in rows.pieces():
            if (wrong := (own[tails] == own[heads]) & (tails != heads)).any():
                v, w = (ends[first_true(wrong)] for ends in (tails, heads))
                found.append((rows.vertices[v], rows.vertices[w], own[v]))
                break
    if (edge := parts.first_found(found)) is not None:
        tail, head = map(parts.id, edge[:2])
        detail = f"vertices {tail} and {head} are neighbours, and both have color {edge[2]}"
        fail(answer, "neighbours have different colors", detail)
    for smaller in range(int(parts.reduce(int(color.max(initial=-1)), "max"))):
        near = parts.neighbour_sums((color == smaller).astype(np.float64))
        parts.require(
            (color <= smaller) | (near > 0),
            "each vertex has the smallest color that its neighbours allow",
            _detail(parts, color, smaller),
        )


def _detail(parts: AnswerParts, color: NDArray[Any], missing: int) -> Callable[[int], str]:
    """Return a function that describes a vertex without a neighbour of a color."""
    return lambda v: f"vertex {parts.id(v)} has color {parts.at(color, v)}, no neighbour has color {missing}"
