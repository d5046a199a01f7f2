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
    from evener._typed import partition, verify
    from evener.algorithms.betweenness import betweenness
    from evener.algorithms.bfs import bfs
    from evener.algorithms.pagerank import pagerank
    from evener.algorithms.sssp import sssp
    from evener.algorithms.wcc import wcc
    from evener.auto import plan
    from evener.engine import Engine
    from evener.errors import (
        ArgumentError,
        ConvergenceWarning,
        DeviceError,
        DeviceOutOfMemory,
        EvenerError,
        FileError,
        FormatError,
        OutOfMemoryError,
        UnknownVertexError,
        VerificationError,
    )
    from evener.formats import read, write
    from evener.graph import Graph
    from evener.kernels.kernel import Kernel
    from evener.result import Result
    from evener.spread import Spread
    from evener.timeline import Progress, Span, Timeline
    from evener.verify.rules import Claim

__version__ = "0.1.0"

__all__ = [
    "ArgumentError",
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
    "Claim": "verify.rules",
    "ConvergenceWarning": "errors",
    "Engine": "engine",
    "DeviceError": "errors",
    "DeviceOutOfMemory": "errors",
    "EvenerError": "errors",
    "FileError": "errors",
    "FormatError": "errors",
    "Graph": "graph",
    "Kernel": "kernels.kernel",
    "OutOfMemoryError": "errors",
    "Progress": "timeline",
    "Result": "result",
    "Span": "timeline",
    "Spread": "spread",
    "Timeline": "timeline",
    "UnknownVertexError": "errors",
    "VerificationError": "errors",
    "betweenness": "algorithms.betweenness",
    "bfs": "algorithms.bfs",
    "pagerank": "algorithms.pagerank",
    "partition": "partition",
    "plan": "auto",
    "read": "formats",
    "sssp": "algorithms.sssp",
    "verify": "verify",
    "wcc": "algorithms.wcc",
    "write": "formats",
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
    """A module in which a submodule never hides the public function of the same name.

    Importing ``evener.verify`` or ``evener.partition`` makes Python set the submodule as an attribute here;
    ``ev.verify`` and ``ev.partition`` are to stay the functions.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if not (name in _HOMES and isinstance(value, ModuleType)):
            super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package
