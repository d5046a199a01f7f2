"""The policy `random`: every element gets the same mixture of degrees (T13 §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.partition.policy import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _order(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    return np.random.default_rng(seed).permutation(by_degree)


POLICY = Policy(_order, degrees_only=False)
