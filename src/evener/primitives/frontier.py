"""A frontier: a set of vertices whose values change the values of their neighbours.

Idea: each member lowers the values of its neighbours to its own value, and the lowered vertices are the next
members. A partition continues until it has no members. Then the lowered mirrors are pushed to their owners,
which become members. The values do not depend on the order of the steps.

If all members have one value, and one element has the graph, a step over many edges goes in the cheaper
direction: each vertex looks for a neighbour of this value, and stops at the first.

Encoding: `members` is a bitmap of the owned vertices and mirrors; within a step, queues list the vertices.

Shun, Blelloch: Ligra: a lightweight graph processing framework for shared memory (2013); Beamer, Asanović,
Patterson: Direction-optimizing breadth-first search (2012).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.kernels.kernel import KernelFile

if TYPE_CHECKING:
    from evener.engine.array import PartitionedArray
    from evener.engine.engine import Engine

    Edges = tuple[PartitionedArray, ...]

__all__ = ["Frontier"]

kernels = KernelFile(__package__, "frontier")


class Frontier:
    """A set of vertices, empty at first.

    Parameters
    ----------
    engine : Engine

    Attributes
    ----------
    members : PartitionedArray
        A bitmap of the vertices in the set. A kernel flags owned vertices.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine, self.members = engine, engine.bits()
        self._queues = engine.owned_array("uint32"), engine.owned_array("uint32")
        self._lengths = engine.counters(2)

    def spread(
        self,
        edges: Edges,
        far_edges: Edges,
        peers: PartitionedArray,
        values: PartitionedArray,
    ) -> None:
        """Lower the values of vertices to the smallest value of a member with a path to them.

        This is a collective operation; all ranks must call it. The set is empty afterwards. Mirrors may have
        larger values than their owners. A value stops at a vertex that has a smaller one.

        Parameters
        ----------
        edges, far_edges : tuple of PartitionedArray
            The offsets and targets of the edges that the paths use; and of the same edges from the other end.
        peers : PartitionedArray
            uint32, for each vertex and mirror. All vertices of a path have the same.
        values : PartitionedArray
            uint32, for each vertex and mirror.
        """
        engine = self._engine
        owned = engine.owned
        while engine.compute(
            kernels.spread,
            *edges,
            *far_edges,
            owned,
            peers,
            values,
            self.members,
            *self._queues,
            *self._lengths,
        ):
            if not engine.has_mirrors:
                return
            engine.push(values, "min", changed=self.members)
