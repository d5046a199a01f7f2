"""The backend gives NetworkX's answers, refuses what differs, and costs nothing until it is used."""

from __future__ import annotations

import inspect
import subprocess
import sys
from fractions import Fraction
from itertools import pairwise
from random import Random

import networkx as nx
import numpy as np
import pytest

from _evener_networkx import table
from _evener_networkx.description import FUNCTIONS
from _evener_networkx.interface import BACKEND
from _evener_networkx.table import TABLE, VERSION

PUBLIC = {name: getattr(nx, name, None) or getattr(nx.community, name) for name in TABLE}
# NetworkX breaks ties at random or in the order of its dictionaries.
ANOTHER_ANSWER = {
    "louvain_communities", "leiden_communities", "fast_label_propagation_communities",
    "maximal_independent_set",
}  # fmt: skip
TIES = (
    "minimum_spanning_edges", "maximum_spanning_edges", "multi_source_dijkstra", "multi_source_dijkstra_path"
)  # fmt: skip
UNIQUE = {name: {"weighted"} for name in TIES}
if VERSION < (
    3,
    7,
):  # The principal singular vector of a bipartite graph is not unique. Later, it is a limit.
    UNIQUE["hits"] = {"connected", "weighted"}
PATHS = ("path", "johnson", "dijkstra", "bellman")
GRAPHS_ONLY = {"k_core", "k_shell", "k_crust", "k_corona", "minimum_spanning_tree", "maximum_spanning_tree"}


def graphs():
    random = nx.gnm_random_graph(14, 24, seed=3)
    named = nx.relabel_nodes(random, {node: f"v{node}" for node in random})
    weighted = nx.gnm_random_graph(12, 30, seed=5)
    for number, (_, _, edge) in enumerate(weighted.edges(data=True)):
        edge["weight"] = 1.5 + number * 0.37
    parallel = nx.MultiGraph([(0, 1, {"weight": 3}), (0, 1, {"weight": 2}), (1, 2), (2, 2), (3, 4)])
    return {
        "random": random,
        "strings": named,
        "weighted": weighted,
        "directed": nx.gnm_random_graph(14, 40, seed=7, directed=True),
        "strong": nx.DiGraph([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (0, 3)]),
        "parallel": parallel,
        "directed parallel": nx.MultiDiGraph([("b", "a"), ("b", "a"), ("a", "c"), ("c", "b")]),
        "loops": nx.Graph([(0, 0), (0, 1), (1, 2)]),
        "grid": nx.grid_2d_graph(3, 3),
        "single": nx.empty_graph(1),
        "empty": nx.Graph(),
        "empty directed": nx.DiGraph(),
        "without weight": nx.Graph([(0, 1, {"weight": 0}), (1, 2, {"weight": 0}), (0, 2, {"weight": 2})]),
        "infinite": nx.Graph([(0, 1, {"weight": float("inf")}), (1, 2)]),
        "connected": nx.connected_watts_strogatz_graph(12, 4, 0.3, seed=2),
    }


GRAPHS = graphs()


def arguments(name, graph):
    """Return arguments for the required parameters of a function."""
    nodes = list(graph) or [0]
    given = {
        "source": nodes[0], "target": nodes[-1], "sources": {nodes[0], nodes[-1]}, "n": nodes[0],
        "u": nodes[0], "v": nodes[-1], "k": 1, "distance": 1, "communities": [set(nodes)],
    }  # fmt: skip
    required = [
        one.name
        for one in TABLE[name].signature.parameters.values()
        if one.default is one.empty and one.name != "G"
    ]
    return {one: given[one] for one in required}


def outcome(function, graph, arguments):
    """Return the answer, with iterators as lists, or the type of the error."""
    try:
        answer = function(graph, **arguments)
        return plain(list(answer) if inspect.isgenerator(answer) or hasattr(answer, "__next__") else answer)
    except NotImplementedError as error:
        return "refused", type(error)
    except Exception as error:  # noqa: BLE001 - the type is compared
        return "raised", type(error)


def plain(value):
    """Return a value with sets in an order, so that answers can be compared."""
    if isinstance(value, dict):
        return {key: plain(one) for key, one in value.items()}
    if isinstance(value, tuple):
        return tuple(map(plain, value))
    if isinstance(value, list):
        parts = [*map(plain, value)]
        return sorted(parts, key=repr) if value and isinstance(value[0], set) else parts
    return sorted(value, key=repr) if isinstance(value, set) else value


def lengths(value, graph, weight):
    """Return an answer with the ends and the length of each path in place of its nodes."""
    if isinstance(value, dict):
        return {key: lengths(one, graph, weight) for key, one in value.items()}
    if not isinstance(value, list | tuple) or is_node(value, graph):
        return value
    if value and all(is_node(one, graph) for one in value):
        length = sum(length_of_edge(graph, *step, weight) for step in pairwise(value))
        return [value[0], value[-1], float(length)]
    return [lengths(one, graph, weight) for one in value]


def length_of_edge(graph, u, v, weight):
    edges = graph[u][v].values() if graph.is_multigraph() else [graph[u][v]]
    return min(edge.get(weight, 1) for edge in edges)


def is_node(value, graph):
    try:
        return value in graph
    except TypeError:
        return False


def assert_close(ours, theirs):
    if isinstance(theirs, dict):
        assert ours.keys() == theirs.keys()
        for key, value in theirs.items():
            assert_close(ours[key], value)
    elif isinstance(theirs, list | tuple):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            assert_close(one, other)
    elif isinstance(theirs, float):
        assert ours == pytest.approx(theirs, rel=1e-4, abs=1e-6, nan_ok=True)
    else:
        assert ours == theirs


def no_numpy(value):
    assert not isinstance(value, np.generic | np.ndarray)
    if isinstance(value, dict):
        for key, one in value.items():
            no_numpy(key)
            no_numpy(one)
    elif isinstance(value, list | tuple | set):
        for one in value:
            no_numpy(one)


def left_to_networkx(monkeypatch):
    """Return a list of the calls that Evener leaves to NetworkX from now on."""
    left, original = [], table.on_networkx

    def leave(name, *args, **kwargs):
        left.append(name)
        return original(name, *args, **kwargs)

    monkeypatch.setattr(table, "on_networkx", leave)
    return left


@pytest.mark.parametrize("name", sorted(set(TABLE) - ANOTHER_ANSWER - GRAPHS_ONLY))
def test_answers_are_those_of_networkx(name, monkeypatch):
    function, ran = PUBLIC[name], 0
    left = left_to_networkx(monkeypatch)
    for shape, graph in GRAPHS.items():
        if shape not in UNIQUE.get(name, GRAPHS):
            continue
        given = arguments(name, graph)
        left.clear()
        theirs = outcome(lambda g, **a: function(g, backend="networkx", **a), graph, given)
        ours = outcome(lambda g, **a: function(g, backend="evener", **a), graph, given)
        if isinstance(ours, tuple) and ours[0] == "refused":
            continue
        ran += not left and not (isinstance(theirs, tuple) and theirs[0] == "raised")
        if name == "goldberg_radzik" and theirs[0] != "raised":
            ours, theirs = ours[1], theirs[1]  # the tree is another one among equals
        if any(part in name for part in PATHS) and "length" not in name:
            weight = None if "shortest_path" in name else "weight"
            ours, theirs = lengths(ours, graph, weight), lengths(theirs, graph, weight)
        assert_close(ours, theirs)
        no_numpy(ours)
    assert ran


@pytest.mark.parametrize("name", sorted(GRAPHS_ONLY))
def test_graphs_are_those_of_networkx(name):
    graph, function = GRAPHS["weighted"], PUBLIC[name]
    given = arguments(name, graph)
    theirs, ours = function(graph, **given), function(graph, backend="evener", **given)
    assert isinstance(ours, nx.Graph)
    assert nx.utils.graphs_equal(ours, theirs)


@pytest.mark.parametrize("name", sorted(ANOTHER_ANSWER & set(TABLE)))
def test_random_methods_follow_the_seed(name):
    graph = GRAPHS["connected"]
    given = {"metric": "modularity"} if name == "leiden_communities" and VERSION >= (3, 7) else {}
    first, second = (list(PUBLIC[name](graph, seed=4, backend="evener", **given)) for _ in range(2))
    assert first == second
    if name != "maximal_independent_set":
        assert nx.community.is_partition(graph, first)
    else:
        assert not list(graph.subgraph(first).edges)


@pytest.mark.parametrize("kind", [Random, np.random.RandomState, np.random.default_rng])
@pytest.mark.parametrize("name", ["louvain_communities", "maximal_independent_set"])
def test_any_generator_is_a_seed(name, kind):
    graph = GRAPHS["connected"]
    first, second = (list(PUBLIC[name](graph, seed=kind(4), backend="evener")) for _ in range(2))
    assert first == second


def test_signatures_are_those_of_networkx():
    for name, entry in TABLE.items():
        theirs = inspect.signature(PUBLIC[name]).parameters.values()
        ours = entry.signature.parameters.values()
        expected = [(p.name, p.kind, p.default) for p in theirs if not p.name.startswith("backend")]
        assert [(p.name, p.kind, p.default) for p in ours] == expected, name


def test_description_lists_the_functions():
    others = {"centroid"} if VERSION < (3, 7) else {"barycenter"}
    if VERSION < (3, 5):
        others |= {"harmonic_diameter", "leiden_communities", "single_target_shortest_path_length"}
    assert set(FUNCTIONS.split()) - others == set(TABLE)


def test_importing_networkx_does_not_import_evener():
    code = "import networkx, sys; sys.exit('evener' in sys.modules or 'numpy' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_calls_on_small_graphs_import_neither_evener_nor_numpy():
    """So the first call takes no longer than in NetworkX, also before kernels are compiled."""
    code = """if True:
        import sys
        import networkx as nx

        nx.config.backend_priority = ["evener"]
        graph = nx.karate_club_graph()
        nx.betweenness_centrality(graph)
        nx.single_source_dijkstra(graph, 0, weight="weight")
        nx.minimum_spanning_tree(graph)
        nx.community.louvain_communities(graph, seed=1)
        assert list(nx.connected_components(graph)) and nx.core_number(graph) and nx.triangles(graph)
        assert "_evener_networkx.interface" in sys.modules
        sys.exit("evener" in sys.modules or "numpy" in sys.modules)
    """
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize("weight", [Fraction(1, 3), True, None, 2**60, "3", float("nan")])
def test_weights_that_are_not_exact_are_refused(weight):
    graph = nx.Graph([(0, 1, {"weight": weight}), (1, 2, {"weight": 1})])
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, backend="evener")


def test_arguments_that_differ_are_refused_with_a_reason():
    graph = GRAPHS["random"]
    refused = [
        ("betweenness_centrality", {"weight": lambda *_: 1}, "weight="),
        ("edge_betweenness_centrality", {"weight": lambda *_: 1}, "weight="),
        ("dijkstra_path", {"source": 0, "target": 1, "weight": lambda *_: 1}, "weight="),
        ("hits", {"nstart": dict.fromkeys(graph, 1)}, "nstart="),
    ]
    for name, given, reason in refused:
        assert reason in BACKEND.can_run(name, (graph,), given)
    edges, groups = iter([(0, 1)]), iter([set(graph)])
    assert "iterator" in BACKEND.can_run("jaccard_coefficient", (graph, edges), {})
    assert "iterator" in BACKEND.can_run("modularity", (graph, groups), {})


@pytest.mark.parametrize(
    "shape", ["random", "strings", "weighted", "parallel", "directed", "directed parallel"]
)
def test_pagerank_with_first_values_and_jumps_of_dangling_nodes(shape):
    graph = GRAPHS[shape].copy()
    graph.add_node("alone")
    first, second, *_ = graph
    for given in (
        {"dangling": {first: 3, second: 1}},
        {"dangling": {second: 1}, "personalization": {first: 1, "alone": 2}, "alpha": 0.6},
        {"nstart": {first: 1}},
        {"nstart": dict.fromkeys(graph, 1), "dangling": {"alone": 1}, "weight": None},
    ):
        theirs = nx.pagerank(graph, tol=1e-12, max_iter=1000, backend="networkx", **given)
        ours = nx.pagerank(graph, tol=1e-12, max_iter=1000, backend="evener", **given)
        assert ours == pytest.approx(theirs, rel=1e-6, abs=1e-10)


def rising(nodes):
    """Return a number above 0 for each node, in another order than that of the graph."""
    return {node: 1 + number / 3 for number, node in enumerate(reversed(list(nodes)))}


@pytest.mark.parametrize("shape", ["connected", "strings", "weighted", "directed", "strong", "loops", "grid"])
@pytest.mark.parametrize(
    ("name", "given"),
    [
        ("katz_centrality", {"nstart": rising, "alpha": 0.05}),
        ("katz_centrality", {"beta": rising, "alpha": 0.05, "weight": "weight"}),
        ("katz_centrality", {"beta": rising, "nstart": rising, "normalized": False, "alpha": 0.05}),
        ("katz_centrality", {"beta": -2.5, "normalized": False, "max_iter": 12, "alpha": 0.03}),
        ("katz_centrality", {"beta": {}}),
        ("katz_centrality", {"nstart": {}}),
        ("eigenvector_centrality", {"nstart": rising, "max_iter": 1000, "tol": 1e-9}),
        ("harmonic_centrality", {"nbunch": lambda nodes: list(nodes)[1:3]}),
        ("harmonic_centrality", {"nbunch": lambda nodes: next(iter(nodes)), "distance": "weight"}),
        ("harmonic_centrality", {"sources": lambda nodes: list(nodes)[:2]}),
        ("harmonic_centrality", {"nbunch": list, "sources": lambda nodes: list(nodes)[1:]}),
    ],
)  # fmt: skip
def test_arguments_by_node(name, given, shape):
    graph, function = GRAPHS[shape], PUBLIC[name]
    given = {key: value(graph) if callable(value) else value for key, value in given.items()}
    theirs = outcome(lambda g, **a: function(g, backend="networkx", **a), graph, given)
    ours = outcome(lambda g, **a: function(g, backend="evener", **a), graph, given)
    assert_close(ours, theirs)
    assert list(ours) == list(theirs)


@pytest.mark.parametrize("normalized", [True, False])
@pytest.mark.parametrize("k", [None, 4])
def test_ends_of_paths_count_in_betweenness(k, normalized):
    shapes = ("random", "strings", "parallel", "loops", "grid", "single", "directed", "directed parallel")
    for graph in map(GRAPHS.get, shapes):
        given = {"endpoints": True, "normalized": normalized, "seed": 3, "k": k and min(k, len(graph))}
        theirs = nx.betweenness_centrality(graph, backend="networkx", **given)
        assert_close(nx.betweenness_centrality(graph, backend="evener", **given), theirs)


@pytest.mark.parametrize("k", [2, 5, 14])
@pytest.mark.parametrize("normalized", [True, False])
def test_sampled_betweenness_draws_and_scales_as_networkx(k, normalized):
    for graph in (GRAPHS["random"], GRAPHS["directed"]):
        given = {"k": k, "normalized": normalized, "seed": 9}
        theirs = nx.betweenness_centrality(graph, **given)
        assert_close(nx.betweenness_centrality(graph, backend="evener", **given), theirs)


@pytest.mark.parametrize("function", [nx.betweenness_centrality, nx.edge_betweenness_centrality])
@pytest.mark.parametrize("k", [None, 3, 12])
@pytest.mark.parametrize("normalized", [True, False])
def test_betweenness_by_weights(function, k, normalized):
    """Rounded weights make many paths equally long."""
    for directed in (False, True):
        graph = nx.gnm_random_graph(12, 40, seed=5, directed=directed)
        for number, (_, _, edge) in enumerate(graph.edges(data=True)):
            edge["weight"] = [0.1, 0.2, 0.3, 1, 2][number % 5]
        for attribute in (None, "weight", "no such attribute"):
            given = {"k": k, "normalized": normalized, "weight": attribute, "seed": 4}
            theirs, ours = function(graph, **given), function(graph, backend="evener", **given)
            assert list(ours) == list(theirs)
            assert ours == pytest.approx(theirs, rel=1e-12, nan_ok=True)


@pytest.mark.parametrize("shape", ["random", "strings", "directed", "loops", "grid", "single", "strong"])
@pytest.mark.parametrize("normalized", [True, False])
def test_edges_have_the_names_and_the_order_of_networkx(shape, normalized):
    graph = GRAPHS[shape]
    theirs = nx.edge_betweenness_centrality(graph, normalized=normalized)
    ours = nx.edge_betweenness_centrality(graph, normalized=normalized, backend="evener")
    assert list(ours) == list(theirs)
    assert ours == pytest.approx(theirs, rel=1e-12)


def test_the_lightest_of_parallel_edges_is_the_way():
    for kind in (nx.MultiGraph, nx.MultiDiGraph):
        rng = np.random.default_rng(3)
        graph = kind()
        graph.add_weighted_edges_from([(int(u), int(v), int(w)) for u, v, w in rng.integers(1, 9, (60, 3))])
        theirs = nx.betweenness_centrality(graph, weight="weight")
        ours = nx.betweenness_centrality(graph, weight="weight", backend="evener")
        assert ours == pytest.approx(theirs, rel=1e-12)
        assert "multigraph" in BACKEND.can_run("edge_betweenness_centrality", (graph,), {})


@pytest.mark.parametrize("function", [nx.betweenness_centrality, nx.edge_betweenness_centrality])
def test_weights_of_0_are_refused(function):
    graph = nx.Graph([(0, 1, {"weight": 0}), (1, 2, {"weight": 1})])
    with pytest.raises(NotImplementedError):
        function(graph, weight="weight", backend="evener")


def test_eigenvector_centrality_stops_as_networkx_does(monkeypatch):
    """The limit takes twice as many iterations."""
    graph, left = nx.planted_partition_graph(4, 100, 0.2, 0.01, seed=1), left_to_networkx(monkeypatch)
    given = {"max_iter": 80, "tol": 1e-6}
    theirs = nx.eigenvector_centrality(graph, backend="networkx", **given)
    ours = nx.eigenvector_centrality(graph, backend="evener", **given)
    assert not left
    assert sum(abs(ours[node] - value) for node, value in theirs.items()) < len(graph) * given["tol"]


def test_small_graphs_stay_in_networkx():
    graph = nx.karate_club_graph()
    for name in TABLE:
        given = arguments(name, graph)
        assert isinstance(BACKEND.should_run(name, (graph,), given), str), name


def test_scores_are_those_of_the_graph_at_the_call():
    graph = nx.path_graph(4)
    scores = nx.jaccard_coefficient(graph, backend="evener")
    expected = list(nx.jaccard_coefficient(graph.copy(), backend="networkx"))
    graph.add_edge(0, 9)
    assert sorted(scores) == sorted(expected)


@pytest.mark.parametrize("shape", ["weighted", "directed", "directed parallel"])
def test_views_follow_changes_of_their_graph(shape):
    graph = GRAPHS[shape].copy()
    views = [nx.subgraph_view(graph), graph.subgraph([*graph][1:])]
    views += [graph.reverse(copy=False), graph.to_undirected(as_view=True)] if graph.is_directed() else []
    for _ in range(2):
        for view in views:
            theirs = nx.pagerank(view, backend="networkx")
            assert_close(nx.pagerank(view, backend="evener"), theirs)
        graph.remove_edge(*[*graph.edges()][-1])


def test_a_failed_conversion_is_no_kept_graph():
    graph = nx.Graph([(0, 1, {"weight": Fraction(1, 3)})])
    with pytest.raises(NotImplementedError):
        nx.pagerank(graph, backend="evener")
    assert isinstance(BACKEND.should_run("pagerank", (graph,), {}), str)


def test_conversions_are_kept_and_cleared():
    graph = nx.path_graph(5)
    with nx.config(warnings_to_ignore={"cache"}):
        assert nx.number_connected_components(graph, backend="evener") == 1
        (kept,) = graph.__networkx_cache__["backends"]["evener"].values()
        nx.is_tree(graph, backend="evener")
        assert list(graph.__networkx_cache__["backends"]["evener"].values()) == [kept]
        graph.remove_edge(1, 2)
        assert nx.number_connected_components(graph, backend="evener") == 2


def test_paths_over_edges_of_weight_zero():
    graph = nx.Graph()
    graph.add_weighted_edges_from([(4, 3, 0), (3, 2, 0), (2, 1, 0), (1, 0, 0), (0, 5, 1), (5, 6, 0)])
    for source in (0, 2, 4):
        theirs = nx.single_source_dijkstra(graph, source)
        assert nx.single_source_dijkstra(graph, source, backend="evener") == theirs


def test_nodes_that_equal_integers_are_read():
    graph = nx.gnm_random_graph(200, 2000, seed=1, directed=True)  # more than one piece of integers
    graph.add_edge(199, 0.0)
    theirs = nx.single_source_shortest_path_length(graph, 199, backend="networkx")
    assert nx.single_source_shortest_path_length(graph, 199, backend="evener") == theirs


class Complement(nx.Graph):
    """A graph that gives the nodes without an edge as neighbours."""

    def neighbors(self, node):
        return iter(set(self) - set(self.adj[node]) - {node})


class Named(nx.Graph):
    name = "friends"


def test_graphs_that_change_their_rows_are_refused():
    assert "its own neighbors" in BACKEND.can_run("core_number", (Complement([(0, 1)]),), {})
    assert BACKEND.can_run("core_number", (Named([(0, 1)]),), {}) is True
