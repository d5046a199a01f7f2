"""Results whose rows are not vertices: pairs with ids, lists of ids, and one row about the whole graph."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import evener as ev
from evener.engine.timeline import Timeline
from evener.results.columns import Column
from evener.results.table_result import TableResult

GRAPHS = {
    "numbers": ev.Graph.from_edges([0, 1], [1, 2]),
    "integers": ev.Graph.from_edges([10, 20], [20, 40]),
    "strings": ev.Graph.from_edges(["a", "b"], ["b", "c"]),
}
IDS = {"numbers": [0, 1, 2], "integers": [10, 20, 40], "strings": ["a", "b", "c"]}


def table(row, graph, columns, **arrays):
    facts = {"parameters": {}, "timeline": Timeline(), "seconds": 0.1, "edges": graph.m}
    return TableResult(row, "example", graph, arrays, columns=columns, **facts)


@pytest.fixture(params=GRAPHS)
def pairs(request):
    columns = (Column("first", "vertex"), Column("second", "vertex"), Column("score", real=True))
    result = table(
        "pair", GRAPHS[request.param], columns,
        first=np.array([0, 1, 0]), second=np.array([1, 2, 2]), score=np.array([0.25, 0.75, 0.5]),
    )  # fmt: skip
    return result, IDS[request.param]


def test_rows_that_are_no_vertices_have_no_values_of_vertices(pairs):
    result, ids = pairs
    for method, given in (("value", ids[:1]), ("to_dict", [])):
        with pytest.raises(ev.ArgumentError, match=f"^{method}: .* found a row for each pair; use result"):
            getattr(result, method)(*given)


def test_columns_of_vertices_are_ids(pairs):
    result, ids = pairs
    assert result["first"].tolist() == [ids[0], ids[1], ids[0]]
    assert result.to_arrow().column_names == ["first", "second", "score"]
    assert result.to_pandas()["second"].tolist() == [ids[1], ids[2], ids[2]]


def test_top_has_the_rows_of_the_largest_numbers(pairs):
    result, ids = pairs
    assert result.top(2) == [(ids[1], ids[2], 0.75), (ids[0], ids[2], 0.5)]
    with pytest.raises(ev.ArgumentError, match="k >= 0"):
        result.top(-1)


def test_files_hold_the_rows(pairs, tmp_path):
    result, ids = pairs
    result.write(tmp_path / "pairs.parquet")
    assert pq.read_table(tmp_path / "pairs.parquet")["first"].to_pylist() == [ids[0], ids[1], ids[0]]


def test_rows_of_two_dimensions_are_lists_up_to_the_first_missing_vertex():
    walks = table(
        "walk", GRAPHS["strings"], (Column("walk", "vertex"),), walk=np.array([[0, 1, 2], [2, -1, -1]])
    )
    assert walks.to_arrow()["walk"].to_pylist() == [["a", "b", "c"], ["c"]]
    assert walks["walk"].tolist() == [["a", "b", "c"], ["c", None, None]]
    assert pa.types.is_large_list(walks.to_arrow()["walk"].type)


def test_one_row_about_the_graph_is_a_number(pairs):
    whole = table("graph", GRAPHS["numbers"], (Column("density", real=True),), density=np.array([0.5]))
    assert float(whole) == 0.5
    with pytest.raises(TypeError, match="whole graph"):
        float(pairs[0])
