"""Vertex programs: states of several fields that change by the messages of neighbours.

Idea: a vertex works if it is active, or if a neighbour that sends to it is active. It combines the messages
of all these neighbours and computes its next state. All states change at the same time. Messages of inactive
neighbours count too: a vertex is active if its neighbours should combine messages again.

Encoding: float32, float64 or int64 for fields. If `send` does not need the weight of an edge, a vertex makes
one message for all its edges, so mirrors hold messages. Otherwise mirrors hold states, and each edge makes
its message.

Malewicz et al.: Pregel (2010); Gonzalez et al.: PowerGraph (2012).
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.engine.checkpoints.state import Bounded, restore, values_of
from evener.engine.engine import Engine, PartitionedArray
from evener.kernels.cpu.work_queue import WORKERS
from evener.kernels.kernel import KernelFile
from evener.programs.arguments import Trend
from evener.programs.steps import (
    all_have_edges,
    exception_of,
    message_dtypes,
    upload_owned,
    write_owned,
)
from evener.programs.vertex_kernels_gpu import GpuArrays

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import NDArray

    from evener.elements import Element
    from evener.engine.checkpoints.checkpoints import Checkpoints
    from evener.kernels.kernel import Kernel
    from evener.partition.column_blocks import ColumnBlocks
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.mapreduce.stages import Stages
    from evener.programs.payload import Fields, Payload
    from evener.programs.value_check import ValueCheck
    from evener.programs.vertex_kernels_cpu import KernelShape

__all__ = ["ProgramRun", "Supersteps"]

kernels = KernelFile(__package__, "schedule")

# The name of the active vertices in a checkpoint; fields have other names, which are names of Python.
_ACTIVE = "active vertices"

# Share of the edges above which reading all in column blocks is faster than reading some by rows.
_DENSE_SHARE = 0.5
# Largest sum of `aggregate` with which messages are float32, so that their sums are in the range of float32.
_LARGEST_SUM = 1e25


class ProgramRun(NamedTuple):
    """A finished run of a program or of GIM-V: its fields, and facts about it."""

    pg: PartitionedGraph
    engine: Engine | Stages
    fields: dict[str, PartitionedArray]
    iterations: int
    converged: bool  # the condition is met; after a fixed number of iterations: nothing changes
    edges: int
    condition: Condition
    total: float  # the last sum over all vertices, of `aggregate` or of absolute values
    passes: int  # that plans count; 0 for MapReduce


class Supersteps:
    """The arrays of a run, and its supersteps, by the kernel of `step_kernel`.

    `first` has the first values of `fields`, and `identity` is the message of a vertex without messages.
    `along` has the directions of messages in the first superstep, the second, and so on, in turn. If
    `keeps_messages`, all messages of a vertex are needed at once, to find the most frequent one. `columns`
    has the column blocks of each partition's in-edges, and of its out-edges.

    If all vertices work in each superstep, until the condition is met, the graph needs only the edges that
    bring messages.

    If `float32_above` is a number, messages of float64 are float32 at first. They stay float32 while the sum
    of changes is above this multiple of the sum of `aggregate`; if it is 0, in the whole run.
    """

    def __init__(
        self,
        engine: Engine,
        pg: PartitionedGraph,
        kernel: Kernel,
        shape: KernelShape,
        fields: Fields,
        *,
        first: dict[str, NDArray[Any]],
        identity: Any,
        along: tuple[str, ...],
        keeps_messages: bool,
        columns: tuple[list[ColumnBlocks | None], list[ColumnBlocks | None]],
        float32_above: float | None = None,
    ) -> None:
        self.engine, self.pg, self.kernel, self.shape = engine, pg, kernel, shape
        self.float32_above = float32_above
        self.fields = {name: upload_owned(engine, pg, values) for name, values in first.items()}
        own = len(fields.changing.kinds)
        self.changing = {name: self.fields[name] for name in fields.names[:own]}
        wide = shape.message.dtypes
        dtypes = fields.dtypes[:own] if shape.per_edge else message_dtypes(fields.dtypes, wide)
        self._messages = [[engine.array(dtype) for dtype in dtypes] for _ in range(2)]
        self._choose_messages(are_float32=float32_above is not None)
        unit = (identity,) if shape.message.single else identity
        self.nothing = _zipped(
            engine.upload_to_all(np.array([one], dtype)) for one, dtype in zip(unit, wide, strict=True)
        )
        incoming, outgoing = (
            _zipped([offsets, targets, weights if shape.per_edge else targets, blocks, PartitionedArray(own)])
            for (offsets, targets, blocks), weights, own in zip(
                (engine.in_, engine.out), (engine.in_weights, engine.out_weights), columns, strict=True
            )
        )
        # The edges that bring messages, and the edges that carry them away, in each superstep.
        against = "in" if pg.graph.directed else None
        self.directions = [(outgoing, incoming) if one == against else (incoming, outgoing) for one in along]
        if shape.all_work:
            self.directions = [(near, near) for near, _ in self.directions]
        lengths = self._row_lengths() if keeps_messages else [None] * len(pg.partitions)
        self.scratch = engine.per_partition(
            [
                _scratch(element, partition.owned, shape.message, own)
                for element, partition, own in zip(engine.elements, pg.partitions, lengths, strict=True)
            ]
        )
        self.degree = engine.out_degree
        if shape.per_edge:
            self.degree = engine.array("uint32")
            write_owned(engine, engine.out_degree, self.degree)
            engine.pull(self.degree)

    def _choose_messages(self, *, are_float32: bool) -> None:
        """Let the next messages be float32, or as functions see them, in the same memory."""
        self.are_float32 = are_float32
        self.sent, self.next_sent = (
            [_as_float32(array) for array in arrays] if are_float32 else arrays for arrays in self._messages
        )

    def _stay_float32(self, change: float, total: float) -> bool:
        """Return whether messages stay float32 after a superstep with these sums."""
        least = self.float32_above
        return least is not None and total < _LARGEST_SUM and (least == 0 or change > least * total)

    def _row_lengths(self) -> list[NDArray[Any]]:
        """Return the most messages of each vertex of each partition."""
        lengths = []
        for element, near, far in zip(self.engine.elements, *self.directions[0], strict=True):
            own, other = (np.diff(element.download(rows[0])) for rows in (near, far))
            lengths.append(own + other if self.shape.both else np.maximum(own, other))
        return lengths

    def run(
        self,
        active: NDArray[np.bool_] | None,
        condition: Condition,
        check: ValueCheck,
        name: str,
        checkpoints: Checkpoints,
    ) -> ProgramRun:
        """Run supersteps until the condition is met, or no vertex is active.

        This is a collective operation; all ranks must call it.

        A checkpoint has no messages: a run that continues sends the messages of all states again.
        """
        engine, n = self.engine, self.pg.graph.n
        bits, count = engine.bits(), n
        if active is not None:
            restore(engine, bits, [active[vertices] for vertices in self.pg.owned_vertices()])
            count = int(np.count_nonzero(active))
        iteration, edges, read, total, converged, worked = 0, 0, 0, 0.0, count == 0, None
        most, all_work = self.pg.graph.m * (2 if self.shape.both else 1), self.shape.all_work
        sends, trend = True, Trend(condition)
        while iteration < condition.limit and not converged:
            kept = {name: Bounded(field, -math.inf, math.inf) for name, field in self.changing.items()}
            marks = {} if all_work else {_ACTIVE: bits}
            iteration, count, edges, read, total, are_float32 = checkpoints.step(
                {**kept, **marks}, iteration, count, edges, int(read), total, self.are_float32
            )
            if checkpoints.restored:
                own = [int(np.count_nonzero(flags)) for flags in values_of(engine, bits)]
                checkpoints.require(all_work or count == engine.total(own), "the number of active vertices")
                limit = condition.limit
                checkpoints.require(iteration == checkpoints.steps < limit, f"a step below {limit}")
                checkpoints.require(edges >= 0 <= read and not math.isnan(total), "edges from 0 on")
                self._choose_messages(are_float32=are_float32 and self.float32_above is not None)
                sends = True
            counts = engine.owned if all_work else None
            if sends:
                engine.superstep("send", active=engine.owned)
                _, change, size, _ = self._step(iteration, 0.0, bits, bits, everyone=True, first=True)
                if math.isnan(change):
                    raise exception_of(name)
                total = size if iteration == 0 else total  # rounded as in a run that was never stopped
                counts, worked, sends = self._counts(bits, count), None, False
            iteration += 1
            engine.superstep("work", active=counts, edges=most if all_work else int(read))
            self._pull(worked)
            worked = None if count == n or all_work else self._schedule(iteration, bits)
            next_bits = bits if all_work else engine.bits()
            everyone = worked is None
            count, change, total, read = self._step(
                iteration, total, bits if worked is None else worked, next_bits, everyone=everyone,
                dense=everyone or read > _DENSE_SHARE * most, last=iteration == condition.limit,
                ahead=everyone and not checkpoints.active and self._goes_on(trend, iteration),
            )  # fmt: skip
            read = most if everyone else read
            bits, edges = next_bits, edges + int(read)
            check.step(self.changing, change, total, iteration)
            converged = condition.is_met(count == 0, change, total) or (count == 0 and not all_work)
            trend.add(count, change, total)
            if self.are_float32 and not self._stay_float32(change, total):
                self._choose_messages(are_float32=False)
                sends, converged = True, False
        check.finish(self.changing)
        done = converged or (condition.fixed and count == 0)
        return ProgramRun(
            self.pg, engine, self.changing, iteration, done, edges, condition, total, passes=iteration
        )

    def all_hear(self) -> bool:
        """Return whether each vertex has messages in all supersteps.

        This is a collective operation; all ranks must call it.
        """
        offsets = [[PartitionedArray([rows[0] for rows in one]) for one in pair] for pair in self.directions]
        if self.shape.both:
            return all_have_edges(self.pg, *offsets[0])
        return all(all_have_edges(self.pg, near) for near, _ in offsets)

    def _step(
        self,
        iteration: int,
        total: float,
        scheduled: PartitionedArray,
        active: PartitionedArray,
        *,
        everyone: bool,
        dense: bool = False,
        first: bool = False,
        last: bool = False,
        ahead: bool = False,
    ) -> tuple[int, float, float, int]:
        engine, (near, far) = self.engine, self._edges(iteration)
        following = self._edges(iteration + 1) if ahead else (None, None)
        found: tuple[int, float, float, int] = engine.compute(
            self.kernel, self.scratch, *following, dense, first, everyone, near, far,
            _zipped(self.fields.values()), _zipped(self.sent), _zipped(self.next_sent), self.nothing,
            self.degree, engine.vertices, self.pg.graph.n, iteration, total, scheduled, active,
            count_next_active=not first,
            pull_before=self.sent[0] if self._overlaps and not first else None,
            publish=self.next_sent[0] if self._overlaps and not last else None,
        )  # fmt: skip
        return found

    @property
    def _overlaps(self) -> bool:
        """Whether elements send messages while others still compute: one array, which all vertices write."""
        return self.shape.all_work and len(self.sent) == 1 and not self.are_float32

    def _goes_on(self, trend: Trend, iteration: int) -> bool:
        """Return whether the only GPU may begin the next superstep before the end of this one is known."""
        engine = self.engine
        if not engine.single or engine.element[0].kind != "cuda" or trend.may_end(iteration):
            return False
        return not self.are_float32 or self._stay_float32(trend.next_change, trend.total)

    def _pull(self, worked: PartitionedArray | None) -> None:
        """Send what the last superstep has written, given the vertices that worked; None for all."""
        self.sent, self.next_sent = self.next_sent, self.sent
        if self._overlaps:  # the next kernel's verb pulls them
            return
        for new, old in zip(self.sent, self.next_sent, strict=True):
            if worked is None or self.shape.timed:
                self.engine.pull(new)
                continue
            # Mirrors of vertices that have not worked keep their values.
            for element, owned, values, before in zip(
                self.engine.elements, self.engine.owned, new, old, strict=True
            ):
                element.run(values.__setitem__, slice(owned, None), before[owned:])
            self.engine.pull(new, changed=worked)

    def _edges(self, iteration: int) -> tuple[Any, Any]:
        """Return the edges that bring messages in a superstep, and those that carry them away."""
        return self.directions[max(iteration - 1, 0) % len(self.directions)]

    def _schedule(self, iteration: int, active: PartitionedArray) -> PartitionedArray:
        """Return the bits of the active vertices and of all vertices that they send to."""
        scheduled = self.engine.bits()
        near, far = self._edges(iteration)
        for rows in (far, near) if self.shape.both else (far,):
            offsets, targets, _, blocks, _ = (PartitionedArray(part) for part in zip(*rows, strict=True))
            self.engine.compute(kernels.schedule, offsets, targets, blocks, active, scheduled)
        self.engine.push(scheduled, "or")
        return scheduled

    def _counts(self, active: PartitionedArray, count: int) -> PartitionedArray:
        """Return the number of active vertices of each partition, given the number of all."""
        if count == self.pg.graph.n or self.shape.all_work:
            return self.engine.owned
        owned = values_of(self.engine, active)
        return self.engine.per_partition([int(np.count_nonzero(own)) for own in owned])


def _as_float32(array: PartitionedArray) -> PartitionedArray:
    """Return an array of float32 in the memory of an array of a longer type."""
    return PartitionedArray([part.view(np.float32)[: len(part)] for part in array])


def _zipped(arrays: Iterable[PartitionedArray]) -> PartitionedArray:
    """Return a tuple of the parts of several arrays for each partition."""
    return PartitionedArray(list(zip(*arrays, strict=True)))


def _scratch(
    element: Element, owned: int, message: Payload, lengths: NDArray[Any] | None
) -> GpuArrays | NDArray[Any]:
    """Return the memory in which an element sorts or stages messages during a run.

    `lengths` has the number of messages of each vertex; None if the kernel does not collect them.
    """
    if element.kind == "cuda":
        return GpuArrays(element, owned, message, lengths)
    longest = 0 if lengths is None else int(lengths.max(initial=0))
    return np.empty((WORKERS, longest), message.dtypes[0])
