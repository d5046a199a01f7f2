"""Vertex programs: one superstep, in which scheduled vertices combine messages and change their states.

`fields` (L,) are the arrays of the state. Neighbours read `sent` (L + M,): the arrays of the messages, or of
the states if each edge makes its message. `near` and `far` are offsets, targets and weights of two directions
of edges.

The functions are those of the user. They see float64 or int64, and the state as `Fields` says. The last
argument of each is `numbers`, a tuple of the numbers that functions use from outside.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import prange

from evener.kernels.cpu.bits import is_set, set_bit
from evener.kernels.cpu.jit import guarded, inline_step, uncached_parallel, vertex_step
from evener.kernels.cpu.work_queue import WORKERS, new_counter, take_chunk

if TYPE_CHECKING:
    from evener.programs.operators import Operator
    from evener.programs.payload import Fields, Payload

__all__ = ["KernelShape", "ProgramFunctions", "make_step"]

_ONE = np.uint64(1)


class ProgramFunctions(NamedTuple):
    """The checked functions of a program, and its fields."""

    fields: Fields
    send: Operator
    combine: Operator | None  # None for the most frequent message
    apply: Operator
    aggregate: Operator

    @property
    def meaning(self) -> str:
        """Identifies the functions with all their values, and the fields."""
        functions = [one.meaning if one else "most_frequent" for one in self.operators]
        return " ".join([str(self.fields), *functions])

    @property
    def operators(self) -> tuple[Operator | None, ...]:
        """All functions."""
        return self.send, self.combine, self.apply, self.aggregate


class KernelShape(NamedTuple):
    """Properties of a program that decide which code its kernel has."""

    message: Payload  # The numbers of a message.
    real_weights: bool  # Weights are float64 instead of int64.
    per_edge: bool  # Each edge makes its message, because it depends on the weight.
    all_work: bool  # All vertices work in each superstep, active or not.
    both: bool  # Messages travel along edges in both directions.
    timed: bool  # All vertices send in each superstep, because messages depend on its number.
    only_out: bool  # All messages travel along out-edges.


def make_step(
    send: Any, combine: Any, apply: Any, aggregate: Any, *, fields: Fields, shape: KernelShape
) -> Any:
    """Return the kernel `step`, with the functions compiled into it; `combine` may be None."""
    load, changing = fields.state.load, fields.changing
    load_own, store, distance = changing.load, changing.store, changing.distance
    one = np.float64(1) if shape.real_weights else np.int64(1)
    message_of_edge = _message_of(load_own, send, shape)
    gather = _combined(message_of_edge, combine, shape) if combine else _most_frequent(message_of_edge, shape)
    per_edge, both, timed, only_out = shape.per_edge, shape.both, shape.timed, shape.only_out
    all_work = shape.all_work
    load_message, store_message = shape.message.load, shape.message.store

    @vertex_step
    def work(
        v, fields, sent, near, far, nothing, buffer, degree, vertices, n, iteration, total, active, numbers
    ):
        own_degree, vertex = np.int64(degree[v]), np.int64(vertices[v])
        old, before = load(fields, v), load_own(fields, v)
        message = gather(v, sent, near, far, nothing, buffer, degree, vertices, n, iteration, numbers)
        state, is_active = apply(old, message, own_degree, vertex, n, iteration, total, numbers)
        store(fields, v, state)
        if is_active and not all_work:
            set_bit(active, v)
        return np.int64(1 if is_active else 0), distance(before, load_own(fields, v))

    @inline_step
    def share(
        numbers, first, everyone, near, far, blocks, fields, sent, next_sent, nothing, buffer, degree,
        vertices, n, iteration, total, scheduled, active, counter,
    ):  # fmt: skip
        change = 0.0
        size = 0.0
        count = np.int64(0)
        edges = np.uint64(0)
        b = take_chunk(counter, _ONE)
        while b + _ONE < np.uint64(len(blocks)):
            for v in range(np.uint64(blocks[b]), np.uint64(blocks[b + _ONE])):
                works = not first and (all_work or everyone or is_set(scheduled, v))
                if works:
                    is_active, moved = work(
                        v, fields, sent, near, far, nothing, buffer, degree, vertices, n, iteration, total,
                        active, numbers,
                    )  # fmt: skip
                    count += is_active
                    change += moved
                    if not all_work:
                        edges += near[0][v + _ONE] - near[0][v]
                    if both and not all_work:
                        edges += far[0][v + _ONE] - far[0][v]
                state = load(fields, v)
                own_degree, vertex = np.int64(degree[v]), np.int64(vertices[v])
                size += np.float64(aggregate(state, own_degree, vertex, n, iteration, numbers))
                if per_edge:
                    store(next_sent, v, load_own(fields, v))
                elif works or first or timed:
                    # A vertex without such edges has no message: functions may divide by its degree.
                    if own_degree > 0 or not only_out:
                        own = load_own(fields, v)
                        message = send(own, one, own_degree, vertex, n, iteration + 1, numbers)
                        store_message(next_sent, v, message)
                else:
                    store_message(next_sent, v, load_message(sent, v))
            b = take_chunk(counter, _ONE)
        return count, change, size, edges

    guarded_share = guarded(share, failed=(np.int64(0), np.nan, np.nan, np.uint64(0)))

    @uncached_parallel
    def step(
        numbers, first, everyone, near, far, blocks, fields, sent, next_sent, nothing, scratch, degree,
        vertices, n, iteration, total, scheduled, active,
    ):  # fmt: skip
        """Run a superstep on the scheduled vertices; if `first`, only send.

        Returns (active vertices, changes of floating-point fields, sum of `aggregate`, edges read). The
        changes are NaN if a function raises an exception.
        """
        change = 0.0
        size = 0.0
        count = np.int64(0)
        edges = np.uint64(0)
        unit = load_message(nothing, 0)
        counter = new_counter()
        for w in prange(WORKERS):
            own_count, own_change, own_size, own_edges = guarded_share(
                numbers, first, everyone, near, far, blocks, fields, sent, next_sent, unit, scratch[w],
                degree, vertices, n, iteration, total, scheduled, active, counter,
            )  # fmt: skip
            count += own_count
            change += own_change
            size += own_size
            edges += own_edges
        return count, change, size, edges

    return step


def _message_of(load, send, shape):
    """Return a function that returns the message of an edge."""
    load_message, cast = shape.message.load, shape.message.cast
    wide_weight, per_edge = np.float64 if shape.real_weights else np.int64, shape.per_edge

    @vertex_step
    def message(e, row, sent, degree, vertices, n, iteration, numbers):
        u = np.uint64(row[1][e])
        if not per_edge:
            return load_message(sent, u)
        state, weight = load(sent, u), wide_weight(row[2][e])
        return cast(send(state, weight, np.int64(degree[u]), np.int64(vertices[u]), n, iteration, numbers))

    return message


def _combined(message, combine, shape):
    cast, both = shape.message.cast, shape.both

    @vertex_step
    def over_row(all_, v, row, sent, degree, vertices, n, iteration, numbers):
        for e in range(row[0][v], row[0][v + _ONE]):
            own = message(e, row, sent, degree, vertices, n, iteration, numbers)
            all_ = cast(combine(all_, own, numbers))
        return all_

    @vertex_step
    def gather(v, sent, near, far, nothing, buffer, degree, vertices, n, iteration, numbers):  # noqa: ARG001
        all_ = over_row(nothing, v, near, sent, degree, vertices, n, iteration, numbers)
        if both:
            all_ = over_row(all_, v, far, sent, degree, vertices, n, iteration, numbers)
        return all_

    return gather


def _most_frequent(message, shape):
    both = shape.both

    @vertex_step
    def over_row(count, v, row, sent, buffer, degree, vertices, n, iteration, numbers):
        for e in range(row[0][v], row[0][v + _ONE]):
            buffer[count] = message(e, row, sent, degree, vertices, n, iteration, numbers)
            count += 1
        return count

    @vertex_step
    def gather(v, sent, near, far, nothing, buffer, degree, vertices, n, iteration, numbers):
        count = over_row(0, v, near, sent, buffer, degree, vertices, n, iteration, numbers)
        if both:
            count = over_row(count, v, far, sent, buffer, degree, vertices, n, iteration, numbers)
        messages = buffer[:count]
        messages.sort()
        best, longest, begin = nothing, 0, 0
        for i in range(1, count + 1):
            if i == count or messages[i] != messages[begin]:
                if i - begin > longest:
                    best, longest = messages[begin], i - begin
                begin = i
        return best

    return gather
