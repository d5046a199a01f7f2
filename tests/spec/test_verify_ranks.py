"""The verifiers of PageRank and betweenness accept NetworkX's answers and refuse single changes of them."""

from __future__ import annotations

import re

import networkx as nx
import numpy as np
import pytest

from evener.errors import ArgumentError
from evener.graph.graph import Graph
from evener.spec.verify import Claim, verify
from support import reference
from support.reference import as_networkx, random_graph
from support.wrong_answers import changed, claim, refused


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return random_graph(directed=request.param)


# ---- PageRank ---------------------------------------------------------------------------------------


def pagerank_claim(graph, rank, **parameters):
    parameters = {"damping": 0.85, "tol": 1e-6, "max_iter": 100, **parameters}
    outcome = {name: parameters.pop(name) for name in ("iterations", "converged") if name in parameters}
    return Claim("pagerank", graph, {"rank": rank}, parameters, outcome)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pagerank_accepts_networkx(graph, dtype):
    wanted = nx.pagerank(as_networkx(graph), tol=1e-12, max_iter=1000)
    verify(pagerank_claim(graph, np.array(list(wanted.values()), dtype=dtype)))


def test_pagerank_accepts_a_personalization(graph):
    wish = {3: 1.0, 7: 2.0}
    wanted = nx.pagerank(as_networkx(graph), tol=1e-12, max_iter=1000, personalization=wish)
    rank = np.array(list(wanted.values()))
    verify(pagerank_claim(graph, rank, personalization=wish))
    vector = np.zeros(graph.n)
    vector[[3, 7]] = 5.0, 10.0
    verify(pagerank_claim(graph, rank, personalization=vector))
    refused(pagerank_claim(graph, rank), "another iteration")
    refused(pagerank_claim(graph, rank, personalization={3: 2.0, 7: 1.0}), "another iteration")


def test_pagerank_accepts_a_personalization_whose_sum_overflows(graph):
    wanted = nx.pagerank(as_networkx(graph), tol=1e-12, max_iter=1000, personalization={3: 1.0, 7: 1.0})
    rank = np.array(list(wanted.values()))
    verify(pagerank_claim(graph, rank, personalization={3: 1e308, 7: 1e308}))
    refused(pagerank_claim(graph, rank, personalization={3: 1e308, 7: 0.5e308}), "another iteration")


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"personalization": "[0.1 0.2]"}, "personalization=: expected numbers as values"),
        ({"personalization": {3: "x"}}, "personalization=: expected numbers as values"),
        ({"personalization": [1.0, 2.0]}, ", found (2,)"),
        ({"personalization": {3: -1.0, 4: 2.0}}, "finite values of at least 0"),
        ({"personalization": {3: 0.0}}, "at least one above 0"),
        ({"personalization": {3: float("nan")}}, "finite"),
        ({"tol": "x"}, "expected a number as 'tol', found 'x'"),
        ({"tol": float("nan")}, "expected a number as 'tol', found nan"),
        ({"stop": "l2"}, "expected 'l1' or 'networkx' as 'stop', found 'l2'"),
        ({"damping": [1]}, "expected a number as 'damping', found [1]"),
        ({"iterations": "x"}, "expected an integer of at least 0 as 'iterations', found 'x'"),
        ({"tol": 0, "max_iter": None}, "does not record the parameter 'max_iter'"),
    ],
)
def test_pagerank_refuses_wrong_parameters(wrong, message):
    graph = random_graph(directed=True)
    with pytest.raises(ArgumentError, match=re.escape(message)):
        verify(pagerank_claim(graph, reference.pagerank(graph), **wrong))


def test_parameters_and_outcome_must_be_mappings():
    graph = random_graph(directed=True)
    rank = {"rank": reference.pagerank(graph)}
    for wrong in ({"parameters": 3}, {"outcome": []}):
        with pytest.raises(ArgumentError, match=r"expected a mapping as the answer.s \w+, found (int|list)"):
            verify(Claim("pagerank", graph, rank, **wrong))


def test_pagerank_allows_n_times_tol_for_a_run_that_stopped_as_networkx_does(graph):
    wanted = nx.pagerank(as_networkx(graph), tol=1e-4)
    claimed = pagerank_claim(graph, np.array(list(wanted.values())), tol=1e-4)
    refused(claimed, "another iteration")
    verify(pagerank_claim(graph, claimed["rank"], tol=1e-4, stop="networkx"))


def test_pagerank_refuses_every_wrong_rank(graph):
    rank = reference.pagerank(graph)
    for v in range(graph.n):
        refused(pagerank_claim(graph, changed(rank, **{f"v{v}": rank[v] * 1.001})), "ranks sum to one")
        # One vertex gains the rank that another loses, so the sum does not change.
        moved = changed(rank, **{f"v{v}": rank[v] * 1.001})
        moved[(v + 1) % graph.n] -= rank[v] * 0.001
        refused(pagerank_claim(graph, moved), "another iteration does not change the ranks")
        for wrong in (-rank[v], np.nan, np.inf):
            refused(
                pagerank_claim(graph, changed(rank, **{f"v{v}": wrong})), "a rank is a non-negative number"
            )


def test_pagerank_refuses_too_few_iterations_and_another_damping(graph):
    early = reference.pagerank(graph, iterations=5)
    refused(pagerank_claim(graph, early), "another iteration")
    refused(pagerank_claim(graph, reference.pagerank(graph), damping=0.9), "another iteration")
    refused(pagerank_claim(graph, np.ones(graph.n, dtype=int)), "ranks are float32 or float64")


def test_pagerank_with_recorded_iterations(graph):
    rank = reference.pagerank(graph, iterations=30)
    loose = {"tol": 1.0, "iterations": 30}
    verify(pagerank_claim(graph, rank, **loose))
    short = {"iterations": 2, "converged": False}
    early = reference.pagerank(graph, iterations=2)
    verify(pagerank_claim(graph, early, max_iter=2, **short))
    refused(pagerank_claim(graph, early, max_iter=3, **short), "a run ends when it converges, or after")
    refused(pagerank_claim(graph, rank, **{**loose, "iterations": 29}), "ranks are those of 29 iterations")
    for v in range(graph.n):
        moved = changed(rank, **{f"v{v}": rank[v] * (1 + 1e-6)})
        moved[(v + 1) % graph.n] -= rank[v] * 1e-6
        refused(pagerank_claim(graph, moved, **loose), "ranks are those of 30 iterations")


@pytest.mark.parametrize("fixed", [{"semantics": "graphalytics"}, {"tol": 0}])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_pagerank_of_fixed_length(graph, fixed, dtype):
    rank = reference.pagerank(graph, iterations=4, weights="tol" in fixed).astype(dtype)
    verify(pagerank_claim(graph, rank, max_iter=4, **fixed))
    refused(pagerank_claim(graph, rank, max_iter=5, **fixed), "ranks are those of 5 iterations")
    swapped = rank.copy()
    swapped[[3, 7]] = rank[[7, 3]]
    refused(pagerank_claim(graph, swapped, max_iter=4, **fixed), "ranks are those of 4 iterations: vertex 3")


def test_pagerank_without_recorded_iterations(graph):
    wanted = nx.pagerank(as_networkx(graph), tol=1e-12, max_iter=1000)
    rank = np.array(list(wanted.values()))
    verify(pagerank_claim(graph, rank, max_iter=None, iterations=None))
    refused(pagerank_claim(graph, rank * 1.001, max_iter=None, iterations=None), "ranks sum to one")


def test_pagerank_that_stopped_at_max_iter(graph):
    """The run ended before it met the tolerance, and the claim does not record its iterations."""
    early = reference.pagerank(graph, iterations=3)
    verify(pagerank_claim(graph, early, max_iter=3))
    for most in (2, 4, 10**9, None):
        refused(pagerank_claim(graph, early, max_iter=most), "another iteration does not change the ranks")
    moved = early.copy()
    moved[[3, 7]] = early[[7, 3]]
    refused(pagerank_claim(graph, moved, max_iter=3), "another iteration does not change the ranks")
    # If wrong ranks would meet the tolerance, only the ranks of exactly max_iter iterations pass. No earlier
    # iteration may meet the tolerance.
    verify(pagerank_claim(graph, early, max_iter=3, tol=0.2))
    for rank, most, tol in ((moved, 3, 0.2), (early, 3, 2.0), (early, None, 0.2)):
        with pytest.raises(ArgumentError, match=r"wrong ranks would pass; verify a run with tol=0\.1 or"):
            verify(pagerank_claim(graph, rank, max_iter=most, tol=tol))


@pytest.mark.parametrize("damping", [0.5, 0.85, 0.99, 1.0])
def test_pagerank_allows_rounding_in_a_long_row(damping):
    """Each of 100,000 additions may round the sum of a row by a factor of 1 + 2^-53."""
    n = 100_000
    star = Graph.from_edges(np.arange(1, n), np.zeros(n - 1, int), n=n)
    rank, parameters = np.full(n, 1 / n), {"damping": damping, "tol": 0, "max_iter": 5}
    for _ in range(5):
        rays = (1 - damping) / n + damping * rank[0] / n
        rank = np.append((1 - damping) / n + damping * (rank[0] / n + rank[1:].sum()), np.full(n - 1, rays))
    assert abs(rank.sum() - 1) < 1e-14
    verify(pagerank_claim(star, rank * (1 + 2e-13), **parameters))
    refused(pagerank_claim(star, rank * (1 + 1e-9), **parameters), "ranks sum to one")


@pytest.mark.parametrize(("damping", "off"), [(0.85, 470), (0.5, 100), (0.5, 149)])
def test_pagerank_allows_rounding_on_a_long_path(damping, off):
    """The ranks of a path are rounded to float32 at each vertex, down to subnormal numbers."""
    n, rounds = 1000, 1200
    path = Graph.from_edges(np.arange(n - 1), np.arange(1, n), n=n)
    rank = np.full(n, 1 / n, np.float32)
    for _ in range(rounds):
        last = rank[-1].astype(np.float64)
        passed_on = damping * rank.astype(np.float64)
        rank = np.append(1 - damping + damping * last, passed_on[:-1]).astype(np.float32)
    exact = (1 - damping) * damping ** np.arange(n)
    assert not np.allclose(rank, exact, rtol=1e-6, atol=0)
    parameters = {"damping": damping, "tol": 0, "max_iter": rounds, "personalization": {0: 1.0}}
    verify(pagerank_claim(path, rank, **parameters))
    wrong = changed(rank, **{f"v{off}": rank[off] * 1.0001 + 1e-37})
    rule = f"ranks are those of {rounds} iterations: vertex {off}"
    refused(pagerank_claim(path, wrong, **parameters), rule)


# ---- betweenness ------------------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("normalized", [True, False])
def test_betweenness_accepts_networkx(directed, normalized):
    g = nx.gnp_random_graph(30, 0.1, seed=4, directed=directed)
    src, dst = np.array(g.edges()).T
    graph = Graph.from_edges(src, dst, directed=directed, n=30)
    wanted = np.array(list(nx.betweenness_centrality(g, normalized=normalized).values()))
    for dtype in (np.float32, np.float64):
        verify(
            claim(
                "betweenness",
                graph,
                {"sources": None, "normalized": normalized},
                centrality=wanted.astype(dtype),
            )
        )
    for v in range(30):
        wrong = changed(wanted, **{f"v{v}": wanted[v] + 1e-4})
        refused(
            claim("betweenness", graph, {"sources": None, "normalized": normalized}, centrality=wrong),
            f"vertex {v} has",
        )


def test_betweenness_of_some_sources(graph):
    sources = [3, 8, 21]
    total = reference.betweenness(graph, sources=sources)
    scale = graph.n / len(sources) / (1 if graph.directed else 2)
    parameters = {"sources": sources, "normalized": False}
    verify(claim("betweenness", graph, parameters, centrality=total * scale))
    refused(
        claim("betweenness", graph, {**parameters, "sources": [3, 8]}, centrality=total * scale),
        "dependencies from 2 sources",
    )
    refused(claim("betweenness", graph, parameters, centrality=np.full(graph.n, np.nan)), "vertex 0 has nan")
    refused(claim("betweenness", graph, parameters, centrality=np.zeros(graph.n, int)), "float32 or float64")


def test_betweenness_with_more_paths_than_float64_holds():
    """1,500 squares are joined at their corners: each doubles the number of paths, to 2^1500."""
    squares = 1500
    joints, sides = np.arange(squares) * 3, np.arange(squares) * 3 + 1
    src = np.concatenate([joints, joints, sides, sides + 1])
    dst = np.concatenate([sides, sides + 1, joints + 3, joints + 3])
    ladder = Graph.from_edges(src, dst, directed=True, n=3 * squares + 1)
    # Each joint lies on the paths to all later vertices, and each side of a square on half of them.
    after = 3 * squares - np.arange(3 * squares + 1)
    expected = np.where(after % 3 == 0, after, 0).astype(float)
    expected[0] = 0
    expected[sides] = expected[sides + 1] = (after[joints + 3] + 1) / 2
    scale = ladder.n
    parameters = {"sources": [0], "normalized": False}
    verify(claim("betweenness", ladder, parameters, centrality=expected * scale))
    refused(claim("betweenness", ladder, parameters, centrality=changed(expected, v4400=1.0) * scale))
