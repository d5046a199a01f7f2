"""The functions of a job for GPUs, which the kernels of ``programs/mapreduce_*.cu`` call.

A function reads and writes columns itself. It gets a table with the address of each column, as a pointer to
pointers of each type. So no ``.cu`` file depends on the number of columns or on their types.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types
from numba.extending import intrinsic
from numba.np import arrayobj

from evener.errors import ArgumentError
from evener.kernels.kernel import LinkedFile, LinkedFunction
from evener.programs.mapreduce.functions_cpu import without_none

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.programs.operators import Operator
    from evener.programs.payload import Payload

__all__ = ["COMBINE", "MAP", "REDUCE", "linked_combine", "linked_map", "linked_reduce"]

MAP, COMBINE, REDUCE = (f"evener.programs:mapreduce_{stage}" for stage in ("map", "combine", "reduce"))

_REDUCE_ADVICE = "on a GPU it can make no arrays, so use loops, len, sum, min and max, as in max(values)"
_TABLES = {"f": "reals", "i": "integers"}
_COLUMNS = ("float64**", "int64**")


@intrinsic  # type: ignore[untyped-decorator]
def _array_of(typingctx: Any, pointer: Any, begin: Any, end: Any) -> Any:  # noqa: ARG001 - Numba's signature
    """Return the values ``begin:end`` from a pointer on as an array."""
    kind = types.Array(pointer.dtype, 1, "C")

    def codegen(context: Any, builder: Any, signature: Any, args: Any) -> Any:  # noqa: ARG001 - as above
        first, begin, end = args
        array = context.make_array(kind)(context, builder)
        size = context.get_constant(types.intp, 8)
        arrayobj.populate_array(
            array,
            data=builder.gep(first, [begin]),
            shape=(builder.sub(end, begin),),
            strides=(size,),
            itemsize=size,
            meminfo=None,
        )
        return array._getvalue()  # noqa: SLF001 - as Numba's own functions do

    return kind(pointer, types.int64, types.int64), codegen


def linked_map(
    function: Operator, payload: Payload, key: str, extra: Sequence[str], *, weight: type, value: type
) -> LinkedFile:
    """Return the file of the map kernels with a map function.

    `key` identifies the function and the types. `extra` has all parameters that a map function may have after
    the source and the target. `weight` and `value` are ``np.float64`` or ``np.int64``, for the weights of
    edges and the values of vertices.
    """
    values = "real_values" if value is np.float64 else "integer_values"
    of_source, of_target = (
        f"{values}[{end}_at]" if f"{end}_value" in function.extra else f"np.{value.__name__}(0)"
        for end in ("source", "target")
    )
    text = (
        "def emit(source, target, real_weight, weight, real_values, integer_values, source_at, target_at, "
        "degree, n, keys, reals, integers, at):\n"
        f"    pair = function(source, target, {'real_weight' if weight is np.float64 else 'weight'}, "
        f"{of_source}, {of_target}, degree, n)\n"
        "    if pair is None:\n"
        "        return 0\n"
        "    record = without_none(pair)\n"
        "    keys[at] = record[0]\n"
        "    payload = cast(record[1])\n"
        f"{_writes(payload, '{table}[{k}][at]')}"
        "    return 1\n"
    )
    scope = {"function": function.fixed_adapted(extra), "without_none": without_none, "cast": payload.cast}
    parameters = (
        *("int64", "int64", "float64", "int64", "float64*", "int64*", "int64", "int64", "int64", "int64"),
        *("int64*", *_COLUMNS, "int64"),
    )
    return _linked(MAP, key, text, scope, "emit", parameters, function.explain)


def linked_combine(function: Operator, payload: Payload, key: str) -> LinkedFile:
    """Return the file of the kernel that combines payloads, with a combine function."""
    text = (
        "def fold(order, ordered, reals, integers, begin, end, out_reals, out_integers, at):\n"
        "    i = order[begin] if ordered else begin\n"
        f"    payload = {_tuple(payload, '{table}[{k}][i]')}\n"
        "    for position in range(begin + 1, end):\n"
        "        i = order[position] if ordered else position\n"
        f"        payload = cast(function(payload, {_tuple(payload, '{table}[{k}][i]')}))\n"
        f"{_writes(payload, 'out_{table}[{k}][at]')}"
        "    return 0\n"
    )
    scope = {"function": function.fixed_adapted(()), "cast": payload.cast}
    parameters = ("int64*", "int64", *_COLUMNS, "int64", "int64", *_COLUMNS, "int64")
    return _linked(COMBINE, key, text, scope, "fold", parameters, function.explain)


def linked_reduce(function: Operator, values: Payload, result: Payload, key: str) -> LinkedFile:
    """Return the file of the kernel that reduces all values of a key, with a reduce function."""
    text = (
        "def reduce_key(key, reals, integers, begin, end, out_reals, out_integers, row):\n"
        f"    payload = cast(function(key, {_tuple(values, 'array_of({table}[{k}], begin, end)')}))\n"
        f"{_writes(result, 'out_{table}[{k}][row]')}"
        "    return 0\n"
    )
    scope = {"function": function.fixed_adapted(()), "cast": result.cast, "array_of": _array_of}
    parameters = ("int64", *_COLUMNS, "int64", "int64", *_COLUMNS, "int64")

    def explain(error: Exception) -> ArgumentError:
        return ArgumentError(f"{function.explain(error)}; {_REDUCE_ADVICE}")

    return _linked(REDUCE, key, text, scope, "reduce_key", parameters, explain)


def _tuple(payload: Payload, place: str) -> str:
    """Return the expression of a payload, given the expression of a number of it."""
    fields = [place.format(table=_TABLES[kind], k=k) for k, kind in enumerate(payload.kinds)]
    return fields[0] if payload.single else f"({', '.join(fields)},)"


def _writes(payload: Payload, place: str) -> str:
    """Return the statements that write the variable `payload`."""
    return "".join(
        f"    {place.format(table=_TABLES[kind], k=k)} = payload{'' if payload.single else f'[{k}]'}\n"
        for k, kind in enumerate(payload.kinds)
    )


def _linked(
    file: str,
    key: str,
    text: str,
    scope: dict[str, Any],
    name: str,
    parameters: tuple[str, ...],
    explain: Callable[[Exception], Exception],
) -> LinkedFile:
    scope = {"np": np, "__name__": __name__, **scope}
    exec(text, scope)  # noqa: S102 - no text of a user is part of the source
    return LinkedFile(file, key, (LinkedFunction(name, scope[name], "int64", parameters, explain),))
