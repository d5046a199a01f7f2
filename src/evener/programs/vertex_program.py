"""Vertex programs of the user: `VertexProgram` and `vertex_program`."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np

from evener.errors import ArgumentError, ConvergenceWarning
from evener.graph.checks import is_number, type_name
from evener.programs.algebra import can_be, identity_of
from evener.programs.arguments import first_values, stop_condition
from evener.programs.compilation import settled
from evener.programs.operators import read_operator
from evener.programs.payload import Fields
from evener.programs.steps import has_negative
from evener.programs.vertex_kernels_cpu import ProgramFunctions
from evener.programs.vertex_run import (
    APPLY_PARAMETERS,
    SEND_PARAMETERS,
    message_of,
    run_functions,
    weights_are_real,
)
from evener.spec.algorithm import AlgorithmSpec, Column, StateBytes, Traffic
from evener.spec.run import begin
from evener.spec.run_options import driver
from evener.system.caller import warn_caller

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Literal

    from numpy.typing import ArrayLike, NDArray

    from evener.engine.array import PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph
    from evener.programs.arguments import Condition
    from evener.programs.payload import Payload
    from evener.programs.supersteps import ProgramRun
    from evener.results.result import Result
    from evener.spec.run import Run
    from evener.spec.run_options import RunOptions

__all__ = [
    "VertexProgram",
    "columns_of",
    "program_spec",
    "program_state",
    "result_of",
    "run_program",
    "vertex_program",
]

MOST_FREQUENT = "most_frequent"


@dataclass(frozen=True, kw_only=True)
class VertexProgram:
    """An algorithm as functions of a vertex.

    Parameters
    ----------
    state : mapping of str to number or array of shape (n,)
        The first value of each field, in the order of ``graph.ids``. float32 and float64 are kept; integers
        and truth values become int64.
    send : function of (state, weight)
        Returns the message of a vertex along an edge: a number or a tuple of numbers. GPUs combine tuples of
        up to 8. ``state.NAME`` is a field. In a graph without weights, `weight` is 1. Further parameters may
        be named `degree` (out-edges of the vertex), `vertex` (its position in ``graph.ids``), `n` (number of
        vertices) and `iteration` (from 1 on).
    combine : function of (a, b), or "most_frequent"
        Returns one message for two; it is associative and commutative. "most_frequent" gives the message that
        most neighbours send, and the smallest of several.
    apply : function of (state, message)
        Returns ``(fields, active)``: the next fields as a tuple in the order of `state`, and whether the
        neighbours should work in the next superstep. Further parameters may be those of `send`, and `total`:
        the sum of `aggregate` before the superstep.
    along : {"out", "in", "both"} or tuple of them, default "out"
        Whether messages travel along edges, against them, or in both directions. With ``("out", "in")``, the
        direction changes in each superstep.
    active : array of bool of shape (n,), optional
        The vertices that are active at first. Default: all.
    identity : number or tuple of numbers, optional
        The message of a vertex without messages. Default: the identity of `combine`; -1 with
        "most_frequent".
    aggregate : function of (state), optional
        A number that is summed over all vertices before each superstep. It may have the further parameters of
        `send`.
    float32_above : float, optional
        GPUs send messages of float64 as float32 while all changes of fields sum to more than this multiple
        of the sum of `aggregate`. With 0, they may do so in the whole run. Use it for a program that ends
        with the same values from all first values. No message may be above the sum of `aggregate`.
        Default: functions get messages as `send` returns them.
    """

    state: Mapping[str, ArrayLike]
    send: Callable[..., Any]
    combine: Callable[[Any, Any], Any] | Literal["most_frequent"]
    apply: Callable[..., Any]
    along: str | tuple[str, ...] = "out"
    active: ArrayLike | None = None
    identity: float | tuple[float, ...] | None = None
    aggregate: Callable[..., Any] | None = None
    float32_above: float | None = None

    def agreed(self) -> dict[str, Any]:
        """Return the fields by name, which are equal on all ranks. The order of the state counts."""
        state = list(self.state.items()) if isinstance(self.state, Mapping) else self.state
        return {**vars(self), "state": state}


def program_spec(
    name: str, summary: str, columns: Sequence[Column], fields: int = 1, tables: float = 0, **others: Any
) -> AlgorithmSpec:
    """Return the spec of an algorithm that is a vertex program with so many fields.

    `tables` are the bytes for each vertex in which GPUs count messages.
    """
    return AlgorithmSpec(
        name=name,
        summary=summary,
        columns=tuple(columns),
        directions="both",
        reads_every_edge=True,
        state=program_state(fields, tables),
        host_state=StateBytes(4 * fields + 8, 8),
        traffic=Traffic(pushed=0.0, pulled=8.0),
        unit="a superstep",
        checkpoints=True,
        **others,
    )


def program_state(fields: int, tables: float = 0) -> StateBytes:
    """Return the bytes of a program with so many fields and `tables`, as for `program_spec`."""
    # Fields and two buffers of messages, or of fields if edges have weights, and a degree; on a GPU, also
    # a combined message and three bitmaps.
    return StateBytes(8 * fields + 16 * fields + 4 + 8 + 3 + tables, 16 * fields + 4 + 3)


_SPEC = program_spec(
    "vertex_program",
    "A vertex program of the user.",
    [],
    run="evener.programs.vertex_program:vertex_program",
)


@driver(_SPEC)
def vertex_program(
    graph: Graph | PartitionedGraph | str,
    program: VertexProgram,
    *,
    until: int | float | None = None,
    max_iter: int = 1000,
    **options: Unpack[RunOptions],
) -> Result:
    """Return the states of all vertices after a vertex program.

    In each superstep, a vertex works if it is active or has an active neighbour that sends to it. It combines
    the messages of all neighbours that send to it, active or inactive, and applies the result to its state.

    Parameters
    ----------
    graph : Graph, PartitionedGraph or str
    program : VertexProgram
    until : int or float, optional
        An integer is the number of supersteps. A float also stops below this sum of all absolute changes of
        floating-point fields. Default: until no vertex is active.
    max_iter : int, default 1000
        The largest number of supersteps if `until` is no integer.

    Returns
    -------
    Result
        An array for each field: shape (n,), or the values of the rank's block of vertices with several ranks.
        `outcome` has ``iterations`` and ``converged``. If `until` is an integer, ``converged`` says whether
        no vertex is active after the last superstep.

    Warns
    -----
    ConvergenceWarning
        If vertices are still active after `max_iter` supersteps.

    Raises
    ------
    ArgumentError
        If a function is not a pure function of numbers, cannot be compiled, returns another type or raises an
        exception. If random values show that `combine` is not associative or commutative. If a field becomes
        NaN. If a field becomes infinite, and neither `state`, weights, functions nor the identity of a vertex
        without messages have this infinity. If a field is infinite, and a sum of other numbers may exceed the
        largest number.
    MpiError
        If ranks have different programs.

    Examples
    --------
    The distance from vertex 0, in edges:

    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 1, 0], [1, 2, 3], n=5)
    >>> program = ev.VertexProgram(
    ...     state={"distance": [0.0] + 4 * [float("inf")]},
    ...     send=lambda state, weight: state.distance + 1,
    ...     combine=min,
    ...     apply=lambda state, message: ((min(state.distance, message),), message < state.distance),
    ...     active=[True, False, False, False, False],
    ... )
    >>> ev.vertex_program(g, program)["distance"].tolist()
    [0.0, 1.0, 2.0, 1.0, inf]
    """
    condition = stop_condition(until, max_iter, functions=False)
    run = begin(_SPEC, graph, options)
    found = run_program(run, program, condition)
    return result_of(run, found, found.fields, {"until": until}, columns_of(found))


def run_program(
    run: Run, program: VertexProgram, condition: Condition, *, all_work: bool = False
) -> ProgramRun:
    """Run a program until a condition is met. Errors are those of `vertex_program`.

    This is a collective operation; all ranks must call it. If `all_work`, all vertices work in each
    superstep, active or not.
    """
    if not isinstance(program, VertexProgram):
        msg = f"{run.spec.name}: expected a VertexProgram, found {type_name(program)}"
        raise ArgumentError(msg)
    along = tuple(program.along) if isinstance(program.along, list | tuple) else (program.along,)
    if along != ("both",) and not (along and set(along) <= {"out", "in"}):
        msg = f'along=: expected "out", "in", "both" or a tuple of "out" and "in", found {program.along!r}'
        raise ArgumentError(msg)
    first = _first_fields(program, run.graph)
    functions = _functions(program, first)
    real_weights = weights_are_real(run.graph)
    functions, message = settled(functions, lambda own: message_of(own, real_weights=real_weights))
    negative = any(map(has_negative, first.values()))
    return run_functions(
        run, functions, first=first, message=message, along=along, condition=condition,
        real_weights=real_weights,
        identity=_identity(program, functions, message, negative=negative),
        active=_first_active(program.active, run.graph), all_work=all_work,
        float32_above=_least_change(program.float32_above),
    )  # fmt: skip


def columns_of(found: ProgramRun) -> list[Column]:
    """Return the columns of a result that has the fields of a run."""
    return [Column(name, real=array.dtype.kind == "f") for name, array in found.fields.items()]


def result_of(
    run: Run,
    found: ProgramRun,
    arrays: Mapping[str, PartitionedArray | Callable[[], NDArray[Any]]],
    parameters: Mapping[str, Any],
    columns: Sequence[Column] | None = None,
) -> Result:
    """Return the result of a run; warn if it has not converged. Default of `columns`: those of the spec."""
    result = run.finish(
        found.engine, arrays, columns=columns, parameters=parameters, edges=found.edges, passes=found.passes,
        outcome={"iterations": found.iterations, "converged": found.converged},
    )  # fmt: skip
    condition = found.condition
    if not found.converged and not condition.fixed:
        msg = (
            f"{run.spec.name} did not converge in {found.iterations} iterations: expected {condition.text}; "
            f"{condition.remedy}"
        )
        warn_caller(msg, ConvergenceWarning)
    return result


def _first_fields(program: VertexProgram, graph: Graph) -> dict[str, NDArray[Any]]:
    if not isinstance(program.state, Mapping) or not program.state:
        msg = f"state=: expected a mapping of names to first values, found {program.state!r}"
        raise ArgumentError(msg)
    return {
        name: first_values(values, graph, f"state={{{name!r}: ...}}")
        for name, values in program.state.items()
    }


def _functions(program: VertexProgram, first: Mapping[str, NDArray[Any]]) -> ProgramFunctions:
    combine = program.combine
    if isinstance(combine, str) and combine != MOST_FREQUENT:
        msg = f'combine=: expected a function or "most_frequent", found {combine!r}'
        raise ArgumentError(msg)
    return ProgramFunctions(
        Fields.of(first),
        read_operator("send", program.send, SEND_PARAMETERS),
        None if isinstance(combine, str) else read_operator("combine", combine, (), reorder=True),
        read_operator("apply", program.apply, APPLY_PARAMETERS),
        read_operator("aggregate", program.aggregate or _nothing, SEND_PARAMETERS, own=1),
    )


def _identity(
    program: VertexProgram, functions: ProgramFunctions, message: Payload, *, negative: bool
) -> Any:
    """Return the message of a vertex without messages."""
    if functions.combine is not None:
        return identity_of(functions.combine, program.identity, message, negative=negative)
    given: Any = -1 if program.identity is None else program.identity
    if not can_be(message.kinds, given):
        msg = f"identity=: expected a number of the type of the messages, found {given!r}"
        raise ArgumentError(msg)
    return given


def _first_active(active: ArrayLike | None, graph: Graph) -> NDArray[np.bool_] | None:
    if active is None:
        return None
    values = np.asarray(active)
    if values.dtype != np.bool_ or values.shape != (graph.n,):
        found = f"{values.dtype} of shape {values.shape}"
        msg = f"active=: expected truth values of shape ({graph.n},), found {found}"
        raise ArgumentError(msg)
    return values


def _least_change(given: Any) -> float | None:
    """Return `VertexProgram.float32_above`; raise an error unless it is a number of at least 0, or None."""
    if given is not None and not (is_number(given) and 0 <= given < math.inf):
        msg = f"float32_above=: expected a finite number of at least 0, found {given!r}"
        raise ArgumentError(msg)
    return None if given is None else float(given)


def _nothing(state: Any) -> Any:  # noqa: ARG001 - the parameter of every `aggregate`
    return 0
