"""Compilation of GIM-V's kernels with operators, once for all processes that share a cache folder."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, NamedTuple, TypeVar

import numpy as np
from numba import types

from evener.kernels.cpu.work_queue import WORKERS
from evener.kernels.kernel import Kernel, LinkedFunction
from evener.programs import kernels_gpu
from evener.programs.kernel_cache import KernelCache
from evener.programs.kernels_cpu import make_iterate

if TYPE_CHECKING:
    from collections.abc import Callable

    from evener.programs.operators import Operator

    T = TypeVar("T")

__all__ = [
    "MESSAGE_PARAMETERS",
    "VALUE_PARAMETERS",
    "Operators",
    "check_types",
    "iterate_kernel",
    "kernel_of",
    "lock",
    "source_key",
]

# Parameters that `combine2`, and `assign` and a predicate, may have after the first two.
MESSAGE_PARAMETERS = ("degree", "vertex", "n")
VALUE_PARAMETERS = (*MESSAGE_PARAMETERS, "total", "initial")
_PARAMETERS: tuple[tuple[str, ...], ...] = (MESSAGE_PARAMETERS, (), VALUE_PARAMETERS, VALUE_PARAMETERS)

# Ranks of a test are threads, which compile the same operators at the same time.
lock = RLock()
_kernels: dict[str, Any] = {}
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
            python = operator.adapter(extra)
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
    names = [*(one.key for one in operators), *(" ".join(one.extra) for one in operators)]
    text = "\n".join([source_key("kernels_cpu.py", "operators.py"), f"{real} {per_edge} {WORKERS}", *names])
    key = hashlib.sha256(text.encode()).hexdigest()[:32]
    return kernel_of(key, lambda cache: _build(operators, key, cache, real=real, per_edge=per_edge))


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
    """Return a key of the code that operators are compiled into: files of this folder, and files they use."""
    folder = Path(__file__).parent
    shared = [folder.parent / "kernels/cpu" / name for name in ("jit.py", "work_queue.py")]
    contents = [path.read_bytes() for path in (*(folder / name for name in files), *shared)]
    return hashlib.sha256(b"".join(contents)).hexdigest()


def _build(operators: Operators, key: str, cache: KernelCache, *, real: bool, per_edge: bool) -> Kernel:
    if cache.checked is None:
        check_types(operators, real=real)
        cache.mark_checked()
    adapted = [one.adapted(extra) for one, extra in zip(operators, _PARAMETERS, strict=True)]
    iterate = make_iterate(np.float64 if real else np.int64, *adapted, per_edge=per_edge)
    iterate._cache = cache  # noqa: SLF001 - Numba has no public way

    def on_cpu(_element: Any, _columns: Any, _owned: int, *args: Any) -> Any:
        return iterate(*args)

    on_gpu = kernels_gpu.make_iterate(operators.linked(real=real), key, per_edge=per_edge)
    return Kernel(cpu=on_cpu, cuda=on_gpu, name="gimv")


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
