"""Compile Python functions for GPUs, and link them into CUDA kernels. No GPU is needed.

numba-cuda compiles a function to LTO-IR, the intermediate form of link-time optimization. NVRTC compiles a
``.cu`` file to the same form. nvJitLink inlines the functions into the kernels. Only this file uses
numba-cuda and nvJitLink.
"""

from __future__ import annotations

import contextlib
from functools import lru_cache
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from threading import RLock, get_ident
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from evener.errors import DeviceError, first_clause

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.kernels.kernel import LinkedFunction

__all__ = ["compile_function", "link", "versions"]

_lock = RLock()


@lru_cache(maxsize=1)
def versions() -> list[str]:
    """Return the versions of the compiler and the linker."""
    found = []
    for package in ("numba", "numba-cuda", "cuda-bindings", "nvidia-nvjitlink"):
        with contextlib.suppress(PackageNotFoundError):
            found.append(f"{package} {version(package)}")
    return found


@lru_cache(maxsize=64)  # several files are linked with the same functions
def compile_function(function: LinkedFunction, arch: str) -> bytes:
    """Return the LTO-IR of a Python function, as a C function for kernels of an architecture.

    If the function cannot be compiled, raise the error that ``function.explain`` returns.
    """
    cuda = _imported("numba.cuda")
    returned, *parameters = (_type(name) for name in (function.returns, *function.parameters))
    capability = divmod(int(arch.rpartition("_")[2]), 10)
    with _lock, _inner_functions_for(capability):
        try:
            code, _ = cuda.compile(
                function.python,
                returned(*parameters),
                device=True,
                abi="c",
                abi_info={"abi_name": function.name},
                output="ltoir",
                cc=capability,
            )
        except Exception as error:
            if _is_missing_library(error):
                raise _missing(error) from error
            raise function.explain(error) from None
    return bytes(code)


def link(parts: Sequence[bytes], arch: str) -> bytes:
    """Return the machine code of LTO-IR in several parts; PTX for an architecture such as "compute_90"."""
    linker = _imported("cuda.bindings.nvjitlink")
    options = [f"-arch={arch}", "-lto"] + ([] if arch.startswith("sm_") else ["-ptx"])
    try:
        handle = linker.create(len(options), options)
    except Exception as error:
        raise _missing(error) from error
    try:
        for i, part in enumerate(parts):
            linker.add_data(handle, linker.InputType.LTOIR, part, len(part), f"part {i}")
        linker.complete(handle)
        kind = "cubin" if arch.startswith("sm_") else "ptx"
        code = bytearray(getattr(linker, f"get_linked_{kind}_size")(handle))
        getattr(linker, f"get_linked_{kind}")(handle, code)
    except Exception as error:
        log = bytearray(linker.get_error_log_size(handle))
        linker.get_error_log(handle, log)
        why = log.decode(errors="replace").rstrip("\0\n") or first_clause(error)
        msg = f"nvJitLink cannot link operators into the kernels for {arch}: {why}"
        raise DeviceError(msg) from error
    finally:
        linker.destroy(handle)
    return bytes(code)


@contextlib.contextmanager
def _inner_functions_for(capability: tuple[int, int]) -> Iterator[None]:
    """Compile functions that a function calls for the same capability, instead of the current GPU's.

    numba-cuda has no argument for this capability: `CUDADispatcher.compile_device` asks for the current GPU.
    Other threads, which may run kernels of the user, still get the current GPU.
    """
    dispatcher: Any = import_module("numba.cuda.dispatcher")
    current, here = dispatcher.get_current_device, get_ident()

    def device() -> Any:
        return SimpleNamespace(compute_capability=capability) if get_ident() == here else current()

    dispatcher.get_current_device = device
    try:
        yield
    finally:
        dispatcher.get_current_device = current


def _type(name: str) -> Any:
    """Return the type of Numba for a name such as "int64" or "float32**"."""
    types = import_module("numba").types
    found = getattr(types, name.rstrip("*"))
    for _ in range(name.count("*")):
        found = types.CPointer(found)
    return found


def _imported(module: str) -> Any:
    try:
        return import_module(module)
    except Exception as error:
        raise _missing(error) from error


def _is_missing_library(error: BaseException) -> bool:
    return type(error).__name__ in ("DynamicLibNotFoundError", "NvvmSupportError", "CudaSupportError")


def _missing(error: BaseException) -> DeviceError:
    msg = f'operators cannot be compiled for a GPU ({first_clause(error)}); pip install "evener[cuda13]"'
    return DeviceError(msg)
