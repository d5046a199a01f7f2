"""Graphalytics' match rules, and the reader of its expected-output files."""

from __future__ import annotations

import gzip

import numpy as np
import pytest

from evener.errors import ArgumentError, FileError, FormatError, VerificationError
from evener.graph.graph import Graph
from evener.spec.verify import (
    Claim,
    against,
    match_epsilon,
    match_equivalent,
    match_exact,
    read_expected,
)

INFINITY = np.inf


@pytest.fixture
def graph():
    return Graph.from_edges([2, 4, 7], [4, 7, 9], directed=True)  # ids 2, 4, 7, 9


def written(folder, text, name="expected"):
    path = folder / name
    path.write_text(text, encoding="ascii")
    return path


def test_exact_match():
    match_exact([1, 2, 3], np.array([1, 2, 3], dtype=np.int64))
    with pytest.raises(VerificationError, match="exact match: vertex 1 has 2, expected 4"):
        match_exact([1, 2, 3], [1, 4, 3])
    with pytest.raises(VerificationError, match="vertex 70 has 3, expected 5"):
        match_exact([1, 2, 3], [1, 2, 5], ids=[50, 60, 70])


def test_epsilon_match():
    match_epsilon([1.0, 0.0, INFINITY], [1.00009, 0.0, INFINITY])
    match_epsilon([1.0], [1.001], epsilon=0.01)
    for found, wanted in [(1.0, 1.00011), (1e-9, 0.0), (INFINITY, 1.0), (1.0, INFINITY), (np.nan, 1.0)]:
        with pytest.raises(VerificationError, match=r"match within 0\.0001: vertex 1 has "):
            match_epsilon([2.0, found], [2.0, wanted])


def test_equivalence_match():
    match_equivalent([5, 5, 8, 5], [1, 1, 0, 1])
    with pytest.raises(VerificationError, match="equivalence match: vertex 2 has 8, expected 1"):
        match_equivalent([5, 5, 8], [1, 1, 1])
    with pytest.raises(VerificationError, match="equivalence match: vertex 2 has 5, expected 2"):
        match_equivalent([5, 5, 5], [1, 1, 2])


def test_columns_of_unequal_length_are_refused():
    with pytest.raises(ArgumentError, match=r"found shapes \(2,\) and \(3,\)"):
        match_exact([1, 2], [1, 2, 3])


@pytest.mark.parametrize("word", ["infinity", "Infinity", "inf", "INFINITY"])
def test_reading_infinity(tmp_path, word):
    ids, values = read_expected(written(tmp_path, f"1 0.000000000000000e+00\n2 {word}\n3 5.0e-01\n"))
    assert ids.tolist() == [1, 2, 3]
    assert values.tolist() == [0.0, INFINITY, 0.5]


def test_reading_whole_numbers_and_packed_files(tmp_path):
    text = "1 0\n2 9223372036854775807\n9007199254740993 1\n"
    packed = tmp_path / "expected.gz"
    packed.write_bytes(gzip.compress(text.encode()))
    for path in (written(tmp_path, text), packed):
        ids, values = read_expected(path)
        assert ids.tolist() == [1, 2, 9007199254740993]
        assert values.tolist() == [0, 9223372036854775807, 1]


@pytest.mark.parametrize(
    "text", ["", "1 2 3\n", "1\n", "one 2\n", "1 2\n1 \n", "1,2\n", "1 two\n", "\x00\x01"]
)
def test_a_file_that_is_not_an_expected_output(tmp_path, text):
    with pytest.raises(FormatError, match="expected"):
        read_expected(written(tmp_path, text))


def test_a_bad_value_is_named_by_its_line(tmp_path):
    with pytest.raises(FormatError, match="line 2: expected a number after the id, found 'two'"):
        read_expected(written(tmp_path, "1 1.5\n2 two\n"))


def test_a_missing_file(tmp_path):
    with pytest.raises(FileError, match="nowhere"):
        read_expected(tmp_path / "nowhere")


def test_bfs_against_a_file(tmp_path, graph):
    path = written(tmp_path, "9 2\n2 9223372036854775807\n4 0\n7 1\n")
    distance = np.array([-1, 0, 1, 2], dtype=np.int32)
    against(Claim("bfs", graph, {"distance": distance}), path)
    distance[3] = 1
    with pytest.raises(
        VerificationError,
        match="bfs: distance differs from expected: exact match: vertex 9 has 1, expected 2",
    ):
        against(Claim("bfs", graph, {"distance": distance}), path)


def test_sssp_against_a_file(tmp_path, graph):
    path = written(tmp_path, "2 infinity\n4 0.0\n7 0.5\n9 1.25\n")
    against(Claim("sssp", graph, {"distance": np.array([INFINITY, 0, 0.5, 1.25001])}), path)
    with pytest.raises(VerificationError, match=r"vertex 2 has 9.0, expected inf"):
        against(Claim("sssp", graph, {"distance": np.array([9, 0, 0.5, 1.25])}), path)


def test_pagerank_and_wcc_against_files(tmp_path, graph):
    ranks = written(tmp_path, "2 0.1\n4 0.2\n7 0.3\n9 0.4\n", "ranks")
    against(Claim("pagerank", graph, {"rank": np.array([0.1, 0.2, 0.3, 0.4], dtype=np.float32)}), ranks)
    with pytest.raises(VerificationError, match="vertex 7 has"):
        against(Claim("pagerank", graph, {"rank": np.array([0.1, 0.2, 0.31, 0.4])}), ranks)
    labels = written(tmp_path, "2 7\n4 7\n7 7\n9 9\n", "labels")
    against(Claim("wcc", graph, {"component": np.array([2, 2, 2, 9])}), labels)
    with pytest.raises(VerificationError, match="vertex 9 has 2, expected 9"):
        against(Claim("wcc", graph, {"component": np.array([2, 2, 2, 2])}), labels)


def test_a_file_for_another_graph(tmp_path, graph):
    claim = Claim("bfs", graph, {"distance": np.zeros(4, dtype=np.int32)})
    with pytest.raises(ArgumentError, match="does not fit this graph: vertex 3 is not in the graph"):
        against(claim, written(tmp_path, "2 0\n3 0\n7 0\n9 0\n"))
    with pytest.raises(ArgumentError, match="does not fit this graph: expected 1 line for vertex 9, found 0"):
        against(claim, written(tmp_path, "2 0\n4 0\n7 0\n"))
    with pytest.raises(ArgumentError, match="expected 1 line for vertex 4, found 2"):
        against(claim, written(tmp_path, "2 0\n4 0\n7 0\n9 0\n4 1\n"))


def test_an_algorithm_without_a_match_rule(tmp_path, graph):
    with pytest.raises(ArgumentError, match="defines no match rule for betweenness"):
        against(Claim("betweenness", graph, {}), tmp_path / "none")
