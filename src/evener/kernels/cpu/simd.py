"""Vector instructions: compare the weights of several edges with a bound, load a word of bytes, and prefetch.

LLVM compiles its vectors to the widest instructions of the processor. `lighter` is an intrinsic because a
Numba function would count references to its arrays, which costs more than the comparison.
"""

from __future__ import annotations

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["LANES", "lighter", "load_word", "prefetch"]

LANES = 16
_WORD = ir.IntType(64)


@intrinsic
def lighter(typingctx, weights, first, stop, floor, bound):  # noqa: ARG001 - Numba's signature for an intrinsic
    """Return a mask: bit ``i`` is set if ``floor + weights[first + i] < bound``.

    The mask covers up to `LANES` edges, from `first` to before `stop`. `weights` has an unsigned or floating
    type and at least `LANES` entries. `floor` and `bound` have the type of the sums: float64, or an unsigned
    integer type that represents every weight and every sum.
    """
    narrow, wide = weights.dtype, floor

    def codegen(context, builder, signature, args):
        of_weights = ir.VectorType(context.get_value_type(narrow), LANES)
        of_sums = ir.VectorType(context.get_value_type(wide), LANES)
        view = context.make_array(signature.args[0])(context, builder, args[0])
        start, end = (context.cast(builder, args[i], signature.args[i], types.uint64) for i in (1, 2))
        # Near the end of the array, load the last LANES weights and shift out the weights before `first`.
        final = builder.sub(cgutils.unpack_tuple(builder, view.shape, 1)[0], _WORD(LANES))
        position = _least(builder, start, final)
        where = builder.bitcast(builder.gep(view.data, [position]), of_weights.as_pointer())
        lanes = _converted(builder, builder.load(where, align=narrow.bitwidth // 8), narrow, wide, of_sums)
        low, high = (_splat(builder, value, of_sums) for value in args[3:])
        if isinstance(wide, types.Float):
            passing = builder.fcmp_ordered("<", builder.fadd(lanes, low), high)
        else:
            passing = builder.icmp_unsigned("<", builder.add(lanes, low), high)
        bits = builder.zext(builder.bitcast(passing, ir.IntType(LANES)), _WORD)
        bits = builder.lshr(bits, builder.sub(start, position))
        edges = _least(builder, builder.sub(end, start), _WORD(LANES))
        return builder.and_(bits, builder.sub(builder.shl(_WORD(1), edges), _WORD(1)))

    return types.uint64(weights, first, stop, floor, floor), codegen


def _least(builder, a, b):
    return builder.select(builder.icmp_unsigned("<", a, b), a, b)


def _converted(builder, lanes, narrow, wide, vector):
    """Convert the weights to the type of the sums."""
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


@intrinsic
def prefetch(typingctx, array, index):  # noqa: ARG001 - as above
    """Prefetch the cache line of ``array[index]``. The index may be out of bounds."""

    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        where = builder.gep(view.data, [context.cast(builder, args[1], signature.args[1], types.uint64)])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [builder.bitcast(where, byte), number(0), number(3), number(1)])
        return context.get_dummy_value()

    return types.none(array, index), codegen


@intrinsic
def load_word(typingctx, array, index):  # noqa: ARG001 - as above
    """Return the eight bytes of a uint8 array from an index on as uint64, in the order of the machine."""

    def codegen(context, builder, signature, args):
        view = context.make_array(signature.args[0])(context, builder, args[0])
        where = builder.gep(view.data, [context.cast(builder, args[1], signature.args[1], types.uint64)])
        return builder.load(builder.bitcast(where, _WORD.as_pointer()), align=1)

    return types.uint64(array, index), codegen
