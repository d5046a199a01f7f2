"""A run of a vertex program: checks of its functions, its kernel, placement and supersteps."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from evener.errors import ArgumentError
from evener.kernels.kernel import Kernel
from evener.programs.arguments import UNSIGNED_WEIGHTS
from evener.programs.column_kernels import message_columns
from evener.programs.compilation import MESSAGE_PARAMETERS, checked, digest, source_key, user_kernel
from evener.programs.payload import Payload, check_combined
from evener.programs.steps import is_constant, message_dtypes
from evener.programs.supersteps import Supersteps
from evener.programs.value_check import ValueCheck
from evener.programs.vertex_kernels_cpu import KernelShape, make_step
from evener.programs.vertex_kernels_gpu import MAX_FIELDS, MAX_NUMBERS, GpuStep, linked_functions
from evener.spec.algorithm import StateBytes
from evener.spec.arguments import check_signed_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.column_blocks import ColumnBlocks
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.operators import Operator
    from evener.programs.payload import Fields
    from evener.programs.supersteps import ProgramRun
    from evener.programs.vertex_kernels_cpu import ProgramFunctions
    from evener.spec.algorithm import AlgorithmSpec
    from evener.spec.run import Run

__all__ = [
    "APPLY_PARAMETERS",
    "SEND_PARAMETERS",
    "check_fields",
    "checked_message",
    "message_of",
    "run_functions",
    "weights_are_real",
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
    returned_fields, active = tuple(returned) if is_pair else (types.none, types.none)
    check_fields(apply, returned_fields, functions.fields, expected=expected, returned=returned)
    apply.check_number(active, types.int64, expected)
    return message


def checked_message(
    send: Operator, parameters: tuple[types.Type, types.Type], extra: Mapping[str, types.Type]
) -> Payload:
    """Compile a function that makes messages, and return what it returns: numbers, or an error is raised."""
    returned = send.returned(parameters, extra)
    message = Payload.of_type(returned)
    if message is None:
        raise send.unexpected(returned, "a number or a tuple of numbers")
    return message


def check_fields(
    function: Operator, given: types.Type, fields: Fields, *, expected: str, returned: types.Type
) -> None:
    """Raise an error with the place of the function unless it returns a number for each field.

    `given` is the part of the result `returned` that should be the fields. `expected` is the whole result,
    for messages.
    """
    if not isinstance(given, types.BaseTuple) or len(given) != len(fields.names):
        raise function.unexpected(returned, expected)
    for name, kind, wide in zip(fields.names, given, fields.value.type, strict=True):
        function.check_number(kind, wide, expected, f"the integer field {name!r}")


def run_functions(
    run: Run,
    functions: ProgramFunctions,
    *,
    first: dict[str, NDArray[Any]],
    message: Payload,
    identity: Any,
    condition: Condition,
    real_weights: bool,
    along: tuple[str, ...] = ("out",),
    active: NDArray[np.bool_] | None = None,
    all_work: bool = False,
    float32_above: float | None = None,
) -> ProgramRun:
    """Place a graph and run checked functions on it.

    This is a collective operation; all ranks must call it.

    `first` has the first values of the fields, of float32, float64 or int64. `message` is what `send`
    returns, and `active` marks the vertices that are active at first. Functions see weights as float64 if
    `real_weights`, or as int64. Other arguments are those of `Supersteps`, `KernelShape` and
    `vertex_program`. Only GPUs use `float32_above`, for messages of float64.
    """
    graph, spec = run.graph, run.spec
    shape = KernelShape(
        message=message,
        real_weights=real_weights,
        per_edge=graph.weight_dtype is not None and functions.send.own[1] in functions.send.reads,
        all_work=all_work,
        both=along == ("both",) and graph.directed,
        timed="iteration" in functions.send.extra,
        only_out=along == ("out",) or not graph.directed,
    )
    if shape.per_edge and not real_weights:
        check_signed_weights(graph, UNSIGNED_WEIGHTS)
    kernel = step_kernel(functions, shape)
    pg = run.place(_with_state(spec, len(message.kinds), len(functions.fields.names)))
    # Column blocks are part of the placement, so they are built before the run begins.
    dtypes = message_dtypes(functions.fields.dtypes, shape.message.dtypes)
    combines = functions.combine is not None and shape.message.single and not shape.per_edge
    if not combines or dtypes != [np.float64] or not _only_gpus(pg):
        float32_above = None
    in_columns = combines and (dtypes == [np.float32] or float32_above is not None)
    columns = _columns(pg, identity, along if in_columns else ())
    engine = run.engine()
    supersteps = Supersteps(
        engine, pg, kernel, shape, functions.fields, first=first, identity=identity, along=along,
        keeps_messages=functions.combine is None, columns=columns, float32_above=float32_above,
    )  # fmt: skip
    operators = (functions.send, functions.combine, functions.apply)
    check = ValueCheck(
        spec.name, pg, engine, condition, first=first.values(), identity=identity, operators=operators,
        weighted=shape.per_edge, all_hear=supersteps.all_hear,
    )  # fmt: skip
    state = {name: values[0] if is_constant(values) else values for name, values in first.items()}
    agreed = (functions.meaning, condition, identity, along, float32_above)
    facts = {"functions": repr(agreed), "state": state, "active": active}
    with run.checkpoints(engine, facts) as checkpoints:
        return supersteps.run(active, condition, check, spec.name, checkpoints)


def _with_state(spec: AlgorithmSpec, numbers: int, fields: int) -> AlgorithmSpec:
    """Return the spec of a program, given the numbers of a message and the fields of a state."""
    if numbers > MAX_NUMBERS or fields > MAX_FIELDS:
        messages, states = f"messages of more than {MAX_NUMBERS} numbers", f"more than {MAX_FIELDS} fields"
        name = f"{spec.name} with {messages if numbers > MAX_NUMBERS else states}"
        return replace(spec, name=name, kinds=("cpu",))
    # Two buffers of messages and, for owned vertices, a combined message.
    more, state = numbers - 1, spec.state
    return replace(spec, state=StateBytes(state.vertex + (16 + 8) * more, state.mirror + 16 * more))


def _only_gpus(pg: PartitionedGraph) -> bool:
    """Return whether all elements of all ranks are GPUs.

    This is a collective operation; all ranks must call it.
    """
    others = any(element.kind != "cuda" for element in pg.elements)
    return not pg.world.allreduce(int(others), "max")


def _columns(
    pg: PartitionedGraph, identity: Any, along: tuple[str, ...]
) -> tuple[list[ColumnBlocks | None], list[ColumnBlocks | None]]:
    """Return the column blocks in which GPUs read float32 messages: of in-edges, and of out-edges."""
    rows: list[ColumnBlocks | None] = [None] * len(pg.partitions)
    directed = pg.graph.directed
    reads_in = "both" in along or "out" in along or ("in" in along and not directed)
    reads_out = directed and ("both" in along or "in" in along)
    return (
        message_columns(pg, "in_", identity) if reads_in else rows,
        message_columns(pg, "out", identity) if reads_out else rows,
    )


def weights_are_real(graph: Graph) -> bool:
    """Return whether functions see weights as float64 instead of int64."""
    return graph.weight_dtype is not None and graph.weight_dtype.kind == "f"


@lru_cache(maxsize=64)
def step_kernel(functions: ProgramFunctions, shape: KernelShape) -> Kernel:
    """Return the kernel of a superstep; its code is compiled, or loaded, at its first call.

    Its arguments are those of `evener.programs.vertex_kernels_cpu`, with two differences. First, four
    arguments come before them:

    - `scratch`; on a GPU, its `GpuArrays`
    - the rows `near` and `far` of the next superstep, which a GPU begins; or None
    - whether a GPU reads all edges in column blocks

    Second, the rows `near` and `far` also have the runs of rows, `blocks`, and the column blocks or None.

    The functions have been checked by `message_of`.
    """
    step = user_kernel(make_step, functions.operators, _PARAMETERS, fields=functions.fields, shape=shape)

    def on_cpu(
        scratch: Any, _next_near: Any, _next_far: Any, _dense: bool, first: bool, everyone: bool,  # noqa: FBT001
        near: Any, far: Any, fields: Any, sent: Any, next_sent: Any, nothing: Any, *others: Any,
    ) -> Any:  # fmt: skip
        return step(
            first, everyone, near[:3], far[:3], near[3], fields, sent, next_sent, nothing, scratch,
            *others,
        )  # fmt: skip

    on_gpus = lru_cache(maxsize=1)(lambda: gpu_step(functions, shape))
    runs_on_gpus = len(shape.message.kinds) <= MAX_NUMBERS and len(functions.fields.names) <= MAX_FIELDS
    on_gpu = (lambda *args: on_gpus()(*args)) if runs_on_gpus else None
    return Kernel(cpu=on_cpu, cuda=on_gpu, name="vertex_program")


def gpu_step(functions: ProgramFunctions, shape: KernelShape) -> GpuStep:
    """Return the function of a GPU that runs a superstep, with the numbers of functions as constants."""
    key = digest(source_key(gpu_step, linked_functions), str(shape), functions.meaning)
    pairs = zip(functions.operators, _PARAMETERS, strict=True)
    adapted = [one and one.fixed_adapted(extra) for one, extra in pairs]
    return GpuStep(linked_functions(functions, adapted, shape), key, shape)
