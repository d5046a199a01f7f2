"""The rows of a result about edges: each edge once, in ascending order of its ends."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.partition.block_exchange import BlockExchange, block_bounds

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.system.world import World

__all__ = ["EdgeRows", "StoredEdges", "edge_rows"]

_HALF = np.uint64(32)
_LOW = np.uint64(0xFFFFFFFF)


class StoredEdges(NamedTuple):
    """Some stored edges: their tails and heads as global numbers, weights, and values.

    `weights` are all 0 if they do not count.
    """

    tails: NDArray[np.uint32]
    heads: NDArray[np.uint32]
    weights: NDArray[Any]
    values: NDArray[np.float64]

    @classmethod
    def of_part(
        cls,
        vertices: NDArray[np.uint32],
        offsets: NDArray[np.uint64],
        targets: NDArray[np.uint32],
        weights: NDArray[Any] | None,
        values: NDArray[np.float64],
    ) -> StoredEdges:
        """Return the edges of rows in local numbers; `vertices` has the number of each local vertex."""
        tails = np.repeat(vertices[: len(offsets) - 1], np.diff(offsets).astype(np.int64))
        own = np.zeros(len(tails), np.uint8) if weights is None else weights
        return cls(tails, vertices[targets], own, values)


class EdgeRows(NamedTuple):
    """The rows of this rank: the ends of edges as global numbers, and a value for each edge."""

    u: NDArray[np.int64]
    v: NDArray[np.int64]
    values: NDArray[np.float64]


def edge_rows(world: World, n: int, *, directed: bool, parts: Sequence[StoredEdges]) -> EdgeRows:
    """Return the edges whose first end is in this rank's block.

    This is a collective operation; all ranks must call it. The value of an undirected edge is the sum of the
    values of its two stored edges, and its first end has the smaller number. Equal edges ascend by weight.
    """
    tails, heads, weights, values = map(np.concatenate, zip(*parts, strict=True))
    if directed:
        ends, values = _sorted_on_ranks(world, n, tails, heads, weights, values)
        return EdgeRows(*_both(ends), values)
    there, back = tails <= heads, tails > heads
    ends, sums = _sorted_on_ranks(world, n, tails[there], heads[there], weights[there], values[there])
    _, values_back = _sorted_on_ranks(world, n, heads[back], tails[back], weights[back], values[back])
    u, v = _both(ends)
    sums[u < v] += values_back  # a self-loop is stored once
    return EdgeRows(u, v, sums)


def _sorted_on_ranks(
    world: World,
    n: int,
    first: NDArray[np.uint32],
    second: NDArray[np.uint32],
    weights: NDArray[Any],
    values: NDArray[np.float64],
) -> tuple[NDArray[np.uint64], NDArray[np.float64]]:
    """Return both ends of each edge whose first end is in this rank's block, and its value, in order.

    This is a collective operation; all ranks must call it.
    """
    ends = (first.astype(np.uint64) << _HALF) | second
    if world.size > 1:
        exchange = BlockExchange(world, block_bounds(n, world.size), first)
        ends, weights, values = map(exchange.send, (ends, weights, values))
    # Equal edges have equal values unless their weights differ.
    order = np.lexsort((weights, ends)) if weights.any() else np.argsort(ends, kind="stable")
    return ends[order], values[order]


def _both(ends: NDArray[np.uint64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    return np.asarray(ends >> _HALF, np.int64), np.asarray(ends & _LOW, np.int64)
