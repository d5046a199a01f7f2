"""Vertex programs on GPUs whose messages are tuples of numbers: the launches of one superstep."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from evener.kernels.kernel import Kernel, LinkedFile
from evener.programs.steps import message_dtypes
from evener.programs.vertex_kernels_gpu import (
    FIELDS,
    PLACE,
    PLACES,
    POINTERS,
    Step,
    linked,
    places_of,
    state_code,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.kernels.kernel import LinkedFunction
    from evener.programs.program_functions import ProgramFunctions
    from evener.programs.vertex_kernels_cpu import KernelShape
    from evener.programs.vertex_kernels_gpu import GpuArrays

__all__ = ["MAX_NUMBERS", "TUPLES", "TupleStep", "tuple_functions"]

TUPLES = f"{__package__}:vertex_tuples"
# Most numbers of a message; as in vertex_tuples.cu.
MAX_NUMBERS = 8

_TUPLE = ("float64*", "int64*")


class TupleStep(Step):
    """A step whose messages are tuples of numbers."""

    def __init__(self, functions: tuple[LinkedFunction, ...], key: str, shape: KernelShape) -> None:
        super().__init__(shape)
        self.files = (LinkedFile(TUPLES, key, functions),)
        self._combine, self._apply = (
            Kernel(cuda=self.files[0], name=name) for name in ("combine_tuples", "apply_tuples")
        )

    def _messages(self, own: GpuArrays, sent: Any) -> Any:
        return own.addresses(sent)

    def _gather(
        self, own: GpuArrays, near: Any, far: Any, nothing: Any, _dense: bool, works: Any,  # noqa: FBT001
        sent: Any, _fields: Any, place: Any,
    ) -> None:  # fmt: skip
        for again, rows in enumerate((near, far) if self._shape.both else (near,)):
            own.element.kernel(self._combine)(
                *rows[:4], own.addresses(nothing), *works, again, self._shape.per_edge,
                own.addresses(sent), *place, own.combined,
            )  # fmt: skip


def tuple_functions(
    program: ProgramFunctions, adapted: Sequence[Any], shape: KernelShape
) -> tuple[LinkedFunction, ...]:
    """Return the functions of a program for ``vertex_tuples.cu``.

    `adapted` has them with all their parameters.
    """
    kinds = shape.message.kinds
    old, change = state_code(program.fields)
    dtypes = [str(dtype) for dtype in message_dtypes(program.fields.dtypes, shape.message.dtypes)]
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
    )
    found = [
        (program.send, "numbers_of_message", "int64", ()),
        (program.send, "read_message", "int64", (*FIELDS, *_TUPLE)),
        (program.send, "write_message", "int64", (*FIELDS, *_TUPLE)),
        (program.send, "send_tuple", "int64", (*FIELDS, "float64", "int64", *PLACE, *_TUPLE)),
        (program.combine, "combine_tuple", "int64", (*_TUPLE, *_TUPLE)),
        (program.apply, "apply_tuple", "int64", (*FIELDS, *_TUPLE, *PLACE, "float64", "float64*")),
    ]
    return linked(program, adapted, text, found)
