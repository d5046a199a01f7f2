"""Policies: which element owns which vertex (TOTEM's RAND, HIGH and LOW; T13 §6.2).

A policy orders the vertices; the order is then cut where each element has its share of the edges. Ordering
is linear in vertices, cutting needs no look at an edge.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import read_only
from evener.graph.checks import is_number
from evener.kernels.cpu import partition as kernels

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Order = Callable[[NDArray[np.uint32], int], NDArray[np.uint32]]

__all__ = ["POLICIES", "edge_shares", "owners"]


def _random(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    """Vertices in random order: every element gets the same mixture of degrees."""
    return np.random.default_rng(seed).permutation(by_degree)


def _high(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - a policy's signature
    """Highest degree first: the first element holds few vertices with many edges each."""
    return by_degree


def _low(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - a policy's signature
    """Lowest degree first: the first element holds most of the vertices."""
    return by_degree[::-1]


# Vertices whose edges are summed up together.
_PIECE = 1 << 14

POLICIES: dict[str, Order] = {"random": _random, "high": _high, "low": _low}


def edge_shares(
    weights: Sequence[float], alpha: float | None, *, on_cpu: Sequence[bool] | None = None
) -> NDArray[np.float64]:
    """The share of the edges each element gets.

    Parameters
    ----------
    weights : sequence of float
        What each element counts for among its like: the threads of a CPU element.
    alpha : float, optional
        The share of the CPU side, 0 to 1. Without it, edges are shared in proportion to `weights`.
    on_cpu : sequence of bool, optional
        Which elements make up the CPU side. Where all of them are CPUs, or by default, the first element
        alone stands for it, so that several CPU elements rehearse what a CPU and GPUs will do.

    Returns
    -------
    ndarray of float64
        One share an element; they sum to 1.
    """
    weight = np.asarray(weights, dtype=np.float64)
    if alpha is None:
        return np.asarray(weight / weight.sum())
    if not is_number(alpha) or not 0 <= alpha <= 1:
        msg = f"alpha is the share of the edges on the CPU, a number from 0 to 1, not {alpha!r}"
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
    degree: NDArray[np.uint64],
    *,
    policy: str,
    shares: NDArray[np.float64],
    seed: int = 0,
) -> NDArray[Any]:
    """The element that owns each vertex.

    Parameters
    ----------
    by_degree : ndarray of uint32, shape (n,)
        The vertices in descending degree.
    degree : ndarray of uint64, shape (n,)
        Edges that come with each vertex.
    policy : {"random", "high", "low"}
        The order in which vertices are dealt out.
    shares : ndarray of float64, shape (elements,)
        Share of the edges for each element, in turn.
    seed : int
        For "random".

    Returns
    -------
    ndarray of uint8 or uint16, shape (n,)

    Raises
    ------
    ArgumentError
        For a policy that does not exist; the sentence names those that do.
    """
    if policy not in POLICIES:
        msg = f"policy {policy!r} does not exist; choose one of {', '.join(sorted(POLICIES))}"
        raise ArgumentError(msg)
    n = len(by_degree)
    owner = np.zeros(n, dtype=np.uint8 if len(shares) <= np.iinfo(np.uint8).max + 1 else np.uint16)
    if len(shares) == 1 or n == 0:
        return owner
    order = np.ascontiguousarray(POLICIES[policy](by_degree, seed))
    cuts = _cuts(read_only(order), read_only(degree), shares.cumsum()[:-1])
    for p, (begin, end) in enumerate(zip([0, *cuts], [*cuts, n], strict=True)):
        kernels.assign(read_only(order[begin:end]), owner.dtype.type(p), owner)
    return owner


def _cuts(order: NDArray[np.uint32], degree: NDArray[np.uint64], up_to: NDArray[np.float64]) -> list[int]:
    """Where these shares of the edges end in the order; of the vertices, if none has an edge."""
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
        # A vertex astride a cut goes where more of its edges fall.
        astride = min(int(np.searchsorted(edges_up_to, wanted)), len(own) - 1)
        nearer = wanted - float(edges_up_to[astride] - own[astride]) > own[astride] / 2
        cuts.append(n if share >= 1 else first + astride + int(nearer))
    return cuts
