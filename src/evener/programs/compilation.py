"""Compilation of GIM-V's kernels with operators, once for all processes that share a cache folder."""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numba import types

from evener.errors import ArgumentError
from evener.kernels.cpu.work_queue import WORKERS
from evener.kernels.kernel import Kernel, LinkedFunction
from evener.kernels.loops import has_loop
from evener.programs import kernels_gpu
from evener.programs.kernel_cache import KernelCache
from evener.programs.kernels_cpu import make_iterate
from evener.programs.operators import Operator
from evener.system.interruption import interruptible

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    T = TypeVar("T")
    Given = TypeVar("Given")

__all__ = [
    "MESSAGE_PARAMETERS",
    "VALUE_PARAMETERS",
    "Operators",
    "adapted_operators",
    "check_types",
    "digest",
    "iterate_kernel",
    "kernel_of",
    "lock",
    "settled",
    "source_key",
    "with_numbers",
]

# Parameters that `combine2`, and `assign` and a predicate, may have after the first two.
MESSAGE_PARAMETERS = ("degree", "vertex", "n")
VALUE_PARAMETERS = (*MESSAGE_PARAMETERS, "total", "initial")
_PARAMETERS: tuple[tuple[str, ...], ...] = (MESSAGE_PARAMETERS, (), VALUE_PARAMETERS, VALUE_PARAMETERS)

# Ranks of a test are threads, which compile the same operators at the same time.
lock = RLock()
_kernels: dict[str, Any] = {}
# Files whose code is part of every operator.
_OPERATOR_FILES = ("operators.py", "pure_functions.py", "outer_names.py", "outer_values.py")
# Kernels kept in memory.
_MAX_KERNELS = 64


class Operators(NamedTuple):
    """The checked operators of a run."""

    combine2: Operator
    combine_all: Operator
    assign: Operator
    until: Operator

    def linked(self, *, real: bool) -> tuple[LinkedFunction, ...]:
        """Return the operators as functions for the ``.cu`` files: see operators.cuh."""
        wide = "float64" if real else "int64"
        types = dict.fromkeys(MESSAGE_PARAMETERS, "int64") | {"total": "float64", "initial": wide}
        found = []
        for name, extra in zip(self._fields, _PARAMETERS, strict=True):
            operator: Operator = getattr(self, name)
            parameters = (wide, wide, *(types[parameter] for parameter in extra))
            returns = "int64" if name == "until" else wide
            python = operator.fixed.adapter(extra)
            found.append(LinkedFunction(f"{name}_{wide}", python, returns, parameters, operator.explain))
        return tuple(found)


def iterate_kernel(operators: Operators, *, real: bool, per_edge: bool) -> Kernel:
    """Return the kernel of an iteration; its code is compiled, or loaded, at its first call.

    Its first three arguments, before those of `evener.programs.kernels_cpu`, are for GPUs: the element, its
    column blocks or None, and the number of owned vertices.

    Parameters
    ----------
    operators : Operators
    real : bool
        Whether operators see float64 instead of int64.
    per_edge : bool
        Whether `combine2` is called for each edge.

    Raises
    ------
    ArgumentError
        If an operator cannot be compiled or does not return a number.
    """
    variant = f"{real} {per_edge} {WORKERS}"
    key = digest(source_key("kernels_cpu.py"), variant, *(one.code for one in operators))
    iterate = kernel_of(key, lambda cache: _build(operators, cache, real=real, per_edge=per_edge))
    iterate = with_numbers(iterate, operators)

    def on_cpu(_element: Any, _columns: Any, _owned: int, *args: Any) -> Any:
        return iterate(*args)

    @lru_cache(maxsize=1)
    def gpu_kernels() -> Callable[..., Any]:
        gpu_key = digest(key, *(one.meaning for one in operators))
        return kernels_gpu.make_iterate(operators.linked(real=real), gpu_key, per_edge=per_edge)

    return Kernel(cpu=on_cpu, cuda=lambda *args: gpu_kernels()(*args), name="gimv")


def settled(given: Given, check: Callable[[Given], T]) -> tuple[Given, T]:
    """Return operators that compile, and the result of a check that compiles them.

    Some code needs a number as a constant, such as the position in a tuple of several types. If operators do
    not compile with their numbers as arguments, all numbers become constants.

    Parameters
    ----------
    given : Operator, or named tuple with operators
    check : callable

    Raises
    ------
    ArgumentError
        If the operators do not compile with their numbers as constants either.
    """
    try:
        return given, check(given)
    except ArgumentError:
        fixed = _fixed(given)
        if fixed == given:
            raise
    return fixed, check(fixed)


def _fixed(given: Any) -> Any:
    """Return operators with their numbers as constants."""
    if isinstance(given, Operator):
        return given.fixed
    return given._replace(
        **{name: one.fixed for name, one in given._asdict().items() if isinstance(one, Operator)}
    )


def with_numbers(kernel: Callable[..., Any], operators: Iterable[Operator | None]) -> Callable[..., Any]:
    """Return a kernel that gets the numbers of all operators first.

    If an operator has a loop, which may not end, the kernel is `interruptible`.
    """
    own = [one for one in operators if one]
    # Numba's parallel loops get no empty tuple.
    numbers = tuple(number for one in own for number in one.numbers) or (0,)
    called = partial(kernel, numbers)
    return interruptible(called) if any(has_loop(one.python) for one in own) else called


def adapted_operators(operators: Sequence[Operator | None], parameters: Sequence[Sequence[str]]) -> list[Any]:
    """Return the operators with all their parameters, compiled for kernels `with_numbers`."""
    counts = [len(one.numbers) if one else 0 for one in operators]
    firsts = [0, *accumulate(counts)]
    return [
        one.adapted(extra, first) if one else None
        for one, extra, first in zip(operators, parameters, firsts[:-1], strict=True)
    ]


def digest(*parts: str) -> str:
    """Return the key of several texts, as a part of a file name."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def kernel_of(key: str, build: Callable[[KernelCache], T]) -> T:
    """Return what `build` returns for a key, built at the first call in this process."""
    with lock:
        if key not in _kernels:
            while len(_kernels) >= _MAX_KERNELS:
                del _kernels[next(iter(_kernels))]
            _kernels[key] = build(KernelCache(key))
        kernel: T = _kernels[key]
        return kernel


@lru_cache
def source_key(*files: str) -> str:
    """Return a key of the code that operators are compiled into: files of this folder, and files they use.

    The files that all operators use are always included.
    """
    folder = Path(__file__).parent
    shared = [
        folder.parent / "kernels/cpu" / name
        for name in ("jit.py", "pipeline.py", "checked_integers.py", "work_queue.py")
    ]
    contents = [
        path.read_bytes() for path in (*(folder / name for name in (*_OPERATOR_FILES, *files)), *shared)
    ]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def _build(operators: Operators, cache: KernelCache, *, real: bool, per_edge: bool) -> Any:
    if cache.checked is None:
        check_types(operators, real=real)
        cache.mark_checked()
    adapted = adapted_operators(operators, _PARAMETERS)
    iterate = make_iterate(np.float64 if real else np.int64, *adapted, per_edge=per_edge)
    iterate._cache = cache  # noqa: SLF001 - Numba has no public way
    return iterate


def check_types(operators: Operators, *, real: bool) -> None:
    """Raise ArgumentError if an operator cannot be compiled or does not return a number."""
    wide = types.float64 if real else types.int64
    extra = dict.fromkeys(MESSAGE_PARAMETERS, types.int64) | {"total": types.float64, "initial": wide}
    for operator in operators:
        returned = operator.returned((wide, wide), extra)
        if operator.name == "until":
            operator.check_truth(returned, "whether a vertex has converged")
        else:
            operator.check_number(returned, wide)
