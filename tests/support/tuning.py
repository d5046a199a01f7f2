"""Replace the tuning constants of searches."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

HOMES = {"bfs": "bfs.search", "sssp": "sssp.settle"}


def tune(monkeypatch, algorithm, **constants):
    """Replace constants in an algorithm's `TUNING` for every kind of element."""
    module = import_module(f"evener.algorithms.{HOMES[algorithm]}")
    tuned = {kind: replace(one, **constants) for kind, one in module.TUNING.items()}
    monkeypatch.setattr(module, "TUNING", tuned)
