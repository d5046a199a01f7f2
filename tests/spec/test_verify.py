"""Verifiers accept the answers of NetworkX and the reference implementations, and refuse single changes."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.errors import ArgumentError
from evener.graph.graph import Graph
from evener.spec.verify import Claim, verify
from support import reference
from support.reference import as_networkx, random_graph
from support.wrong_answers import changed, claim, refused

SOURCE = 3
# A graph of one edge. `Graph.from_edges` would compile kernels during collection.
PAIR = Graph(np.array([0, 1, 1], np.uint64), np.array([1], np.uint32), directed=True, validate=False)


@pytest.fixture(params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return random_graph(directed=request.param)


# ---- breadth-first search ---------------------------------------------------------------------------


def bfs_claim(graph, distance, parent, source=SOURCE):
    return claim("bfs", graph, {"source": source}, distance=distance, parent=parent)


def test_bfs_accepts_networkx(graph):
    g = as_networkx(graph)
    distance = np.full(graph.n, -1, dtype=np.int32)
    parent = np.full(graph.n, -1)
    parent[SOURCE] = SOURCE
    for v, d in nx.single_source_shortest_path_length(g, SOURCE).items():
        distance[v] = d
    for above, v in nx.bfs_edges(g, SOURCE):
        parent[v] = above
    verify(bfs_claim(graph, distance, parent))


def test_bfs_refuses_every_wrong_parent(graph):
    """Exactly the vertices one level above v with an edge to v are accepted as its parent."""
    distance, parent = reference.bfs(graph, SOURCE)
    edges = set(zip(*(a.tolist() for a in reference.edges(graph)), strict=True))
    accepted = 0
    for v in range(graph.n):
        for u in range(-1, graph.n):
            answer = bfs_claim(graph, distance, changed(parent, **{f"v{v}": u}))
            if v == SOURCE:
                right = u == SOURCE
            elif distance[v] == -1:
                right = u == -1
            else:
                right = (u, v) in edges and distance[u] + 1 == distance[v]
            if right:
                accepted += 1
                verify(answer)
            else:
                refused(answer)
    assert accepted >= graph.n


def test_bfs_refuses_every_wrong_distance(graph):
    distance, parent = reference.bfs(graph, SOURCE)
    for v in range(graph.n):
        for wrong in {-2, -1, 0, distance[v] - 1, distance[v] + 1, 99} - {distance[v]}:
            refused(bfs_claim(graph, changed(distance, **{f"v{v}": wrong}), parent))


def path(length, *, directed=False, extra=()):
    src, dst = zip(*[(v, v + 1) for v in range(length - 1)], *extra, strict=True)
    return Graph.from_edges(src, dst, directed=directed, n=length + 1)


@pytest.mark.parametrize("dtype", [np.int64, np.uint64])
def test_bfs_does_not_truncate_distances_to_32_bits(dtype):
    path = Graph.from_edges([0, 1], [1, 2], n=4, directed=False)
    distance, parent = np.array([0, 1, 2, -1]), np.array([0, 0, 1, -1])
    verify(bfs_claim(path, distance, parent, source=0))
    for v, more in ((2, 2**32), (0, 2**32), (3, 2**32)):
        wrong = distance.copy()
        wrong[v] += more
        if dtype == np.uint64 and v != 3:
            wrong[3] = 2**32 - 1
        refused(bfs_claim(path, wrong.astype(dtype), parent, source=0))


@pytest.mark.parametrize(
    ("claim", "missing"),
    [
        (Claim("bfs", PAIR, {}), "source"),
        (Claim("bfs", PAIR, {}, {"source": 0}), "distance"),
        (Claim("pagerank", PAIR, {}), "rank"),
    ],
)
def test_a_missing_array_or_parameter_is_named(claim, missing):
    with pytest.raises(
        ArgumentError, match=f"cannot verify .* the answer (has no array|does not record).*{missing!r}"
    ):
        verify(claim)


def test_bfs_names_the_rule():
    g = path(6, extra=[(0, 5)], directed=True)  # 0-1-2-3-4-5, an edge 0 to 5, and the isolated vertex 6
    distance = np.array([0, 1, 2, 3, 4, 1, -1], dtype=np.int32)
    parent = np.array([0, 0, 1, 2, 3, 0, -1])

    def answer(distance=distance, parent=parent):
        return bfs_claim(g, distance, parent, source=0)

    verify(answer())
    refused(
        answer(parent=changed(parent, v1=2)), "without a cycle (rule 1): from vertex 1, its parent 2 leads"
    )
    refused(answer(parent=changed(parent, v4=4)), "only sources are their own parents (rule 1): vertex 4")
    refused(
        answer(distance=changed(distance, v4=5)), "(rule 2): vertex 4 has distance 5, but its parent 3 has"
    )
    refused(
        answer(changed(distance, v5=5), changed(parent, v5=4)),
        "(rule 3): vertex 5 has distance 5, but 1 through 0",
    )
    refused(
        answer(changed(distance, v5=-1), changed(parent, v5=-1)),
        "(rule 4): vertex 5 has distance -1, but 1 through 0",
    )
    refused(answer(changed(distance, v6=1), changed(parent, v6=0)), "(rule 5): vertex 6 has parent 0")
    refused(answer(changed(distance, v6=1)), "(rule 4): vertex 6 has distance 1 and no parent")
    refused(answer(parent=changed(parent, v6=0)), "(rule 4): vertex 6 has distance -1 and parent 0")
    refused(answer(parent=changed(parent, v5=6)), "every parent is reached (rule 4): vertex 5")
    refused(answer(distance=changed(distance, v0=1)), "a source is at distance 0")
    refused(answer(parent=changed(parent, v0=1)), "a source is its own parent: vertex 0 has parent 1")
    refused(answer(parent=changed(parent, v0=-1)), "a source is its own parent: vertex 0 has parent none")
    refused(answer(parent=changed(parent, v2=7)), "vertex 2 has parent 7, which is not in the graph")
    refused(answer(parent=changed(parent, v2=-7)), "vertex 2 has parent -7, which is not in the graph")
    refused(answer(distance=changed(distance, v6=-2)), "exactly the reached vertices have a parent")
    refused(answer(distance=distance.astype(float)), "distances are integers: found float64")
    refused(answer(distance=distance[:-1]), "distance has one value per vertex: shape (6,), 7 vertices")
    refused(answer(parent=parent.astype(float)), "parent contains vertices of the graph")


@pytest.mark.parametrize("length", [253, 254, 255, 256, 257, 300])
def test_bfs_levels_may_exceed_a_byte(length):
    """The last vertices of the path have levels near or above 255."""
    distance, parent = np.append(np.arange(length), -1), np.append(np.arange(length) - 1, -1)
    parent[0] = 0
    verify(bfs_claim(path(length), distance, parent, source=0))
    last = {f"v{length - 1}": -1}
    refused(bfs_claim(path(length), changed(distance, **last), changed(parent, **last), source=0), "(rule 4)")
    shorter = path(length, extra=[(length - 4, length - 1)])
    refused(bfs_claim(shorter, distance, parent, source=0), "(rule 3)")


def test_bfs_refuses_a_longer_path_on_an_undirected_graph():
    g = path(5, extra=[(0, 4)])
    distance = np.array([0, 1, 2, 3, 4, -1], dtype=np.int32)
    parent = np.array([0, 0, 1, 2, 3, -1])
    refused(bfs_claim(g, distance, parent, source=0), "no edge gives a shorter distance (rule 3)")


def test_errors_use_the_ids_of_the_graph():
    g = Graph.from_edges([10, 20, 30], [20, 30, 40], directed=True)
    distance, parent = np.array([0, 1, 2, 3], dtype=np.int32), np.array([10, 10, 20, 30])
    verify(bfs_claim(g, distance, parent, source=10))
    said = refused(bfs_claim(g, distance, changed(parent, v3=20), source=10))
    assert "vertex 40 has parent 20, but no edge joins them" in said
    refused(
        bfs_claim(g, distance, changed(parent, v3=3), source=10), "vertex 40 has parent 3, which is not in"
    )


def test_parents_in_a_graph_with_string_ids_are_ids():
    g = Graph.from_edges(["ann", "bob"], ["bob", "eve"], directed=True)
    distance = np.array([0, 1, 2], dtype=np.int32)
    verify(bfs_claim(g, distance, np.array(["ann", "ann", "bob"]), source="ann"))
    refused(
        bfs_claim(g, distance, np.array(["ann", "ann", "ann"], object), source="ann"),
        "vertex eve has parent ann, but no edge joins them",
    )


# ---- shortest paths ---------------------------------------------------------------------------------


def sssp_claim(graph, distance, parent, source=SOURCE):
    return claim("sssp", graph, {"source": source}, distance=distance, parent=parent)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("integer", [True, False])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_sssp_accepts_networkx(directed, integer, dtype):
    graph = random_graph(directed=directed, integer=integer)
    g = as_networkx(graph)
    before, lengths = nx.dijkstra_predecessor_and_distance(g, SOURCE)
    distance = np.full(graph.n, np.inf, dtype=dtype)
    parent = np.full(graph.n, -1)
    for v, d in lengths.items():
        distance[v] = d
        parent[v] = before[v][0] if before[v] else SOURCE
    verify(sssp_claim(graph, distance, parent))


@pytest.mark.parametrize("weights", [[5, 2, 7], [2, 5, 7], [7, 5, 2]], ids=str)
def test_sssp_takes_the_lightest_of_parallel_edges(weights):
    offsets, targets = np.array([0, 3, 3], np.uint64), np.array([1, 1, 1], np.uint32)
    graph = Graph(offsets, targets, weights=np.array(weights), directed=True)
    verify(sssp_claim(graph, np.array([0, 2]), np.array([0, 0]), source=0))
    for wrong in (5, 7, 1):
        refused(sssp_claim(graph, np.array([0, wrong]), np.array([0, 0]), source=0))


def test_sssp_refuses_every_wrong_parent(graph):
    distance, parent = reference.sssp(graph, SOURCE)
    tails, heads = reference.edges(graph)
    tight = np.isclose(distance[tails] + graph.weights, distance[heads], rtol=1e-12) & (heads != SOURCE)
    right = set(zip(tails[tight].tolist(), heads[tight].tolist(), strict=True))
    for v in np.flatnonzero(np.isfinite(distance)):
        for u in range(-1, graph.n):
            answer = sssp_claim(graph, distance, changed(parent, **{f"v{v}": u}))
            if (u, int(v)) in right or u == v == SOURCE:
                verify(answer)
            else:
                refused(answer)


def test_sssp_refuses_every_wrong_distance(graph):
    distance, parent = reference.sssp(graph, SOURCE)
    for v in range(graph.n):
        for wrong in (distance[v] + 1e-6, distance[v] - 1e-6, -1.0, np.inf, np.nan, 1.5):
            if wrong != distance[v]:
                refused(sssp_claim(graph, changed(distance, **{f"v{v}": wrong}), parent))


def test_sssp_names_the_rule():
    g = Graph.from_edges([0, 1, 0, 2, 0], [1, 2, 2, 3, 2], [1, 1, 3, 0, 4], directed=True, n=5)
    distance = np.array([0, 1, 2, 2, np.inf])
    parent = np.array([0, 0, 1, 2, -1])

    def answer(distance=distance, parent=parent):
        return sssp_claim(g, distance, parent, source=0)

    verify(answer())
    refused(answer(parent=changed(parent, v3=1)), "(rule 5): vertex 3 has parent 1, but no edge")
    refused(answer(parent=changed(parent, v2=0)), "(rule 2): vertex 2 has distance 2.0, but its parent 0 has")
    refused(
        answer(np.array([0, 1, 3, 3, np.inf]), changed(parent, v2=0)),
        "(rule 3): vertex 2 has distance 3.0, but 2.0 through 1",
    )
    refused(
        answer(np.array([0, 1, 2, np.inf, np.inf]), changed(parent, v3=-1)),
        "(rule 4): vertex 3 has distance inf, but 2.0 through 2",
    )


def test_sssp_refuses_text_as_distances():
    answer = sssp_claim(PAIR, np.array(["0", "abc"]), np.array([0, 0]), source=0)
    refused(answer, "distance contains integers, float32 or float64: found <U3")


def test_sssp_finds_a_cycle_of_weight_zero():
    g = Graph.from_edges([0, 1, 2], [1, 2, 1], [1.0, 0.0, 0.0], directed=True, n=3)
    distance = np.array([0.0, 1.0, 1.0])
    verify(sssp_claim(g, distance, np.array([0, 0, 1]), source=0))
    refused(sssp_claim(g, distance, np.array([0, 2, 1]), source=0), "without a cycle (rule 1)")


def test_sssp_without_weights_counts_edges():
    g = path(4)
    verify(sssp_claim(g, np.array([0.0, 1, 2, 3, np.inf]), np.array([0, 0, 1, 2, -1]), source=0))


# ---- components -------------------------------------------------------------------------------------


def test_wcc_refuses_every_wrong_label(graph):
    component = reference.wcc(graph)
    verify(claim("wcc", graph, component=component))
    for v in range(graph.n):
        for wrong in range(-2, graph.n + 1):
            if wrong != component[v]:
                refused(claim("wcc", graph, component=changed(component, **{f"v{v}": wrong})))


def test_wcc_names_the_rule():
    g = Graph.from_edges([0, 2, 4], [1, 3, 5], directed=True, n=6)

    def said(*labels):
        return refused(claim("wcc", g, component=np.array(labels)))

    assert "smallest vertex: vertex 0 has component 1, which is larger" in said(1, 1, 2, 2, 4, 4)
    assert "names a component is a member: vertex 3 has component 1" in said(0, 0, 2, 1, 4, 4)
    assert "neighbours share a component: vertex 2 has component 2, its neighbour 3 has 0" in said(
        0, 0, 2, 0, 4, 4
    )
    assert "one component per label: vertex 4 has component 0, but no path joins them; expected 4" in said(
        0, 0, 2, 2, 0, 0
    )
    assert "every vertex has a component: vertex 5" in said(0, 0, 2, 2, 4, -1)


def test_answers_of_the_empty_graph_are_accepted():
    empty = Graph(np.zeros(1, np.uint64), np.empty(0, np.uint32), directed=True)
    verify(claim("wcc", empty, component=np.empty(0, np.int64)))
    verify(claim("pagerank", empty, rank=np.empty(0)))
    verify(claim("betweenness", empty, centrality=np.empty(0)))


def test_an_algorithm_without_verifier(graph):
    with pytest.raises(
        ArgumentError, match=r"there is no algorithm 'zzz'; choose one of .*betweenness, bfs, "
    ):
        verify(claim("zzz", graph))
    with pytest.raises(ArgumentError, match="expected a Result or a Claim, found int"):
        verify(3)


def test_ranks_that_have_not_converged_are_named():
    graph = ev.read("rmat:6")
    with pytest.warns(ev.ConvergenceWarning, match="did not converge"):
        result = ev.pagerank(graph, max_iter=3)
    with pytest.warns(
        ev.ConvergenceWarning, match="correct for 3 iterations, and have not converged: tol=1e-06"
    ):
        verify(result)
    verify(ev.pagerank(graph))  # a warning would be an error
