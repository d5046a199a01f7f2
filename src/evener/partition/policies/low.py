"""The policy `low`: the first element gets many vertices with few edges (T13 §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.partition.policy import Policy

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _order(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - a policy's signature
    return by_degree[::-1]


POLICY = Policy(_order, degrees_only=True)
