"""Many edges at once: one vector comparison says which of the next edges are light enough to matter.

Written as LLVM vectors, which become the widest instructions the processor has; a loop over single edges
took twice as long (R-MAT 20, a sweep of which one edge in ten passes).
"""

from __future__ import annotations

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from evener.kernels.cpu.jit import inline_step

__all__ = ["LANES", "lighter"]

LANES = 16
_LANES = np.uint64(LANES)
_ONE = np.uint64(1)
_ZERO = np.uint64(0)


@intrinsic
def _lighter_of_all(typingctx, weights, first, floor, bound):  # noqa: ARG001 - Numba's signature for an intrinsic
    """`lighter` for `LANES` edges, all of them inside the array."""
    narrow, wide = weights.dtype, floor

    def codegen(context, builder, signature, args):
        of_weights = ir.VectorType(context.get_value_type(narrow), LANES)
        of_sums = ir.VectorType(context.get_value_type(wide), LANES)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        position = context.cast(builder, args[1], signature.args[1], types.uintp)
        where = builder.bitcast(builder.gep(view.data, [position]), of_weights.as_pointer())
        lanes = _converted(builder, builder.load(where, align=narrow.bitwidth // 8), narrow, wide, of_sums)
        low, high = (_splat(builder, value, of_sums) for value in args[2:])
        if isinstance(wide, types.Float):
            passing = builder.fcmp_ordered("<", builder.fadd(lanes, low), high)
        else:
            passing = builder.icmp_unsigned("<", builder.add(lanes, low), high)
        return builder.zext(builder.bitcast(passing, ir.IntType(LANES)), ir.IntType(64))

    return types.uint64(weights, first, floor, floor), codegen


def _converted(builder, lanes, narrow, wide, vector):
    """The weights in the type of the sums."""
    if isinstance(wide, types.Float) and isinstance(narrow, types.Integer):
        return builder.uitofp(lanes, vector)
    if narrow.bitwidth == wide.bitwidth:
        return lanes
    if isinstance(wide, types.Float):
        return builder.fpext(lanes, vector)
    return (builder.zext if narrow.bitwidth < wide.bitwidth else builder.trunc)(lanes, vector)


def _splat(builder, value, vector):
    first = builder.insert_element(ir.Constant(vector, ir.Undefined), value, ir.Constant(ir.IntType(32), 0))
    return builder.shuffle_vector(first, first, ir.Constant(ir.VectorType(ir.IntType(32), LANES), None))


@inline_step
def lighter(weights, first, stop, floor, bound):
    """Bit ``i`` says whether ``floor + weights[first + i] < bound``, for the `LANES` edges before `stop`.

    `weights` are unsigned or floating, `floor` and `bound` of the type in which sums are formed: float64, or
    an unsigned integer that holds every weight and every sum.
    """
    mask = _ZERO
    if first + _LANES <= np.uint64(len(weights)):
        mask = _lighter_of_all(weights, first, floor, bound)
        if stop - first < _LANES:
            mask &= (_ONE << (stop - first)) - _ONE
    else:
        for i in range(min(stop - first, _LANES)):
            mask |= np.uint64(floor + weights[first + i] < bound) << i
    return mask
