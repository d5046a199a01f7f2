"""Compilation of the map and reduce functions of a job, and checks of what they return."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numba import types

from evener.errors import ArgumentError
from evener.kernels.cpu.work_queue import WORKERS
from evener.programs.algebra import check_order, random_triples
from evener.programs.compilation import (
    MESSAGE_PARAMETERS,
    VALUE_PARAMETERS,
    Operators,
    adapted_operators,
    check_types,
    digest,
    kernel_of,
    source_key,
    with_numbers,
)
from evener.programs.mapreduce.assign_cpu import make_assign
from evener.programs.mapreduce.functions_gpu import linked_combine, linked_map, linked_reduce
from evener.programs.mapreduce.map_cpu import make_emit, make_map
from evener.programs.mapreduce.reduce_cpu import make_combine, make_reduce
from evener.programs.operators import type_text
from evener.programs.payload import Payload, check_combined, described

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from evener.kernels.kernel import LinkedFile
    from evener.programs.kernel_cache import KernelCache
    from evener.programs.operators import Operator

    T = TypeVar("T")

__all__ = [
    "MAP_PARAMETERS",
    "Signature",
    "UserKernel",
    "assign_kernel",
    "check_operators",
    "combine_kernel",
    "map_kernel",
    "message_kernel",
    "reduce_kernel",
]

# Parameters that a map function may have after the source and the target.
MAP_PARAMETERS = ("weight", "source_value", "target_value", "degree", "n")
_EMIT_PARAMETERS = ("local", *MAP_PARAMETERS)
_FOLDER = "mapreduce"


class UserKernel(NamedTuple):
    """A kernel with a user's function.

    Attributes
    ----------
    kernel : compiled function
        The kernel for CPUs.
    file : LinkedFile
        The kernels for GPUs.
    payload : Payload
        What the function returns.
    """

    kernel: Any
    file: LinkedFile
    payload: Payload


class Signature(NamedTuple):
    """The types that the operators of GIM-V see.

    Attributes
    ----------
    value : Payload
        The value of a vertex.
    message : Payload
        What `combine2` returns.
    real_weights : bool
        Whether weights are float64 instead of int64.
    """

    value: Payload
    message: Payload
    real_weights: bool


def check_operators(operators: Operators, *, real: bool) -> None:
    """Compile the operators of GIM-V once for their types, and check what they return.

    Raises
    ------
    ArgumentError
        If an operator cannot be compiled or does not return a number.
    """

    def build(cache: KernelCache) -> bool:
        if cache.checked is None:
            check_types(operators, real=real)
            cache.mark_checked()
        return True

    kernel_of(digest(source_key(), f"types {real}", *(one.code for one in operators)), build)


def map_kernel(function: Operator, *, weight: type | None, value: type) -> UserKernel:
    """Return the kernel of the map stage.

    Parameters
    ----------
    function : Operator
    weight : type or None
        ``np.float64`` or ``np.int64``; None if edges have no weights.
    value : type
        ``np.float64`` or ``np.int64``, for the values of vertices.

    Raises
    ------
    ArgumentError
        If the function cannot be compiled, or returns neither a pair of a key and a payload nor None.
    """

    def build(cache: KernelCache) -> tuple[Any, Payload]:
        payload = described(cache, lambda: _mapped_payload(function, weight or np.int64, value))
        kernel = make_map(
            function.adapted(_EMIT_PARAMETERS, 0),
            payload,
            value=Payload.of_number(real=value is np.float64),
            weight=weight,
            reads_value="source_value" in function.extra,
            reads_target="target_value" in function.extra,
        )
        return _kept(kernel, cache), payload

    kernel, payload = _cached("map_cpu.py", [function], variant := f"{weight} {value}", build)
    key = digest(function.meaning, variant)
    file = linked_map(function, payload, key, MAP_PARAMETERS, weight=weight or np.int64, value=value)
    return UserKernel(with_numbers(kernel, [function]), file, payload)


def message_kernel(combine2: Operator, signature: Signature, *, weighted: bool) -> Any:
    """Return the kernel of the map stage of GIM-V: the message of the source for the target of each edge."""
    wide: Any = np.float64 if signature.real_weights else np.int64

    def build(cache: KernelCache) -> Any:
        kernel = make_map(
            make_emit(wide, combine2.adapted(MESSAGE_PARAMETERS, 0)),
            signature.message,
            value=signature.value,
            weight=wide if weighted else None,
            reads_value=True,
            reads_target=False,
        )
        return _kept(kernel, cache)

    kernel = _cached("map_cpu.py", [combine2], f"message {signature} {weighted}", build)
    return with_numbers(kernel, [combine2])


def combine_kernel(function: Operator, payload: Payload, *, checked: bool = False) -> UserKernel:
    """Return the kernel that joins payloads two at a time.

    Parameters
    ----------
    function : Operator
    payload : Payload
    checked : bool, default False
        Whether the algebra and the types of the function have been checked.

    Raises
    ------
    ArgumentError
        If the function cannot be compiled, returns another payload, or is not associative and commutative.
    """

    def build(cache: KernelCache) -> Any:
        if not checked and cache.checked is None:
            check_combined(function, payload, "map")
            cache.mark_checked()
        kernel = make_combine(function.adapted((), 0), payload, ordered=len(payload.kinds) > 1)
        return _kept(kernel, cache)

    kernel = _cached("reduce_cpu.py", [function], variant := f"combine {payload} {checked}", build)
    if not checked:
        check_order(function.name, function.python, random_triples(payload))
    file = linked_combine(function, payload, digest(function.meaning, variant))
    return UserKernel(with_numbers(kernel, [function]), file, payload)


def reduce_kernel(function: Operator, payload: Payload) -> UserKernel:
    """Return the kernel that gives all values of a key to a function of (key, values).

    Raises
    ------
    ArgumentError
        If the function cannot be compiled, or does not return a payload.
    """

    def build(cache: KernelCache) -> tuple[Any, Payload]:
        result = described(cache, lambda: _reduced_payload(function, payload))
        return _kept(make_reduce(function.adapted((), 0), payload, result), cache), result

    kernel, result = _cached("reduce_cpu.py", [function], variant := f"reduce {payload}", build)
    file = linked_reduce(function, payload, result, digest(function.meaning, variant))
    return UserKernel(with_numbers(kernel, [function]), file, result)


def assign_kernel(operators: Operators, signature: Signature) -> Any:
    """Return the kernel that assigns the next value of each vertex in GIM-V."""
    own = [operators.assign, operators.until]

    def build(cache: KernelCache) -> Any:
        adapted = adapted_operators(own, (VALUE_PARAMETERS, VALUE_PARAMETERS))
        return _kept(make_assign(signature.value, signature.message, *adapted), cache)

    return with_numbers(_cached("assign_cpu.py", own, f"{signature}", build), own)


def _cached(file: str, functions: Sequence[Operator], variant: str, build: Callable[[KernelCache], T]) -> T:
    files = [f"{_FOLDER}/{name}" for name in (file, "functions_gpu.py", "compilation.py")]
    codes = [one.code for one in functions]
    return kernel_of(digest(source_key("payload.py", *files), *codes, f"{variant} {WORKERS}"), build)


def _kept(kernel: Any, cache: KernelCache) -> Any:
    kernel._cache = cache  # noqa: SLF001 - Numba has no public way
    return kernel


def _mapped_payload(function: Operator, weight: type, value: type) -> Payload:
    kinds: dict[Any, types.Type] = {np.float64: types.float64, np.int64: types.int64}
    names = dict.fromkeys(MAP_PARAMETERS, types.int64) | {
        "weight": kinds[weight],
        "source_value": kinds[value],
        "target_value": kinds[value],
    }
    found = returned = function.returned((types.int64, types.int64), names)
    if isinstance(found, types.Optional):
        found = found.type
    if isinstance(found, types.BaseTuple) and len(found) == 2 and isinstance(found[0], types.Integer):
        payload = Payload.of_type(found[1])
        if payload is not None:
            return payload
    msg = (
        f"map: expected a function that returns a pair (key, payload) or None, found {type_text(returned)} "
        f"at {function.where}; the key is an integer, the payload a number or a tuple of numbers"
    )
    raise ArgumentError(msg)


def _reduced_payload(function: Operator, payload: Payload) -> Payload:
    arrays = tuple(
        types.Array(types.float64 if kind == "f" else types.int64, 1, "C") for kind in payload.kinds
    )
    values = arrays[0] if payload.single else types.Tuple(arrays)
    returned = function.returned((types.int64, values), {})
    result = Payload.of_type(returned)
    if result is None:
        msg = (
            f"reduce: expected a function that returns a number or a tuple of numbers, found "
            f"{type_text(returned)} at {function.where}"
        )
        raise ArgumentError(msg)
    return result
