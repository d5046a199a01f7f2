"""Random small graphs with known edges, random arguments of algorithms, and answers in vertex numbers."""

from __future__ import annotations

import inspect
from dataclasses import dataclass

import networkx as nx
import numpy as np

import evener as ev
from oracles import Edges


@dataclass
class SmallGraph:
    """A graph in Evener, and its edges between the positions of its vertices in ``graph.ids``."""

    graph: ev.Graph
    edges: Edges

    def number(self, vertex):
        """Return the position of an id; -1 for no vertex, and -2 for an unknown vertex."""
        return -1 if vertex == self.absent else self._numbers.get(vertex, -2)

    def __post_init__(self):
        self.ids = self.graph.ids.tolist()
        self._numbers = {one: number for number, one in enumerate(self.ids)}
        self.absent = -1 if self.graph.has_integer_ids else None

    def numbered(self, spec, arrays):
        """Return the arrays of an answer with numbers in place of ids."""
        return {
            name: np.array([self.number(one) for one in values.tolist()], np.int64)
            if spec.column(name).names_vertices
            else values
            for name, values in arrays.items()
        }

    def numbered_parameters(self, parameters):
        """Return the parameters of a run with numbers in place of ids."""
        found = dict(parameters)
        for name in ("source", "sources", "target"):
            if isinstance(given := found.get(name), list):
                found[name] = [self.number(vertex) for vertex in given]
            elif given is not None:
                found[name] = self.number(given)
        if isinstance(own := found.get("personalization"), dict):
            found["personalization"] = {self.number(vertex): value for vertex, value in own.items()}
        return found


def draw(rng, *, largest=60, weights=(None, None, "float64", "float32", "int32")):
    """Return a random graph: sparse to dense, skewed, with self-loops, repeated edges, isolated vertices."""
    n = int(rng.integers(1, largest + 1))
    m = int(rng.integers(0, 3 * n + 1))
    skew = rng.choice([1.0, 1.0, 3.0])
    ends = (rng.random((2, m)) ** skew * n).astype(int)
    if rng.random() < 0.5:
        ends = rng.permutation(n)[ends]
    if rng.random() < 0.4:
        ends = ends[:, ends[0] != ends[1]]
    directed = bool(rng.random() < 0.5)
    if rng.random() < 0.4:
        pairs = ends if directed else np.sort(ends, axis=0)
        ends = np.unique(pairs, axis=1) if pairs.size else pairs
    dtype = weights[rng.integers(len(weights))]
    return build(rng, n, ends, dtype, directed=directed, names=rng.choice(["none", "none", "sparse", "text"]))


def build(rng, n, ends, dtype, *, directed, names):
    """Return the graph with random weights of a dtype and ids of a kind."""
    values = None
    if dtype is not None:
        draws = rng.integers(0, 6, ends.shape[1]) if rng.random() < 0.5 else rng.random(ends.shape[1]) * 4
        values = draws.astype(dtype)
    listed = None if values is None else values.tolist()
    edges = Edges(n, *ends.tolist(), listed, directed)
    if names == "none":
        return SmallGraph(ev.Graph.from_edges(*ends, values, directed=directed, n=n), edges)
    if names == "sparse":
        ids = np.sort(rng.choice(10**9, n, replace=False)).tolist()
    else:
        ids = sorted(f"{one:03d}{mark}" for one, mark in enumerate(rng.choice(["", "x", "{0}", " [b]"], n)))
    if (np.bincount(ends.ravel(), minlength=n) > 0).all() and n:
        own = np.array(ids)[ends]
        return SmallGraph(ev.Graph.from_edges(*own, values, directed=directed), edges)
    named = nx.relabel_nodes(edges.networkx, dict(enumerate(ids)))
    graph = ev.Graph.from_networkx(named, weight=None if values is None else "weight")
    return SmallGraph(graph, edges)


def draw_arguments(rng, algorithm, small):
    """Return random arguments of an algorithm; the function need not have them."""
    ids, n = small.ids, len(small.ids)

    def one():
        return ids[rng.integers(n)]

    def some():
        return [ids[i] for i in rng.choice(n, int(rng.integers(1, min(n, 4) + 1)), replace=False)]

    if algorithm in ("bfs", "sssp"):
        found = {"source": one()} if rng.random() < 0.6 else {"sources": some()}
        if rng.random() < 0.3:
            found["target"] = one()
        if rng.random() < 0.3:
            found["cutoff"] = [0, 1, 2.5, 3, np.inf][rng.integers(5)]
        if algorithm == "sssp" and rng.random() < 0.3:
            found["delta"] = [0.1, 1, 10.0][rng.integers(3)]
        return found
    if algorithm == "pagerank":
        found = {
            "damping": [0.85, 0.85, 0.5, 0.99, 0, 1][rng.integers(6)],
            "tol": [1e-6, 1e-6, 0, 1e-10][rng.integers(4)],
            "stop": ["l1", "networkx"][rng.integers(2)],
            "max_iter": int([100, 100, 3, 0][rng.integers(4)]),
            "dtype": [None, "float32", "float64"][rng.integers(3)],
            "semantics": ["networkx", "networkx", "graphalytics"][rng.integers(3)],
            "weights": [None, None, False][rng.integers(3)],
        }
        if rng.random() < 0.3:
            found["personalization"] = {vertex: float(rng.integers(1, 5)) for vertex in some()}
        return found
    if algorithm in ("betweenness", "edge_betweenness"):
        found = {"normalized": bool(rng.integers(2))}
        draw_sources = rng.random()
        if draw_sources < 0.3:
            found["sources"] = some()
        elif draw_sources < 0.5:
            found |= {"k": int(rng.integers(1, n + 1)), "seed": int(rng.integers(9))}
        return found
    if algorithm == "cdlp":
        return {"max_iter": int(rng.integers(0, 12))}
    if algorithm in ("adamic_adar", "common_neighbors", "jaccard", "overlap", "resource_allocation"):
        pairs = [(one(), one()) for _ in range(rng.integers(1, 9))]
        return {"pairs": pairs} if rng.random() < 0.5 else {"k": int(rng.integers(1, 20))}
    if algorithm in ("closeness", "harmonic"):
        improved = {"wf_improved": bool(rng.integers(2))} if algorithm == "closeness" else {}
        return {"k": [None, int(rng.integers(1, 1 + max(n, 1)))][rng.integers(2)], "seed": 3, **improved}
    if algorithm == "diameter":
        return {"max_searches": [None, int(rng.integers(1, 5))][rng.integers(2)]}
    if algorithm == "clustering":
        return {"semantics": ["networkx", "graphalytics"][rng.integers(2)]}
    if algorithm == "leiden":
        return {"resolution": float(rng.choice([0.5, 1.0, 2.0])), "seed": int(rng.integers(5))}
    if algorithm == "k_core":
        return {"k": int(rng.integers(0, 6))}
    if algorithm in ("coloring", "maximal_independent_set"):
        return {"seed": int(rng.integers(0, 99))}
    if algorithm in ("louvain", "modularity"):
        return {"resolution": [1, 1.0, 0.5, 2.5][rng.integers(4)]}
    if algorithm == "katz":
        # Few values, because each is compiled into a kernel. They are small enough for the heaviest graph.
        return {"attenuation": [None, 0.001, 0.0002][rng.integers(3)]}
    return {}


def supported(algorithm, small):
    """Return whether an algorithm accepts a graph."""
    if algorithm == "kcore":
        return small.edges.simple and not small.edges.directed
    return True


def with_weights_option(rng, function, found):
    """Return the arguments with `weights`, if a function of the library has it and they lack it."""
    has = "weights" in inspect.signature(function).parameters
    return {**found, "weights": [None, False][rng.integers(2)]} if has and "weights" not in found else found
