"""The weight is the column that its name says, and columns of numbers that are left out are named."""

from __future__ import annotations

import networkx as nx
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import csv, feather, parquet

import evener as ev

# Ways to read a table: files, and tables in memory.
FILES = {
    "g.csv": csv.write_csv,
    "g.parquet": parquet.write_table,
    "g.arrow": lambda table, path: feather.write_feather(table, str(path), compression="uncompressed"),
    "g.tsv": lambda table, path: csv.write_csv(table, path, csv.WriteOptions(delimiter="\t")),
}
FRAMES = {
    "pandas": lambda table, **named: ev.Graph.from_pandas(table.to_pandas(), **named),
    "arrow": lambda table, **named: ev.Graph.from_arrow(table, **named),
    "stream": lambda table, **named: ev.Graph.from_arrow(table.to_reader(), **named),
}


def read(how, table, folder, **named):
    if how in FRAMES:
        return FRAMES[how](table, **named)
    FILES[how](table, folder / how)
    columns = [named.get(key, key) for key in ("src", "dst", "weight")] if named else None
    return ev.read(folder / how, columns=columns)


@pytest.mark.parametrize("how", [*FILES, *FRAMES])
def test_a_column_of_numbers_that_is_left_out_is_named(how, tmp_path, caplog):
    table = pa.table({"src": ["a", "a"], "dst": ["b", "c"], "amount": [5.0, 1.0], "kind": ["x", "y"]})
    assert read(how, table, tmp_path).weights is None
    said = "the graph has no weights: no column is named weight, only 'amount', 'kind'; give "
    assert [message.partition(": ")[2].startswith(said) for message in caplog.messages] == [True]
    caplog.clear()
    assert read(how, table, tmp_path, weight="amount").weights.tolist() == [5.0, 1.0]
    assert read(how, table.drop_columns(["amount"]), tmp_path).weights is None
    assert not caplog.messages


@pytest.mark.parametrize("how", [*FILES, *FRAMES])
@pytest.mark.parametrize(
    ("names", "expected"), [(("time", "weight"), 2), (("Weight", "time"), 1), (("w", "x"), 1)]
)
def test_the_name_says_which_column_is_the_weight(how, names, expected, tmp_path, caplog):
    table = pa.table({"src": [1], "dst": [2], names[0]: [1], names[1]: [2]})
    assert read(how, table, tmp_path).weights.tolist() == [expected]
    assert not caplog.messages


@pytest.mark.parametrize("how", [*FILES, *FRAMES])
def test_another_column_with_the_name_of_a_weight_is_named(how, tmp_path, caplog):
    table = pa.table({"src": [1], "dst": [2], "cost": [1], "weight": [2]})
    assert read(how, table, tmp_path).weights.tolist() == [2]
    assert ["'weight' has the weights, and 'cost' is not read" in text for text in caplog.messages] == [True]


@pytest.mark.parametrize("how", [*FILES, *FRAMES])
def test_a_weight_that_the_named_columns_leave_out_is_named(how, tmp_path, caplog):
    table = pa.table({"a": [1], "b": [2], "amount": [3], "W": [4]})
    ends = {"source": "a", "target": "b"}
    if how in FRAMES:
        graph = FRAMES[how](table, **ends)
    else:
        FILES[how](table, tmp_path / how)
        graph = ev.read(tmp_path / how, columns=[*ends.values()])
    assert graph.weights is None
    said = "the graph has no weights: the column 'W' is not read; to read it, give "
    assert [message.partition(": ")[2].startswith(said) for message in caplog.messages] == [True]


def test_the_index_of_a_frame_is_not_left_out(caplog):
    frame = pd.DataFrame({"src": [1, 2], "dst": [2, 3]}, index=[7, 9])
    ev.Graph.from_pandas(frame)
    ev.Graph.from_pandas(frame.rename_axis("row"))
    assert not caplog.messages


def test_an_attribute_of_networkx_that_is_left_out_is_named(caplog):
    graph = nx.Graph()
    graph.add_edge("a", "b", capacity=3, label="x")
    assert ev.Graph.from_networkx(graph).weights is None
    said = "the graph has no weights: no edge attribute is named weight, only 'capacity'; give weight="
    assert caplog.messages == [f"networkx.Graph: {said}"]
    caplog.clear()
    ev.Graph.from_networkx(graph, weight=None)
    assert ev.Graph.from_networkx(graph, weight="capacity").weights.tolist() == [3, 3]
    ev.Graph.from_networkx(nx.path_graph(3))
    assert not caplog.messages


def graphalytics(folder, names, more="", edges="1 2 7 0.5\n", vertices="1\n2\n"):
    lines = (
        f"graph.g.directed = true\ngraph.g.edge-properties.names = {names}\n"
        if names
        else "graph.g.directed = true\n"
    )
    (folder / "g.properties").write_text(lines + more)
    (folder / "g.v").write_text(vertices)
    (folder / "g.e").write_text(edges)
    return folder / "g.properties"


@pytest.mark.parametrize(
    ("names", "more", "expected"),
    [
        ("time,weight", "", 0.5),
        ("weight,time", "", 7),
        ("time, Weight", "graph.g.edge-properties.types = integer,real\n", 0.5),
        ("a,b", "graph.g.sssp.weight-property = b\n", 0.5),
        ("weight,b", "graph.g.sssp.weight-property = b\n", 0.5),
        ("a,cost", "Graph.g.SSSP.source-vertex = 1\nbenchmark.other = 3\ngraph.h.directed = false\n", 0.5),
    ],
)
def test_the_weight_of_graphalytics_is_named(names, more, expected, tmp_path, caplog):
    assert ev.read(graphalytics(tmp_path, names, more)).weights.tolist() == [expected]
    assert not caplog.messages


@pytest.mark.parametrize(("names", "edges"), [("a,b", "1 2 7 0.5\n"), ("time", "1 2 7\n"), ("", "1 2 7\n")])
def test_other_properties_of_graphalytics_are_no_weights(names, edges, tmp_path, caplog):
    path = graphalytics(tmp_path, names, edges=edges)
    assert ev.read(path).weights is None
    assert ["no weights" in text for text in caplog.messages] == [True]
    caplog.clear()
    ev.read(path, weighted=False)
    with pytest.raises(ev.FormatError, match="expected a property named weight in "):
        ev.read(path, weighted=True)


@pytest.mark.parametrize(
    ("names", "more", "match"),
    [
        ("a,weight", "graph.g.edge-properties.types = real\n", "expected a type for each of 2"),
        ("weight", "", "expected 3 fields by edge-properties.names, found 4"),
        ("weight,weight", "", "expected one property 'weight'"),
        ("a,b", "graph.g.sssp.weight-property = c\n", "expected 'c', the sssp.weight-property"),
        ("a,b", "graph.g.directed = false\n", "expected one value of directed"),
    ],
)
def test_wrong_properties_of_graphalytics_are_refused(names, more, match, tmp_path):
    with pytest.raises(ev.FormatError, match=match):
        ev.read(graphalytics(tmp_path, names, more))


def test_vertices_of_graphalytics_may_have_properties(tmp_path):
    more = "graph.g.vertex-properties.names = age,name\n"
    path = graphalytics(tmp_path, "", more, edges="1 5\n", vertices="5 30 x\n\n1  40 y\n9\n")
    assert ev.read(path).ids.tolist() == [1, 5, 9]


def test_properties_of_two_graphs_are_refused(tmp_path):
    (tmp_path / "g.properties").write_text("graph.a.directed = true\ngraph.b.directed = false\n")
    with pytest.raises(ev.FormatError, match="expected the properties of one graph, or of 'g', found a, b"):
        ev.read(tmp_path / "g.properties")
