"""Kept arrays: the work arrays of the last run on a placement, for the next run of the same algorithm.

A placement keeps the arrays of one algorithm, so they fit the memory that was planned for its state. They are
freed with the placement, before another graph is placed on a GPU, and if a GPU is short of memory.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import WeakSet

from evener.system.memory import on_device_shortage

if TYPE_CHECKING:
    from evener.partition.partitioned import PartitionedGraph

    # Arrays of an `evener.engine.engine.Engine` by the arguments of `Workspace.work_arrays`.
    Arrays = dict[tuple[Any, ...], list[Any]]

__all__ = ["free_arrays", "keep_arrays", "take_arrays"]


class _KeptArrays:
    """The arrays that a placement keeps for an algorithm."""

    def __init__(self, algorithm: str, arrays: Arrays) -> None:
        self.algorithm, self.arrays = algorithm, arrays


_all: WeakSet[_KeptArrays] = WeakSet()


def keep_arrays(partitioned: PartitionedGraph, algorithm: str, arrays: Arrays) -> None:
    """Keep the arrays of a run that has ended."""
    if arrays:
        partitioned.run_cache[_KeptArrays] = kept = _KeptArrays(algorithm, arrays)
        _all.add(kept)


def take_arrays(partitioned: PartitionedGraph, algorithm: str) -> Arrays:
    """Return the kept arrays for the only use of a run. Those of another algorithm are freed."""
    kept: _KeptArrays | None = partitioned.run_cache.pop(_KeptArrays, None)
    return kept.arrays if kept is not None and kept.algorithm == algorithm else {}


def free_arrays(partitioned: PartitionedGraph) -> None:
    """Free the arrays that a placement keeps."""
    partitioned.run_cache.pop(_KeptArrays, None)


def _release() -> bool:
    """Free all kept arrays, and return whether there were any."""
    kept = [one for one in _all if one.arrays]
    for one in kept:
        one.arrays = {}
    return bool(kept)


on_device_shortage(_release)
