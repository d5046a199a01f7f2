"""Evener: graph algorithms on every processor you have, in one run.

Public names are loaded when first used, so that ``import evener`` costs a fraction of a second and pulls in
neither Numba nor Arrow, CUDA or MPI.

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

if TYPE_CHECKING:
    from evener.algorithms.betweenness.betweenness import betweenness
    from evener.algorithms.bfs.bfs import bfs
    from evener.algorithms.pagerank.pagerank import pagerank
    from evener.algorithms.sssp.sssp import sssp
    from evener.algorithms.verification import Claim
    from evener.algorithms.verify import verify
    from evener.algorithms.wcc.wcc import wcc
    from evener.engine.array import Spread
    from evener.engine.engine import Engine
    from evener.engine.timeline import Progress, Span, Timeline
    from evener.errors import (
        ArgumentError,
        DeviceError,
        DeviceOutOfMemory,
        EvenerError,
        FileError,
        FormatError,
        OutOfMemoryError,
        UnknownVertexError,
        VerificationError,
    )
    from evener.graph.formats import read, write
    from evener.graph.graph import Graph
    from evener.kernels.kernel import Kernel
    from evener.partition.place import partition
    from evener.planning.place import plan
    from evener.results.result import Result

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
    "Claim",
    "DeviceError",
    "DeviceOutOfMemory",
    "Engine",
    "EvenerError",
    "FileError",
    "FormatError",
    "Graph",
    "Kernel",
    "OutOfMemoryError",
    "Progress",
    "Result",
    "Span",
    "Spread",
    "Timeline",
    "UnknownVertexError",
    "VerificationError",
    "__version__",
    "betweenness",
    "bfs",
    "pagerank",
    "partition",
    "plan",
    "read",
    "sssp",
    "verify",
    "wcc",
    "write",
]

_HOMES = {
    "ArgumentError": "errors",
    "Claim": "algorithms.verification",
    "Engine": "engine.engine",
    "DeviceError": "errors",
    "DeviceOutOfMemory": "errors",
    "EvenerError": "errors",
    "FileError": "errors",
    "FormatError": "errors",
    "Graph": "graph.graph",
    "Kernel": "kernels.kernel",
    "OutOfMemoryError": "errors",
    "Progress": "engine.timeline",
    "Result": "results.result",
    "Span": "engine.timeline",
    "Spread": "engine.array",
    "Timeline": "engine.timeline",
    "UnknownVertexError": "errors",
    "VerificationError": "errors",
    "betweenness": "algorithms.betweenness.betweenness",
    "bfs": "algorithms.bfs.bfs",
    "pagerank": "algorithms.pagerank.pagerank",
    "partition": "partition.place",
    "plan": "planning.place",
    "read": "graph.formats",
    "sssp": "algorithms.sssp.sssp",
    "verify": "algorithms.verify",
    "wcc": "algorithms.wcc.wcc",
    "write": "graph.formats",
}


def __getattr__(name: str) -> object:
    if name not in _HOMES:
        msg = f"module {__name__!r} has no attribute {name!r}"
        raise AttributeError(msg)
    value = getattr(importlib.import_module(f"{__name__}.{_HOMES[name]}"), name)
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


sys.modules[__name__].__class__ = _Package
