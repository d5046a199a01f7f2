"""Decorators that compile CPU kernels, `parallel` and `serial`, and functions that kernels call."""

from __future__ import annotations

import contextlib
import ctypes
import hashlib
import os
from functools import cached_property, wraps
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any

import numba
from numba import njit
from numba.core.caching import FunctionCache, NullCache
from numba.core.runtime import rtsys

from evener.kernels.compile_clock import compiles
from evener.kernels.cpu.bundle import current_bundle
from evener.kernels.cpu.pipeline import CheckedStepCompiler, KernelCompiler, StepCompiler
from evener.system.address_space import check_address_space
from evener.system.cache import cache_folder

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CACHE",
    "OPTIONS",
    "PARALLEL_LOCK",
    "THREAD_SAFE",
    "can_cache",
    "guarded",
    "inline_step",
    "inlined",
    "parallel",
    "serial",
    "uncached_parallel",
    "vertex_step",
]

check_address_space(numba.config.NUMBA_NUM_THREADS)

# OpenMP threads spin for milliseconds by default, which is slow if other programs use the same cores.
os.environ.setdefault("GOMP_SPINCOUNT", "1000")
# Prefer OpenMP: Numba's work queue is slower and not thread-safe. A choice of the user, and threads that
# Numba has already started, take precedence.
try:
    _layer = numba.threading_layer()
except ValueError:  # Numba has not started threads yet
    if numba.config.THREADING_LAYER == "default" and "NUMBA_THREADING_LAYER" not in os.environ:
        with contextlib.suppress(OSError):
            ctypes.CDLL("libgomp.so.1")
            numba.config.THREADING_LAYER = "omp"
    _layer = str(numba.config.THREADING_LAYER).lower()

# True if several threads may run parallel kernels at the same time. If false, Numba would end the process.
THREAD_SAFE = _layer in ("omp", "tbb", "threadsafe")

# Held by the thread that runs a parallel kernel, if `THREAD_SAFE` is false.
PARALLEL_LOCK = RLock()

# These flags let LLVM reorder sums, so that loops vectorise. `nnan` and `ninf` are missing, because an
# unreached vertex has the distance infinity.
_FASTMATH = {"reassoc", "contract", "arcp", "nsz"}


def can_cache(
    folder: Path, *, writable: Callable[[Path], bool] = lambda path: os.access(path, os.W_OK)
) -> bool:
    """Return true if Numba can cache compiled kernels.

    Numba writes them next to the source, to the user's cache folder, or to its CACHE_DIR. If it can write to
    none of them, Numba refuses to import a kernel with ``cache=True``.
    """
    places = [folder]
    cache = cache_folder()
    # Numba would use an empty or relative XDG_CACHE_HOME from the working directory; `cache_folder` does not.
    if cache is not None and Path(os.environ.get("XDG_CACHE_HOME", cache)) == cache:
        places.append(cache / "numba")
    if numba.config.CACHE_DIR:
        places.append(Path(numba.config.CACHE_DIR).absolute())
    existing = (next(path for path in (place, *place.parents) if path.exists()) for place in places)
    return any(map(writable, existing))


# True if compiled kernels are cached on disk.
CACHE = can_cache(Path(__file__).parent)

# The options of all kernels. `nogil` lets several elements run at the same time.
OPTIONS = {"nogil": True, "fastmath": _FASTMATH, "error_model": "numpy"}


class _UserCache(FunctionCache):  # type: ignore[misc] # Numba has no types
    """Numba's cache of a kernel, which loads compiled code without the tables of the compiler.

    Numba fills its tables of types and functions first, which imports SciPy and takes as long as ten kernels.
    """

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the cached code of a signature, or None."""
        with self._guard_against_spurious_io_errors():
            return self._load_overload(sig, target_context)


class _KernelCache:
    """The cache of a kernel: the files of the user if they can be written, and then the bundle."""

    def __init__(self, function: Any) -> None:
        self._function = function

    @cached_property
    def _user(self) -> Any:
        return _UserCache(self._function) if CACHE else NullCache()

    @property
    def cache_path(self) -> Any:
        """The folder of the user."""
        return self._user.cache_path

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled code of a signature, or None."""
        rtsys.initialize(target_context)  # the memory of arrays that kernels allocate
        found = self._user.load_overload(sig, target_context)
        if found is not None or not self._bundled or compiles():  # a bundle has no code to link
            return found
        return current_bundle().load(self._name(sig), target_context)

    def save_overload(self, sig: Any, result: Any) -> None:
        """Write the compiled code of a signature, unless it has addresses of this process."""
        if result.library.has_dynamic_globals:
            return
        self._user.save_overload(sig, result)
        if self._bundled:
            current_bundle().save(self._name(sig), result)

    @property
    def _bundled(self) -> bool:
        """Whether a bundle may have the kernel. Its name depends on the code of this package only."""
        return self._function.__module__.startswith("evener.") and self._function.__closure__ is None

    def _name(self, sig: Any) -> str:
        function = self._function
        facts = function.__module__, function.__qualname__, function.__code__.co_code, sig
        return hashlib.sha256(repr(facts).encode()).hexdigest()[:32]


def _kernel(function, **options):
    return njit(**OPTIONS, **options, no_cfunc_wrapper=True)(function)


def _cached(kernel):
    kernel._cache = _KernelCache(kernel.py_func)  # noqa: SLF001 - Numba has no option for it
    return kernel


def parallel(function):
    """Compile a kernel whose `prange` loops run on all threads of the element."""
    return _threaded(_cached(_parallel(function)))


def uncached_parallel(function):
    """Compile a parallel kernel that contains a user's functions, which Numba cannot cache on disk."""
    return _threaded(_parallel(function))


def _parallel(function):
    return _kernel(function, parallel=True, pipeline_class=KernelCompiler)


def _threaded(kernel):
    return kernel if THREAD_SAFE else _locked(kernel)


def _locked(kernel):
    """Return a function that runs the kernel under `PARALLEL_LOCK`. Kernels call the kernel itself."""

    @wraps(kernel.py_func)
    def waiting(*args):
        with PARALLEL_LOCK:
            return kernel(*args)

    waiting._numba_type_ = kernel._numba_type_
    return waiting


def serial(function):
    """Compile a kernel that runs on one thread."""
    return _cached(_kernel(function))


# Functions that only kernels call need no machine code and no wrappers of their own.
_ONLY_LINKED = {"no_cpython_wrapper": True, "no_cfunc_wrapper": True, "pipeline_class": StepCompiler}

_step = njit(**OPTIONS, **_ONLY_LINKED, inline="never")
_vertex_step = njit(**OPTIONS, **_ONLY_LINKED, inline="never", forceinline=True)


def inline_step(function):
    """Compile a function that only kernels call; Python calls the function itself.

    The body of a parallel loop is such a function: Numba's parallel passes are slow on large bodies.
    """
    return _called_by_kernels(function, _step)


def vertex_step(function):
    """Compile a function that kernels call for each vertex or edge.

    LLVM inlines it even if it is large, because passing a dozen arrays takes longer than a short row.
    """
    return _called_by_kernels(function, _vertex_step)


def guarded(step, *, failed):
    """Return a step that does the same, and returns `failed` if a function of the user raises an exception.

    Numba ignores exceptions of a parallel loop on some threads, and ends with a SystemError on others.
    """

    @vertex_step
    def guarded_step(*args):
        try:
            return step(*args)
        except Exception:  # noqa: BLE001 - Numba catches no other class
            return failed

    return guarded_step


def _called_by_kernels(function, compiler):
    function.dispatcher = compiler(function)  # Numba's type does not keep the dispatcher
    function._numba_type_ = function.dispatcher._numba_type_
    return function


def inlined(function: Any, *, reorder: bool = False) -> Any:
    """Compile a function that is inlined into kernels. Python must not call the result.

    LLVM may reorder its arithmetic only if `reorder` is true, for an associative function. Integer arithmetic
    without a result raises an exception.
    """
    options = OPTIONS | {"fastmath": _FASTMATH if reorder else False}
    linked = _ONLY_LINKED | {"pipeline_class": CheckedStepCompiler}
    return njit(**options, **linked, forceinline=True)(function)
