"""The parity matrix: one answer however the graph is split, and it is that of the plain reference.

Distances and components are the same to the bit; ranks and centralities agree to 1e-6 relative.
"""

from __future__ import annotations

from importlib import import_module
from itertools import cycle, product

import numpy as np
import pytest
import zoo
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
import reference
from evener.elements import CpuElement

POLICIES = ["random", "high", "low"]
ALPHAS = [None, 0, 0.2, 0.5, 0.8, 1]
SPLITS = [(elements, policy, alpha) for elements in (2, 4) for policy, alpha in product(POLICIES, ALPHAS)]
RELATIVE = 1e-6
# Of PageRank: the reference does as many.
ITERATIONS = 15


class Truth:
    """What the reference says about one graph, worked out once."""

    def __init__(self, graph, source):
        self.graph = graph
        self.source = graph.ids[source]
        self.distance, _ = reference.bfs(graph, source)
        self.length, _ = reference.sssp(graph, source)
        self.component = graph.ids[reference.wcc(graph)]
        self.rank = reference.pagerank(graph, iterations=ITERATIONS)
        self.sources = sorted({source, graph.n // 3, 2 * graph.n // 3})
        self.centrality = reference.betweenness(graph, sources=self.sources)

    def check(self, *, elements, policy="random", alpha=None):
        """Run all five algorithms on one placement."""
        pg = ev.partition(self.graph, ["cpu:1"] * elements, policy=policy, alpha=alpha)
        bfs = ev.bfs(pg, source=self.source)
        assert (bfs["distance"] == self.distance).all()
        self.check_parents(bfs["parent"], self.distance, np.ones(self.graph.m))
        assert (ev.wcc(pg)["component"] == self.component).all()
        rank = ev.pagerank(pg, tol=0, max_iter=ITERATIONS)["rank"]
        np.testing.assert_allclose(rank, self.rank, rtol=RELATIVE, atol=0)
        sssp = ev.sssp(pg, source=self.source)
        assert (sssp["distance"] == self.length).all()
        self.check_parents(sssp["parent"], self.length, self.graph.weights)
        found = ev.betweenness(pg, sources=self.graph.ids[self.sources], normalized=False)["centrality"]
        # Each pair of an undirected graph is met from both ends; some sources stand for all.
        scale = (1 if self.graph.directed else 0.5) * self.graph.n / len(self.sources)
        np.testing.assert_allclose(found, self.centrality * scale, rtol=RELATIVE, atol=1e-9)

    def check_parents(self, parent, distance, weights):
        """The source is its own parent; of any other, an edge of exactly the missing length leads from it."""
        tails, heads = reference.edges(self.graph)
        reached = np.isfinite(distance) & (distance >= 0)
        assert ((parent == -1) == ~reached).all()
        numbers = self.graph.numbers_of(parent[reached])
        tight = distance[tails] + weights == distance[heads]
        tight &= reached[tails] & reached[heads]
        edges = set(zip(tails[tight].tolist(), heads[tight].tolist(), strict=True))
        source = int(self.graph.numbers_of([self.source])[0])
        for vertex, above in zip(np.flatnonzero(reached).tolist(), numbers.tolist(), strict=True):
            assert (above, vertex) in edges or vertex == above == source


def truth_of(parts, *, directed):
    """Start where most edges lead out: of a hub, or of the only vertex that has any."""
    graph = zoo.build(parts, directed=directed)
    return Truth(graph, int(graph.out_degree().argmax()))


directions = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


@directions
@pytest.mark.parametrize("name", [name for name in zoo.SMALL if name != "empty"])
def test_small_graphs(name, directed):
    """One element, and for two and four elements every policy, each with two of the shares in turn."""
    truth = truth_of(zoo.SMALL[name](), directed=directed)
    truth.check(elements=1)
    turn = cycle(ALPHAS)
    for elements, policy, _ in product([2, 4], POLICIES, range(2)):
        truth.check(elements=elements, policy=policy, alpha=next(turn))


@directions
@pytest.mark.parametrize("elements", [1, 2, 4])
def test_the_empty_graph(elements, directed):
    pg = ev.partition(zoo.build(zoo.SMALL["empty"](), directed=directed), ["cpu:1"] * elements)
    assert len(ev.wcc(pg)["component"]) == 0
    assert len(ev.pagerank(pg)["rank"]) == 0
    assert len(ev.betweenness(pg)["centrality"]) == 0
    for search in (ev.bfs, ev.sssp):
        with pytest.raises(ev.UnknownVertexError, match="0 is not in the graph"):
            search(pg, source=0)


@directions
def test_a_source_without_out_edges_reaches_itself(directed):
    graph = zoo.build((np.array([1, 2]), np.array([2, 0]), 5), directed=directed)
    for source, splits in product([0, 4], [1, 2, 4]):
        Truth(graph, source).check(elements=splits)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def alone(request):
    """Vertex 200 has five edges into a dense part, and lies in a partition of its own."""
    src, dst = np.random.default_rng(3).integers(0, 200, (2, 4000))
    src, dst = np.append(src, [200] * 5), np.append(dst, range(5))
    return Truth(zoo.build((src, dst, 201), directed=request.param), 200)


def test_a_source_alone_in_its_partition(alone):
    alone.check(elements=2, policy="low", alpha=0.001)


@settings(max_examples=40)
@given(
    graph=zoo.drawn_graphs(),
    split=st.sampled_from(SPLITS),
    source=st.integers(0, 2**16),
)
def test_drawn_graphs(graph, split, source):
    elements, policy, alpha = split
    truth = Truth(graph, source % graph.n)
    truth.check(elements=1)
    truth.check(elements=elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@settings(max_examples=400)
@given(graph=zoo.drawn_graphs(), split=st.sampled_from(SPLITS), source=st.integers(0, 2**16))
def test_many_drawn_graphs(graph, split, source):
    elements, policy, alpha = split
    Truth(graph, source % graph.n).check(elements=elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@directions
@pytest.mark.parametrize("name", [name for name in zoo.SMALL if name != "empty"])
def test_small_graphs_in_every_split(name, directed):
    truth = truth_of(zoo.SMALL[name](), directed=directed)
    for elements, policy, alpha in SPLITS:
        truth.check(elements=elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@directions
@pytest.mark.parametrize("name", zoo.LARGE)
def test_large_graphs(name, directed):
    truth = truth_of(zoo.LARGE[name](), directed=directed)
    truth.check(elements=1)
    turn = cycle([None, 0.3, 0.7])
    for elements, policy in product([2, 4], POLICIES):
        truth.check(elements=elements, policy=policy, alpha=next(turn))


@pytest.mark.slow
@pytest.mark.parametrize("name", zoo.generated())
def test_generated_graphs(name):
    graph = zoo.generated()[name]
    expected = ev.Graph.from_edges(
        *reference.edges(graph), np.ones(graph.m), directed=True, n=graph.n
    )  # both directions are stored, so as a directed graph it is the same
    truth = Truth(expected, int(graph.out_degree().argmax()))
    for elements, policy in product([1, 2, 4], POLICIES):
        pg = ev.partition(graph, ["cpu:1"] * elements, policy=policy)
        assert (ev.bfs(pg, source=truth.source)["distance"] == truth.distance).all()
        assert (ev.wcc(pg)["component"] == truth.component).all()
        rank = ev.pagerank(pg, tol=0, max_iter=ITERATIONS)["rank"]
        np.testing.assert_allclose(rank, truth.rank, rtol=RELATIVE, atol=0)


@pytest.mark.slow
@pytest.mark.parametrize("on", [["cpu"], ["cpu", "cpu"], ["cpu"] * 4], ids=len)
def test_a_hundred_runs_agree(on):
    """Whichever thread comes first: distances and components the same, ranks within 1e-6."""
    truth = truth_of(zoo.LARGE["rmat"](), directed=True)
    pg = ev.partition(truth.graph, on)
    for _ in range(100):
        assert (ev.bfs(pg, source=truth.source)["distance"] == truth.distance).all()
        assert (ev.sssp(pg, source=truth.source)["distance"] == truth.length).all()
        assert (ev.wcc(pg)["component"] == truth.component).all()
        rank = ev.pagerank(pg, tol=0, max_iter=ITERATIONS)["rank"]
        np.testing.assert_allclose(rank, truth.rank, rtol=RELATIVE, atol=0)


# ---- every kernel ------------------------------------------------------------------------------------

FILES = ["bfs", "betweenness", "bits", "exchange", "frontier", "pagerank", "sssp", "sssp_tree", "wcc"]
# Verbs that none of the five algorithms needs today: the transport's contract checks them.
OF_NO_ALGORITHM = {"exchange.push_add", "exchange.push_min"}
# Taken by other kernels, not by the engine.
OF_KERNELS = {"bits.clear_range"}


def kernels():
    """What elements may be asked for: all but the steps compiled into other kernels."""
    modules = {file: import_module(f"evener.kernels.cpu.{file}") for file in FILES}
    found = {
        (f"{file}.{name}", getattr(module, name))
        for file, module in modules.items()
        for name in module.__all__
    }
    return {
        name
        for name, kernel in found
        if hasattr(kernel, "targetoptions") and "inline" not in kernel.targetoptions
    }


def test_the_matrix_reaches_every_kernel(monkeypatch, alone):
    asked = set()
    kernel = CpuElement.kernel
    monkeypatch.setattr(CpuElement, "kernel", lambda self, name: asked.add(name) or kernel(self, name))
    for name, directed in product(zoo.SMALL, [True, False]):
        if name != "empty":
            truth = truth_of(zoo.SMALL[name](), directed=directed)
            for elements in (1, 4):
                truth.check(elements=elements)
    alone.check(elements=2, policy="low", alpha=0.001)
    assert asked == kernels() - OF_NO_ALGORITHM - OF_KERNELS
