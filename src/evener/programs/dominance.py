"""Verify that an eigenvalue is the largest one of a matrix without negative entries.

A positive eigenvector belongs to the largest eigenvalue (Perron and Frobenius). If some entries are 0 or not
settled, the rest of the matrix may have a larger eigenvalue. Its power iteration gives an upper bound, the
largest factor by which an entry grows (Collatz and Wielandt), and an estimate, the growth of the sum.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.spec.verification import fail

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

    Product = Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = ["allowed_error", "check_entries", "check_largest"]

# Largest error of an entry of a verified answer, relative to the entry and to the sum of all entries. The
# second one is twice the default tolerance of a run.
_OF_ENTRY, _OF_SUM = 1e-6, 2e-9
# Iterations after which the growth decides.
_ITERATIONS = 500


def check_entries(
    parts: AnswerParts, name: str, values: NDArray[np.float64], norm: float, expected: str
) -> None:
    """Raise VerificationError unless values are finite, not negative, and have the norm 1."""
    parts.require(
        np.isfinite(values) & (values >= 0),
        f"{name} is a finite number of at least 0",
        lambda v: f"vertex {parts.id(v)} has {values[v]}",
    )
    if not abs(norm - 1) <= _OF_ENTRY:
        fail(parts.answer, f"{name} has {expected} 1", f"found {norm:g}")


def allowed_error(values: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest error of each entry of an eigenvector."""
    return np.asarray(_OF_ENTRY * values + _OF_SUM * values.sum())


def check_largest(
    answer: Answer,
    product: Product,
    values: NDArray[np.float64],
    error: NDArray[np.float64],
    eigenvalue: float,
) -> None:
    """Raise VerificationError if a matrix has an eigenvalue above that of an eigenvector.

    `product` multiplies the matrix by a vector. `values` is the eigenvector without negative entries, `error`
    the error of each entry, and `eigenvalue` is above 0.
    """
    inside = (values <= 0) | (error > _OF_ENTRY * values)
    largest = _largest_eigenvalue(product, inside, eigenvalue)
    if largest > eigenvalue * (1 + _OF_ENTRY):
        detail = f"the values belong to {eigenvalue:g}, and vertices with small values to about {largest:g}"
        fail(answer, "the values belong to the largest eigenvalue", detail)


def _largest_eigenvalue(product: Product, inside: NDArray[np.bool_], limit: float) -> float:
    """Return the largest eigenvalue of a part of a matrix, about; or a bound that is below `limit`."""
    vector = inside.astype(np.float64)
    growth, enough = 0.0, limit * (1 + _OF_ENTRY)
    for _ in range(_ITERATIONS):
        image = product(vector) * inside
        positive = vector > 0
        upper = float((image[positive] / vector[positive]).max(initial=0))
        growth = float(image.sum() / max(vector.sum(), np.finfo(float).tiny))
        if upper <= enough or upper <= growth * (1 + _OF_SUM):
            return upper
        vector = image + limit / 4 * vector  # entries of bipartite graphs would swap
        vector /= vector.max()
    return growth
