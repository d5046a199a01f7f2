"""Compiler pipelines that optimise code and generate machine code once for each kernel.

Numba optimises and compiles each function separately: each step or function of a user that a kernel calls,
and three layers of a parallel loop. It links them into the kernel, and optimises and compiles the kernel
again. Here only the linked kernel is optimised and compiled, which halves the time. See "Customizing the
Compiler" in Numba's manual for developers.
"""

from __future__ import annotations

import copy
from typing import Any

from numba.core import codegen
from numba.core.compiler import Compiler

from evener.kernels.cpu.checked_integers import CheckedContext
from evener.kernels.cpu.threads import call_through_pointer, start_threads

__all__ = ["CheckedStepCompiler", "KernelCompiler", "StepCompiler"]


class _LinkedLibrary(codegen.JITCodeLibrary):  # type: ignore[misc] # Numba has no types
    """Code that is only linked into other libraries."""

    def add_ir_module(self, ir_module: Any) -> None:
        """Add a module, whose parallel loops also run in a forked child."""
        call_through_pointer(ir_module)
        super().add_ir_module(ir_module)

    def _optimize_final_module(self) -> None:
        """Do nothing: the library of the kernel optimises the linked code."""

    def _finalize_final_module(self) -> None:
        """Generate no machine code."""
        self._finalize_dynamic_globals()
        self._finalized = True

    def get_pointer_to_function(self, name: str) -> int:  # noqa: ARG002 - Numba's signature
        """Return 0, as for a function that the library does not define."""
        self._ensure_finalized()
        return 0


class _LinkedCodegen(codegen.JITCPUCodegen):  # type: ignore[misc] # Numba has no types
    _library_class = _LinkedLibrary

    def set_env(self, env_name: str, env: Any) -> None:
        """Do nothing: only machine code has an environment."""


def _linked(context: Any) -> Any:
    """Return a target context whose libraries are only linked."""
    generator = copy.copy(context.codegen())
    generator.__class__ = _LinkedCodegen
    return context.subtarget(_internal_codegen=generator)


class StepCompiler(Compiler):  # type: ignore[misc] # Numba has no types
    """Compiles a function that kernels call."""

    def __init__(self, typingctx: Any, targetctx: Any, *others: Any) -> None:
        super().__init__(typingctx, _linked(targetctx), *others)


class CheckedStepCompiler(StepCompiler):
    """Compiles a function of a user that kernels call."""

    def __init__(self, *args: Any) -> None:
        super().__init__(*args)
        self.state.targetctx.__class__ = CheckedContext  # a copy of its own


class KernelCompiler(Compiler):  # type: ignore[misc] # Numba has no types
    """Compiles a kernel, with its parallel loops as functions that are only linked."""

    def compile_extra(self, func: Any) -> Any:
        """Compile `func`."""
        context = self.state.targetctx
        self.state.library = context.codegen().create_library(func.__qualname__)
        self.state.library.enable_object_caching()
        self.state.targetctx = _linked(context)
        start_threads()
        self.state.reload_init.append(start_threads)  # called when the kernel is loaded from the cache
        return super().compile_extra(func)
