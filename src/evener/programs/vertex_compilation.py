"""Check the functions of a vertex program, and build its kernel, once per program."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Any

from numba import types

from evener.errors import ArgumentError
from evener.kernels.kernel import Kernel
from evener.programs.compilation import (
    MESSAGE_PARAMETERS,
    checked,
    digest,
    source_key,
    user_kernel,
)
from evener.programs.payload import Payload, check_combined
from evener.programs.vertex_kernels_cpu import KernelShape, make_step
from evener.programs.vertex_kernels_gpu import GpuStep, linked_functions
from evener.programs.vertex_tuples_gpu import MAX_NUMBERS, TupleStep, tuple_functions

if TYPE_CHECKING:
    from collections.abc import Mapping

    from evener.programs.operators import Operator
    from evener.programs.program_functions import Fields, ProgramFunctions

__all__ = [
    "APPLY_PARAMETERS",
    "SEND_PARAMETERS",
    "check_fields",
    "checked_message",
    "gpu_step",
    "message_of",
    "step_kernel",
]

# Parameters that `send` and `aggregate`, and `apply`, may have after their own.
SEND_PARAMETERS = (*MESSAGE_PARAMETERS, "iteration")
APPLY_PARAMETERS = (*SEND_PARAMETERS, "total")

_PARAMETERS = (SEND_PARAMETERS, (), APPLY_PARAMETERS, SEND_PARAMETERS)
_EXTRA = dict.fromkeys(SEND_PARAMETERS, types.int64) | {"total": types.float64}


def message_of(functions: ProgramFunctions, *, real_weights: bool) -> Payload:
    """Return what `send` returns, after all functions are compiled for the fields and checked."""
    variant = f"message {real_weights} {functions.fields}"
    return Payload.of_text(checked(lambda: _checked(functions, real_weights), functions.operators, variant))


def checked_message(
    send: Operator, own: tuple[types.Type, types.Type], extra: Mapping[str, types.Type]
) -> Payload:
    """Compile a function that makes messages, and return what it returns: numbers, or an error is raised."""
    returned = send.returned(own, extra)
    message = Payload.of_type(returned)
    if message is None:
        raise send.unexpected(returned, "a number or a tuple of numbers")
    return message


def check_fields(
    function: Operator, found: types.Type, fields: Fields, *, expected: str, returned: types.Type
) -> None:
    """Raise an error with the place of the function unless it returns a number for each field.

    `found` is the part of the result `returned` that should be the fields. `expected` is the whole result,
    for messages.
    """
    if not isinstance(found, types.BaseTuple) or len(found) != len(fields.names):
        raise function.unexpected(returned, expected)
    for name, own, wide in zip(fields.names, found, fields.value.type, strict=True):
        function.check_number(own, wide, expected, f"the integer field {name!r}")


def step_kernel(functions: ProgramFunctions, shape: KernelShape) -> Kernel:
    """Return the kernel of a superstep; its code is compiled, or loaded, at its first call.

    Its arguments are those of `evener.programs.vertex_kernels_cpu`, with two differences. The first two are
    `scratch`, or `GpuArrays` on a GPU, and whether a GPU reads all edges in column blocks. The rows `near`
    and `far` include the runs of rows, `blocks`, and the column blocks or None.

    The functions have been checked by `message_of`.
    """
    step = user_kernel(make_step, functions.operators, _PARAMETERS, state=functions.fields.state, shape=shape)

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


def gpu_step(functions: ProgramFunctions, shape: KernelShape) -> GpuStep | TupleStep:
    """Return the function of a GPU that runs a superstep, with the numbers of functions as constants."""
    key = digest(source_key(gpu_step, linked_functions, tuple_functions), str(shape), functions.meaning)
    pairs = zip(functions.operators, _PARAMETERS, strict=True)
    adapted = [one and one.fixed_adapted(extra) for one, extra in pairs]
    if shape.message.single:
        return GpuStep(linked_functions(functions, adapted, shape), key, shape)
    return TupleStep(tuple_functions(functions, adapted, shape), key, shape)


def _checked(functions: ProgramFunctions, real_weights: bool) -> Payload:  # noqa: FBT001
    state = functions.fields.state.type
    weight = types.float64 if real_weights else types.int64
    message = checked_message(functions.send, (state, weight), _EXTRA)
    if functions.combine is not None:
        check_combined(functions.combine, message, "send")
    elif not message.single:
        msg = f'send: expected a number for combine="most_frequent", found a tuple at {functions.send.where}'
        raise ArgumentError(msg)
    functions.aggregate.check_number(functions.aggregate.returned((state,), _EXTRA), types.float64)
    apply, expected = functions.apply, f"(({', '.join(functions.fields.names)},), active)"
    returned = apply.returned((state, message.type), _EXTRA)
    is_pair = isinstance(returned, types.BaseTuple) and len(returned) == 2
    found, active = tuple(returned) if is_pair else (types.none, types.none)
    check_fields(apply, found, functions.fields, expected=expected, returned=returned)
    apply.check_number(active, types.int64, expected)
    return message
