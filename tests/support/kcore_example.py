"""The k-core example package, imported from its source folder, and core numbers by NetworkX."""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.metadata import EntryPoint
from pathlib import Path

import networkx as nx
import numpy as np

import evener as ev
from evener.spec import registry

PROJECT = Path(__file__).resolve().parents[2] / "examples/kcore"
FOLDER = PROJECT / "src/evener_kcore"


def load():
    """Import the driver's module."""
    sys.path.insert(0, str(FOLDER.parent))
    try:
        return import_module("evener_kcore.kcore")
    finally:
        sys.path.remove(str(FOLDER.parent))


def register(monkeypatch, points):
    """Let the registry find these entry points (name to value) until the test ends."""
    found = {name: EntryPoint(name, value, registry.GROUP) for name, value in points.items()}
    monkeypatch.setattr(registry, "_registered", lambda: found)
    monkeypatch.setattr(registry, "_spec", registry._spec.__wrapped__)


def simple(parts):
    """Return the graph of ``(src, dst, n)`` without self-loops and repeated edges, and its core numbers."""
    src, dst, n = parts
    graph = nx.Graph()
    graph.add_nodes_from(range(n) if n is not None else np.unique([src, dst]).tolist())
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    ours = ev.Graph.from_networkx(graph)
    cores = nx.core_number(graph)
    return ours, [cores[v] for v in ours.ids.tolist()]
