"""Owners: the element that owns each vertex, and the share of the edges of each element.

A policy orders the vertices, and the order is cut where each element has its share of the edges. Both steps
are linear in the number of vertices and read no edges.
"""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.graph.checks import is_number
from evener.kernels.cpu import partition as kernels
from evener.partition.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

__all__ = ["edge_shares", "owners"]


# Vertices per partial sum of degrees.
_PIECE = 1 << 14


def edge_shares(
    weights: Sequence[float], alpha: float | None, *, on_cpu: Sequence[bool] | None = None
) -> NDArray[np.float64]:
    """Return the share of the edges of each element.

    Parameters
    ----------
    weights : sequence of float
        The weight of each element among those on its side: the threads of a CPU element.
    alpha : float, optional
        The share of the CPU side, 0 to 1. By default, edges are divided in proportion to `weights`.
    on_cpu : sequence of bool, optional
        Whether each element is on the CPU side. By default, or if all are, the CPU side is the first element.
        Several CPU elements then behave like a CPU and GPUs.

    Returns
    -------
    ndarray of float64
        The shares sum to 1.
    """
    weight = np.asarray(weights, dtype=np.float64)
    if alpha is None:
        return np.asarray(weight / weight.sum())
    if not is_number(alpha) or not 0 <= alpha <= 1:
        msg = f"alpha=: expected a share of the edges on the CPU side from 0 to 1, found {alpha!r}"
        raise ArgumentError(msg)
    first = np.zeros(len(weight), bool) if on_cpu is None or all(on_cpu) else np.asarray(on_cpu, bool)
    if not first.any():
        first[0] = True
    if first.all():
        return np.asarray(weight / weight.sum())
    share = np.where(first, alpha * weight / weight[first].sum(), 0.0)
    share[~first] = (1 - alpha) * weight[~first] / weight[~first].sum()
    return share


def owners(
    by_degree: NDArray[np.uint32],
    degree: NDArray[np.unsignedinteger[Any]],
    *,
    policy: str,
    shares: NDArray[np.float64],
    seed: int = 0,
) -> NDArray[Any]:
    """Return the element that owns each vertex.

    Parameters
    ----------
    by_degree : ndarray of uint32, shape (n,)
        The vertices in descending degree.
    degree : ndarray of uint32 or uint64, shape (n,)
        Number of edges of each vertex.
    policy : {"random", "high", "low"}
        The order in which elements get vertices.
    shares : ndarray of float64, shape (elements,)
        Share of the edges of each element.
    seed : int, default 0
        Seed of the policy "random".

    Returns
    -------
    ndarray of uint8 or uint16, shape (n,)

    Raises
    ------
    ArgumentError
        For an unknown policy.
    """
    order_of = find_policy(policy).order
    n = len(by_degree)
    owner = np.zeros(n, dtype=np.uint8 if len(shares) <= np.iinfo(np.uint8).max + 1 else np.uint16)
    if len(shares) == 1 or n == 0:
        return owner
    order = np.ascontiguousarray(order_of(by_degree, seed))
    cuts = _cuts(read_only(order), read_only(degree), shares.cumsum()[:-1])
    for p, (begin, end) in enumerate(pairwise([*cuts, n]), start=1):
        kernels.assign(read_only(order[begin:end]), owner.dtype.type(p), owner)
    return owner


def _cuts(
    order: NDArray[np.uint32], degree: NDArray[np.unsignedinteger[Any]], up_to: NDArray[np.float64]
) -> list[int]:
    """Return the positions in the order where these shares of the edges end.

    If no vertex has an edge, the shares count vertices.
    """
    n = len(order)
    sums = np.empty(-(-n // _PIECE), dtype=np.uint64)
    kernels.sum_degrees(order, degree, _PIECE, sums)
    ends = np.cumsum(sums)
    if ends[-1] == 0:
        return _cuts(order, read_only(np.ones(n, np.uint64)), up_to)
    cuts = []
    for share in up_to:
        wanted = share * float(ends[-1])
        piece = min(int(np.searchsorted(ends, wanted)), len(ends) - 1)
        first = piece * _PIECE
        own = degree[order[first : first + _PIECE]]
        edges_up_to = ends[piece] - sums[piece] + np.cumsum(own)
        # The vertex at a cut goes to the side with more of its edges.
        astride = min(int(np.searchsorted(edges_up_to, wanted)), len(own) - 1)
        nearer = wanted - float(edges_up_to[astride] - own[astride]) > own[astride] / 2
        cuts.append(n if share >= 1 else first + astride + int(nearer))
    return cuts
