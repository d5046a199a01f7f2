"""Check the functions of a vertex program, and build its kernel, once per program."""

from __future__ import annotations

import hashlib
from collections import namedtuple
from functools import lru_cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numba import njit, typeof, types

from evener.errors import ArgumentError
from evener.kernels.cpu.jit import OPTIONS
from evener.kernels.cpu.work_queue import WORKERS
from evener.kernels.kernel import Kernel
from evener.programs.compilation import MESSAGE_PARAMETERS, kernel_of, lock, source_key
from evener.programs.kernel_cache import KernelCache
from evener.programs.operators import type_text
from evener.programs.vertex_kernels_cpu import Functions, Shape, make_step
from evener.programs.vertex_kernels_gpu import GpuStep, linked_functions

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.programs.operators import Operator

__all__ = ["APPLY_PARAMETERS", "SEND_PARAMETERS", "ProgramFunctions", "message_is_real", "step_kernel"]

# Parameters that `send` and `aggregate`, and `apply`, may have after their own.
SEND_PARAMETERS = (*MESSAGE_PARAMETERS, "iteration")
APPLY_PARAMETERS = (*SEND_PARAMETERS, "total")

_EXTRA = dict.fromkeys(SEND_PARAMETERS, types.int64) | {"total": types.float64}
_OWN_FILES = ("vertex_kernels_cpu.py", "vertex_kernels_gpu.py", "vertex_compilation.py", "operators.py")


# Whether the messages of programs are real, by the key of their functions.
_real: dict[str, bool] = {}


class ProgramFunctions(NamedTuple):
    """The checked functions of a program, and its fields.

    Attributes
    ----------
    names : tuple of str
        The fields of the state.
    dtypes : tuple of str
        The type of each field: "float32", "float64" or "int64".
    send, apply, aggregate : Operator
    combine : Operator or None
        None for the most frequent message.
    """

    names: tuple[str, ...]
    dtypes: tuple[str, ...]
    send: Operator
    combine: Operator | None
    apply: Operator
    aggregate: Operator

    @property
    def real(self) -> tuple[bool, ...]:
        """Whether functions see each field as float64 instead of int64."""
        return tuple(dtype != "int64" for dtype in self.dtypes)

    @property
    def key(self) -> str:
        """Identifies the functions and the fields."""
        functions = (self.send, self.combine, self.apply, self.aggregate)
        keys = [f"{one.key} {one.extra}" if one else "most_frequent" for one in functions]
        return " ".join([str(self.names), str(self.dtypes), *keys])


def message_is_real(functions: ProgramFunctions, *, real_weights: bool) -> bool:
    """Return whether `send` returns floating-point numbers, after it is compiled for the fields.

    Raises
    ------
    ArgumentError
        If `send` cannot be compiled, or does not return a number.
    """
    key = f"{functions.key} {real_weights}"
    with lock:
        if key not in _real:
            text = source_key(*_OWN_FILES) + key
            cache = KernelCache(f"send-{hashlib.sha256(text.encode()).hexdigest()[:32]}")
            found = cache.checked
            if found is None:
                weight = types.float64 if real_weights else types.int64
                returned = functions.send.returned(
                    (_state_type(functions.names, functions.real), weight), _EXTRA
                )
                functions.send.check_number(returned, types.float64)
                found = "real" if isinstance(returned, types.Float) else "integer"
                cache.mark_checked(found)
            _real[key] = found == "real"
        return _real[key]


def step_kernel(functions: ProgramFunctions, shape: Shape) -> Kernel:
    """Return the kernel of a superstep; its code is compiled, or loaded, at its first call.

    Its arguments are those of `evener.programs.vertex_kernels_cpu`, with two differences. The first one is
    `scratch`, or `GpuArrays` on a GPU. The rows `near` and `far` include the runs of rows, `blocks`.

    Raises
    ------
    ArgumentError
        If a function cannot be compiled or returns another type than it should.
    """
    text = "\n".join([source_key(*_OWN_FILES), f"{shape} {WORKERS}", functions.key])
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    return kernel_of(key, lambda cache: _build(functions, shape, key, cache))


def _build(functions: ProgramFunctions, shape: Shape, key: str, cache: KernelCache) -> Kernel:
    if cache.checked is None:
        _check_types(functions, real=shape.real)
        cache.mark_checked()
    load, store, distance = _state_functions(functions.names, functions.real)
    combine = functions.combine.adapted(()) if functions.combine else None
    adapted = Functions(
        load,
        store,
        distance,
        functions.send.adapted(SEND_PARAMETERS),
        combine,
        functions.apply.adapted(APPLY_PARAMETERS),
        functions.aggregate.adapted(SEND_PARAMETERS),
    )
    step = make_step(adapted, shape)
    step._cache = cache  # noqa: SLF001 - Numba has no public way

    def on_cpu(
        scratch: Any, first: bool, everyone: bool, near: Any, far: Any, fields: Any, sent: Any,  # noqa: FBT001
        next_sent: Any, nothing: Any, *others: Any,
    ) -> Any:  # fmt: skip
        return step(
            first, everyone, near[:3], far[:3], near[3], fields, sent, next_sent, nothing, scratch, *others
        )

    linked = linked_functions(functions, adapted, _state_class(functions.names), _apart, shape)
    return Kernel(cpu=on_cpu, cuda=GpuStep(linked, key, shape), name="vertex_program")


def _check_types(functions: ProgramFunctions, *, real: bool) -> None:
    state = _state_type(functions.names, functions.real)
    wide = types.float64 if real else types.int64
    if functions.combine is not None:
        functions.combine.check_number(functions.combine.returned((wide, wide), _EXTRA), wide)
    functions.aggregate.check_number(functions.aggregate.returned((state,), _EXTRA), types.float64)
    apply, fields = functions.apply, f"({', '.join(functions.names)},), active"
    returned = apply.returned((state, wide), _EXTRA)
    if (
        not isinstance(returned, types.BaseTuple)
        or len(returned) != 2
        or not isinstance(returned[0], types.BaseTuple)
        or len(returned[0]) != len(functions.names)
    ):
        found = f"{type_text(returned)} at {apply.where}"
        msg = f"apply: expected a function that returns ({fields}), found {found}"
        raise ArgumentError(msg)
    for field, is_real in zip(returned[0], functions.real, strict=True):
        apply.check_number(field, types.float64 if is_real else types.int64, f"({fields})")
    apply.check_number(returned[1], types.int64, f"({fields})")


@lru_cache(maxsize=64)
def _state_class(names: tuple[str, ...]) -> Any:
    try:
        return namedtuple("State", names)
    except ValueError as error:
        msg = f"state=: expected names of fields that are Python names: {error}"
        raise ArgumentError(msg) from error


def _state_type(names: tuple[str, ...], real: Sequence[bool]) -> types.Type:
    return typeof(_state_class(names)(*(0.0 if one else 0 for one in real)))


@lru_cache(maxsize=64)
def _state_functions(names: tuple[str, ...], real: tuple[bool, ...]) -> tuple[Any, Any, Any]:
    """Return functions that read a state from arrays, write it, and add up the changes of real fields."""
    known: dict[str, Any] = {"State": _state_class(names), "apart": _apart, "__name__": __name__}
    known |= {f"wide_{i}": np.float64 if one else np.int64 for i, one in enumerate(real)}
    values = ", ".join(f"wide_{i}(fields[{i}][v])" for i in range(len(names)))
    writes = "".join(f"    fields[{i}][v] = state[{i}]\n" for i in range(len(names)))
    changes = "".join(f" + apart(old[{i}], new[{i}])" for i, one in enumerate(real) if one)
    text = (
        f"def load(fields, v):\n    return State({values})\n"
        f"def store(fields, v, state):\n{writes}"
        f"def distance(old, new):\n    return 0.0{changes}\n"
    )
    exec(text, known)  # noqa: S102 - the text has numbers only
    options = dict(OPTIONS, fastmath=False, forceinline=True)
    load, store, distance = (njit(**options)(known[name]) for name in ("load", "store", "distance"))
    return load, store, distance


@njit(**dict(OPTIONS, fastmath=False, forceinline=True))  # type: ignore[untyped-decorator]
def _apart(old: float, new: float) -> float:
    return 0.0 if old == new else abs(old - new)
