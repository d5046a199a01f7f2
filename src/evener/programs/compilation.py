"""Compilation of kernels with operators, once for all processes that share a cache folder."""

from __future__ import annotations

import hashlib
from functools import lru_cache, partial
from itertools import accumulate
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numba
from numba import types

from evener.errors import ArgumentError
from evener.kernels.cpu import jit
from evener.kernels.cpu.work_queue import WORKERS
from evener.kernels.kernel import LinkedFunction
from evener.kernels.loops import has_loop
from evener.programs.kernel_cache import KernelCache
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
    "check_operators",
    "checked",
    "digest",
    "settled",
    "source_key",
    "user_kernel",
]

# Parameters that `combine2`, and `assign` and a predicate, may have after the first two.
MESSAGE_PARAMETERS = ("degree", "vertex", "n")
VALUE_PARAMETERS = (*MESSAGE_PARAMETERS, "total", "initial")
_PARAMETERS: tuple[tuple[str, ...], ...] = (MESSAGE_PARAMETERS, (), VALUE_PARAMETERS, VALUE_PARAMETERS)

# Ranks of a test are threads, which compile the same operators at the same time.
_lock = RLock()
_kernels: dict[str, Any] = {}
# Files whose code is part of every kernel with operators.
_OPERATOR_FILES = ("operators.py", "pure_functions.py", "outer_values.py", "payload.py")
_KERNEL_FILES = (
    "jit.py", "pipeline.py", "checked_integers.py", "work_queue.py", "atomics.py", "bits.py", "build.py",
    "threads.py", "bundle.py",
)  # fmt: skip
# Kernels and results of checks kept in memory; most kernels have one check.
_MAX_KERNELS = 128


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
        functions = []
        for name, extra in zip(self._fields, _PARAMETERS, strict=True):
            operator: Operator = getattr(self, name)
            parameters = (wide, wide, *(types[parameter] for parameter in extra))
            returns = "int64" if name == "until" else wide
            python = operator.fixed.adapter(extra)
            functions.append(LinkedFunction(f"{name}_{wide}", python, returns, parameters, operator.explain))
        return tuple(functions)


def check_operators(operators: Operators, *, real: bool) -> None:
    """Raise ArgumentError if an operator cannot be compiled for numbers or does not return a number."""

    def check() -> None:
        wide = types.float64 if real else types.int64
        extra = dict.fromkeys(MESSAGE_PARAMETERS, types.int64) | {"total": types.float64, "initial": wide}
        for operator in operators:
            returned = operator.returned((wide, wide), extra)
            if operator.name == "until":
                operator.check_truth(returned, "whether a vertex has converged")
            else:
                operator.check_number(returned, wide)

    checked(check, operators, f"types {real}")


def settled(given: Given, check: Callable[[Given], T]) -> tuple[Given, T]:
    """Return operators that compile, and the result of a check that compiles them.

    Some code needs a number as a constant, such as the position in a tuple of several types. If operators do
    not compile with their numbers as arguments, all numbers become constants. `given` is an operator, or a
    named tuple with operators.
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
    operators = {name: part for name, part in given._asdict().items() if isinstance(part, Operator)}
    return given._replace(**{name: operator.fixed for name, operator in operators.items()})


def user_kernel(
    make: Callable[..., Any],
    operators: Sequence[Operator | None],
    parameters: Sequence[Sequence[str]],
    *sources: Callable[..., Any],
    **variant: Any,
) -> Callable[..., Any]:
    """Return a kernel for CPUs with operators compiled into it.

    The kernel gets the numbers of the operators first; the returned function adds them.

    If an operator has a loop, which may not end, the kernel is `interruptible`, except with a threading layer
    of Numba that is not thread-safe.

    `make` returns the kernel, given the compiled operators and the `variant`, which is part of the key.
    For each operator, `parameters` names the values that the kernel passes after the first ones. The code of
    the kernel is in the file of `make`, and in those of the functions `sources`.
    """

    def build(cache: KernelCache) -> Any:
        firsts = [0, *accumulate(len(operator.numbers) if operator else 0 for operator in operators)]
        adapted = [
            operator.adapted(extra, first) if operator else None
            for operator, extra, first in zip(operators, parameters, firsts[:-1], strict=True)
        ]
        kernel = make(*adapted, **variant)
        kernel._cache = cache  # noqa: SLF001 - Numba has no public way
        return kernel

    variant_key = f"{make.__qualname__} {variant} {WORKERS}"
    key = digest(source_key(make, *sources), variant_key, *_codes(operators))
    given = [operator for operator in operators if operator]
    # Numba's parallel loops get no empty tuple.
    numbers = tuple(number for operator in given for number in operator.numbers) or (0,)
    called = partial(kernel_of(key, build), numbers)
    # Without a thread-safe layer, this thread holds the lock, and the kernel's thread would wait for it.
    if jit.THREAD_SAFE and any(has_loop(operator.function) for operator in given):
        return _interruptible(called)
    return called


def _interruptible(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Return an `interruptible` kernel whose parallel loops run on as many threads as its caller allows."""

    def on_threads(threads: int, *args: Any) -> Any:
        numba.set_num_threads(threads)  # Numba keeps the number for each thread
        return kernel(*args)

    interrupted = interruptible(on_threads)
    return lambda *args: interrupted(numba.get_num_threads(), *args)


def checked(
    check: Callable[[], object],
    operators: Iterable[Operator | None],
    variant: str,
    *sources: Callable[..., Any],
) -> str:
    """Return what `check` returns, as text.

    Processes that share a cache folder call `check` once for the code of the operators and a variant.
    """

    def build(cache: KernelCache) -> str:
        result = cache.checked
        if result is None:
            result = str(check())
            cache.mark_checked(result)
        return result

    return kernel_of(digest(source_key(check, *sources), variant, *_codes(operators)), build)


def _codes(operators: Iterable[Operator | None]) -> list[str]:
    return [operator.code if operator else "" for operator in operators]


def digest(*parts: str) -> str:
    """Return the key of several texts, as a part of a file name."""
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:32]


def kernel_of(key: str, build: Callable[[KernelCache], T]) -> T:
    """Return what `build` returns for a key, built at the first call in this process."""
    with _lock:
        if key not in _kernels:
            while len(_kernels) >= _MAX_KERNELS:
                del _kernels[next(iter(_kernels))]
            _kernels[key] = build(KernelCache(key))
        kernel: T = _kernels[key]
        return kernel


def source_key(*functions: Callable[..., Any]) -> str:
    """Return a key of the code that operators are compiled into, and of the files of functions."""
    return _source_key(tuple(function.__code__.co_filename for function in functions))


@lru_cache
def _source_key(files: tuple[str, ...]) -> str:
    folder = Path(__file__).parent
    paths = [folder / name for name in (*_OPERATOR_FILES, Path(__file__).name)]
    paths += [folder.parent / "kernels/cpu" / name for name in _KERNEL_FILES]
    contents = [path.read_bytes() for path in (*paths, *map(Path, files))]
    return hashlib.sha256(b"".join(contents)).hexdigest()
