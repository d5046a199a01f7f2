"""Values of all vertices, divided by their norm."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError
from evener.spec.arguments import weights_used

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.supersteps import ProgramRun

__all__ = ["equal_length", "equal_sum", "factors_used", "unit_length", "unit_sum", "vanishes"]

# Bounds of the largest weight, so that squares of sums of weights are in the range of float64.
_SMALLEST, _LARGEST = 1e-140, 1e140


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
