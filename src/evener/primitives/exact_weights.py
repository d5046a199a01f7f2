"""Weights rounded so that all their sums are exact, in any order.

A sum of floating-point numbers depends on the order of its terms, and the order on the split of a graph.
Weights that are multiples of one power of two have exact sums, as long as the sum is below 2^53 multiples.
So each weight is rounded to such a multiple. The error of a weight is below 2^-50 of the sum of all weights.
"""

from __future__ import annotations

from dataclasses import replace
from math import frexp, ldexp
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.cuda.memory import TieredArray
from evener.graph.arrays import constant
from evener.partition.partitioned import PartitionedGraph

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.partition.partition import Edges, Partition

__all__ = ["exact_weights"]

# Bits of the largest sum, in units. A self-loop counts twice, and an edge is stored twice.
_BITS = 51


def exact_weights(pg: PartitionedGraph, *, used: bool) -> PartitionedGraph:
    """Return the same graph with exact weights, or without weights if they are not used.

    This is a collective operation; all ranks must call it. Weights are finite and at least 0. Small integers
    do not change.
    """
    dtype = pg.graph.weight_dtype
    if dtype is None:
        return pg
    if not used:
        return _with(pg, [_without_weights(partition) for partition in pg.partitions])
    largest = float(pg.graph.weight_range[1]) * 2.0 * pg.graph.m
    if largest == 0 or (dtype.kind != "f" and largest < 2.0**_BITS):
        return pg
    edges = [
        (element, own)
        for element, partition in zip(pg.elements, pg.partitions, strict=True)
        for own in partition.directions
    ]
    # A first unit for the largest weight on all edges; then a unit for the sum of weights, rounded up.
    unit = _unit(largest)
    own = sum(float(element.run(part.sum)) for element, one in edges for part in _rounded(element, one, unit))
    whole = pg.world.allreduce(own, "sum")
    unit = min(unit, _unit(whole + 2.0 * unit * pg.graph.m))
    pairs = zip(pg.elements, pg.partitions, strict=True)
    return _with(pg, [_with_weights(element, partition, unit) for element, partition in pairs])


def _with(pg: PartitionedGraph, partitions: list[Partition]) -> PartitionedGraph:
    """Return the same placement with other partitions."""
    return PartitionedGraph.from_parts(pg.graph, {**pg.parts, "partitions": partitions, "run_cache": {}})


def _without_weights(partition: Partition) -> Partition:
    found = {id(own): replace(own, weights=None, derived={}) for own in partition.directions}
    return replace(partition, out=found.get(id(partition.out)), in_=found.get(id(partition.in_)))


def _unit(largest: float) -> float:
    """Return a power of two of which a sum is less than 2^_BITS multiples."""
    return ldexp(1.0, max(frexp(largest)[1] - _BITS, -1000))


def _with_weights(element: Element, partition: Partition, unit: float) -> Partition:
    found: dict[int, Edges] = {}
    for own in partition.directions:
        parts = _rounded(element, own, unit)
        weights: Any = constant(parts[0]) if len(parts) == 1 else TieredArray(*parts)
        found[id(own)] = replace(own, weights=weights, derived={})
    return replace(partition, out=found.get(id(partition.out)), in_=found.get(id(partition.in_)))


def _rounded(element: Element, edges: Edges, unit: float) -> list[Any]:
    """Return the rounded weights, in one array, or those in host memory and those on a GPU."""
    weights: Any = edges.weights
    if isinstance(weights, TieredArray):
        on_gpu = element.run(_round, weights.device_part, unit)
        return [_round(weights.host_part, unit), on_gpu]
    return [element.run(_round, weights, unit)]


def _round(weights: Any, unit: float) -> Any:
    """Return multiples of a unit; also for arrays of CuPy."""
    return (np.rint(weights.astype(np.float64) * (1.0 / unit)) * unit).astype(weights.dtype)
