"""Views of graphs and results, compared with NetworkX, SciPy and pandas."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

import evener as ev
from support import graphs

NAMES = [name for name in sorted(graphs.SMALL) if name != "empty"]


def multigraph(graph):
    """Build the NetworkX graph of the stored edges."""
    found = (nx.MultiDiGraph if graph.directed else nx.MultiGraph)()
    found.add_nodes_from(graph.ids.tolist())
    for v, (begin, end) in enumerate(zip(graph.offsets[:-1], graph.offsets[1:], strict=True)):
        for e in range(int(begin), int(end)):
            u = int(graph.targets[e])
            if graph.directed or v <= u:
                weight = {} if graph.weights is None else {"weight": graph.weights[e].item()}
                found.add_edge(graph.ids[v].item(), graph.ids[u].item(), **weight)
    return found


def edge_list(graph):
    """Return the sorted edges of a NetworkX graph, with the smaller end of undirected edges first."""
    ends = ((u, v, str(w)) for u, v, w in graph.edges(data="weight"))
    return sorted(ends if graph.is_directed() else ((*sorted((u, v)), w) for u, v, w in ends))


@pytest.mark.parametrize("directed", [False, True])
@pytest.mark.parametrize("name", NAMES)
def test_against_networkx(name, directed):
    graph = graphs.build(graphs.SMALL[name](), directed=directed)
    expected = multigraph(graph)
    found = graph.to_networkx()
    assert list(found) == list(expected)
    assert edge_list(found) == edge_list(expected)
    back = ev.Graph.from_networkx(found)
    assert (back.offsets == graph.offsets).all()
    assert (back.targets == graph.targets).all()
    rng = np.random.default_rng(1)
    for v in rng.choice(graph.ids, 5):
        leaving = nx.MultiDiGraph(expected).out_edges(v)
        assert sorted(graph.neighbors(v)) == sorted(u for _, u in leaving)
        assert graph.degree(v) == expected.degree(v)
    some = rng.choice(graph.ids, graph.n // 2 + 1)
    sub = graph.subgraph(some)
    assert sub.ids.tolist() == sorted(set(some.tolist()))
    assert edge_list(multigraph(sub)) == edge_list(expected.subgraph(some.tolist()))


def test_strings_weights_and_repeated_edges():
    columns = {"from": ["b", "a", "a", "a"], "to": ["a", "b", "b", "c"], "weight": [1.5, 2.0, 3.0, 0.0]}
    frame = pd.DataFrame(columns)
    graph = ev.Graph.from_pandas(frame[::-1])
    assert graph.neighbors("a").tolist() == ["b", "b", "c"]
    assert isinstance(graph.to_networkx(), nx.MultiDiGraph)
    ordered = frame.sort_values(["from", "to", "weight"], ignore_index=True)
    pd.testing.assert_frame_equal(
        graph.to_pandas(), ordered.rename(columns={"from": "source", "to": "target"})
    )
    assert graph.subgraph(["c", "a"]).to_arrow().to_pylist() == [
        {"source": "a", "target": "c", "weight": 0.0}
    ]
    assert graph.to_scipy().sum() == 6.5
    assert pa.table(graph).num_rows == 4  # through Arrow's stream, as in Polars and DuckDB
    with pytest.raises(ev.UnknownVertexError, match="vertex d is not in the graph"):
        graph.neighbors("d")
    with pytest.raises(ev.ArgumentError, match="expected a pandas DataFrame, found list"):
        ev.Graph.from_pandas([1])


def test_scipy_round_trip():
    graph = ev.read("rmat:6,weights=1..9,directed")
    again = ev.Graph.from_scipy(graph.to_scipy())
    assert (again.to_scipy() != graph.to_scipy()).nnz == 0


@pytest.mark.parametrize("ids", [[10, 20, 30, 40], ["d", "e", "f", "g"]])
def test_paths(ids):
    graph = ev.Graph.from_edges([*ids[:2], ids[3]], [ids[1], ids[2], ids[3]], [1.0, 5.0, 1.0])
    for run in (ev.bfs, ev.sssp):
        result = run(graph, source=ids[0], on="cpu:1")
        assert result.path(ids[2]) == ids[:3]
        assert result.path(ids[0]) == ids[:1]
        assert result.path(ids[3]) == []
    with pytest.raises(ev.ArgumentError, match="of a search, found a result of wcc"):
        ev.wcc(graph, on="cpu:1").path(ids[0])
    with pytest.raises(ev.UnknownVertexError, match="5"):
        result.path(5 if isinstance(ids[0], int) else "5")


@pytest.mark.parametrize("ids", [[10, 20, 30], ["d", "e", "f"], [(0, 1), "a", 7]])
def test_values_of_a_vertex(ids):
    graph = ev.Graph.from_networkx(nx.path_graph(ids, create_using=nx.DiGraph))
    assert len(graph) == 3
    assert ids[2] in graph
    assert 5 not in graph
    assert "no such name" not in graph
    result = ev.bfs(graph, source=ids[0], on="cpu:1")
    assert [result.value(vertex) for vertex in ids] == [0, 1, 2]
    assert type(result.value(ids[1])) is int
    assert result.value(ids[2], "parent") == ids[1]
    assert result.to_dict() == dict(zip(ids, range(3), strict=True))
    assert result.to_dict("parent") == {ids[0]: ids[0], ids[1]: ids[0], ids[2]: ids[1]}
    with pytest.raises(ev.UnknownVertexError):
        result.value("5")
    with pytest.raises(KeyError, match="expected one of the arrays 'distance', 'parent'"):
        result.value(ids[0], "rank")


def test_tables_in_notebooks():
    graph = ev.Graph.from_edges(["<b>", "a"], ["a", "c"])
    row = "<td>directed</td><td>3</td><td>2 edges</td><td>none</td><td>&lt;b&gt; to c</td>"
    assert row in graph._repr_html_()
    placed = ev.partition(graph, on=["cpu:1", "cpu:1"])
    assert placed._repr_html_().count("<tr>") == 3
    result = ev.bfs(placed, source="a")
    assert "<td>&lt;b&gt;</td><td>-1</td><td>None</td>" in result._repr_html_()
    ranks = ev.pagerank(graph)._repr_html_()
    assert ranks.index("<td>c</td><td>0.474412</td>") < ranks.index("<td>a</td><td>0.341171</td>")
    assert pa.table(result).column_names == ["vertex", "distance", "parent"]
    assert result._ipython_key_completions_() == ["distance", "parent"]
    assert "<p>&lt;Plan of bfs on cpu:1; " in ev.plan(graph, "bfs", on="cpu:1")._repr_html_()
