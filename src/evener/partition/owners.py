"""Owners: the element that owns each vertex, and the share of the edges of each element."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.partition.orders import owner_array
from evener.partition.policy import find_policy

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from evener.partition.policy import Processors, Vertices

__all__ = ["Division", "check_alpha", "edge_shares", "owners"]


class Division(NamedTuple):
    """How the vertices are divided: the policy, the share of the edges of each element, and the seed."""

    policy: str
    shares: NDArray[np.float64]
    seed: int


def check_alpha(alpha: float | None) -> None:
    """Raise ArgumentError unless `alpha` is None or a share from 0 to 1."""
    if alpha is not None and (not is_number(alpha) or not 0 <= alpha <= 1):
        msg = f"alpha=: expected a share of the edges on the CPU side from 0 to 1, found {alpha!r}"
        raise ArgumentError(msg)


def edge_shares(
    weights: Sequence[float],
    alpha: float | None,
    *,
    on_cpu: Sequence[bool] | None = None,
    policy: str | None = None,
) -> NDArray[np.float64]:
    """Return the share of the stored edges of each element; the shares sum to 1.

    The weight of an element counts among those on its side: the threads of a CPU element. Without `alpha`,
    the share of the CPU side, the edges are divided in proportion to `weights`. If `on_cpu` is None or true
    for all, the CPU side is the first element: several CPU elements behave like a CPU and GPUs. With an even
    policy, the shares are equal.
    """
    weight = np.asarray(weights, dtype=np.float64)
    if policy is not None and find_policy(policy).even:
        return np.full(len(weight), 1 / len(weight))
    if alpha is None:
        return np.asarray(weight / weight.sum())
    first = np.zeros(len(weight), bool) if on_cpu is None or all(on_cpu) else np.asarray(on_cpu, bool)
    if not first.any():
        first[0] = True
    if first.all():
        return np.asarray(weight / weight.sum())
    share = np.where(first, alpha * weight / weight[first].sum(), 0.0)
    share[~first] = (1 - alpha) * weight[~first] / weight[~first].sum()
    return share


def owners(policy: str, vertices: Vertices, processors: Processors, seed: int = 0) -> NDArray[Any]:
    """Return the element that owns each vertex, of the type of `owner_array`."""
    count = len(processors.shares)
    if count == 1 or len(vertices.degree) == 0:
        return owner_array(len(vertices.degree), count)
    return find_policy(policy).owners(vertices, processors, seed)
