"""Places: where a vertex is in the order of a policy, and where the order is cut, without the whole order.

`evener.partition.owners` computes the same from the whole order.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.kernels.cpu.permutation import ROUNDS, shuffled_places

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

__all__ = ["PIECE", "cut_positions", "places_of"]

# Vertices per partial sum of degrees, as in `evener.partition.owners`.
PIECE = 1 << 14


def _high(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - as _random
    return positions


def _low(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - as _random
    return np.uint32(max(n, 1) - 1) - positions


def _random(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    keys = np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64)
    places = np.empty(len(positions), np.uint32)
    shuffled_places(read_only(positions), n, read_only(keys), places)
    return places


_PLACES = {"high": _high, "low": _low, "random": _random}


def places_of(policy: str, positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    """Return the places of vertices in the order of a policy, given their positions in descending degree.

    Raises
    ------
    ArgumentError
        If the order of the policy depends on more than the positions.
    """
    if policy not in _PLACES:
        able = ", ".join(_PLACES)
        msg = (
            f"policy=: {policy} needs the whole graph on every rank, and each rank has a part; use one of "
            f"{able}, or read the graph with evener.read"
        )
        raise ArgumentError(msg)
    return _PLACES[policy](positions, n, seed)


def cut_positions(
    sums: NDArray[np.uint64],
    degrees_from: Callable[[int], NDArray[np.uint64]],
    up_to: NDArray[np.float64],
    n: int,
) -> list[int]:
    """Return the positions in an order of the vertices where these shares of the edges end.

    Parameters
    ----------
    sums : ndarray of uint64
        Sum of the degrees of each `PIECE` vertices in the order, not all 0.
    degrees_from : callable
        Called with the first position of a piece. Returns the degrees of the vertices of the piece.
    up_to : ndarray of float64
    n : int
        Number of vertices.
    """
    ends = np.cumsum(sums)
    cuts = []
    for share in up_to:
        wanted = share * float(ends[-1])
        piece = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
        own = degrees_from(piece * PIECE)
        edges_up_to = ends[piece] - sums[piece] + np.cumsum(own)
        # The vertex at a cut goes to the side with more of its edges.
        astride = min(int(np.searchsorted(edges_up_to, wanted)), len(own) - 1)
        nearer = wanted - float(edges_up_to[astride] - own[astride]) > own[astride] / 2
        cuts.append(n if share >= 1 else piece * PIECE + astride + int(nearer))
    return cuts
