"""The policy `random`: every element gets the same mixture of degrees (T13 §6.2)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu.permutation import ROUNDS, shuffle, shuffled_places
from evener.partition.policy import Policy

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["POLICY"]


def _keys(seed: int) -> NDArray[np.uint64]:
    return read_only(np.random.default_rng(seed).integers(0, 1 << 64, ROUNDS, dtype=np.uint64))


def _order(by_degree: NDArray[np.uint32], seed: int) -> NDArray[np.uint32]:
    order = np.empty(len(by_degree), np.uint32)
    shuffle(read_only(by_degree), _keys(seed), order)
    return order


def _places(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    places = np.empty(len(positions), np.uint32)
    shuffled_places(read_only(positions), n, _keys(seed), places)
    return places


POLICY = Policy(_order, degrees_only=False, places=_places)
