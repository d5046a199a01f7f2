"""PageRank, compared with NetworkX, the reference implementation and ranks computed by hand."""

from __future__ import annotations

from importlib import import_module

import networkx as nx
import numpy as np
import pandas as pd
import pytest

import evener as ev
from support import reference
from support.pair_cover import pairwise_cover
from support.reference import as_networkx, random_graph

ONE_TWO_FOUR = pytest.mark.parametrize("elements", [1, 2, 4])


def networkx_ranks(graph, **options):
    """Return NetworkX's weighted ranks, at a tolerance far below that of the comparison."""
    g = as_networkx(graph)
    ranks = nx.pagerank(g, **{"tol": 1e-14, "max_iter": 1000} | options)
    return np.array([ranks[v] for v in range(graph.n)])


@pytest.mark.parametrize(
    ("directed", "elements", "damping", "dtype", "weights"),
    pairwise_cover([True, False], [1, 2, 4], [0.5, 0.85, 0.99], ["float32", "float64"], [None, False]),
)
def test_ranks_equal_networkx(directed, elements, damping, dtype, weights):
    """The graph has dangling vertices, self-loops and repeated edges."""
    g = random_graph(directed=directed, n=70, edges=150, seed=2)
    if directed:
        assert (g.out_degree() == 0).any()
    options = {"damping": damping, "max_iter": 2000, "dtype": dtype, "weights": weights}
    r = ev.pagerank(g, tol=0, on=["cpu:1"] * elements, **options)
    assert r["rank"].dtype == dtype
    assert r.parameters["weights"] is (weights is None)
    relative = 1e-6 if dtype == "float32" else 1e-9
    weight = "weight" if weights is None else None
    expected = networkx_ranks(g, alpha=damping, weight=weight)
    np.testing.assert_allclose(r["rank"], expected, rtol=relative, atol=0)
    assert r["rank"].sum(dtype=np.float64) == pytest.approx(1, rel=1e-6)


@ONE_TWO_FOUR
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("jumps", [None, {3: 1.0, 100: 2.0}], ids=["everywhere", "jumps"])
def test_vertices_without_edges_have_their_share(directed, elements, jumps):
    """Many vertices have no edges, so their dangling rank is a large part of the sum."""
    g = random_graph(directed=directed, n=150, edges=60, seed=4)
    ends = np.bincount(g.targets, minlength=g.n) + g.out_degree()
    assert (ends == 0).sum() > 60
    r = ev.pagerank(g, tol=0, max_iter=500, dtype="float64", personalization=jumps, on=["cpu:1"] * elements)
    expected = networkx_ranks(g, personalization=jumps)
    # NetworkX stops when the ranks change by 150e-14 in sum, so the remaining error is below 1e-11.
    np.testing.assert_allclose(r["rank"], expected, rtol=0, atol=1e-11)
    none = ev.pagerank(g, tol=0, max_iter=0, on=["cpu:1"] * elements)
    assert none["rank"] == pytest.approx(np.full(150, 1 / 150))


@ONE_TWO_FOUR
@pytest.mark.parametrize(("n", "edges"), [(50, 120), (150, 40)], ids=["", "many without edges"])
def test_stop_networkx_stops_where_networkx_does(elements, n, edges):
    """The number of iterations and the ranks are equal, converged or not."""
    g = random_graph(directed=True, n=n, edges=edges, seed=5)
    for tol in (1e-3, 1e-5, 1e-8):
        needed = next(k for k in range(1, 200) if _networkx_converges(g, tol, k))
        options = {"tol": tol, "stop": "networkx", "dtype": "float64", "on": ["cpu:1"] * elements}
        r = ev.pagerank(g, **options)
        assert r.outcome == {"iterations": needed, "converged": True}
        np.testing.assert_allclose(r["rank"], networkx_ranks(g, tol=tol), rtol=1e-12)
        with pytest.warns(ev.ConvergenceWarning):
            short = ev.pagerank(g, max_iter=needed - 1, **options)
        assert short.outcome == {"iterations": needed - 1, "converged": False}


@pytest.mark.parametrize(
    ("options", "dtype"),
    [
        ({}, "float32"),
        ({"tol": 0}, "float32"),
        ({"tol": 1e-9}, "float64"),
        ({"tol": 1e-9, "semantics": "graphalytics"}, "float32"),
        ({"tol": 1e-8, "stop": "networkx"}, "float32"),  # an L1 tolerance of 65,536 * tol
        ({"tol": 1e-12, "stop": "networkx"}, "float64"),
        ({"tol": 1e-4, "dtype": "float64"}, "float64"),
    ],
)
def test_the_default_dtype_reaches_the_tolerance(options, dtype):
    r = ev.pagerank(ev.read("rmat:16"), max_iter=200, **options)
    assert r["rank"].dtype == dtype
    assert r.parameters["dtype"] == dtype
    assert r.parameters["stop"] == options.get("stop", "l1")
    assert r.outcome["converged"] in (True, None)


def test_float32_reaches_the_smallest_tolerance_it_is_chosen_for():
    module = import_module("evener.algorithms.pagerank.pagerank")
    r = ev.pagerank(ev.read("rmat:16"), tol=module._FLOAT32_TOL / 10, dtype="float32")
    assert r.outcome["converged"]


def test_a_run_that_does_not_converge_warns():
    """The ranks of a star alternate with damping=1."""
    star = ev.Graph.from_edges([0, 0, 0], [1, 2, 3], directed=False)
    said = (
        r"did not converge in 100 iterations: expected an L1 change below 1e-06, found 1; increase max_iter="
    )
    with pytest.warns(ev.ConvergenceWarning, match=said) as caught:
        r = ev.pagerank(star, damping=1.0)
    assert r.outcome == {"iterations": 100, "converged": False}
    assert caught[0].filename == __file__
    with pytest.warns(ev.ConvergenceWarning, match='; use dtype="float64" or tol=$'):
        ev.pagerank(ev.read("rmat:8"), tol=1e-12, dtype="float32")
    # Runs without a tolerance do not warn; a warning would be an error here.
    ev.pagerank(star, damping=1.0, tol=0, max_iter=3)
    ev.pagerank(star, damping=1.0, semantics="graphalytics", max_iter=3)


@ONE_TWO_FOUR
def test_without_a_tolerance_no_iteration_is_skipped(elements):
    """With damping=0 the ranks never change, but tol=0 still runs max_iter iterations."""
    g = random_graph(directed=True, n=50, edges=120, seed=5)
    r = ev.pagerank(g, damping=0, tol=0, max_iter=5, on=["cpu:1"] * elements)
    assert r.outcome == {"iterations": 5, "converged": None}


def test_the_empty_graph_needs_no_iteration():
    r = ev.pagerank(ev.Graph.from_edges([], [], n=0), on="cpu:1")
    assert len(r["rank"]) == 0
    assert r.outcome == {"iterations": 0, "converged": True}


def _networkx_converges(graph, tol, iterations):
    try:
        nx.pagerank(as_networkx(graph), tol=tol, max_iter=iterations)
    except nx.PowerIterationFailedConvergence:
        return False
    return True


@ONE_TWO_FOUR
@pytest.mark.parametrize("iterations", [0, 1, 2, 7])
def test_a_fixed_number_of_iterations(elements, iterations):
    g = random_graph(directed=True, n=64, edges=100, seed=8)
    for options in ({"tol": 0}, {"semantics": "graphalytics"}, {"semantics": "graphalytics", "tol": 0.5}):
        r = ev.pagerank(g, max_iter=iterations, dtype="float64", on=["cpu:1"] * elements, **options)
        # LDBC Graphalytics has no weights in PageRank.
        expected = reference.pagerank(g, iterations=iterations, weights="semantics" not in options)
        np.testing.assert_allclose(r["rank"], expected, rtol=1e-13)
        assert r.outcome["iterations"] == iterations
        assert r.edges == g.m * iterations


@ONE_TWO_FOUR
def test_personalization(elements):
    g = random_graph(directed=True, n=40, edges=70, seed=3)
    weights = {0: 1.0, 7: 2.5, 39: 0.5}
    expected = networkx_ranks(g, personalization=weights)
    array = np.zeros(g.n)
    array[list(weights)] = list(weights.values())
    for personalization in (weights, array, array * 1000, array.astype(np.float32), array.tolist()):
        r = ev.pagerank(
            g, personalization=personalization, tol=0, max_iter=500, dtype="float64", on=["cpu:1"] * elements
        )
        np.testing.assert_allclose(r["rank"], expected, rtol=1e-9, atol=1e-15)


def test_personalization_uses_the_ids_of_the_graph():
    g = ev.Graph.from_edges([100, 30], [30, 7])
    r = ev.pagerank(g, damping=0, personalization={100: 3, 7: 1}, dtype="float64")
    assert dict(zip(g.ids.tolist(), r["rank"].tolist(), strict=True)) == {7: 0.25, 30: 0.0, 100: 0.75}


def test_personalization_by_a_series_uses_its_index():
    g = ev.Graph.from_edges([100, 30], [30, 7])
    jumps = pd.Series([3, 0, 1], index=[100, 30, 7])
    r = ev.pagerank(g, damping=0, personalization=jumps, dtype="float64")
    assert dict(zip(g.ids.tolist(), r["rank"].tolist(), strict=True)) == {7: 0.25, 30: 0.0, 100: 0.75}
    ev.verify(r)


def test_personalization_of_a_partition_with_a_single_vertex():
    """There, an array of one value per vertex has the shape of one value for all vertices."""
    g = ev.Graph.from_edges([0, 0, 0, 1], [1, 2, 3, 0])
    pg = ev.partition(g, ["cpu:1"] * 4)
    assert 1 in [p.owned for p in pg.partitions]
    weights = {0: 1.0, 1: 2.0, 2: 3.0, 3: 4.0}
    found = ev.pagerank(pg, personalization=weights, tol=0, max_iter=300, dtype="float64")["rank"]
    np.testing.assert_allclose(found, networkx_ranks(g, personalization=weights), rtol=1e-9)


@ONE_TWO_FOUR
def test_by_hand(elements):
    """0 -> 1, and 1 dangles. From (1/2, 1/2), each gets (1 - d)/2 + d/4, and 1 gets d/2 more."""
    g = ev.Graph.from_edges([0], [1])
    r = ev.pagerank(g, damping=0.8, tol=0, max_iter=1, dtype="float64", on=["cpu:1"] * elements)
    assert r["rank"].tolist() == pytest.approx([0.3, 0.7])


def test_ranks_on_a_cycle_are_equal():
    g = ev.Graph.from_edges(np.arange(100), (np.arange(100) + 1) % 100)
    r = ev.pagerank(g, on=["cpu:1"] * 2)
    np.testing.assert_allclose(r["rank"], 0.01, rtol=1e-6)
    assert r.outcome == {"iterations": 1, "converged": True}


def test_repeated_edges_count_separately():
    g = ev.Graph.from_edges([0, 0, 0, 1, 2], [1, 1, 2, 0, 0])
    np.testing.assert_allclose(ev.pagerank(g, tol=0, dtype="float64")["rank"], networkx_ranks(g), rtol=1e-6)
    once = ev.Graph.from_edges([0, 0, 1, 2], [1, 2, 0, 0])
    assert not np.allclose(networkx_ranks(g), networkx_ranks(once), rtol=1e-2)


def test_an_undirected_self_loop_counts_once_as_in_networkx():
    g = ev.Graph.from_edges([0, 0, 1], [0, 1, 2], directed=False)
    ranks = nx.pagerank(nx.Graph([(0, 0), (0, 1), (1, 2)]), tol=1e-14, max_iter=1000)
    found = ev.pagerank(g, tol=0, max_iter=1000, dtype="float64")["rank"]
    np.testing.assert_allclose(found, [ranks[v] for v in range(3)], rtol=1e-9)


@pytest.mark.parametrize("n", [0, 1, 5])
@ONE_TWO_FOUR
def test_no_edges(n, elements):
    r = ev.pagerank(ev.Graph.from_edges([], [], n=n), on=["cpu:1"] * elements)
    np.testing.assert_allclose(r["rank"], np.full(n, 1 / max(n, 1)), rtol=1e-6)


def test_ranks_of_a_large_skewed_graph_keep_six_digits_in_float32():
    rng = np.random.default_rng(0)
    src, dst = (rng.random((2, 200_000)) ** 4 * 20_000).astype(np.int64)
    g = ev.Graph.from_edges(src, dst, n=20_000)
    expected = reference.pagerank(g, iterations=50)
    for on in (["cpu"], ["cpu:1"] * 2, ["cpu:1"] * 4):
        found = ev.pagerank(g, tol=0, max_iter=50, on=on)["rank"]
        np.testing.assert_allclose(found, expected, rtol=1e-6)


def test_progress_reports_the_completed_fraction():
    reported = []
    g = random_graph(directed=True, n=50, edges=120, seed=5)
    r = ev.pagerank(g, tol=1e-9, dtype="float64", progress=reported.append)
    iterations = [p for p in reported if p.phase == "iterate"]
    assert len(iterations) == r.outcome["iterations"]
    assert [p.fraction for p in iterations[:2]] == [None, None]  # fewer than two errors to compare
    done = [p.fraction for p in iterations[2:]]
    assert all(0 < f < 1 for f in done)
    assert done == sorted(done)
    assert done[-1] > 0.8
    assert all(p.edges_per_second > 0 for p in iterations[1:])


def test_progress_is_the_fraction_of_a_fixed_number_of_iterations():
    reported = []
    g = random_graph(directed=True, n=50, edges=120, seed=5)
    ev.pagerank(g, tol=0, max_iter=4, progress=reported.append)
    assert [p.fraction for p in reported if p.phase == "iterate"] == [0, 0.25, 0.5, 0.75]
    assert [p.active for p in reported] == [50] * 5


def test_a_dtype_of_numpy_is_a_dtype():
    g = ev.Graph.from_edges([0, 1], [1, 2])
    for dtype in (np.float64, np.dtype("float64"), "f8"):
        r = ev.pagerank(g, dtype=dtype)
        assert r["rank"].dtype == np.float64
        assert r.parameters["dtype"] == "float64"
        assert isinstance(r.parameters["dtype"], str)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"damping": -0.1}, "damping=: expected a number from 0 to 1"),
        ({"damping": 1.1}, "damping=: expected a number from 0 to 1"),
        ({"damping": float("nan")}, "damping=: expected a number from 0 to 1"),
        ({"tol": -1e-6}, "tol=: expected a finite number"),
        ({"tol": float("nan")}, "tol=: expected a finite number"),
        ({"tol": float("inf")}, "tol=: expected a finite number"),
        ({"max_iter": -1}, "max_iter=: expected an integer"),
        ({"max_iter": 1.5}, "max_iter=: expected an integer"),
        ({"max_iter": True}, "max_iter=: expected an integer"),
        ({"max_iter": float("inf")}, "max_iter=: expected an integer of at least 0, found inf"),
        ({"max_iter": float("nan")}, "max_iter=: expected an integer"),
        ({"max_iter": "10"}, "max_iter=: expected an integer of at least 0, found '10'"),
        ({"damping": "0.85"}, "damping=: expected a number from 0 to 1, found '0.85'"),
        ({"tol": None}, "tol=: expected a finite number of at least 0, found None"),
        ({"personalization": {0: "much"}}, "personalization=: expected numbers as values: could not convert"),
        ({"personalization": "many"}, "personalization=: expected numbers as values"),
        ({"dtype": "float16"}, '"float32" or "float64", found \'float16\''),
        ({"dtype": int}, '"float32" or "float64", found <class \'int\'>'),
        ({"dtype": "single precision"}, '"float32" or "float64", found \'single precision\''),
        ({"stop": "l2"}, 'stop=: expected "l1" or "networkx", found \'l2\''),
        ({"weights": "weight"}, "weights=: expected True, False or None, found 'weight'"),
        ({"weights": True}, "weights=: expected a graph with weights, found none"),
        ({"semantics": "igraph"}, '"networkx" or "graphalytics", found \'igraph\''),
        ({"personalization": {0: -1.0, 1: 2.0}}, "finite values of at least 0"),
        ({"personalization": {0: float("nan")}}, "finite values"),
        ({"personalization": {}}, "at least one above 0"),
        ({"personalization": [0.0, 0.0, 0.0]}, "at least one above 0"),
        (
            {"personalization": pd.Series([1.0, 2.0], index=[2, 2])},
            "one value per vertex, found several for 2",
        ),
        ({"personalization": {0: [1.0, 2.0]}}, r"one number per vertex, found values of shape \(1, 2\)"),
        ({"personalization": [1.0, 1.0]}, r"expected shape \(3,\), one value per vertex, found \(2,\)"),
    ],
)
def test_wrong_arguments_are_refused(wrong, sentence):
    g = ev.Graph.from_edges([0, 1], [1, 2])
    with pytest.raises(ev.ArgumentError, match=sentence):
        ev.pagerank(g, **wrong)


def test_an_unknown_vertex_in_the_personalization_is_refused():
    with pytest.raises(ev.UnknownVertexError, match=r"^vertex 9 is not in the graph"):
        ev.pagerank(ev.Graph.from_edges([0, 1], [1, 2]), personalization={9: 1.0})


@pytest.mark.parametrize("three", [3.0, np.int8(3), np.float32(3)])
def test_whole_numbers_of_any_type_are_iterations(three):
    assert ev.pagerank(random_graph(directed=True, n=9), tol=0, max_iter=three).outcome["iterations"] == 3


def test_a_personalization_may_sum_to_more_than_float64_holds():
    g = random_graph(directed=True, n=50, edges=120, seed=5)
    evenly = ev.pagerank(g, personalization=np.full(50, 1e307), dtype="float64")["rank"]
    np.testing.assert_allclose(evenly, ev.pagerank(g, dtype="float64")["rank"], rtol=1e-12)
