"""The parity matrix: one answer however the graph is split, and it is that of the plain reference.

Distances and components are the same to the bit; ranks and centralities agree to 1e-6 relative.
"""

from __future__ import annotations

from itertools import cycle, product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
import reference
import zoo
from evener.elements import CpuElement
from truth import ITERATIONS, Truth, source_alone, truth_of
from twins import OF_NO_ALGORITHM, kernels

POLICIES = ["random", "high", "low"]
ALPHAS = [None, 0, 0.2, 0.5, 0.8, 1]
SPLITS = [(elements, policy, alpha) for elements in (2, 4) for policy, alpha in product(POLICIES, ALPHAS)]


directions = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])


@directions
@pytest.mark.parametrize("name", [name for name in zoo.SMALL if name != "empty"])
def test_small_graphs(name, directed):
    """One element, and for two and four elements every policy, each with two of the shares in turn."""
    truth = truth_of(zoo.SMALL[name](), directed=directed)
    truth.check(on=["cpu:1"])
    turn = cycle(ALPHAS)
    for elements, policy, _ in product([2, 4], POLICIES, range(2)):
        truth.check(on=["cpu:1"] * elements, policy=policy, alpha=next(turn))


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
        Truth(graph, source).check(on=["cpu:1"] * splits)


@directions
def test_a_source_alone_in_its_partition(directed):
    source_alone(directed=directed).check(on=["cpu:1"] * 2, policy="low", alpha=0.001)


@settings(max_examples=40)
@given(
    graph=zoo.drawn_graphs(),
    split=st.sampled_from(SPLITS),
    source=st.integers(0, 2**16),
)
def test_drawn_graphs(graph, split, source):
    elements, policy, alpha = split
    truth = Truth(graph, source % graph.n)
    truth.check(on=["cpu:1"])
    truth.check(on=["cpu:1"] * elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@settings(max_examples=400)
@given(graph=zoo.drawn_graphs(), split=st.sampled_from(SPLITS), source=st.integers(0, 2**16))
def test_many_drawn_graphs(graph, split, source):
    elements, policy, alpha = split
    Truth(graph, source % graph.n).check(on=["cpu:1"] * elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@directions
@pytest.mark.parametrize("name", [name for name in zoo.SMALL if name != "empty"])
def test_small_graphs_in_every_split(name, directed):
    truth = truth_of(zoo.SMALL[name](), directed=directed)
    for elements, policy, alpha in SPLITS:
        truth.check(on=["cpu:1"] * elements, policy=policy, alpha=alpha)


@pytest.mark.slow
@directions
@pytest.mark.parametrize("name", zoo.LARGE)
def test_large_graphs(name, directed):
    truth = truth_of(zoo.LARGE[name](), directed=directed)
    truth.check(on=["cpu:1"])
    turn = cycle([None, 0.3, 0.7])
    for elements, policy in product([2, 4], POLICIES):
        truth.check(on=["cpu:1"] * elements, policy=policy, alpha=next(turn))


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
        truth.check_pagerank(ev.pagerank(pg, tol=0, max_iter=ITERATIONS))


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
        truth.check_pagerank(ev.pagerank(pg, tol=0, max_iter=ITERATIONS))


# ---- by messages -------------------------------------------------------------------------------------

# Elements apart, two of which share a memory; some are driven as GPUs are.
APART = [
    ["apart:0", "apart:1"],
    ["apart:0", "late:1"],
    ["late:0", "late:0", "apart:1"],
    ["apart:0", "late:1", "late:1", "apart:0"],
]


@pytest.mark.usefixtures("apart_elements")
@directions
@pytest.mark.parametrize("name", [name for name in zoo.SMALL if name != "empty"])
def test_small_graphs_by_messages(name, directed):
    truth = truth_of(zoo.SMALL[name](), directed=directed)
    for on, policy, alpha in zip(APART, cycle(POLICIES), [None, 0.2, 0.5, 0.8], strict=False):
        truth.check(on=on, policy=policy, alpha=alpha)


@pytest.mark.usefixtures("apart_elements")
@settings(max_examples=30)
@given(
    graph=zoo.drawn_graphs(),
    on=st.sampled_from([["late:0"], *APART]),
    policy=st.sampled_from(POLICIES),
    alpha=st.sampled_from(ALPHAS),
    source=st.integers(0, 2**16),
)
def test_drawn_graphs_by_messages(graph, on, policy, alpha, source):
    Truth(graph, source % graph.n).check(on=on, policy=policy, alpha=alpha)


# ---- every kernel ------------------------------------------------------------------------------------


@pytest.mark.usefixtures("apart_elements")
def test_the_matrix_reaches_every_kernel(monkeypatch):
    asked = set()
    kernel = CpuElement.kernel
    monkeypatch.setattr(CpuElement, "kernel", lambda self, name: asked.add(name) or kernel(self, name))
    for name, directed in product(zoo.SMALL, [True, False]):
        if name != "empty":
            truth = truth_of(zoo.SMALL[name](), directed=directed)
            for on in (["apart:0"], ["apart:0"] * 4, ["apart:0", "apart:1"]):
                truth.check(on=on)
    for directed in (True, False):
        source_alone(directed=directed).check(on=["apart:0"] * 2, policy="low", alpha=0.001)
    assert asked == set(kernels()) - OF_NO_ALGORITHM
