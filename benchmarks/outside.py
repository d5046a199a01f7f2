"""An algorithm of another package: the example `examples/kcore`, registered as an installed package is."""

from __future__ import annotations

import sys
from importlib.metadata import EntryPoint
from pathlib import Path

from evener.spec import registry

_SOURCE = Path(__file__).resolve().parent.parent / "examples/kcore/src"


def register_kcore():
    """Let the registry of this process find the algorithm."""
    sys.path.insert(0, str(_SOURCE))
    points = {**registry._registered(), "kcore": EntryPoint("kcore", "evener_kcore:SPEC", registry.GROUP)}  # noqa: SLF001
    registry._registered = lambda: points  # noqa: SLF001
