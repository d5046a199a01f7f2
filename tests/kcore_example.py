"""The worked example of an algorithm from outside the package, and what NetworkX says it should find."""

from __future__ import annotations

import sys
from importlib import import_module
from pathlib import Path

import networkx as nx
import numpy as np

import evener as ev

FOLDER = Path(__file__).resolve().parent.parent / "examples/kcore"


def load():
    """The example's driver, imported as a user's own."""
    sys.path.insert(0, str(FOLDER))
    try:
        return import_module("kcore")
    finally:
        sys.path.remove(str(FOLDER))


def simple(parts):
    """The graph of ``(src, dst, n)`` without loops and repetitions, and its core numbers."""
    src, dst, n = parts
    graph = nx.Graph()
    graph.add_nodes_from(range(n) if n is not None else np.unique([src, dst]).tolist())
    graph.add_edges_from((u, v) for u, v in zip(src.tolist(), dst.tolist(), strict=True) if u != v)
    ours = ev.Graph.from_networkx(graph)
    cores = nx.core_number(graph)
    return ours, [cores[v] for v in ours.ids.tolist()]
