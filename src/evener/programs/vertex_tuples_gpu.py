"""Vertex programs on GPUs whose messages are tuples of numbers: the launches of one superstep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.kernel import Kernel, LinkedFile, LinkedFunction
from evener.programs.payload import apart
from evener.programs.steps import message_dtypes
from evener.programs.vertex_kernels_gpu import FIELDS, PLACE, PLACES, POINTERS, places_of, state_code

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.programs.program_functions import ProgramFunctions
    from evener.programs.vertex_kernels_cpu import Functions, Shape
    from evener.programs.vertex_kernels_gpu import GpuArrays

__all__ = ["MAX_NUMBERS", "TUPLES", "TupleStep", "tuple_functions"]

TUPLES = f"{__package__}:vertex_tuples"
# Most numbers of a message; as in vertex_tuples.cu.
MAX_NUMBERS = 8

_TUPLE = ("float64*", "int64*")


class TupleStep:
    """A function of a GPU that does the work of `GpuStep` for messages that are tuples."""

    def __init__(self, functions: tuple[LinkedFunction, ...], key: str, shape: Shape) -> None:
        self.files = (LinkedFile(TUPLES, key, functions),)
        self._shape = shape
        self._combine, self._apply = (
            Kernel(cuda=self.files[0], name=name) for name in ("combine_tuples", "apply_tuples")
        )

    def __call__(
        self, own: GpuArrays, _dense: bool, first: bool, everyone: bool, near: Any, far: Any,  # noqa: FBT001
        fields: Any, sent: Any, next_sent: Any, nothing: Any, degree: Any, vertices: Any, n: int,
        iteration: int, total: float, scheduled: Any, active: Any,
    ) -> Any:  # fmt: skip
        """Launch the kernels of a superstep."""
        shape, place = self._shape, (degree, vertices, n, iteration)
        for again, rows in enumerate(() if first else (near, far) if shape.both else (near,)):
            own.element.kernel(self._combine)(
                *rows[:4], own.addresses(nothing), everyone, scheduled, again, shape.per_edge,
                own.addresses(sent), *place, own.combined,
            )  # fmt: skip
        result = own.element.kernel(self._apply)(
            first, everyone, shape.per_edge, shape.timed, scheduled, near[0], far[0], shape.both,
            own.combined, own.addresses(fields), *place, total, own.addresses(sent),
            own.addresses(next_sent), active,
        )  # fmt: skip
        if shape.per_edge:
            for field, target in zip(fields, next_sent, strict=True):
                target[: len(field)] = field
        return result


def tuple_functions(
    program: ProgramFunctions, adapted: Functions, state: Any, shape: Shape
) -> tuple[LinkedFunction, ...]:
    """Return the functions of a program for ``vertex_tuples.cu``.

    `adapted` has them with all their parameters, and `state` is the named tuple of the fields.
    """
    known: dict[str, Any] = {"State": state, "np": np, "apart": apart, "__name__": __name__}
    known |= adapted._asdict()
    kinds = shape.message.kinds
    old, change = state_code(program)
    dtypes = [str(dtype) for dtype in message_dtypes(program.dtypes, shape.message.dtypes)]
    in_memory = places_of(dtypes)

    def words(of: str) -> list[str]:
        return [f"{of}_{'reals' if kind == 'f' else 'integers'}[{k}]" for k, kind in enumerate(kinds)]

    def written(of: str, numbers: Sequence[str]) -> str:
        types = ["np.float64" if kind == "f" else "np.int64" for kind in kinds]
        steps = zip(words(of), types, numbers, strict=True)
        return "".join(f"    {word} = {wide}({number})\n" for word, wide, number in steps)

    a, b, own = (", ".join(words(of)) for of in ("a", "b", "message"))
    numbers = [f"x[{k}]" for k in range(len(kinds))]
    stores = "".join(
        f"    {place} = np.{dtype}({word})\n"
        for place, dtype, word in zip(in_memory, dtypes, words("message"), strict=True)
    )
    weight = "real_weight" if shape.real_weights else "weight"
    text = (
        f"def numbers_of_message():\n"
        f"    return {len(kinds)}\n"
        f"def read_message({POINTERS}, message_reals, message_integers):\n"
        f"{written('message', in_memory)}"
        f"    return 0\n"
        f"def write_message({POINTERS}, message_reals, message_integers):\n{stores}"
        f"    return 0\n"
        f"def send_tuple({POINTERS}, real_weight, weight, {PLACES}, message_reals, message_integers):\n"
        f"    x = send({old}, {weight}, {PLACES})\n{written('message', numbers)}"
        f"    return 0\n"
        f"def combine_tuple(a_reals, a_integers, b_reals, b_integers):\n"
        f"    x = combine(({a},), ({b},))\n{written('a', numbers)}"
        f"    return 0\n"
        f"def apply_tuple({POINTERS}, message_reals, message_integers, {PLACES}, total, change):\n"
        f"    old = {old}\n"
        f"    state, active = apply(old, ({own},), {PLACES}, total)\n{change}"
        f"    return 1 if active else 0\n"
        f"def aggregate_({POINTERS}, {PLACES}):\n"
        f"    return aggregate({old}, {PLACES})\n"
    )
    exec(text, known)  # noqa: S102 - the text has numbers only
    found = [
        (program.send, "numbers_of_message", ()),
        (program.send, "read_message", (*FIELDS, *_TUPLE)),
        (program.send, "write_message", (*FIELDS, *_TUPLE)),
        (program.send, "send_tuple", (*FIELDS, "float64", "int64", *PLACE, *_TUPLE)),
        (program.combine, "combine_tuple", (*_TUPLE, *_TUPLE)),
        (program.apply, "apply_tuple", (*FIELDS, *_TUPLE, *PLACE, "float64", "float64*")),
    ]
    functions = [
        LinkedFunction(name, known[name], "int64", parameters, operator.explain)
        for operator, name, parameters in found
        if operator is not None
    ]
    explain = program.aggregate.explain
    own_size = LinkedFunction("aggregate", known["aggregate_"], "float64", (*FIELDS, *PLACE), explain)
    return (*functions, own_size)
