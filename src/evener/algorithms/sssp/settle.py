"""Settle buckets of shortest paths, on one element or on several elements."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.sssp.byte_weights import placed_weights
from evener.engine.checkpoints.state import Bounded, LocalNumbers
from evener.kernels.kernel import KernelFile
from evener.kernels.vertex import NO_VERTEX

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.engine.checkpoints.state import StateArray
    from evener.engine.engine import Engine
    from evener.spec.goal import Goal

__all__ = [
    "FAR",
    "TUNING",
    "SearchState",
    "distance_name",
    "nearest_distance",
    "settle_single",
    "settle_together",
]

kernels = KernelFile(__package__)
single_block_kernels = KernelFile(__package__, "single_block")

# Limit of integer distances and weights in 32 bits: no sum of two overflows.
FAR = np.uint32(0x7FFFFFFF)


@dataclass(frozen=True, slots=True)
class Tuning:
    """The constants of a search on a single element of a given kind.

    Attributes
    ----------
    one_thread : bool
        Whether one thread relaxes the waiting vertices if they are few.
    narrow : int
        Largest number of waiting vertices for one thread.
    narrow_edges : int
        Smallest number of edges that one thread relaxes in one superstep.
    vertices_per_edge : int
        On a large graph, one thread relaxes up to n / `vertices_per_edge` edges in one superstep.
    buckets : int
        Buckets that one superstep settles.
    wider_after_sweep : int
        Width of a bucket after a sweep over the width before it. Few edges are left.
    """

    one_thread: bool = True
    narrow: int = 1 << 12
    narrow_edges: int = 1 << 16
    vertices_per_edge: int = 16
    buckets: int = 1
    wider_after_sweep: int = 1


TUNING = {"cpu": Tuning(), "cuda": Tuning(one_thread=False, buckets=16, wider_after_sweep=64)}


class SearchState:
    """The arrays and numbers of a search.

    Attributes
    ----------
    far : number
        The distance of unreached vertices.
    budget : int
        The largest number of edges that an element relaxes for one bucket. `settle_distances` sets it.
    few : bool
        Whether one thread is to relax the waiting vertices. The last four numbers are of a single element.
    explored, taken : int
        The edges and vertices of the last superstep.
    waiting : int
        The waiting vertices, or 1 if their number is not known.
    """

    def __init__(
        self, engine: Engine, checkpoints: Checkpoints, goal: Goal, far: np.uint32 | np.float64
    ) -> None:
        self._engine, self._checkpoints, self._goal, self.far = engine, checkpoints, goal, far
        self.distance = engine.array(far.dtype, far)
        self.parent = engine.owned_array("uint32", NO_VERTEX)
        self.pending, self.near = engine.bitmaps(2)
        self.queue, self.next_queue = engine.owned_array("uint32"), engine.owned_array("uint32")
        self.length, self.next_length, self.scout = engine.counters(3)
        self.budget = 0
        self.begin_settling()

    @property
    def on_group(self) -> bool:
        """Whether the kernels of a group run the search. They write no checkpoints."""
        return self._engine.group is not None and not self._checkpoints.active

    @property
    def mirrors_are_exact(self) -> bool:
        """Whether mirrors have the distances of their owners when no vertex waits."""
        return self.on_group and not self._goal.limited

    def forget(self) -> None:
        """Make all vertices unreached, after a search that had no limit."""
        for element, part in zip(self._engine.elements, self.distance, strict=True):
            element.run(part.fill, self.far)

    def begin_settling(self) -> None:
        """Reset the numbers of a single element."""
        self.few, self.explored, self.taken, self.waiting = True, 0, 1, 1

    def is_beyond_goal(self, nearest: float | None = None) -> bool:
        """Return whether all waiting vertices are farther away than the target or the cutoff.

        `nearest` is the smallest distance of a waiting vertex, if it is known. Weights are not negative, so
        all distances up to `nearest` are final.
        """
        if not self._goal.limited:
            return False
        if nearest is None:
            nearest = nearest_distance(self._engine, self.distance, self.pending)
        return nearest > self._goal.limit(self._engine, self.distance, float(self.far))

    def end_step(self) -> None:
        """Write a checkpoint if one is due, or continue from one."""
        arrays: dict[str, StateArray] = {
            distance_name(self.distance.dtype): Bounded(self.distance, 0, float(self.far)),
            "parent": LocalNumbers(self.parent),
            "pending": self.pending,
        }
        self.budget, self.few, self.explored, self.taken, self.waiting = self._checkpoints.step(
            arrays, self.budget, self.few, self.explored, self.taken, self.waiting
        )
        if self._checkpoints.restored:
            numbers = (self.budget, self.explored, self.taken, self.waiting)
            self._checkpoints.require(min(numbers) >= 0, "numbers of edges and vertices from 0 on")
            self._engine.pull(self.distance)


def distance_name(dtype: np.dtype[Any]) -> str:
    """Return the name of the distances in checkpoints, which have integers or real numbers."""
    return f"distance {dtype}"


def settle_together(engine: Engine, state: SearchState, delta: float, far: np.uint32 | np.float64) -> bool:
    """Settle buckets until no vertex waits. Return True if the next bucket would relax too many edges."""
    s = state
    offsets, targets, _ = engine.out
    weights = placed_weights(engine, "out")
    while True:
        s.end_step()
        nearest = nearest_distance(engine, s.distance, s.pending)
        if nearest == math.inf or s.is_beyond_goal(nearest):
            return False
        end = _bucket_end(nearest, delta, far)
        _, edges = engine.compute(
            kernels.fill_bucket, offsets, engine.owned, end, s.distance, s.pending, s.near, s.queue, s.length,
            s.scout, count_next_active=True,
        )  # fmt: skip
        engine.superstep("settle", edges=edges)
        # distance = distance min (bucket min.+ A), until the bucket is empty
        _, left = engine.compute(
            kernels.relax_bucket, offsets, targets, weights, engine.owned, end, s.budget, s.distance,
            s.parent, s.pending, s.near, s.queue, s.length, s.next_queue, s.next_length, s.scout,
            count_active=True,
        )  # fmt: skip
        engine.push(s.distance, "min", changed=s.pending)
        if left:
            return True


def settle_single(engine: Engine, state: SearchState, delta: float, far: np.uint32 | np.float64) -> bool:
    """Settle buckets on a single element: several buckets, or a narrow frontier, in one call."""
    s, tuning = state, engine.tuning(TUNING)
    offsets, targets, _ = engine.out
    weights = placed_weights(engine, "out")
    nearest, next_nearest = engine.counters(2)
    narrow_edges = max(tuning.narrow_edges, engine.total(engine.owned) // tuning.vertices_per_edge)
    s.begin_settling()
    while s.waiting and not s.is_beyond_goal():
        s.end_step()
        # A superstep reports the edges of the previous superstep, because its own are not known yet.
        if s.few and tuning.one_thread:
            engine.superstep("narrow", edges=s.explored)
            _, s.waiting, s.explored = engine.compute(
                single_block_kernels.dijkstra, offsets, targets, weights, engine.owned, tuning.narrow,
                narrow_edges, s.distance, s.parent, s.pending, count_active=True, count_next_active=True,
            )  # fmt: skip
            s.few = s.explored > 0 and s.waiting <= tuning.narrow
            if s.explored or not s.waiting:
                continue
        # The vertices of the previous buckets, because the next vertices are not known.
        engine.superstep("settle", active=engine.scalar(s.taken), edges=s.explored)
        s.taken, s.explored, left, s.waiting = engine.compute(
            kernels.relax_buckets, offsets, targets, weights, engine.owned, delta, far, s.budget,
            tuning.buckets, s.distance, s.parent, s.pending, s.near, s.queue, s.length, s.next_queue,
            s.next_length, s.scout, nearest, next_nearest, count_active=True,
        )  # fmt: skip
        s.few = s.taken <= tuning.narrow
        if left:
            return True
    return False


def nearest_distance(engine: Engine, distance: PartitionedArray, pending: PartitionedArray) -> float:
    """Return the smallest distance of a waiting vertex, infinity if no vertex waits."""
    return float(engine.compute(kernels.min_pending, engine.owned, distance, pending, reduce=min))


def _bucket_end(nearest: float, delta: float, far: np.uint32 | np.float64) -> np.uint32 | np.float64:
    """Return the end of the bucket that holds `nearest`, above `nearest` even after rounding."""
    end = max((nearest // delta + 1) * delta, math.nextafter(nearest, math.inf))
    if end >= far:
        return far
    return np.uint32(math.ceil(end)) if isinstance(far, np.uint32) else np.float64(end)
