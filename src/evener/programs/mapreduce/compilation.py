"""Compilation of the map and reduce functions of a job, and checks of what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import types

from evener.programs.algebra import check_order, random_triples
from evener.programs.compilation import (
    MESSAGE_PARAMETERS,
    VALUE_PARAMETERS,
    Operators,
    checked,
    digest,
    source_key,
    user_kernel,
)
from evener.programs.mapreduce.functions_cpu import (
    make_assign,
    make_combine,
    make_emit,
    make_map,
    make_merge,
    make_reduce,
)
from evener.programs.mapreduce.functions_gpu import linked_combine, linked_map, linked_reduce
from evener.programs.payload import Payload, check_combined

if TYPE_CHECKING:
    from evener.kernels.kernel import LinkedFile
    from evener.programs.operators import Operator

__all__ = [
    "MAP_PARAMETERS",
    "Signature",
    "UserKernel",
    "assign_kernel",
    "combine_kernel",
    "map_kernel",
    "merge_kernel",
    "message_kernel",
    "reduce_kernel",
]

# Parameters that a map function may have after the source and the target.
MAP_PARAMETERS = ("weight", "source_value", "target_value", "degree", "n")
_EMIT_PARAMETERS = ("local", *MAP_PARAMETERS)


class UserKernel(NamedTuple):
    """A kernel with a user's function: compiled for CPUs, and the file for GPUs."""

    kernel: Any
    file: LinkedFile | None  # None if no GPU runs it
    payload: Payload  # that the function returns


class Signature(NamedTuple):
    """The types that the operators of GIM-V see."""

    value: Payload
    message: Payload
    real_weights: bool  # float64 instead of int64


def map_kernel(function: Operator, *, weight: type | None, value: type) -> UserKernel:
    """Return the kernel of the map stage; raise an error unless the function returns a pair or None.

    `weight` and `value` are ``np.float64`` or ``np.int64``, for the weights of edges and the values of
    vertices. `weight` is None if edges have no weights.
    """
    variant, wide = f"map {weight} {value}", weight or np.int64
    payload = Payload.of_text(checked(lambda: _mapped_payload(function, wide, value), [function], variant))
    kernel = user_kernel(
        make_map,
        [function],
        [_EMIT_PARAMETERS],
        payload=payload,
        value=Payload.of_number(real=value is np.float64),
        weight=weight,
        reads_value="source_value" in function.extra,
        reads_target="target_value" in function.extra,
    )
    key = _gpu_key(function, variant)
    file = linked_map(function, payload, key, MAP_PARAMETERS, weight=wide, value=value)
    return UserKernel(kernel, file, payload)


def message_kernel(combine2: Operator, signature: Signature, *, weighted: bool) -> UserKernel:
    """Return the kernel of the map stage of GIM-V: the message of the source for the target of each edge."""
    kernel = user_kernel(
        _make_messages, [combine2], [MESSAGE_PARAMETERS], make_map, signature=signature, weighted=weighted
    )
    return UserKernel(kernel, None, signature.message)


def _make_messages(combine2: Any, *, signature: Signature, weighted: bool) -> Any:
    wide: Any = np.float64 if signature.real_weights else np.int64
    return make_map(
        make_emit(wide, combine2),
        payload=signature.message,
        value=signature.value,
        weight=wide if weighted else None,
        reads_value=True,
        reads_target=False,
    )


def combine_kernel(function: Operator, payload: Payload, *, is_checked: bool = False) -> UserKernel:
    """Return the kernel that joins payloads two at a time.

    An ArgumentError is raised if the function returns another payload, or is not associative and commutative.
    `is_checked` says that the function needs no check.
    """
    variant = f"combine {payload}"
    if not is_checked:
        checked(lambda: check_combined(function, payload, "map"), [function], variant)
        check_order(function.name, function.python, random_triples(payload))
    ordered = len(payload.kinds) > 1
    kernel = user_kernel(make_combine, [function], [()], payload=payload, ordered=ordered)
    file = linked_combine(function, payload, _gpu_key(function, variant))
    return UserKernel(kernel, file, payload)


def merge_kernel(function: Operator, payload: Payload) -> Any:
    """Return the kernel that combines payloads into those of other positions."""
    return user_kernel(make_merge, [function], [()], payload=payload)


def reduce_kernel(function: Operator, payload: Payload) -> UserKernel:
    """Return the kernel that gives all values of a key to a function of (key, values)."""
    variant = f"reduce {payload}"
    result = Payload.of_text(checked(lambda: _reduced_payload(function, payload), [function], variant))
    kernel = user_kernel(make_reduce, [function], [()], values=payload, result=result)
    file = linked_reduce(function, payload, result, _gpu_key(function, variant))
    return UserKernel(kernel, file, result)


def _gpu_key(function: Operator, variant: str) -> str:
    """Return the key of a function for GPUs, which `linked_map` and others compile into their own code."""
    return digest(source_key(linked_map, make_map), function.meaning, variant)


def assign_kernel(operators: Operators, signature: Signature) -> Any:
    """Return the kernel that assigns the next value of each vertex in GIM-V."""
    functions = [operators.assign, operators.until]
    parameters = (VALUE_PARAMETERS, VALUE_PARAMETERS)
    return user_kernel(make_assign, functions, parameters, value=signature.value, message=signature.message)


def _mapped_payload(function: Operator, weight: type, value: type) -> Payload:
    kinds: dict[Any, types.Type] = {np.float64: types.float64, np.int64: types.int64}
    names = dict.fromkeys(MAP_PARAMETERS, types.int64) | {
        "weight": kinds[weight],
        "source_value": kinds[value],
        "target_value": kinds[value],
    }
    pair = returned = function.returned((types.int64, types.int64), names)
    if isinstance(pair, types.Optional):
        pair = pair.type
    if isinstance(pair, types.BaseTuple) and len(pair) == 2 and isinstance(pair[0], types.Integer):
        payload = Payload.of_type(pair[1])
        if payload is not None:
            return payload
    more = "; the key is an integer, the payload a number or a tuple of numbers"
    raise function.unexpected(returned, "a pair (key, payload) or None", more)


def _reduced_payload(function: Operator, payload: Payload) -> Payload:
    arrays = tuple(
        types.Array(types.float64 if kind == "f" else types.int64, 1, "C") for kind in payload.kinds
    )
    values = arrays[0] if payload.single else types.Tuple(arrays)
    returned = function.returned((types.int64, values), {})
    result = Payload.of_type(returned)
    if result is None:
        raise function.unexpected(returned, "a number or a tuple of numbers")
    return result
