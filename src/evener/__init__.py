"""Evener: graph algorithms on every processor of a machine, in one run.

Public names are loaded on first use. So ``import evener`` is fast and does not load Numba, Arrow or CUDA.

Examples
--------
>>> import evener as ev
>>> g = ev.Graph.from_edges([0, 0, 1, 3], [1, 2, 2, 0], directed=False)
>>> ev.bfs(g, source=3)["distance"].tolist()
[1, 2, 2, 0]
"""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import TYPE_CHECKING

from evener.spec.registry import builtin_names
from evener.system.address_space import reserve_little
from evener.system.version import __version__

if TYPE_CHECKING:
    from evener.algorithms import *  # noqa: F403
    from evener.engine.array import PartitionedArray
    from evener.engine.checkpoints.request import Checkpoint
    from evener.engine.engine import Engine
    from evener.engine.timeline import Progress, Span, Timeline
    from evener.errors import (
        ArgumentError,
        ConvergenceWarning,
        DeviceError,
        DeviceOutOfMemory,
        EvenerError,
        FileError,
        FormatError,
        MpiError,
        OutOfMemoryError,
        UnknownVertexError,
        VerificationError,
    )
    from evener.graph.formats import read, write
    from evener.graph.graph import Graph
    from evener.kernels.kernel import Kernel
    from evener.partition.build import partition
    from evener.partition.folder import read_partitioned, write_partitioned
    from evener.programs.gimv import gimv
    from evener.programs.mapreduce.mapreduce import mapreduce
    from evener.programs.vertex_program import VertexProgram, vertex_program
    from evener.results.result import Result
    from evener.spec.answer import Claim
    from evener.spec.comparison import PolicyComparison, compare_policies
    from evener.spec.plan import plan
    from evener.spec.verify import verify
    from evener.system.launch import launch

reserve_little()

_ALGORITHMS = builtin_names()

__all__ = [
    "ArgumentError",
    "Checkpoint",
    "Claim",
    "ConvergenceWarning",
    "DeviceError",
    "DeviceOutOfMemory",
    "Engine",
    "EvenerError",
    "FileError",
    "FormatError",
    "Graph",
    "Kernel",
    "MpiError",
    "OutOfMemoryError",
    "PartitionedArray",
    "PolicyComparison",
    "Progress",
    "Result",
    "Span",
    "Timeline",
    "UnknownVertexError",
    "VerificationError",
    "VertexProgram",
    "__version__",
    "compare_policies",
    "gimv",
    "launch",
    "mapreduce",
    "partition",
    "plan",
    "read",
    "read_partitioned",
    "verify",
    "vertex_program",
    "write",
    "write_partitioned",
]
__all__ += _ALGORITHMS

_HOMES = {
    "ArgumentError": "errors",
    "Checkpoint": "engine.checkpoints.request",
    "Claim": "spec.answer",
    "ConvergenceWarning": "errors",
    "Engine": "engine.engine",
    "DeviceError": "errors",
    "DeviceOutOfMemory": "errors",
    "EvenerError": "errors",
    "FileError": "errors",
    "FormatError": "errors",
    "MpiError": "errors",
    "Graph": "graph.graph",
    "Kernel": "kernels.kernel",
    "OutOfMemoryError": "errors",
    "PartitionedArray": "engine.array",
    "PolicyComparison": "spec.comparison",
    "Progress": "engine.timeline",
    "Result": "results.result",
    "Span": "engine.timeline",
    "Timeline": "engine.timeline",
    "UnknownVertexError": "errors",
    "VerificationError": "errors",
    "VertexProgram": "programs.vertex_program",
    "compare_policies": "spec.comparison",
    "gimv": "programs.gimv",
    "launch": "system.launch",
    "mapreduce": "programs.mapreduce.mapreduce",
    "partition": "partition.build",
    "plan": "spec.plan",
    "read": "graph.formats",
    "read_partitioned": "partition.folder",
    "verify": "spec.verify",
    "vertex_program": "programs.vertex_program",
    "write": "graph.formats",
    "write_partitioned": "partition.folder",
}


def __getattr__(name: str) -> object:
    value: object
    if name in _ALGORITHMS:
        from evener.spec.registry import find

        value = find(name).function()
    elif name in _HOMES:
        value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
    else:
        msg = f"module {__name__!r} has no attribute {name!r}"
        if not name.startswith("_"):
            from evener.spec.registry import current_name, synonyms

            if (ours := current_name(name)) is not None:
                return getattr(sys.modules[__name__], ours)
            if name in synonyms():
                msg += f"; Evener names it {synonyms()[name]!r}"
        raise AttributeError(msg)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)


class _Package(ModuleType):
    """A module whose public functions are not replaced by submodules of the same name.

    Importing ``evener.partition`` sets the submodule as an attribute of this module. ``ev.partition`` stays
    the function.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)

    def __reduce__(self) -> tuple[object, tuple[str]]:
        # Functions that use the module are sent to other processes by libraries such as Dask.
        return importlib.import_module, (self.__name__,)


sys.modules[__name__].__class__ = _Package
