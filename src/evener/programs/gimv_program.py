"""GIM-V as a vertex program in which all vertices work in every superstep.

Idea: `send` calls `combine2`. `apply` calls `assign`, and a vertex is active until `until` is true for it. If
an operator needs the value of `v0`, the state has each field twice, and the second one never changes.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from evener.errors import ArgumentError
from evener.programs.arguments import UNSIGNED_WEIGHTS, first_values
from evener.programs.compilation import MESSAGE_PARAMETERS, Operators, checked, settled
from evener.programs.mapreduce.compilation import Signature
from evener.programs.operators import read_operator
from evener.programs.payload import Fields, Payload, check_combined, state_class
from evener.programs.vertex_kernels_cpu import ProgramFunctions
from evener.programs.vertex_program import program_state
from evener.programs.vertex_run import (
    APPLY_PARAMETERS,
    SEND_PARAMETERS,
    check_fields,
    checked_message,
    run_functions,
    weights_are_real,
)
from evener.spec.algorithm import StateBytes
from evener.spec.arguments import check_signed_weights

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph
    from evener.programs.arguments import Condition
    from evener.programs.operators import Operator
    from evener.programs.supersteps import ProgramRun
    from evener.spec.run import Run

__all__ = ["checked_fields", "first_fields", "run_supersteps"]


def first_fields(v0: Mapping[str, ArrayLike], graph: Graph, condition: Condition) -> dict[str, NDArray[Any]]:
    """Return the first values of the fields that `v0` gives."""
    if not v0:
        msg = "v0=: expected at least one field, found an empty mapping"
        raise ArgumentError(msg)
    first = {name: first_values(values, graph, f"v0={{{name!r}: ...}}") for name, values in v0.items()}
    state_class(tuple(first), "v0=")  # checks the names
    if condition.tolerance is not None and all(values.dtype.kind != "f" for values in first.values()):
        msg = (
            "until=: a float is a sum of changes of floating-point fields, and v0= has only integers; give a "
            "number of iterations or a function"
        )
        raise ArgumentError(msg)
    return first


def checked_fields(
    graph: Graph, operators: Operators, first: Mapping[str, NDArray[Any]]
) -> tuple[Operators, Signature]:
    """Return operators that compile for values with fields, and what they see."""
    fields, real_weights = Fields.of(first), weights_are_real(graph)
    if operators.combine2.own[0] in operators.combine2.reads:
        check_signed_weights(graph, UNSIGNED_WEIGHTS)
    variant = f"fields {fields} {real_weights}"
    operators, payload = settled(
        operators,
        lambda own: checked(
            lambda: _checked(own, fields, real_weights=real_weights), own, variant, checked_message
        ),
    )
    return operators, Signature(fields.value, Payload.of_text(payload), real_weights)


def _checked(operators: Operators, fields: Fields, *, real_weights: bool) -> Payload:
    value, weight = fields.value.type, types.float64 if real_weights else types.int64
    extra = dict.fromkeys(MESSAGE_PARAMETERS, types.int64) | {"total": types.float64, "initial": value}
    message = checked_message(operators.combine2, (weight, value), extra)
    check_combined(operators.combine_all, message, "combine2")
    returned = operators.assign.returned((value, message.type), extra)
    expected = f"({', '.join(fields.names)},)"
    check_fields(operators.assign, returned, fields, expected=expected, returned=returned)
    is_met = operators.until.returned((value, value), extra)
    operators.until.check_truth(is_met, "whether a vertex has converged")
    return message


def run_supersteps(
    run: Run,
    operators: Operators,
    signature: Signature,
    *,
    first: Mapping[str, NDArray[Any]],
    identity: Any,
    condition: Condition,
) -> ProgramRun:
    """Place a graph and run GIM-V on it, in one superstep for each iteration.

    This is a collective operation; all ranks must call it. Arguments are those of `run_two_stages`.
    """
    constants: dict[str, NDArray[Any]] = {}
    if any("initial" in one.extra for one in operators):
        # These names are longer than those of the fields, so they differ from them.
        joined = "_".join(first)
        constants = {f"{joined}_{i}": values for i, values in enumerate(first.values())}
    values = {**first, **constants}
    functions = _functions(operators, Fields.of(values)._replace(changing=signature.value))
    state = program_state(len(first))
    more = 8 * len(constants)
    run.spec = replace(run.spec, state=StateBytes(state.vertex + more, state.mirror))
    return run_functions(
        run, functions, first=values, message=signature.message, identity=identity, condition=condition,
        real_weights=signature.real_weights, all_work=True,
    )  # fmt: skip


@lru_cache(maxsize=64)
def _functions(operators: Operators, fields: Fields) -> ProgramFunctions:
    """Return the functions of the vertex program."""
    single, count = fields.changing.single, len(fields.changing.kinds)

    def value(numbers: list[str]) -> str:
        return numbers[0] if single else f"({', '.join(numbers)},)"

    def call(operator: Operator, *own: str) -> str:
        return f"{operator.name}({', '.join([*own, *operator.extra, *numbers(operator)])})"

    def numbers(operator: Operator) -> list[str]:
        return [f"{operator.name}_{i}" for i in range(len(operator.numbers))]

    state = ["state"] if fields.state.single else [f"state[{i}]" for i in range(len(fields.names))]
    # A state keeps float32, and `until` compares states.
    given = ["x"] if single else [f"x[{i}]" for i in range(count)]
    kept = [
        f"np.int64({one})" if dtype == "int64" else f"np.float64(np.{dtype}({one}))"
        for one, dtype in zip(given, fields.dtypes, strict=False)
    ]
    combine2, _, assign, until = operators
    weight = "weight" if combine2.own[0] in combine2.reads else "1"
    sizes = " + ".join(f"abs(np.float64({one}))" for one in state[:count])
    text = (
        f"def send(state, weight, {', '.join(MESSAGE_PARAMETERS)}):\n"
        f"    return {call(combine2, weight, 'state')}\n"
        f"def aggregate(state):\n"
        f"    return {sizes}\n"
        f"def apply(state, message, {', '.join(APPLY_PARAMETERS)}):\n"
        f"    old, initial = {value(state[:count])}, {value(state[-count:])}\n"
        f"    x = {call(assign, 'old', 'message')}\n"
        f"    kept = {value(kept)}\n"
        f"    return kept, not {call(until, 'old', 'kept')}\n"
    )
    known = {one.name: one.compiled for one in operators} | {"np": np, "__name__": __name__}
    for one in operators:
        known |= zip(numbers(one), one.numbers, strict=True)
    exec(text, known)  # noqa: S102 - the text has numbers and names of parameters only
    return ProgramFunctions(
        fields,
        read_operator("combine2", known["send"], SEND_PARAMETERS),
        operators.combine_all,
        read_operator("assign", known["apply"], APPLY_PARAMETERS),
        read_operator("v0", known["aggregate"], SEND_PARAMETERS, own=1),
    )
