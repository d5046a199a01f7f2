"""The policy `random`: every element gets the same mixture of degrees (T13 §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu.permutation import ROUNDS, shuffle
from evener.partition.policy import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _order(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    keys = np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64)
    order = np.empty(len(by_degree), np.uint32)
    shuffle(read_only(by_degree), read_only(keys), order)
    return order


POLICY = Policy(_order, degrees_only=False)
