"""GIM-V with values of several fields: a vertex program in which all vertices work in every superstep.

Idea: `send` calls `combine2`. `apply` calls `assign`, and a vertex is active until `until` is true for it. If
an operator needs the value of `v0`, the state has each field twice, and the second one never changes.
MapReduce calls the operators themselves.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import types

from evener.errors import ArgumentError
from evener.programs.algebra import identity_of
from evener.programs.arguments import UNSIGNED_WEIGHTS, first_values
from evener.programs.compilation import MESSAGE_PARAMETERS, Operators, checked, settled
from evener.programs.mapreduce.compilation import Signature
from evener.programs.mapreduce.gimv import run_two_stages
from evener.programs.operators import read_operator
from evener.programs.payload import Fields, Payload, check_combined, state_class
from evener.programs.steps import has_negative
from evener.programs.vertex_kernels_cpu import ProgramFunctions
from evener.programs.vertex_program import program_spec
from evener.programs.vertex_run import (
    APPLY_PARAMETERS,
    SEND_PARAMETERS,
    check_fields,
    checked_message,
    run_functions,
    weights_are_real,
)
from evener.spec.arguments import check_signed_weights

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Literal

    from numpy.typing import ArrayLike

    from evener.programs.arguments import Condition
    from evener.programs.operators import Operator
    from evener.programs.supersteps import ProgramRun
    from evener.spec.run import Run

__all__ = ["run_fields"]


def run_fields(
    run: Run,
    operators: Operators,
    *,
    v0: Mapping[str, ArrayLike],
    identity: Any,
    condition: Condition,
    engine: Literal["fused", "mapreduce"],
) -> ProgramRun:
    """Return a run of GIM-V, with the fields of the values.

    This is a collective operation; all ranks must call it. Other arguments are those of `evener.gimv`.
    """
    if not v0:
        msg = "v0=: expected at least one field, found an empty mapping"
        raise ArgumentError(msg)
    first = {name: first_values(values, run.graph, f"v0={{{name!r}: ...}}") for name, values in v0.items()}
    fields = Fields.of(first)
    state_class(fields.names, "v0=")  # checks the names
    if condition.tolerance is not None and "f" not in fields.value.kinds:
        msg = (
            "until=: a float is a sum of changes of floating-point fields, and v0= has only integers; give a "
            "number of iterations or a function"
        )
        raise ArgumentError(msg)
    real_weights = weights_are_real(run.graph)
    if operators.combine2.own[0] in operators.combine2.reads:
        check_signed_weights(run.graph, UNSIGNED_WEIGHTS)
    variant = f"fields {fields} {real_weights}"
    operators, payload = settled(
        operators,
        lambda own: checked(
            lambda: _checked(own, fields, real_weights=real_weights), own, variant, checked_message
        ),
    )
    message = Payload.of_text(payload)
    negative = any(map(has_negative, first.values()))
    unit = identity_of(operators.combine_all, identity, message, negative=negative)
    if engine == "mapreduce":
        return run_two_stages(
            run, operators, Signature(fields.value, message, real_weights), first=first, identity=unit,
            condition=condition,
        )  # fmt: skip
    keeps_initial = any("initial" in one.extra for one in operators)
    functions = _functions(operators, fields, keeps_initial=keeps_initial)
    spec = run.spec
    run.spec = replace(
        program_spec(spec.name, spec.summary, [], fields=len(functions.fields.names), run=spec.run),
        directions=spec.directions,
        unit=spec.unit,
    )
    values = first | dict(zip(functions.fields.names[len(first) :], first.values(), strict=keeps_initial))
    found = run_functions(
        run, functions, first=values, message=message, identity=unit, condition=condition, all_work=True
    )
    return found._replace(fields={name: found.fields[name] for name in fields.names})


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


def _functions(operators: Operators, fields: Fields, *, keeps_initial: bool) -> ProgramFunctions:
    """Return the functions of the vertex program."""
    count = len(fields.names)

    def value(of: str, first: int = 0) -> str:
        return f"({' '.join(f'{of}[{first + i}],' for i in range(count))})"

    def call(operator: Operator, *own: str) -> str:
        return f"{operator.name}({', '.join([*own, *operator.extra, *numbers(operator)])})"

    def numbers(operator: Operator) -> list[str]:
        return [f"{operator.name}_{i}" for i in range(len(operator.numbers))]

    # A state keeps float32, and `until` compares states.
    kept = [
        f"np.int64(x[{i}])" if dtype == "int64" else f"np.float64(np.{dtype}(x[{i}]))"
        for i, dtype in enumerate(fields.dtypes)
    ]
    # These names are longer than those of the fields, so they differ from them.
    joined = "_".join(fields.names)
    more = tuple(f"{joined}_{i}" for i in range(count)) if keeps_initial else ()
    kept += [f"state[{count + i}]" for i in range(len(more))]
    combine2, _, assign, until = operators
    weight = "weight" if combine2.own[0] in combine2.reads else "1"
    sizes = " + ".join(f"abs(np.float64(state[{i}]))" for i in range(count))
    text = (
        f"def send(state, weight, {', '.join(MESSAGE_PARAMETERS)}):\n"
        f"    return {call(combine2, weight, value('state'))}\n"
        f"def aggregate(state):\n"
        f"    return {sizes}\n"
        f"def apply(state, message, {', '.join(APPLY_PARAMETERS)}):\n"
        f"    old = {value('state')}\n"
        f"    initial = {value('state', len(more))}\n"
        f"    x = {call(assign, 'old', 'message')}\n"
        f"    kept = ({', '.join(kept)},)\n"
        f"    return kept, not {call(until, 'old', value('kept'))}\n"
    )
    known = {one.name: one.compiled for one in operators} | {"np": np, "__name__": __name__}
    for one in operators:
        known |= zip(numbers(one), one.numbers, strict=True)
    exec(text, known)  # noqa: S102 - the text has numbers and names of parameters only
    return ProgramFunctions(
        Fields((*fields.names, *more), fields.dtypes * (2 if more else 1)),
        read_operator("combine2", known["send"], SEND_PARAMETERS),
        operators.combine_all,
        read_operator("assign", known["apply"], APPLY_PARAMETERS),
        read_operator("v0", known["aggregate"], SEND_PARAMETERS, own=1),
    )
