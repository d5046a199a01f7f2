"""Orders: lists of vertices, cut where each element has its share of the edges.

All steps are linear in the number of vertices and read no edges.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import partition as kernels
from evener.kernels.cpu import permutation
from evener.kernels.cpu.permutation import ROUNDS, shuffle

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.elements.protocols import GpuElement
    from evener.partition.policy import Owners, Processors, Vertices

__all__ = [
    "ASCENDING",
    "DESCENDING",
    "PIECE",
    "SHUFFLED",
    "assign_in_order",
    "cut_positions",
    "in_order",
    "in_turn",
    "owner_array",
]

# Vertices per partial sum of degrees.
PIECE = 1 << 14


class Order(NamedTuple):
    """An order of vertices, in the ways of `Policy.order`, `Policy.places` and `Policy.gpu_places`."""

    vertices: Callable[[NDArray[np.uint32], int], NDArray[np.uint32]]
    places: Callable[[NDArray[np.uint32], int, int], NDArray[np.uint32]]
    gpu_places: Callable[[GpuElement, Any, int], Any]


def _shuffled(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    """Return the vertices in an order that depends on their number and the seed only."""
    order = np.empty(len(by_degree), np.uint32)
    shuffle(read_only(by_degree), _shuffle_keys(seed), order)
    return order


def _shuffled_places(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    places = np.empty(len(positions), np.uint32)
    permutation.shuffled_places(read_only(positions), n, _shuffle_keys(seed), places)
    return places


def _shuffled_on_gpu(gpu: GpuElement, positions: Any, seed: int) -> Any:
    places, keys = gpu.allocate(len(positions), np.uint32), gpu.upload(_shuffle_keys(seed))
    gpu.run(gpu.kernel("numbering.shuffled_places"), positions, len(positions), keys, places)
    return places


def _reversed_on_gpu(gpu: GpuElement, positions: Any, _: int) -> Any:
    places = gpu.allocate(len(positions), np.uint32)
    gpu.run(gpu.kernel("numbering.reversed_places"), positions, len(positions), places)
    return places


def _shuffle_keys(seed: int) -> NDArray[np.uint64]:
    return read_only(np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64))


DESCENDING = Order(
    lambda by_degree, _: by_degree, lambda positions, _n, _: positions, lambda _gpu, positions, _: positions
)
ASCENDING = Order(
    lambda by_degree, _: by_degree[::-1],
    lambda positions, n, _: np.uint32(max(n, 1) - 1) - positions,
    _reversed_on_gpu,
)  # fmt: skip
SHUFFLED = Order(_shuffled, _shuffled_places, _shuffled_on_gpu)


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


def in_order(order: Order) -> Owners:
    """Return the `owners` of a policy that cuts an order where each element has its share of the edges."""

    def owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:
        owner = owner_array(len(vertices.degree), len(processors.shares))
        in_this_order = order.vertices(vertices.by_degree, seed)
        assign_in_order(in_this_order, vertices.degree, processors.shares, owner)
        return owner

    return owners


def assign_in_order(
    order: NDArray[np.uint32],
    degree: NDArray[np.unsignedinteger[Any]],
    shares: NDArray[np.float64],
    owner: NDArray[Any],
    *,
    first: int = 0,
    fill: bool = False,
) -> None:
    """Give each part its share of the edges of some vertices, in order: write its number to `owner`.

    Parts are numbered from `first`, and shares are relative. With `fill`, each part but the last is filled
    until it reaches its share. By default, a cut is where the sum of the parts so far comes nearest to the
    sum of their shares.
    """
    order = np.ascontiguousarray(order)
    total = shares.sum()
    of_all = shares / total if total > 0 else np.full(len(shares), 1 / len(shares))
    cuts = _cuts(read_only(order), read_only(degree), of_all, fill=fill) if len(shares) > 1 else []
    for number, (begin, end) in enumerate(pairwise([0, *cuts, len(order)]), first):
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
    """Return the positions in an order of `n` vertices where all shares but the last end.

    `sums` has the sum of the degrees of each `PIECE` vertices in the order, not all 0. `degrees_from` returns
    the degrees of the piece that begins at a position. The shares sum to 1. `fill` is as in
    `assign_in_order`.
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
