"""One long name among many short ones is stored in an array of Python strings."""

from __future__ import annotations

import pickle

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.graph.arrays import string_array
from evener.spec.registry import find
from evener.spec.saved_answer import load_claim

LONG = "http://x/" + "a" * 20_000
NAMES = sorted([*(f"u{i:04}" for i in range(3000)), LONG])


@pytest.fixture
def graph():
    return ev.Graph.from_edges(NAMES[:-1], NAMES[1:])


def test_one_long_name_does_not_widen_all_names(graph):
    assert graph.ids.dtype == object
    assert graph.ids.tolist() == NAMES
    assert graph.nbytes < 1 << 20
    assert ev.Graph.from_networkx(nx.path_graph(NAMES)).ids.dtype == object
    assert string_array(NAMES[1:]).dtype == "U5"


def test_vertices_are_found_by_long_and_short_names(graph):
    assert graph.numbers_of([LONG, "u0001", "u2999"]).tolist() == [0, 2, 3000]
    distance = ev.bfs(graph, source=LONG)["distance"]
    assert np.array_equal(distance, np.arange(3001))
    with pytest.raises(ev.UnknownVertexError, match="vertex u3 is not in the graph"):
        graph.numbers_of(["u3"])


@pytest.mark.parametrize("suffix", [".txt", ".csv", ".parquet", ".evg"])
def test_long_names_are_read_back(graph, suffix, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    ev.write(graph, tmp_path / f"g{suffix}")
    back = ev.read(tmp_path / f"g{suffix}")
    assert back.ids.tolist() == NAMES
    assert np.array_equal(back.targets, graph.targets)
    checked = ev.Graph(back.offsets, back.targets, ids=graph.ids, directed=True)
    assert pickle.loads(pickle.dumps(checked)).ids.tolist() == NAMES


def test_objects_that_are_not_strings_are_rejected():
    with pytest.raises(ev.ArgumentError, match="expected integers or strings, found object"):
        ev.Graph(
            np.zeros(3, np.uint64), np.zeros(0, np.uint32), ids=np.array(["a", 1], object), directed=True
        )


def test_a_saved_answer_with_long_names_is_verified(graph, tmp_path):
    ev.wcc(graph).write(tmp_path / "answer.parquet")
    spec = find("wcc")
    ev.verify(load_claim(tmp_path / "answer.parquet", graph, spec=spec, parameters={}))
