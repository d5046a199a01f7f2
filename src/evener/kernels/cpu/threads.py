"""The threads of parallel loops, and loops without threads in a forked child.

A parallel loop calls Numba's threading layer through a pointer. A child of a fork has none of its parent's
threads, and GNU OpenMP would end it. In such a child the pointer is null, and the loop runs on one thread.
"""

from __future__ import annotations

import ctypes
import os
from typing import Any

import llvmlite.binding as llvm
import numba
from llvmlite import ir
from numba.np.ufunc import parallel

__all__ = ["WORKERS", "call_through_pointer", "start_threads"]

# Iterations of a loop over workers, at least one per thread. A constant, because compiled kernels are cached.
WORKERS = max(128, os.cpu_count() or 1)

# The name of the function in Numba's threading layers that runs a parallel loop.
_NUMBA_NAME = "numba_parallel_for"

_function = ctypes.c_void_p()
_forked = False

llvm.add_symbol("evener_parallel_for", ctypes.addressof(_function))


def start_threads() -> None:
    """Start Numba's threads, except in a forked child whose parent had started them."""
    parallel._launch_threads()  # noqa: SLF001 - Numba starts them from here too
    if not _forked:
        _function.value = llvm.address_of_symbol(_NUMBA_NAME)


def _stop_threads() -> None:
    """Let parallel loops run on one thread, if the parent had threads."""
    global _forked
    try:
        numba.threading_layer()
    except ValueError:  # the parent had not started threads
        return
    _forked = True
    _function.value = None


os.register_at_fork(after_in_child=_stop_threads)


def call_through_pointer(module: Any) -> None:
    """Let a module call the threading layer, if it does, through the pointer."""
    function = module.globals.get(_NUMBA_NAME)
    if function is None:
        return
    function.linkage = "internal"
    pointer = ir.GlobalVariable(module, function.function_type.as_pointer(), "evener_parallel_for")
    builder = ir.IRBuilder(function.append_basic_block())
    layer = builder.load(pointer)
    threaded = builder.icmp_unsigned("!=", layer, ir.Constant(layer.type, None))
    with builder.if_else(threaded) as (on_threads, on_this_thread):
        with on_threads:
            builder.call(layer, function.args)
        with on_this_thread:
            loop, *arguments = function.args[:5]
            whole = ir.FunctionType(ir.VoidType(), [argument.type for argument in arguments])
            builder.call(builder.bitcast(loop, whole.as_pointer()), arguments)
    builder.ret_void()
