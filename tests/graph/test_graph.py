"""The graph: its constructors, compared with other libraries, its shape and its ids."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import evener as ev
from evener import Graph
from evener.errors import ArgumentError, UnknownVertexError


def neighbours(graph):
    """Return the ids of the neighbours by vertex id."""
    rows = np.split(graph.ids[graph.targets], graph.offsets[1:-1].astype(np.int64)) if graph.n else []
    return {name: row.tolist() for name, row in zip(graph.ids.tolist(), rows, strict=True)}


def dense(graph):
    matrix = np.zeros((graph.n, graph.n))
    rows = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(int))
    np.add.at(matrix, (rows, graph.targets), 1 if graph.weights is None else graph.weights)
    return matrix


# ---- SciPy ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", ["csr", "csc", "coo", "lil", "dok", "bsr"])
@pytest.mark.parametrize("container", ["array", "matrix"])
def test_from_scipy(kind, container):
    rng = np.random.default_rng(1)
    entries = np.where(rng.random((30, 30)) < 0.1, rng.random((30, 30)), 0)
    g = Graph.from_scipy(getattr(sp, f"{kind}_{container}")(entries))
    assert g.directed
    np.testing.assert_array_equal(dense(g), entries)


def test_from_scipy_sums_repeated_entries_and_does_not_change_the_matrix():
    matrix = sp.coo_array(([1.0, 2.0], ([0, 0], [1, 1])), shape=(2, 2))
    assert Graph.from_scipy(matrix).weights.tolist() == [3.0]
    assert matrix.nnz == 2


def test_from_scipy_undirected_accepts_one_triangle_or_both():
    one = sp.csr_array(np.triu([[5.0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    both = sp.csr_array(np.array([[5.0, 1, 0], [1, 0, 2], [0, 2, 0]]))
    for matrix in (one, both):
        g = Graph.from_scipy(matrix, directed=False)
        assert not g.directed
        np.testing.assert_array_equal(dense(g), both.toarray())


def test_from_scipy_boolean_has_no_weights():
    g = Graph.from_scipy(sp.csr_array(np.eye(3, dtype=bool)))
    assert (g.weights, g.targets.tolist()) == (None, [0, 1, 2])


@pytest.mark.parametrize("bad", [sp.csr_array((2, 3)), np.eye(2), [[1]], sp.coo_array([1, 2])])
def test_from_scipy_rejects_other_objects(bad):
    with pytest.raises(ArgumentError, match="square SciPy sparse matrix"):
        Graph.from_scipy(bad)


def test_from_scipy_rejects_nan():
    with pytest.raises(ArgumentError, match="NaN"):
        Graph.from_scipy(sp.csr_array(np.array([[0, np.nan], [0, 0]])))


# ---- NetworkX ---------------------------------------------------------------------------------------


@settings(max_examples=50, deadline=None)
@given(
    st.sampled_from([nx.Graph, nx.DiGraph]),
    st.lists(st.tuples(st.integers(0, 30), st.integers(0, 30)), max_size=60),
    st.lists(st.integers(0, 60), max_size=5),
    st.booleans(),
)
def test_from_networkx(kind, edges, alone, strings):
    theirs = kind()
    name = "v{:03}".format if strings else int
    theirs.add_nodes_from(map(name, alone))
    theirs.add_edges_from((name(u), name(v)) for u, v in edges)
    g = Graph.from_networkx(theirs)
    assert g.directed == theirs.is_directed()
    assert neighbours(g) == {u: sorted(theirs[u]) for u in sorted(theirs)}


def test_from_networkx_weights():
    theirs = nx.Graph()
    theirs.add_edge(3, 1, weight=2.5, cost=7)
    theirs.add_edge(1, 9)
    assert Graph.from_networkx(theirs).weights.tolist() == [2.5, 1.0, 2.5, 1.0]
    assert Graph.from_networkx(theirs, weight="cost").weights.tolist() == [7, 1, 7, 1]
    assert Graph.from_networkx(theirs, weight=None).weights is None
    theirs.remove_edge(3, 1)
    assert Graph.from_networkx(theirs).weights is None


@pytest.mark.parametrize(
    ("edges", "has"),
    [
        ([(3, 1, {"cost": 7, "weight": 1}), (1, 9, {})], r"has the attributes 'cost', 'weight'"),
        ([(3, 1, {})], "has no attributes"),
    ],
)
def test_from_networkx_rejects_an_attribute_that_no_edge_has(edges, has):
    """An explicit attribute name that no edge has may be misspelt."""
    with pytest.raises(
        ArgumentError, match=rf"^expected edges with the attribute 'kost' as weight; the first edge {has}"
    ):
        Graph.from_networkx(nx.Graph(edges), weight="kost")
    assert Graph.from_networkx(nx.empty_graph(3), weight="kost").weights is None


def test_from_networkx_reads_an_undirected_view_as_its_edges():
    """The edges 0 -> 1 and 1 -> 0 have weights of their own, of which the view shows the first."""
    directed = nx.DiGraph([(0, 1, {"weight": 5}), (1, 0, {"weight": 1}), (2, 1, {"weight": 3})])
    view = directed.to_undirected(as_view=True)
    expected = np.zeros((3, 3))
    for u, v, weight in view.edges(data="weight"):
        expected[u, v] = expected[v, u] = weight
    assert np.array_equal(Graph.from_networkx(view).to_scipy().toarray(), expected)


def test_from_networkx_multigraph():
    theirs = nx.MultiDiGraph([(0, 1), (0, 1), (1, 1)])
    assert Graph.from_networkx(theirs).targets.tolist() == [1, 1, 1]


@pytest.mark.parametrize(
    "nodes", [[(0, 1), (0, 0), (1,)], [-1, 2.5, 1 << 63], [frozenset({1}), "a", 0], ["0", 0, (0,)]]
)
def test_networkx_nodes_of_any_type_stay_themselves(nodes):
    """Tuples are not rows of a matrix, and numbers are not strings. They stay in the order of the graph."""
    first, second, third = nodes
    theirs = nx.DiGraph([(first, second), (second, third)])
    graph = Graph.from_networkx(theirs)
    assert graph.ids.tolist() == nodes
    assert graph.neighbors(first).tolist() == [second]
    assert graph.subgraph([third, second]).edges().source.tolist() == [second]
    assert list(graph.to_networkx().edges) == list(theirs.edges)
    result = ev.bfs(graph, source=second)
    assert result["parent"].tolist() == [None, second, second]
    assert result.path(third) == [second, third]
    assert result.top(1) == [(third, 1)]
    assert result.to_pandas()["vertex"].tolist() == nodes
    assert result.to_pandas()["parent"].tolist() == [None, second, second]
    texts = [node if isinstance(node, str) else repr(node) for node in nodes]
    assert result.to_arrow()["vertex"].to_pylist() == texts
    assert graph.to_arrow()["target"].to_pylist() == texts[1:]
    assert ev.wcc(graph)["component"].tolist() == [first] * 3
    assert ev.pagerank(graph, personalization={first: 1.0})["rank"].argmax() == 0
    ev.verify(result)


def test_nodes_of_any_type_are_not_written_silently(tmp_path):
    graph = Graph.from_networkx(nx.grid_2d_graph(2, 2))
    with pytest.raises(ArgumentError, match=r"integers or strings, found tuple; .* or give ids='drop'"):
        ev.write(graph, tmp_path / "grid.evg")
    ev.write(graph, tmp_path / "grid.evg", ids="drop")  # the advice
    for unknown in ((2, 2), [0, 0], "a"):
        with pytest.raises(ev.UnknownVertexError, match="is not in the graph"):
            graph.neighbors(unknown)


def test_from_networkx_rejects_other_objects():
    with pytest.raises(ArgumentError, match="expected a NetworkX graph, found dict"):
        Graph.from_networkx({0: [1]})


# ---- Arrow ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "wrap", [lambda t: t, lambda t: t.to_pandas(), lambda t: t.to_reader(), lambda t: t.to_batches()[0]]
)
def test_from_arrow(wrap):
    table = pa.table({"time": [1, 2, 3], "to": [5, 7, 5], "from": [9, 9, 7], "w": [0.5, 2.0, 1.0]})
    g = Graph.from_arrow(wrap(table), source="from", target="to", weight="w")
    assert neighbours(g) == {5: [], 7: [5], 9: [5, 7]}
    assert g.weights.tolist() == [1.0, 0.5, 2.0]


@pytest.mark.parametrize(
    "kind",
    [pa.string(), pa.large_string(), pa.string_view(), pa.dictionary(pa.int32(), pa.string())],
    ids=str,
)
def test_from_arrow_strings(kind):
    ends = [pa.array(["b", "a"]).cast(kind), pa.array(["a", "c"]).cast(kind)]
    g = Graph.from_arrow(pa.table(dict(zip("st", ends, strict=True))), directed=False)
    assert neighbours(g) == {"a": ["b", "c"], "b": ["a"], "c": ["a"]}


def test_from_arrow_ignores_unnamed_row_labels_of_pandas():
    frame = pd.DataFrame({"x": [5, 6, 7], "y": [6, 7, 5]})
    assert neighbours(Graph.from_arrow(frame.sort_values("y"))) == {5: [6], 6: [7], 7: [5]}
    assert neighbours(Graph.from_arrow(frame[frame.x != 6])) == {5: [6], 6: [], 7: [5]}
    assert neighbours(Graph.from_arrow(frame.set_axis(["a", "b", "c"]))) == {5: [6], 6: [7], 7: [5]}
    sums = frame.rename(columns={"x": "src", "y": "dst"}).assign(w=[1, 2, 3]).groupby(["src", "dst"]).sum()
    assert Graph.from_arrow(sums).weights.tolist() == [1, 2, 3]
    assert neighbours(Graph.from_arrow(frame.set_index("y"), source="x", target="y"))[5] == [6]


def test_from_arrow_accepts_categorical_columns_of_polars():
    names = pa.array(["b", "a", "c"], pa.string_view())
    ends = [pa.DictionaryArray.from_arrays(pa.array(at, pa.uint32()), names) for at in ([0, 1], [1, 2])]
    g = Graph.from_arrow(pa.table(ends, ["s", "t"]))
    assert neighbours(g) == {"a": ["c"], "b": ["a"], "c": []}


def test_from_arrow_accepts_decimal_weights():
    weights = pa.array([1.5, 2.25]).cast(pa.decimal128(10, 2))
    table = pa.table({"src": [0, 1], "dst": [1, 2], "weight": weights})
    assert Graph.from_arrow(table).weights.tolist() == [1.5, 2.25]


def test_from_arrow_keeps_isolated_vertices():
    assert Graph.from_arrow(pa.table({"s": [0], "t": [1]}), n=4).n == 4


@pytest.mark.parametrize(
    ("table", "choices", "sentence"),
    [
        (pd.Series([1]), {}, "table"),
        (pd.DataFrame({"s": [1, "a"], "t": [2, 3]}), {}, "one type each, .* convert their types"),
        (
            pd.DataFrame([[1, 2, 3]], columns=["s", "t", "t"]),
            {},
            "Duplicate column names .* select the columns",
        ),
        ([1, 2], {}, "found list"),
        (pa.table({"s": [1]}), {}, "a column of tails and a column of heads"),
        (pa.table({"s": [1], "t": [2]}), {"source": "x"}, 'one column "x", found the columns s, t'),
        (pa.table({"s": [1], "t": [2]}), {"weight": "w"}, 'one column "w"'),
        (pa.table({"s": [1, 2], "t": [2, None]}), {}, 'column "t" has no value in row 1'),
        (pa.table({"s": [True], "t": [False]}), {}, "Python objects|found bool"),
        (pa.table({"s": [-1], "t": [0]}), {}, "expected ids of at least 0"),
    ],
)
def test_from_arrow_rejects(table, choices, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Graph.from_arrow(table, **choices)


# ---- the graph --------------------------------------------------------------------------------------


def test_shape():
    g = Graph.from_edges([0, 0, 2], [1, 0, 0], [1.0, 2.0, 3.0], directed=False, n=4)
    assert (g.n, g.m, g.directed, g.has_custom_ids) == (4, 5, False, False)
    assert g.out_degree().tolist() == g.in_degree().tolist() == [3, 1, 1, 0]
    assert g.ids.tolist() == [0, 1, 2, 3]
    assert g.nbytes == 5 * 8 + 5 * 4 + 5 * 8
    assert g.reverse is g
    assert g.summary == "undirected, 4 vertices, 3 edges (5 stored), float64 weights"
    assert repr(g) == f"<Graph: {g.summary}>"


@pytest.mark.parametrize("kind", [nx.Graph, nx.MultiGraph, nx.DiGraph, nx.MultiDiGraph])
def test_edges_in_words_are_those_of_networkx(kind):
    theirs = kind([(0, 1), (1, 0), (2, 2), (2, 2), (1, 2), (0, 0)])
    ours = Graph.from_networkx(theirs)
    expected = f"3 vertices, {theirs.number_of_edges()} edges"
    if not theirs.is_directed():
        loops = nx.number_of_selfloops(theirs)
        expected += f" ({2 * theirs.number_of_edges() - loops} stored)"
        assert ours.loops == loops
    assert ours.summary.partition(", ")[2] == expected


def test_reverse():
    g = Graph.from_edges([10, 10, 30], [20, 30, 20], [1, 2, 3])
    assert neighbours(g.reverse) == {10: [], 20: [10, 30], 30: [10]}
    assert g.reverse.weights.tolist() == [1, 3, 2]
    assert g.in_degree().tolist() == [0, 2, 1]


def test_arrays_cannot_be_written():
    g = Graph.from_edges([5], [6], [1.0])
    for array in (g.offsets, g.targets, g.weights, g.ids):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0


def test_rows_are_validated():
    with pytest.raises(ArgumentError, match="found 9 at edge 0"):
        Graph([0, 1], [9], directed=True)
    assert Graph([0, 1], [9], directed=True, validate=False).m == 1


@pytest.mark.parametrize(
    ("rows", "sentence"),
    [
        (([0, 1, 2], [2**32, 1]), "targets: expected numbers from 0 to 4294967295, found 4294967296"),
        (([0, 1, 2], [-1, 1]), "targets: expected numbers from 0 to 4294967295, found -1"),
        (([0, 1, 2], [1.9, 0.2]), "targets: expected integers, found float64"),
        (([-1, 1, 2], [1, 0]), "offsets: expected numbers from 0 to 18446744073709551615, found -1"),
    ],
)
def test_rows_are_neither_rounded_nor_wrapped(rows, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Graph(*rows, directed=True)


def test_rows_may_be_lists():
    graph = Graph([0, 1, 2], [1, 0], weights=[2, 3], ids=[5, 7], directed=True)
    assert (graph.weights.tolist(), graph.ids.tolist()) == ([2, 3], [5, 7])
    assert Graph([0, 0], [], directed=True).m == 0


def test_numbers_of_integers():
    g = Graph.from_edges([10, 30], [20, 10])
    assert g.numbers_of([30, 10]).tolist() == [2, 0]
    assert g.numbers_of([]).tolist() == []
    plain = Graph.from_edges([0], [1])
    assert plain.numbers_of(np.array([1], np.uint8)).tolist() == [1]


@pytest.mark.parametrize(
    ("edges", "ids", "sentence"),
    [
        (
            ([10, 30], [20, 10]),
            [10, 15],
            "vertex 15 is not in the graph .3 vertices; its ids run from 10 to 30",
        ),
        (([10, 30], [20, 10]), [31], "vertex 31"),
        (([0], [1]), [2], "vertex 2"),
        (([0], [1]), [-1], "vertex -1"),
        (([0], [1]), ["0"], "ids: expected integers, as in the graph, found '0'"),
        (([0], [1]), [0.5], "ids: expected integers, as in the graph"),
        ((["a"], ["b"]), [0], "ids: expected strings, as in the graph"),
        ((["a"], ["b"]), ["c"], "vertex c is not in the graph"),
        (([], []), [0], "it has no vertices"),
        (([0], [1]), [0, True], "ids: expected integers, as in the graph, found True"),
        (([0], [1]), [0, 1 << 70], "vertex 1180591620717411303424 is not in the graph"),
        (([0], [1]), np.array([0.0]), "ids: expected integers, as in the graph, found 0.0"),
        (([0], [1]), np.array([0, None]), "ids: expected integers, as in the graph, found None"),
        ((["1", "nan"], ["a", "a"]), ["a", 1], "ids: expected strings, as in the graph, found 1"),
        (
            (["1", "nan"], ["a", "a"]),
            ["a", float("nan")],
            "ids: expected strings, as in the graph, found nan",
        ),
        (
            (["1", "nan"], ["a", "a"]),
            np.array(["a", None]),
            "ids: expected strings, as in the graph, found None",
        ),
    ],
)
def test_numbers_of_unknown_vertices(edges, ids, sentence):
    with pytest.raises(UnknownVertexError, match=sentence):
        Graph.from_edges(*edges).numbers_of(ids)


def test_numbers_of_strings():
    assert Graph.from_edges(["b", "a"], ["a", "c"]).numbers_of(["c", "a"]).tolist() == [2, 0]


def test_numbers_of_ids_in_other_containers():
    named = Graph.from_edges(["b", "a"], ["a", "c"])
    for ids in (
        np.array(["c", "a"], object),
        pd.Series(["c", "a"]),
        iter(["c", "a"]),
        {"c": 1, "a": 2}.keys(),
    ):
        assert named.numbers_of(ids).tolist() == [2, 0]
    numbered = Graph.from_edges([10, 30], [20, 10])
    for ids in (np.array([30, 10], object), pd.Series([30, 10], dtype="Int64"), iter([30, 10])):
        assert numbered.numbers_of(ids).tolist() == [2, 0]


# ---- stored by in-edges -----------------------------------------------------------------------------


def turned(weights=None):
    """Return a graph, and the same graph stored by its in-edges. The ids have gaps."""
    rng = np.random.default_rng(5)
    src, dst = rng.integers(0, 40, (2, 300)) * 3
    given = None if weights is None else rng.integers(0, 9, 300).astype(weights)
    return Graph.from_edges(src, dst, given), Graph.from_in_edges(Graph.from_edges(dst, src, given))


@pytest.mark.parametrize("weights", [None, "float32", "int64"])
def test_a_graph_with_only_in_edges_has_the_same_properties(weights):
    g, by_heads = turned(weights)
    assert by_heads.stored_directions == ("in",)
    assert (by_heads.n, by_heads.m, by_heads.nbytes) == (g.n, g.m, g.nbytes)
    assert by_heads.directed
    assert by_heads.weight_range == g.weight_range
    assert by_heads.weight_dtype == g.weight_dtype
    assert repr(by_heads) == repr(g)
    assert by_heads.ids.tolist() == g.ids.tolist()
    assert by_heads.numbers_of([g.ids[7]]).tolist() == [7]
    assert by_heads.out_degree().tolist() == np.diff(g.offsets).tolist()
    assert by_heads.in_degree().tolist() == g.in_degree().tolist()
    assert by_heads.stored_directions == ("in",)


@pytest.mark.parametrize("weights", [None, "float32", "int64"])
def test_out_edges_are_built_on_demand(weights):
    g, by_heads = turned(weights)
    np.testing.assert_array_equal(by_heads.targets, g.targets)
    assert by_heads.stored_directions == ("out", "in")
    np.testing.assert_array_equal(by_heads.offsets, g.offsets)
    np.testing.assert_array_equal(dense(by_heads), dense(g))
    assert g.stored_directions == ("out",)
    np.testing.assert_array_equal(by_heads.reverse.targets, g.reverse.targets)
    assert g.stored_directions == ("out", "in")
    assert g.in_degree().tolist() == by_heads.in_degree().tolist()


def test_an_undirected_graph_is_its_own_reverse():
    g = Graph.from_edges([0, 1], [1, 2], directed=False)
    assert Graph.from_in_edges(g) is g
    assert g.stored_directions == ("out", "in")


def test_from_arrow_recognizes_the_same_column_names_as_files(tmp_path):
    table = pa.table({"edge_id": [100, 101], "source": [1, 2], "target": [2, 3], "weight": [0.5, 1.5]})
    g = Graph.from_arrow(table)
    assert (g.ids.tolist(), g.weights.tolist()) == ([1, 2, 3], [0.5, 1.5])
    pq.write_table(table, tmp_path / "edges.parquet")
    same = ev.read(tmp_path / "edges.parquet")
    assert (same.ids.tolist(), same.weights.tolist()) == (g.ids.tolist(), g.weights.tolist())
    assert Graph.from_arrow(table, source="target", target="source").weights is None
    with pytest.raises(ArgumentError, match=r"found edge_id, a, b; give source= and target="):
        Graph.from_arrow(table.select([0, 1, 2]).rename_columns(["edge_id", "a", "b"]))


@pytest.mark.parametrize(
    ("offsets", "targets", "weights"),
    [([0, 1, 2, 2], [1, 2], None), ([0, 1, 2], [1, 0], [1.0, 2.0])],
    ids=["one direction", "two weights"],
)
def test_rows_of_an_undirected_graph_are_symmetric(offsets, targets, weights):
    weights = None if weights is None else np.array(weights)
    assert Graph(offsets, targets, weights=weights, directed=True).m == 2
    with pytest.raises(ArgumentError, match="every edge in both directions with the same weight"):
        Graph(offsets, targets, weights=weights, directed=False)


# ---- ids of other types -------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["uint8", "uint32", "uint64", "int16", "S2", "T"])
def test_ids_of_every_type(tmp_path, dtype):
    """Ids may have any type that converts to int64 or to strings."""
    kind = np.dtypes.StringDType() if dtype == "T" else dtype
    given = (
        np.array(["10", "20", "30"]).astype(kind) if dtype in ("S2", "T") else np.array([10, 20, 30], dtype)
    )
    graph = ev.Graph([0, 1, 2, 2], [1, 2], directed=True, ids=given)
    ids = ["10", "20", "30"] if dtype in ("S2", "T") else [10, 20, 30]
    assert graph.ids.tolist() == ids
    result = ev.bfs(graph, source=ids[0])
    assert result["distance"].tolist() == [0, 1, 2]
    assert result["parent"].tolist() == [ids[0], ids[0], ids[1]]
    assert ev.wcc(graph)["component"].tolist() == [ids[0]] * 3
    ev.write(graph, tmp_path / "g.evg")
    assert ev.read(tmp_path / "g.evg").ids.tolist() == ids


def test_ids_that_are_too_large_or_not_ascii():
    with pytest.raises(
        ev.ArgumentError, match=r"ids: expected integers below 2\^63, found 9223372036854775808"
    ):
        ev.Graph([0, 0], [], directed=True, ids=np.array([1 << 63], np.uint64))
    with pytest.raises(ev.ArgumentError, match=r"ids: expected ASCII in bytes, found b'\\xc3\\xa9'"):
        ev.Graph([0, 0], [], directed=True, ids=np.array(["é".encode()]))


def test_ids_that_are_equal_in_float64_are_distinguished():
    ids = np.array([2**53, 2**53 + 1])
    graph = ev.Graph([0, 0, 0], [], directed=True, ids=ids)
    assert graph.numbers_of(ids.astype(np.uint64)).tolist() == [0, 1]
    with pytest.raises(ev.UnknownVertexError, match="vertex 9223372036854775808 is not in the graph"):
        graph.numbers_of(np.array([1 << 63], np.uint64))


# ---- accepted and rejected arrays -------------------------------------------------------------------


@pytest.mark.parametrize("dtype", [">i8", ">i4", ">u8", ">u4", ">i2", ">f8"])
def test_ids_of_another_byte_order(dtype):
    g = Graph.from_edges(np.array([0, 5], dtype), np.array([1, 7], dtype))
    assert g.ids.tolist() == [0, 1, 5, 7]
    assert neighbours(g) == {0: [1], 1: [], 5: [7], 7: []}


def test_weights_of_another_byte_order():
    g = Graph([0, 1, 1], [1], weights=np.array([2.5], ">f8"), directed=True)
    assert ev.sssp(g, source=0)["distance"].tolist() == [0, 2.5]
    assert Graph.from_edges([0], [1], np.array([2.5], ">f8")).weights.tolist() == [2.5]


def test_writable_arrays_are_copied():
    offsets, targets, weights, ids = [0, 1, 1], [1], [2.0], [3, 4]
    given = np.array(offsets, np.uint64), np.array(targets, np.uint32), np.array(weights), np.array(ids)
    g = Graph(given[0], given[1], weights=given[2], ids=given[3], directed=True)
    for array in given:
        array[:] = 77
    assert (g.offsets.tolist(), g.targets.tolist()) == (offsets, targets)
    assert (g.weights.tolist(), g.ids.tolist()) == (weights, ids)


def test_read_only_arrays_are_not_copied():
    targets = np.array([1], np.uint32)
    targets.flags.writeable = False
    assert np.shares_memory(Graph([0, 1, 1], targets, directed=True).targets, targets)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((np.ma.array([0, 5], mask=[0, 1]), [1, 7]), "src: expected no masked entries"),
        (([0], [1], np.ma.array([1.0], mask=[1])), "weights: expected no masked entries"),
        ((["a", "b"], ["a\0", "c"]), "without the character NUL"),
        ((["a", "b"], ["a\0x", "c"]), "without the character NUL"),
        ((["\ud800"], ["b"]), "src holds a string that UTF-8 cannot encode"),
        (([["a"], ["b", "c"]], ["b", "d"]), "src: expected a sequence of numbers or of strings"),
        (([0], [1], None, "no"), "directed=: expected True or False, found 'no'"),
        (([0], [1], None, None), "directed=: expected True or False, found None"),
        ((np.array(["a", None], np.dtypes.StringDType(na_object=None)), ["a", "b"]), r"src\[1\] is missing"),
    ],
)
def test_arrays_that_are_rejected(arguments, sentence):
    with pytest.raises(ArgumentError, match=sentence):
        Graph.from_edges(*arguments)


def test_from_in_edges_rejects_other_objects():
    with pytest.raises(ArgumentError, match="reverse: expected a Graph, found NoneType"):
        Graph.from_in_edges(None)


def test_negative_ids_are_rejected():
    with pytest.raises(ArgumentError, match="expected integers of at least 0, found -5 as the first"):
        Graph([0, 0, 0], [], ids=[-5, 3], directed=True)


def test_one_column_cannot_be_both_ends():
    table = pa.table({"from": [1, 2], "to": [2, 3]})
    with pytest.raises(ArgumentError, match='column "to" cannot be both tail and head'):
        Graph.from_arrow(table, source="to")
    assert Graph.from_arrow(table, source="from").ids.tolist() == [1, 2, 3]


@pytest.mark.parametrize("kind", [ev.OutOfMemoryError, ev.DeviceOutOfMemory])
def test_memory_errors_can_be_pickled(kind):
    error = pickle.loads(pickle.dumps(kind("too large", needed=3, available=2)))
    assert (type(error), str(error), error.needed, error.available) == (kind, "too large", 3, 2)
