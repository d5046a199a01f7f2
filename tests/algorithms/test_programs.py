"""Built-in vertex programs fulfil the contract of algorithms, with answers of NetworkX and NumPy."""

from __future__ import annotations

from importlib import import_module
from pathlib import Path

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.spec import registry
from evener.testing.algorithms import AlgorithmContract
from evener.testing.ranks import run_ranks

# Compiling a program needs seconds.
slow = pytest.mark.slow


def pairs(graph, kind=None):
    """Return the graph in NetworkX with positions as nodes. `kind` may drop repeated edges."""
    kind = kind or (nx.MultiDiGraph if graph.directed else nx.MultiGraph)
    sources = np.repeat(np.arange(graph.n), graph.out_degree().astype(np.int64))
    weights = np.ones(graph.m) if graph.weights is None else graph.weights
    kept = slice(None) if graph.directed else sources <= graph.targets
    edges = (one[kept].tolist() for one in (sources, graph.targets, weights))
    found = kind()
    found.add_nodes_from(range(graph.n))
    found.add_weighted_edges_from(zip(*edges, strict=True))
    return found


def by_position(values, graph):
    return np.array([values.get(v, 0) for v in range(graph.n)])


def spread_labels(graph, iterations):
    """Compute labels by LDBC's definition: the smallest of the most frequent labels."""
    found = pairs(graph)
    label = dict.fromkeys(found)
    label = {v: v for v in label}
    for _ in range(iterations):
        following = {}
        for v in found:
            if graph.directed:
                heard = [label[u] for u, _ in found.in_edges(v)] + [label[u] for _, u in found.out_edges(v)]
            else:
                heard = [label[u] for _, u in found.edges(v)]
            following[v] = min(heard, key=lambda one: (-heard.count(one), one)) if heard else label[v]
        label = following
    return by_position(label, graph)


class TestCdlp(AlgorithmContract):
    name = "cdlp"
    simple = True

    def arguments(self, graph):
        return {"max_iter": 4}

    def expected(self, graph, arguments):
        return {"label": graph.ids[spread_labels(graph, arguments["max_iter"])]}


@slow
class TestKCore(AlgorithmContract):
    name = "k_core"
    simple = True
    directed = (True,)  # another direction would compile another kernel, which needs seconds

    def arguments(self, graph):
        return {"k": 3}

    def expected(self, graph, arguments):
        found = pairs(graph)
        while leaving := [v for v, degree in found.degree() if degree < arguments["k"]]:
            found.remove_nodes_from(leaving)
        return {"member": by_position(dict.fromkeys(found, 1), graph)}


@slow
class TestMaximalIndependentSet(AlgorithmContract):
    name = "maximal_independent_set"
    simple = True
    directed = (True,)

    def expected(self, graph, arguments):
        """Add vertices greedily in the order of priorities."""
        priority, found = np.random.default_rng(1).permutation(graph.n), nx.Graph(pairs(graph))
        members = set()
        for v in np.argsort(-priority).tolist():
            if not members & set(found[v]):
                members.add(v)
        return {"member": by_position(dict.fromkeys(members, 1), graph)}


@slow
class TestKatz(AlgorithmContract):
    name = "katz"
    simple = True

    def expected(self, graph, arguments):
        matrix = nx.to_numpy_array(pairs(graph), nodelist=range(graph.n))
        attenuation = 1 / (1 + matrix.sum(axis=1).max(initial=0))
        value = np.linalg.solve(np.eye(graph.n) - attenuation * matrix.T, np.ones(graph.n))
        return {"centrality": value / (np.linalg.norm(value) or 1)}


@slow
class TestEigenvector(AlgorithmContract):
    name = "eigenvector"
    simple = True
    directed = (False,)
    tolerance = 1e-5

    def graphs(self):
        """Return connected graphs, for which the eigenvector is unique."""
        return [graph for graph in super().graphs() if graph.n > 1 and nx.is_connected(pairs(graph))]

    def arguments(self, graph):
        return {"tol": 1e-14, "max_iter": 100000}

    def expected(self, graph, arguments):
        found = nx.eigenvector_centrality_numpy(nx.Graph(pairs(graph)), weight="weight")
        return {"centrality": by_position(found, graph)}


class TestHits(AlgorithmContract):
    name = "hits"
    directed = (True,)
    tolerance = 1e-5

    def graphs(self):
        return [ev.read("rmat:7,directed"), ev.read("uniform:7,directed")]

    def arguments(self, graph):
        return {"tol": 1e-11, "max_iter": 100000}

    def expected(self, graph, arguments):
        """Return the dominant singular vectors, by NumPy."""
        matrix = nx.to_numpy_array(pairs(graph), nodelist=range(graph.n))
        left, _, right = np.linalg.svd(matrix)
        hub, authority = np.abs(left[:, 0]), np.abs(right[0])
        hub[hub < 1e-12], authority[authority < 1e-12] = 0, 0
        return {"hub": hub / hub.sum(), "authority": authority / authority.sum()}


PROGRAMS = [TestCdlp, TestKCore, TestMaximalIndependentSet, TestKatz, TestEigenvector, TestHits]


def test_every_program_has_a_contract():
    files = set(registry.builtin_names()) - set(registry.names_with_kernels())
    modules = {name: import_module(f"evener.algorithms.{name}") for name in files}
    assert {one.name for one in PROGRAMS} == {n for n, one in modules.items() if hasattr(one, "program_spec")}


FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data"


@slow
@pytest.mark.skipif(not FOLDER.exists(), reason="the graphs of SNAP are not beside the repository")
@pytest.mark.release
def test_a_real_graph():
    """The verifiers, which use SciPy or NumPy, accept the answers on a directed graph of SNAP."""
    placed = ev.partition(ev.read(FOLDER / "soc-Epinions1.txt.gz"), ["cpu:1", "cpu:1"])
    for name in (one.name for one in PROGRAMS):
        ev.verify(registry.find(name).function()(placed))


@slow
def test_ranks_with_parts_of_the_graph():
    """No rank has the whole graph, and the answers equal those of one element."""
    spec = "rmat:6,directed"
    expected = {name: getattr(ev, name)(spec) for name in (one.name for one in PROGRAMS)}

    def check(_):
        for name, alone in expected.items():
            r = getattr(ev, name)(spec, on="cpu:1")
            for column in alone:
                own = alone[column][r.block.start : r.block.stop]
                np.testing.assert_allclose(r[column], own, rtol=1e-6, atol=1e-12)

    run_ranks(2, check)


@pytest.mark.parametrize(
    ("name", "argument", "value"),
    [("hits", "tol", 0), ("hits", "tol", "x"), ("eigenvector", "tol", -1.0),
     ("maximal_independent_set", "seed", -1), ("katz", "tol", None)],
)  # fmt: skip
def test_wrong_arguments(name, argument, value):
    graph = ev.Graph.from_edges([0], [1])
    with pytest.raises(ev.ArgumentError, match=f"^{argument}=: expected .*, found {value!r}$"):
        getattr(ev, name)(graph, **{argument: value})
