"""Places: where vertices are in the order of a policy, without the whole order of all vertices."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu.permutation import shuffled_places
from evener.partition.orders import shuffle_keys

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["has_places", "places_of"]


def _descending(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - as _shuffled
    return positions


def _ascending(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:  # noqa: ARG001 - as _shuffled
    return np.uint32(max(n, 1) - 1) - positions


def _shuffled(positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    places = np.empty(len(positions), np.uint32)
    shuffled_places(read_only(positions), n, shuffle_keys(seed), places)
    return places


_PLACES = {"high": _descending, "low": _ascending, "random": _shuffled, "C-R": _shuffled}


def has_places(policy: str) -> bool:
    """Return whether a rank finds the owners of its vertices without the degrees of all vertices."""
    return policy in _PLACES


def places_of(policy: str, positions: NDArray[np.uint32], n: int, seed: int) -> NDArray[np.uint32]:
    """Return the places of vertices in the order of a policy, given their positions in descending degree."""
    return _PLACES[policy](positions, n, seed)
