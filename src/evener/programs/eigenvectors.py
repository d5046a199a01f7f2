"""Eigenvectors by power iterations: norms of their values, and checks for verifiers.

A positive eigenvector belongs to the largest eigenvalue (Perron and Frobenius). If some entries are 0 or not
settled, the rest of the matrix may have a larger eigenvalue. Its power iteration gives an upper bound, the
largest factor by which an entry grows (Collatz and Wielandt), and an estimate, the growth of the sum.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError
from evener.spec.arguments import weights_used
from evener.spec.verification import fail

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.supersteps import ProgramRun
    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

    Product = Callable[[NDArray[np.float64]], NDArray[np.float64]]

__all__ = [
    "allowed_error",
    "check_entries",
    "check_largest",
    "equal_length",
    "equal_sum",
    "factors_used",
    "float32_above",
    "unit_length",
    "unit_sum",
    "vanishes",
]

# Bounds of the largest weight, so that squares of sums of weights are in the range of float64.
_SMALLEST, _LARGEST = 1e-140, 1e140
# Largest error of an entry of a verified answer, relative to the entry and to the sum of all entries. The
# second one is twice the default tolerance of a run.
_OF_ENTRY, _OF_SUM = 1e-6, 2e-9
# Least relative change of all values with which messages are float32, whose rounding hides small changes.
_FLOAT32_CHANGE = 5e-7
# Iterations after which the growth decides.
_ITERATIONS = 500


def unit_length(pg: PartitionedGraph, array: PartitionedArray) -> NDArray[np.float64]:
    """Return the values of this rank's block, divided by the Euclidean norm over all ranks."""
    values = _scaled(pg, array)
    return values / (math.sqrt(pg.world.allreduce(float(values @ values), "sum")) or 1.0)


def unit_sum(pg: PartitionedGraph, array: PartitionedArray) -> NDArray[np.float64]:
    """Return the values of this rank's block, divided by their sum over all ranks."""
    values = _scaled(pg, array)
    return values / (pg.world.allreduce(float(values.sum()), "sum") or 1.0)


def equal_length(pg: PartitionedGraph, _: PartitionedArray) -> NDArray[np.float64]:
    """Return equal values of this rank's block, with the Euclidean norm 1 over all ranks."""
    return np.full(len(pg.block), 1 / math.sqrt(max(pg.graph.n, 1)))


def equal_sum(pg: PartitionedGraph, _: PartitionedArray) -> NDArray[np.float64]:
    """Return equal values of this rank's block, with the sum 1 over all ranks."""
    return np.full(len(pg.block), 1 / max(pg.graph.n, 1))


def factors_used(graph: Graph, weights: bool | None, algorithm: str) -> bool:  # noqa: FBT001 - an argument
    """Return whether a power iteration multiplies by the weights of the edges; by default, if there are any.

    An ArgumentError is raised if the largest weight is too small or too large for products.
    """
    used, heaviest = weights_used(graph, weights, algorithm), graph.weight_range[1]
    if used and heaviest != 0 and not _SMALLEST <= heaviest <= _LARGEST:
        msg = (
            f"the largest weight is {heaviest:g}; {algorithm} needs a largest weight of 0, or from "
            f"{_SMALLEST:g} to {_LARGEST:g}; scale the weights"
        )
        raise ArgumentError(msg)
    return used


def float32_above(tol: float) -> float:
    """Return the `float32_above` of a program that ends if its relative change is below `tol`."""
    return 0.0 if tol >= _FLOAT32_CHANGE else _FLOAT32_CHANGE


def vanishes(run: ProgramRun, name: str, *, weighted: bool) -> bool:
    """Return whether the matrix of a power iteration is zero: no edge, or no weight above 0.

    An ArgumentError is raised if all values are 0, and the matrix is not zero.
    """
    graph = run.pg.graph
    if graph.m == 0 or (weighted and graph.weight_range[1] == 0):
        return True
    if run.total == 0 and run.iterations:
        msg = (
            f"{name}: the values of all vertices are 0 after iteration {run.iterations}; expected a cycle of "
            "edges with weights above 0, so that an eigenvalue is above 0; use another centrality"
        )
        raise ArgumentError(msg)
    return False


def _scaled(pg: PartitionedGraph, array: PartitionedArray) -> NDArray[np.float64]:
    """Return values of at least 0 over the largest one, so that neither sums nor squares overflow."""
    values = pg.gather(array)
    return np.asarray(values / (pg.world.allreduce(float(values.max(initial=0)), "max") or 1.0))


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
