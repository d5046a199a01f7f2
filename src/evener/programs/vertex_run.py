"""A run of the checked functions of a vertex program: placement, kernel and supersteps."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.programs.arguments import UNSIGNED_WEIGHTS
from evener.programs.columns import message_columns
from evener.programs.steps import is_constant, message_dtypes
from evener.programs.supersteps import Supersteps
from evener.programs.value_check import ValueCheck
from evener.programs.vertex_compilation import step_kernel
from evener.programs.vertex_kernels_cpu import KernelShape
from evener.programs.vertex_tuples_gpu import MAX_NUMBERS
from evener.spec.algorithm import StateBytes
from evener.spec.arguments import check_signed_weights

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.partition.column_blocks import ColumnBlocks
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.payload import Payload
    from evener.programs.program_functions import ProgramFunctions
    from evener.programs.supersteps import ProgramRun
    from evener.spec.algorithm import AlgorithmSpec
    from evener.spec.run import Run

__all__ = ["run_functions", "weights_are_real"]


def run_functions(
    run: Run,
    functions: ProgramFunctions,
    *,
    first: dict[str, NDArray[Any]],
    message: Payload,
    identity: Any,
    condition: Condition,
    along: tuple[str, ...] = ("out",),
    active: NDArray[np.bool_] | None = None,
    all_work: bool = False,
) -> ProgramRun:
    """Place a graph and run checked functions on it.

    This is a collective operation; all ranks must call it.

    `first` has the first values of the fields, of float32, float64 or int64. `message` is what `send`
    returns, and `active` marks the vertices that are active at first. Other arguments are those of
    `Supersteps` and `vertex_program`.
    """
    graph, spec = run.graph, run.spec
    shape = KernelShape(
        message=message,
        real_weights=weights_are_real(graph),
        per_edge=graph.weight_dtype is not None and functions.send.own[1] in functions.send.reads,
        both=along == ("both",) and graph.directed,
        timed="iteration" in functions.send.extra,
        only_out=along == ("out",) or not graph.directed,
    )
    if shape.per_edge:
        check_signed_weights(graph, UNSIGNED_WEIGHTS)
    kernel = step_kernel(functions, shape)
    pg = run.place(_with_messages(spec, len(message.kinds)))
    # Column blocks are part of the placement, so they are built before the run begins.
    columns = _columns(pg, functions, shape, identity, along)
    engine = run.engine()
    supersteps = Supersteps(
        engine, pg, kernel, shape, first=first, identity=identity, along=along,
        keeps_messages=functions.combine is None, all_work=all_work, columns=columns,
    )  # fmt: skip
    operators = (functions.send, functions.combine, functions.apply)
    check = ValueCheck(
        spec.name, pg, engine, condition, first=first.values(), identity=identity, operators=operators,
        weighted=shape.per_edge, all_hear=supersteps.all_hear,
    )  # fmt: skip
    state = {name: values[0] if is_constant(values) else values for name, values in first.items()}
    agreed = (functions.meaning, condition, identity, along)
    facts = {"functions": repr(agreed), "state": state, "active": active}
    with run.checkpoints(engine, facts) as checkpoints:
        return supersteps.run(active, condition, check, spec.name, checkpoints)


def _with_messages(spec: AlgorithmSpec, numbers: int) -> AlgorithmSpec:
    """Return the spec of a program whose messages have several numbers."""
    if numbers > MAX_NUMBERS:
        name = f"{spec.name} with messages of more than {MAX_NUMBERS} numbers"
        return replace(spec, name=name, kinds=("cpu",))
    # Two buffers of messages and, for owned vertices, a combined message.
    more, state = numbers - 1, spec.state
    return replace(spec, state=StateBytes(state.vertex + (16 + 8) * more, state.mirror + 16 * more))


def _columns(
    pg: PartitionedGraph,
    functions: ProgramFunctions,
    shape: KernelShape,
    identity: Any,
    along: tuple[str, ...],
) -> tuple[list[ColumnBlocks | None], list[ColumnBlocks | None]]:
    """Return the column blocks in which GPUs read float32 messages: of in-edges, and of out-edges."""
    rows: list[ColumnBlocks | None] = [None] * len(pg.partitions)
    dtypes = message_dtypes(functions.fields.dtypes, shape.message.dtypes)
    float32 = shape.message.single and dtypes == [np.float32]
    if functions.combine is None or shape.per_edge or not float32:
        return rows, rows
    directed = pg.graph.directed
    reads_in = shape.both or not directed or "out" in along
    reads_out = shape.both or (directed and "in" in along)
    return (
        message_columns(pg, "in_", identity) if reads_in else rows,
        message_columns(pg, "out", identity) if reads_out else rows,
    )


def weights_are_real(graph: Graph) -> bool:
    """Return whether functions see weights as float64 instead of int64."""
    return graph.weight_dtype is not None and graph.weight_dtype.kind == "f"
