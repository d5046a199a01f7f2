"""Weighted PageRank, compared with NetworkX, igraph and ranks computed by hand."""

from __future__ import annotations

import igraph
import networkx as nx
import numpy as np
import pytest

import evener as ev
from support.reference import as_networkx

ONE_TWO_FOUR = pytest.mark.parametrize("elements", [1, 2, 4])
# The everyday command compiles kernels for fewer types.
WEIGHTS = ["float64", "float32", "int32", pytest.param("int8", marks=pytest.mark.slow)]


def weighted_graph(*, directed, dtype="float64", n=75, edges=220):
    """Return a graph with weight 0 on a third of its edges: some vertices with out-edges dangle."""
    rng = np.random.default_rng(11)
    src, dst = rng.integers(0, n - 5, (2, edges))
    weights = (rng.random(edges) * 90 * (rng.random(edges) > 0.35)).astype(dtype)
    return ev.Graph.from_edges(src, dst, weights, directed=directed, n=n)


def igraph_ranks(graph, **options):
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(int)))
    pairs = np.column_stack([tails, graph.targets]).tolist()
    g = igraph.Graph(graph.n, pairs, directed=True)
    return np.array(g.personalized_pagerank(weights=graph.weights.tolist(), **options))


@ONE_TWO_FOUR
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("jumps", [None, {3: 1.0, 74: 2.0}], ids=["everywhere", "jumps"])
def test_ranks_equal_networkx_and_igraph(directed, elements, jumps):
    g = weighted_graph(directed=directed)
    out = np.bincount(np.repeat(np.arange(g.n), g.out_degree().astype(int)), g.weights, minlength=g.n)
    assert ((out == 0) & (g.out_degree() > 0)).any() == directed
    r = ev.pagerank(g, tol=1e-13, max_iter=500, personalization=jumps, on=["cpu:1"] * elements)
    ranks = nx.pagerank(as_networkx(g), tol=1e-14, max_iter=1000, personalization=jumps)
    np.testing.assert_allclose(r["rank"], [ranks[v] for v in range(g.n)], rtol=1e-9, atol=1e-11)
    ev.verify(r)
    if jumps is None:  # igraph spreads the rank of dangling vertices evenly
        np.testing.assert_allclose(r["rank"], igraph_ranks(g), rtol=1e-8)


@pytest.mark.parametrize("dtype", WEIGHTS)
@pytest.mark.parametrize("on", ["cpu:1", "cpu:1,cpu:1"])
def test_weights_of_every_type(dtype, on):
    g = weighted_graph(directed=True, dtype=dtype)
    assert g.weights.dtype == dtype
    ranks = nx.pagerank(as_networkx(g), tol=1e-14, max_iter=1000)
    r = ev.pagerank(g, on=on)
    assert r["rank"].dtype == "float32"
    assert np.abs(r["rank"] - [ranks[v] for v in range(g.n)]).sum() < 1e-5
    ev.verify(r)


@ONE_TWO_FOUR
def test_by_hand(elements):
    """From ranks of 1/3 each, vertex 0 gives 1/4 of its rank to 1 and 3/4 to 2; 1 and 2 dangle."""
    g = ev.Graph.from_edges([0, 0, 1], [1, 2, 0], [1, 3, 0])
    r = ev.pagerank(g, damping=0.9, tol=0, max_iter=1, dtype="float64", on=["cpu:1"] * elements)
    jump = (0.1 + 0.9 * 2 / 3) / 3
    assert r["rank"].tolist() == pytest.approx([jump, jump + 0.9 / 12, jump + 0.9 / 4])


def test_equal_weights_give_unweighted_ranks():
    g = ev.Graph.from_edges([0, 0, 1, 2, 2], [1, 2, 2, 0, 1], np.full(5, 7.0))
    plain = ev.pagerank(g, tol=1e-12, weights=False)["rank"]
    np.testing.assert_allclose(ev.pagerank(g, tol=1e-12)["rank"], plain, rtol=1e-12)


@pytest.mark.parametrize("scale", [1e-240, 1e-40, 1e40, 1e240])
def test_the_scale_of_the_weights_does_not_matter(scale):
    g = weighted_graph(directed=True)
    scaled = ev.Graph(g.offsets, g.targets, weights=g.weights * scale, directed=True)
    np.testing.assert_allclose(ev.pagerank(scaled)["rank"], ev.pagerank(g)["rank"], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float64", "int32"])
def test_a_graph_stored_by_in_edges_only(dtype):
    g = weighted_graph(directed=True, dtype=dtype)
    turned = ev.Graph.from_in_edges(
        ev.Graph(g.reverse.offsets, g.reverse.targets, weights=g.reverse.weights, directed=True)
    )
    assert turned.stored_directions == ("in",)
    r = ev.pagerank(ev.partition(turned, "cpu:1,cpu:1", directions="in"))
    np.testing.assert_allclose(r["rank"], ev.pagerank(g)["rank"], rtol=1e-6)
    ev.verify(r)
    assert turned.stored_directions == ("in",)


def test_out_strengths_are_computed_once_per_partitioned_graph(monkeypatch):
    pg = ev.partition(weighted_graph(directed=True), "cpu:1,cpu:1")
    first = ev.pagerank(pg)["rank"]
    monkeypatch.delattr("evener.spec.strength.kernels")
    assert (ev.pagerank(pg)["rank"] == first).all()


@pytest.mark.parametrize("bad", [-1.5, np.nan, np.inf])
@pytest.mark.parametrize("stored", ["out", "in"])
def test_a_bad_weight_is_named(bad, stored):
    weights = np.array([1.0, bad, 3.0])
    if stored == "out":
        g = ev.Graph(
            np.array([0, 2, 3, 3]), np.array([1, 2, 2]), weights=weights, directed=True, validate=False
        )
        edge = "0 to 2"
    else:
        rows = ev.Graph(
            np.array([0, 0, 1, 3]), np.array([0, 0, 1]), weights=weights, directed=True, validate=False
        )
        g, edge = ev.Graph.from_in_edges(rows), "0 to 2"
    with pytest.raises(ev.ArgumentError, match=f"^the edge from {edge} weighs {bad}; PageRank needs finite"):
        ev.pagerank(g)
    assert g.stored_directions == (stored,)
    ev.pagerank(g, weights=False)


@pytest.mark.parametrize("weight", [1e-300, 1.7e308])
def test_weights_too_far_from_one_are_refused(weight):
    g = ev.Graph.from_edges([0, 0], [1, 2], [weight, weight])
    with pytest.raises(ev.ArgumentError, match=r"^the weights of the edges from vertex 0 sum to .*; scale"):
        ev.pagerank(g)


def test_the_verifier_distinguishes_weighted_from_unweighted_ranks():
    g = weighted_graph(directed=True)
    for weights in (True, False):
        r = ev.pagerank(g, weights=weights)
        claim = {"damping": 0.85, "tol": 1e-6}
        ev.verify(ev.Claim("pagerank", g, {"rank": r["rank"]}, {**claim, "weights": weights}))
        with pytest.raises(ev.VerificationError, match="another iteration does not change the ranks"):
            ev.verify(ev.Claim("pagerank", g, {"rank": r["rank"]}, {**claim, "weights": not weights}))
    weighted = ev.pagerank(g)["rank"]
    ev.verify(ev.Claim("pagerank", g, {"rank": weighted}, claim))  # weights are used by default


def test_the_command_line_says_whether_weights_were_used(evener, tmp_path):
    graph = "rmat:6,weights=1..9"
    assert "\nweighted pagerank in " in evener("run", "pagerank", graph).out
    assert "\nunweighted pagerank in " in evener("run", "pagerank", graph, "--no-weights").out
    assert "\npagerank in " in evener("run", "pagerank", "rmat:6").out
    assert '"weights": true' in evener("run", "pagerank", graph, "--json").out
    refused = evener("run", "pagerank", "rmat:6", "--weights")
    assert (refused.status, refused.err.count("\n")) == (2, 1)
    assert refused.err.startswith("evener: --weights: expected a graph with weights, found none")
    table = tmp_path / "ranks.csv"
    evener("run", "pagerank", graph, "--no-weights", "-o", table)
    assert evener("verify", "pagerank", graph, table, "--no-weights").status == 0
    assert evener("verify", "pagerank", graph, table).status == 3
