"""Orders: lists of vertices, cut where each element has its share of the edges.

All steps are linear in the number of vertices and read no edges. For each order, a function with the suffix
``_places`` returns the places of some vertices in the order, without the order of all vertices.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.kernels.cpu import permutation
from evener.kernels.cpu.permutation import ROUNDS, shuffle

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from evener.partition.policy import Owners, Processors, Vertices

__all__ = [
    "PIECE",
    "ascending",
    "ascending_places",
    "assign_in_order",
    "cut_positions",
    "descending",
    "descending_places",
    "in_order",
    "in_turn",
    "owner_array",
    "shuffled",
    "shuffled_places",
]

# Vertices per partial sum of degrees.
PIECE = 1 << 14


def descending(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - an order
    """Return the vertices in descending degree."""
    return by_degree


def ascending(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - an order
    """Return the vertices in ascending degree."""
    return by_degree[::-1]


def descending_places(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - places
    """Return the places in `descending` of vertices, given their positions in descending degree."""
    return positions


def ascending_places(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - places
    """Return the places in `ascending` of vertices, given their positions in descending degree."""
    return np.uint32(max(n, 1) - 1) - positions


def shuffled(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    """Return the vertices in an order that depends on their number and the seed only."""
    order = np.empty(len(by_degree), np.uint32)
    shuffle(read_only(by_degree), _shuffle_keys(seed), order)
    return order


def shuffled_places(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    """Return the places in `shuffled` of vertices, given their positions in descending degree."""
    places = np.empty(len(positions), np.uint32)
    permutation.shuffled_places(read_only(positions), n, _shuffle_keys(seed), places)
    return places


def _shuffle_keys(seed: int) -> NDArray[np.uint64]:
    """Return the keys of `shuffled`."""
    return read_only(np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64))


def owner_array(n: int, elements: int) -> NDArray[Any]:
    """Return zeros of shape (n,), of the smallest type that holds the numbers of the elements."""
    return np.zeros(n, dtype=np.uint8 if elements <= np.iinfo(np.uint8).max + 1 else np.uint16)


def in_turn(key: Callable[[NDArray[np.uint64], int], NDArray[np.uint64]]) -> Owners:
    """Return the `owners` of a policy that deals vertices to elements: `key` modulo the number of elements.

    `key` gets the numbers of all vertices, and the number of elements.
    """

    def owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:  # noqa: ARG001 - owners
        count = len(processors.shares)
        owner = owner_array(len(vertices.degree), count)
        keys = key(np.arange(len(owner), dtype=np.uint64), count)
        np.remainder(keys, np.uint64(count), out=owner, casting="unsafe")
        return owner

    return owners


def in_order(order: Callable[[NDArray[np.uint32], int], NDArray[np.uint32]]) -> Owners:
    """Return the `owners` of a policy that cuts an order where each element has its share of the edges."""

    def owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:
        owner = owner_array(len(vertices.degree), len(processors.shares))
        numbers = range(len(processors.shares))
        assign_in_order(
            order(vertices.by_degree, seed), vertices.degree, processors.shares, owner, numbers=numbers
        )
        return owner

    return owners


def assign_in_order(
    order: NDArray[np.uint32],
    degree: NDArray[np.unsignedinteger[Any]],
    shares: NDArray[np.float64],
    owner: NDArray[Any],
    *,
    numbers: Sequence[int],
    fill: bool = False,
) -> None:
    """Give each part its share of the edges of some vertices, in order.

    Parameters
    ----------
    order : ndarray of uint32
        The vertices to assign.
    degree : ndarray, shape (n,)
    shares : ndarray of float64, shape (parts,)
        Relative shares of the parts.
    owner : ndarray, shape (n,)
        Output: the number of the part at each vertex of `order`.
    numbers : sequence of int, length parts
    fill : bool, default False
        Fill each part but the last until it reaches its share. By default, a cut is where the sum of the
        parts so far comes nearest to the sum of their shares.
    """
    order = np.ascontiguousarray(order)
    total = shares.sum()
    of_all = shares / total if total > 0 else np.full(len(shares), 1 / len(shares))
    cuts = _cuts(read_only(order), read_only(degree), of_all, fill=fill) if len(shares) > 1 else []
    for number, (begin, end) in zip(numbers, pairwise([0, *cuts, len(order)]), strict=True):
        kernels.assign(read_only(order[begin:end]), owner.dtype.type(number), owner)


def _cuts(
    order: NDArray[np.uint32],
    degree: NDArray[np.unsignedinteger[Any]],
    shares: NDArray[np.float64],
    *,
    fill: bool,
) -> list[int]:
    """Return the positions in the order where all shares but the last end.

    If no vertex has an edge, the shares count vertices.
    """
    n = len(order)
    if n == 0:
        return [0] * (len(shares) - 1)
    sums = np.empty(-(-n // PIECE), dtype=np.uint64)
    kernels.sum_degrees(order, degree, PIECE, sums)
    if not sums.any():
        return _cuts(order, read_only(np.ones(len(degree), np.uint64)), shares, fill=fill)
    return cut_positions(sums, lambda first: degree[order[first : first + PIECE]], shares, n, fill=fill)


def cut_positions(
    sums: NDArray[np.uint64],
    degrees_from: Callable[[int], NDArray[np.unsignedinteger[Any]]],
    shares: NDArray[np.float64],
    n: int,
    *,
    fill: bool = False,
) -> list[int]:
    """Return the positions in an order of the vertices where all shares but the last end.

    Parameters
    ----------
    sums : ndarray of uint64
        Sum of the degrees of each `PIECE` vertices in the order, not all 0.
    degrees_from : callable
        Called with the first position of a piece. Returns the degrees of the vertices of the piece.
    shares : ndarray of float64, shape (parts,)
        The shares sum to 1.
    n : int
        Number of vertices.
    fill : bool, default False
        As for `assign_in_order`.
    """
    ends = np.cumsum(sums)
    cuts: list[int] = []
    given = 0.0  # edges of the parts so far
    for part, (share, up_to) in enumerate(zip(shares[:-1], shares.cumsum()[:-1], strict=True)):
        wanted = (given if fill else 0.0) + (share if fill else up_to) * float(ends[-1])
        piece = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
        first = piece * PIECE
        own = degrees_from(first)
        edges_up_to = ends[piece] - sums[piece] + np.cumsum(own, dtype=np.uint64)
        astride = min(int(np.searchsorted(edges_up_to, wanted)), len(own) - 1)
        before = float(edges_up_to[astride]) - float(own[astride])
        # The vertex at a cut goes to the part that is to be filled, or to the side with more of its edges.
        ahead = wanted > before if fill else wanted - before > own[astride] / 2
        full = fill and share > 0 and wanted >= float(ends[-1])
        at_end = full or not shares[part + 1 :].any()
        cuts.append(n if at_end else first + astride + int(ahead))
        given = before + float(own[astride]) * int(ahead)
    return cuts
