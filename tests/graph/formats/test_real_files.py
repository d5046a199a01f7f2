"""Published files of SNAP and LDBC."""

from __future__ import annotations

import gzip

import networkx as nx
import numpy as np
import pytest

import evener as ev


@pytest.mark.parametrize(
    ("name", "n", "m"),
    [("soc-Epinions1.txt.gz", 75_879, 508_837), ("web-NotreDame.txt.gz", 325_729, 1_497_134)],
)
def test_snap(name, n, m, real):
    graph = ev.read(real(name))
    assert (graph.n, graph.m, graph.directed) == (n, m, True)
    with gzip.open(real(name)) as file:
        expected = np.loadtxt(file, dtype=np.int64)
    src, dst = expected[np.lexsort((expected[:, 1], expected[:, 0]))].T
    assert np.array_equal(graph.ids, np.unique(expected))
    assert np.array_equal(np.repeat(graph.ids, graph.out_degree().astype(int)), src)
    assert np.array_equal(graph.ids[graph.targets], dst)


@pytest.mark.parametrize("suffix", [".properties", ".v", ".e"])
@pytest.mark.parametrize(("kind", "n", "m"), [("directed", 10, 17), ("undirected", 9, 24)])
def test_graphalytics_examples(kind, n, m, suffix, real):
    path = real(f"graphalytics-example/example-{kind}{suffix}")
    graph = ev.read(path)
    assert (graph.n, graph.m, graph.directed) == (n, m, kind == "directed")
    create = nx.DiGraph if kind == "directed" else nx.Graph
    theirs = nx.read_edgelist(
        path.with_suffix(".e"), create_using=create, nodetype=int, data=[("weight", float)]
    )
    rows = np.repeat(graph.ids, graph.out_degree().astype(int))
    ours = {(a, b): w for a, b, w in zip(rows, graph.ids[graph.targets], graph.weights, strict=True)}
    assert ours == {(a, b): w for a, b, w in theirs.to_directed().edges(data="weight")}
