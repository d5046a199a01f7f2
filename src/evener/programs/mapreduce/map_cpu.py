"""The map stage: one call of the user's function for each edge of a chunk.

`emit(source, target, local, weight, value, target_value, degree, n, numbers)` returns a pair (key, payload),
or None. `numbers` is a tuple of the numbers that the function uses from outside.
`source` and `target` are numbers of vertices in the graph, `local` is the partition's number of the target.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import prange, types
from numba.extending import intrinsic

from evener.kernels.cpu.jit import guarded, inline_step, inlined, uncached_parallel

if TYPE_CHECKING:
    from evener.programs.payload import Payload

__all__ = ["make_emit", "make_map", "without_none"]

_ZERO, _ONE, _TWO = np.uint64(0), np.uint64(1), np.uint64(2)
# The end of a piece for which `emit` raised an exception.
_FAILED = np.uint64(0xFFFFFFFFFFFFFFFF)


@intrinsic
def without_none(typingctx, value):  # noqa: ARG001 - Numba's signature for an intrinsic
    """Return the value of an optional that is not None."""
    if not isinstance(value, types.Optional):
        return value(value), lambda context, builder, signature, args: args[0]  # noqa: ARG005 - as above

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        return context.make_helper(builder, value, value=args[0]).data

    return value.type(value), codegen


@inline_step
def _row_of(offsets, e):
    """Return the row of an edge, by bisection; `np.searchsorted` would take five times as long to compile."""
    row, end = _ZERO, np.uint64(len(offsets) - 1)
    while row + _ONE < end:
        middle = (row + end) // _TWO
        if offsets[middle] <= e:
            row = middle
        else:
            end = middle
    return row


def make_emit(wide: Any, combine2: Any) -> Any:
    """Return the function `emit` of GIM-V: the message of the source, with the local target as key.

    `combine2` sees weights as `wide`.
    """

    @inlined
    def emit(source, target, local, weight, value, target_value, degree, n, numbers):  # noqa: ARG001 - as map functions
        return local, combine2(wide(weight), value, degree, source, n, numbers)

    return emit


def make_map(
    emit: Any, *, payload: Payload, value: Payload, weight: Any, reads_value: bool, reads_target: bool
) -> Any:
    """Return the kernel `map_edges`, with the function `emit` compiled into it.

    `payload` is that of the pair that `emit` returns, and `value` the value of a vertex. `weight` is
    ``np.float64`` or ``np.int64``, or None if edges have no weights. `emit` may read the value of the source,
    and that of the target.
    """
    weighted = weight is not None
    wide = weight if weighted else np.int64
    store, load = payload.store, value.load

    @inline_step
    def map_piece(
        numbers, begin, end, at, offsets, targets, weights, vertices, degree, values, n, keys, columns
    ):
        row = _row_of(offsets, begin)
        e = begin
        while e < end:
            stop = min(offsets[row + _ONE], end)
            source, own_degree = np.int64(vertices[row]), np.int64(degree[row])
            own = load(values, row if reads_value else _ZERO)
            for i in range(e, stop):
                local = np.uint64(targets[i])
                pair = emit(
                    source,
                    np.int64(vertices[local]),
                    local,
                    wide(weights[i]) if weighted else wide(1),
                    own,
                    load(values, local if reads_target else _ZERO),
                    own_degree,
                    n,
                    numbers,
                )
                if pair is not None:
                    found = without_none(pair)
                    keys[at] = found[0]
                    store(columns, at, found[1])
                    at += _ONE
            e = stop
            row += _ONE
        return at

    guarded_piece = guarded(map_piece, failed=_FAILED)

    @uncached_parallel
    def map_edges(
        numbers, begin, end, step, offsets, targets, weights, vertices, degree, values, n, keys, columns,
        counts,
    ):  # fmt: skip
        """Write the pairs of the edges ``begin:end``; ``counts[k]`` is the number of pairs of piece ``k``.

        It is more than `step` if `emit` raised an exception.
        """
        for k in prange(len(counts)):
            at = np.uint64(k) * step
            first = begin + at
            last = min(first + step, end)
            counts[k] = (
                guarded_piece(
                    numbers,
                    first,
                    last,
                    at,
                    offsets,
                    targets,
                    weights,
                    vertices,
                    degree,
                    values,
                    n,
                    keys,
                    columns,
                )
                - at
            )

    return map_edges
