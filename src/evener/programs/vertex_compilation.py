"""Check the functions of a vertex program, and build its kernel, once per program."""

from __future__ import annotations

from collections import namedtuple
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import typeof, types

from evener.errors import ArgumentError
from evener.kernels.cpu.jit import inlined
from evener.kernels.kernel import Kernel
from evener.programs.compilation import (
    MESSAGE_PARAMETERS,
    checked,
    digest,
    source_key,
    user_kernel,
)
from evener.programs.operators import type_text
from evener.programs.payload import Payload, check_combined
from evener.programs.vertex_kernels_cpu import Functions, Shape, make_step
from evener.programs.vertex_kernels_gpu import GpuStep, linked_functions
from evener.programs.vertex_tuples_gpu import MAX_NUMBERS, TupleStep, tuple_functions

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from evener.programs.operators import Operator
    from evener.programs.program_functions import ProgramFunctions

__all__ = [
    "APPLY_PARAMETERS",
    "SEND_PARAMETERS",
    "check_fields",
    "checked_message",
    "gpu_step",
    "message_of",
    "state_class",
    "step_kernel",
]

# Parameters that `send` and `aggregate`, and `apply`, may have after their own.
SEND_PARAMETERS = (*MESSAGE_PARAMETERS, "iteration")
APPLY_PARAMETERS = (*SEND_PARAMETERS, "total")

_PARAMETERS = (SEND_PARAMETERS, (), APPLY_PARAMETERS, SEND_PARAMETERS)
_EXTRA = dict.fromkeys(SEND_PARAMETERS, types.int64) | {"total": types.float64}


def message_of(functions: ProgramFunctions, *, real_weights: bool) -> Payload:
    """Return what `send` returns, after all functions are compiled for the fields and checked."""
    variant = f"message {real_weights} {functions.names} {functions.dtypes}"
    return Payload.of_text(checked(lambda: _checked(functions, real_weights), functions.operators, variant))


def checked_message(
    send: Operator, own: tuple[types.Type, types.Type], extra: Mapping[str, types.Type]
) -> Payload:
    """Compile a function that makes messages, and return what it returns: numbers, or an error is raised."""
    returned = send.returned(own, extra)
    message = Payload.of_type(returned)
    if message is None:
        found = f"{type_text(returned)} at {send.where}"
        msg = f"{send.name}: expected a function that returns a number or a tuple of numbers, found {found}"
        raise ArgumentError(msg)
    return message


def check_fields(
    function: Operator,
    fields: types.Type,
    names: Sequence[str],
    real: Sequence[bool],
    *,
    expected: str,
    returned: types.Type,
) -> None:
    """Raise an error with the place of the function unless it returns a number for each field.

    `fields` is the part of the result `returned` that should be the fields. `real` says whether each field is
    float64 instead of int64. `expected` is the whole result, for messages.
    """
    if not isinstance(fields, types.BaseTuple) or len(fields) != len(names):
        found = f"{type_text(returned)} at {function.where}"
        msg = f"{function.name}: expected a function that returns {expected}, found {found}"
        raise ArgumentError(msg)
    for name, field, is_real in zip(names, fields, real, strict=True):
        wide = types.float64 if is_real else types.int64
        function.check_number(field, wide, expected, f"the integer field {name!r}")


def step_kernel(functions: ProgramFunctions, shape: Shape) -> Kernel:
    """Return the kernel of a superstep; its code is compiled, or loaded, at its first call.

    Its arguments are those of `evener.programs.vertex_kernels_cpu`, with two differences. The first two are
    `scratch`, or `GpuArrays` on a GPU, and whether a GPU reads all edges in column blocks. The rows `near`
    and `far` include the runs of rows, `blocks`, and the column blocks or None.

    The functions have been checked by `message_of`.
    """
    step = user_kernel(
        _make_step,
        functions.operators,
        _PARAMETERS,
        make_step,
        names=functions.names,
        dtypes=functions.dtypes,
        shape=shape,
    )

    def on_cpu(
        scratch: Any, _dense: bool, first: bool, everyone: bool, near: Any, far: Any,  # noqa: FBT001
        fields: Any, sent: Any, next_sent: Any, nothing: Any, *others: Any,
    ) -> Any:  # fmt: skip
        return step(
            first, everyone, near[:3], far[:3], near[3], fields, sent, next_sent, nothing, scratch,
            *others,
        )  # fmt: skip

    on_gpus = lru_cache(maxsize=1)(lambda: gpu_step(functions, shape))
    runs_on_gpus = shape.message.single or len(shape.message.kinds) <= MAX_NUMBERS
    on_gpu = (lambda *args: on_gpus()(*args)) if runs_on_gpus else None
    return Kernel(cpu=on_cpu, cuda=on_gpu, name="vertex_program")


def gpu_step(functions: ProgramFunctions, shape: Shape) -> GpuStep | TupleStep:
    """Return the function of a GPU that runs a superstep, with the numbers of functions as constants."""
    key = digest(source_key(gpu_step, linked_functions, tuple_functions), str(shape), functions.meaning)
    pairs = zip(functions.operators, _PARAMETERS, strict=True)
    own = [one and one.fixed_adapted(extra) for one, extra in pairs]
    adapted, named = _functions(functions.names, functions.dtypes, own), state_class(functions.names)
    if shape.message.single:
        return GpuStep(linked_functions(functions, adapted, named, shape), key, shape)
    return TupleStep(tuple_functions(functions, adapted, named, shape), key, shape)


def _make_step(*operators: Any, names: tuple[str, ...], dtypes: tuple[str, ...], shape: Shape) -> Any:
    return make_step(_functions(names, dtypes, operators), shape)


def _functions(names: tuple[str, ...], dtypes: tuple[str, ...], operators: Sequence[Any]) -> Functions:
    state = Payload.of_dtypes(dtypes)
    return Functions(_load_state(names, state.kinds), state.store, state.distance, *operators)


def _checked(functions: ProgramFunctions, real_weights: bool) -> Payload:  # noqa: FBT001
    state = _state_type(functions.names, functions.real)
    weight = types.float64 if real_weights else types.int64
    message = checked_message(functions.send, (state, weight), _EXTRA)
    if functions.combine is not None:
        check_combined(functions.combine, message, "send")
    elif not message.single:
        msg = f'send: expected a number for combine="most_frequent", found a tuple at {functions.send.where}'
        raise ArgumentError(msg)
    functions.aggregate.check_number(functions.aggregate.returned((state,), _EXTRA), types.float64)
    apply, expected = functions.apply, f"(({', '.join(functions.names)},), active)"
    returned = apply.returned((state, message.type), _EXTRA)
    is_pair = isinstance(returned, types.BaseTuple) and len(returned) == 2
    fields, active = tuple(returned) if is_pair else (types.none, types.none)
    check_fields(apply, fields, functions.names, functions.real, expected=expected, returned=returned)
    apply.check_number(active, types.int64, expected)
    return message


@lru_cache(maxsize=64)
def state_class(names: tuple[str, ...], argument: str = "state=") -> Any:
    """Return the named tuple of fields; `argument` gave their names, for messages.

    Raises
    ------
    ArgumentError
        If a name is not an identifier, or is given twice. If a name is "vertex", the column of ids in tables.
    """
    if "vertex" in names:
        msg = f"{argument}: expected names of fields, found 'vertex', the column of ids in tables; rename it"
        raise ArgumentError(msg)
    try:
        return namedtuple("State", names)
    except ValueError as error:
        msg = f"{argument}: expected names of fields that are Python names: {error}"
        raise ArgumentError(msg) from error


def _state_type(names: tuple[str, ...], real: Sequence[bool]) -> types.Type:
    return typeof(state_class(names)(*(0.0 if one else 0 for one in real)))


@lru_cache(maxsize=64)
def _load_state(names: tuple[str, ...], kinds: str) -> Any:
    """Return a function that reads a state from arrays."""
    known: dict[str, Any] = {"State": state_class(names), "__name__": __name__}
    known |= {f"wide_{i}": np.float64 if kind == "f" else np.int64 for i, kind in enumerate(kinds)}
    values = ", ".join(f"wide_{i}(fields[{i}][v])" for i in range(len(names)))
    exec(f"def load(fields, v):\n    return State({values})\n", known)  # noqa: S102 - the text has numbers only
    return inlined(known["load"])
