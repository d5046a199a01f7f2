"""Atomic read-modify-write on array elements, from LLVM's `atomicrmw` and `cmpxchg`.

All operations are sequentially consistent. Some kernels need this order: one thread clears a flag and then
reads a value, while another thread lowers the value and then reads the flag. At least one of the two threads
must see the other's write. On x86 this order costs nothing extra; on AArch64 it needs special instructions.
"""

from __future__ import annotations

from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

__all__ = ["compare_and_swap", "fetch_add", "fetch_and", "fetch_max", "fetch_min", "fetch_or", "load"]

_ORDER = "seq_cst"


def _element(context, builder, array_type, array, index_type, index):
    """Return the address of ``array[index]``. The index is unsigned and does not wrap around."""
    view = context.make_array(array_type)(context, builder, array)
    position = context.cast(builder, index, index_type, types.uintp)
    return cgutils.get_item_pointer(context, builder, array_type, view, [position], wraparound=False)


def _read_modify_write(name, *, signed, unsigned, real=None):
    """Return the intrinsic ``fetch_<name>(array, index, value) -> old value``."""

    def fetch(typingctx, array, index, value):  # noqa: ARG001 - Numba's signature for an intrinsic
        element = array.dtype

        def codegen(context, builder, signature, args):
            where = _element(context, builder, signature.args[0], args[0], signature.args[1], args[1])
            operand = context.cast(builder, args[2], signature.args[2], element)
            if isinstance(element, types.Float):
                if real is None:
                    msg = f"fetch_{name}: expected an integer array, found {element}"
                    raise TypeError(msg)
                return builder.atomic_rmw(real, where, operand, _ORDER)
            op = signed if element.signed else unsigned
            return builder.atomic_rmw(op, where, operand, _ORDER)

        return element(array, index, value), codegen

    fetch.__name__ = f"fetch_{name}"
    fetch.__doc__ = f"Atomically {name} `value` into ``array[index]`` and return the old value."
    return intrinsic(fetch)


fetch_add = _read_modify_write("add", signed="add", unsigned="add", real="fadd")
fetch_and = _read_modify_write("and", signed="and", unsigned="and")
fetch_or = _read_modify_write("or", signed="or", unsigned="or")
fetch_min = _read_modify_write("min", signed="min", unsigned="umin", real="fmin")
fetch_max = _read_modify_write("max", signed="max", unsigned="umax")


@intrinsic
def compare_and_swap(typingctx, array, index, expected, desired):  # noqa: ARG001 - as above
    """Set ``array[index]`` to `desired` if it equals `expected`. Return true if it was set."""
    element = array.dtype

    def codegen(context, builder, signature, args):
        where = _element(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        old = context.cast(builder, args[2], signature.args[2], element)
        new = context.cast(builder, args[3], signature.args[3], element)
        pair = builder.cmpxchg(where, old, new, _ORDER, _ORDER)
        return builder.extract_value(pair, 1)

    return types.boolean(array, index, expected, desired), codegen


@intrinsic
def load(typingctx, array, index):  # noqa: ARG001 - as above
    """Read ``array[index]`` atomically. The compiler must not reuse an earlier read."""
    element = array.dtype

    def codegen(context, builder, signature, args):
        where = _element(context, builder, signature.args[0], args[0], signature.args[1], args[1])
        return builder.load_atomic(where, _ORDER, element.bitwidth // 8)

    return element(array, index), codegen
