"""Sums of weights by label: the weight of a vertex's edges to each label, and the label with the best score.

Idea: a vertex adds the weights of its edges by the labels of its neighbours, in a small table. The score of a
label is this sum, less a penalty for the total strength of the label. Vertices move in sub-rounds: a vertex
is in one of several buckets, by a hash of its number. All vertices of a bucket choose by the labels at the
start of the sub-round, and then move together. Only vertices with a neighbour that has moved choose again.

Guarantee: weights that are no integers are rounded to multiples of a power of two, so that all sums are
exact. Sums, choices and labels therefore do not depend on the split of the graph, on threads or on the order
of edges.

Encoding: `label` uint32, a vertex number of the graph; `total` float64 of shape (n,) on each element.

Raghavan, Albert, Kumara: Near linear time algorithm to detect community structures (2007); Sahu: GVE-Louvain
(2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.array import PartitionedArray
from evener.engine.engine import Engine
from evener.kernels.kernel import KernelFile
from evener.primitives.edge_weights import edge_weights

if TYPE_CHECKING:
    from evener.elements.protocols import Element
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["LabelSums", "count_labels", "engine_on", "own_labels", "smallest_vertices"]

kernels = KernelFile(__package__, "label_sums")
rounds_kernels = KernelFile(__package__, "label_rounds")
sums = KernelFile(__package__, "label_totals")

# The unit of `total_spread`.
_WHOLE = 2.0**62
# Bound of sums that GPUs add as integers.
_MOST_COUNTS = 2.0**32
# Edges of the shortest row that may need a table in the memory of a GPU, and bytes of all tables.
_FEWEST, _TABLE_BYTES = 1 << 10, 1 << 27
# Edges of a part of such a row, and words of `plan` before those of rows: CHUNK and PLAN in label_moves.cuh.
_CHUNK, _PLAN = 1 << 12, 16


class LabelSums:
    """Labels of vertices, and the strengths and totals that scores need.

    The constructor and the methods are collective operations; all ranks must call them. A directed graph
    must be placed with the edges of both directions.

    Parameters
    ----------
    engine : Engine
    weighted : bool
        Whether edges have weights: integers, or multiples of a power of two as `exact_weights` returns them.
        Otherwise each edge weighs 1.
    resolution : float or None
        The factor of the penalty of a label. If None, totals are not kept, and scores are sums of weights.

    Attributes
    ----------
    label : PartitionedArray
        The label of each owned vertex and mirror, uint32.
    strength, total : tuple of PartitionedArray
        The strength of each owned vertex and the total of each label, float64, of out-edges and in-edges.
        Equal arrays for an undirected graph, in which a self-loop counts twice.
    active : PartitionedArray
        A bitmap of the vertices that choose in the next round.
    whole : float
        The sum of all strengths.
    """

    def __init__(self, engine: Engine, *, weighted: bool, resolution: float | None) -> None:
        graph = engine.partitioned.graph
        self._engine, self._both = engine, graph.directed
        self._scored, self._resolution = resolution is not None, resolution or 0.0
        near = edge_weights(engine, engine.out_weights, used=weighted)
        far = edge_weights(engine, engine.in_weights, used=weighted)
        self._out = (*engine.out[:2], near)
        self._in = (*engine.in_[:2], far) if self._both else self._out
        self.label = engine.array("uint32")
        twice = not self._both
        out_strength = engine.owned_array("float64")
        found = engine.compute(sums.sum_weights, *self._out, twice, out_strength)
        self.whole, fractions = float(found[0]), int(found[1])
        self._integral = self.whole < _MOST_COUNTS and not fractions
        in_strength = out_strength
        if self._both:
            in_strength = engine.owned_array("float64")
            engine.compute(sums.sum_weights, *self._in, twice, in_strength)
        self.strength = out_strength, in_strength
        labels = graph.n if self._scored else 0
        totals = [engine.local_array(labels, "float64") for _ in range(1 + self._both)]
        self.total = totals[0], totals[-1]
        self.active, self._moved = engine.bitmaps(2)
        self._chosen = engine.owned_array("uint32")
        self._lists_of_gpus = self._gpu_lists()
        self._lists: tuple[PartitionedArray, PartitionedArray] | None = None

    def begin(self, label: PartitionedArray | None = None) -> None:
        """Give the vertices their own numbers as labels, or other labels, and make all of them active.

        `label` has a vertex number for each owned vertex and mirror.
        """
        engine = self._engine
        if label is None:
            engine.compute(sums.begin_labels, engine.vertices, self.label)
        else:
            self.label = engine.copy(label)
        engine.compute(kernels.wake_all, engine.owned, self.active)
        if self._scored:
            self._sum_totals()

    def move(
        self,
        *,
        buckets: int,
        salt: int,
        enough: int,
        rounds: int,
        within: PartitionedArray | None = None,
        single_only: bool = False,
    ) -> tuple[int, int, int]:
        """Move active vertices to their best labels, in rounds of buckets.

        Parameters
        ----------
        buckets : int
            The number of buckets of a round, a power of two.
        salt : int
            Another salt puts vertices in other buckets; a round adds 1.
        enough : int
            Moves in the last round, at most.
        rounds : int
            The largest number of rounds.
        within : PartitionedArray, optional
            A vertex takes only labels of neighbours with the same value, uint32. It has a value for each
            owned vertex and mirror.
        single_only : bool, default False
            Whether only vertices that are alone with their label move.

        Returns
        -------
        tuple of int
            The rounds, the moves in all rounds, and the moves in the last round.
        """
        engine, both = self._engine, self._both
        rate = self._resolution / self.whole if self.whole else 0.0
        given = (
            *self._out, *self._in, both, engine.vertices, engine.owned, self.label, self._within(within),
            *self.strength, *self.total, rate, single_only,
        )  # fmt: skip
        state = self.active, self._moved, self._chosen, *self._lists_of_gpus
        if engine.single:
            found = engine.compute(
                rounds_kernels.move_in_rounds, *given, salt, buckets, enough, rounds, *state
            )
            return int(found[0]), int(found[1]), int(found[2])
        moves = 0
        for number in range(rounds):
            last = 0
            for bucket in range(buckets):
                own = engine.compute(
                    kernels.choose_labels, *given, salt + number, buckets, bucket, *state, reduce=list
                )
                if moved := sum(map(int, own)):
                    self._move([int(own[partition.index]) for partition in engine.partitions])
                last += moved
            moves += last
            if last <= enough:
                return number + 1, moves, last
        return rounds, moves, last

    def _move(self, counts: list[int]) -> None:
        """Move the vertices that have chosen, of which each partition has a number."""
        engine, both = self._engine, self._both
        if self._scored:
            self._exchange_totals(counts)
        moves = engine.owned, self._moved, self._chosen
        engine.compute(kernels.apply_moves, *moves, *self.strength, both, False, self.label, *self.total)  # noqa: FBT003 - an argument of a kernel
        engine.pull(self.label, changed=self._moved)
        engine.compute(
            kernels.wake_neighbours, *self._out[:2], *self._in[:2], both, engine.owned, self._moved,
            self.label, self.active,
        )  # fmt: skip
        engine.push(self.active, "or")

    def modularity(self) -> float:
        """Return the modularity of the labels; 0 for a graph without edges."""
        if not self.whole:
            return 0.0
        inside = self._engine.compute(sums.inside_weight, *self._out, not self._both, self.label)
        # Each element has all totals.
        spread = self._engine.compute(sums.total_spread, *self.total, 1.0 / self.whole, reduce=min)
        return float(inside) / self.whole - self._resolution * int(spread) / _WHOLE

    def smallest(self) -> PartitionedArray:
        """Return the smallest vertex number with the label of each owned vertex."""
        return smallest_vertices(self._engine, self.label)

    def _within(self, within: PartitionedArray | None) -> PartitionedArray:
        if within is not None:
            return within
        return PartitionedArray(
            [None if e.kind == "cpu" else e.allocate(0, "uint32") for e in self._engine.elements]
        )

    def _gpu_lists(self) -> list[PartitionedArray]:
        """Return memory for the lists and tables of GPUs, with empty tables; none on a CPU."""
        dtype = np.dtype(np.uint32 if self._integral else np.float64)
        lists: list[list[Any]] = [[], [], [], []]
        for element, own in zip(self._engine.elements, self._engine.partitions, strict=True):
            owned = plan = places = 0
            if element.kind != "cpu":
                owned, edges = own.owned, sum(len(one.targets) for one in own.directions)
                plan = _PLAN + 2 * (edges // _FEWEST + 1)
                longest = sum(_longest_row(element, one.offsets) for one in own.directions)
                if longest >= _FEWEST:
                    places = min(4 * edges, _TABLE_BYTES // (4 + dtype.itemsize))
                    places = max(places, 2 * _CHUNK * -(-longest // _CHUNK))
            lists[0].append(element.allocate(owned, "uint32"))
            lists[1].append(element.allocate(plan, "uint64"))
            lists[2].append(element.allocate(places, "uint32", 0xFFFFFFFF))
            lists[3].append(element.allocate(places, dtype, 0))
        return [PartitionedArray(parts) for parts in lists]

    def _sum_totals(self) -> None:
        """Compute the totals of labels, from those of all elements."""
        engine = self._engine
        engine.compute(sums.clear_totals, self.total[0])
        if self._both:
            engine.compute(sums.clear_totals, self.total[1])
        pairs = list(zip(self.strength, self.total, strict=True))[: 1 + self._both]
        labels = self.label if engine.single else engine.gather_to_all(self.label, engine.owned.parts)
        for strength, total in pairs:
            of_all = strength if engine.single else engine.gather_to_all(strength, engine.owned.parts)
            engine.compute(sums.add_totals, labels, of_all, total)

    def _exchange_totals(self, counts: list[int]) -> None:
        """Correct the totals by the moves of all elements."""
        engine = self._engine
        if self._lists is None:
            self._lists = _pairs(engine, "uint32"), _pairs(engine, "float64")
        length = engine.counter()
        engine.compute(
            sums.list_moves, engine.owned, self._moved, self.label, self._chosen, *self.strength,
            self._both, *self._lists, length,
        )  # fmt: skip
        of_all = [engine.gather_to_all(own, counts) for own in self._lists]
        engine.compute(sums.add_moves, *of_all, self._both, *self.total)


def _longest_row(element: Element, offsets: Any) -> int:
    """Return the number of edges of the first row, which is the longest."""
    return int(np.diff(element.download(offsets[:2])).sum())


def smallest_vertices(engine: Engine, label: PartitionedArray) -> PartitionedArray:
    """Return the smallest vertex number with the label of each owned vertex.

    `label` has a value below n for each owned vertex. This is a collective operation; all ranks must call it.
    """
    n = engine.partitioned.graph.n
    own = [element.allocate(n, "uint32", 0xFFFFFFFF) for element in engine.elements]
    smallest = PartitionedArray(own)
    if engine.single:
        engine.compute(sums.smallest_of_label, label, engine.vertices, engine.owned, smallest)
    else:
        counts = engine.owned.parts
        labels, vertices = (engine.gather_to_all(one, counts) for one in (label, engine.vertices))
        count = engine.scalar(n)
        engine.compute(sums.smallest_of_label, labels, vertices, count, smallest)
    found = engine.owned_array("uint32")
    engine.compute(sums.take_smallest, label, smallest, found)
    return found


def engine_on(engine: Engine, partitioned: PartitionedGraph) -> Engine:
    """Return an engine on another graph of the same elements, in the timeline of a run.

    This is a collective operation; all ranks must call it.
    """
    if partitioned is engine.partitioned:
        return engine
    other = Engine(partitioned, "", progress=lambda _: None)  # the recorder of the run shows its progress
    other.recorder = engine.recorder
    return other


def own_labels(engine: Engine) -> PartitionedArray:
    """Return the number of each owned vertex as its label, uint32."""
    label = engine.owned_array("uint32")
    engine.compute(sums.begin_labels, engine.vertices, label)
    return label


def count_labels(engine: Engine, label: PartitionedArray) -> int:
    """Return the number of different labels, each of which is the number of a vertex with the label.

    This is a collective operation; all ranks must call it.
    """
    return int(engine.compute(sums.count_own, label, engine.vertices, engine.owned))


def _pairs(engine: Engine, dtype: Any) -> PartitionedArray:
    """Return an undefined array of shape (owned, 2) for each partition."""
    owned = zip(engine.elements, engine.owned, strict=True)
    return PartitionedArray([e.allocate(2 * count, dtype).reshape(-1, 2) for e, count in owned])
