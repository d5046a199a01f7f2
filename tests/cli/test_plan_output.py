"""`evener plan` for one CPU element needs no edges, if the heading of the graph states the sizes."""

from __future__ import annotations

import json

import pytest

import evener as ev
from evener.cli import runs

SPEC = "rmat:10,weights=1..9"


@pytest.fixture
def never_read(monkeypatch):
    monkeypatch.setattr(runs, "open_graph", lambda *_, **__: pytest.fail("the graph was read"))


@pytest.mark.usefixtures("never_read")
@pytest.mark.parametrize(
    ("suffix", "directed"),
    [
        (".evg", True), (".wsg", False), (".gr.gz", True), (".mtx", False), (".graph", False),
        (".parquet", True), (".parquet", False), (".txt", False),
        (None, True), (None, False),
    ],
)  # fmt: skip
def test_the_sizes_are_those_of_the_graph(evener, tmp_path, suffix, directed):
    """Sizes that are not exact are upper bounds."""
    name = SPEC + ",directed" * directed
    graph = ev.read(name)
    if suffix is not None:
        ev.write(graph, name := tmp_path / f"g{suffix}")
    expected = ev.plan(graph, "bfs", on="cpu:1")
    planned = json.loads(evener("plan", name, "--on", "cpu:1", "--for", "bfs", "--json").out)
    (share,) = planned["shares"]
    assert share["sizes"]["vertices"] == graph.n
    edges = [share["sizes"]["edges"], expected.shares[0].sizes.edges]
    nbytes = [*planned["nbytes"], *expected.nbytes]
    if planned["exact"] and suffix != ".gr.gz":  # the type of the weights is not known
        assert (edges[0], nbytes[0]) == (edges[1], nbytes[1])
    assert edges[0] >= edges[1]
    assert nbytes[0] >= nbytes[1]
    assert planned["prediction"]["seconds"] >= expected.prediction.seconds
    placed = ev.partition(graph, on="cpu:1").statistics
    partitions = json.loads(evener("plan", name, "--on", "cpu:1", "--json").out)
    assert partitions["bytes"] >= 0.99 * placed.nbytes
    if planned["exact"]:
        assert partitions["partitions"][0]["edges"] == placed.partitions[0].edges


@pytest.mark.usefixtures("never_read")
def test_the_output_says_what_is_known(evener, tmp_path, monkeypatch):
    monkeypatch.setattr("evener.elements.cuda.discovery.gpus", lambda: 0)
    out = evener("plan", "rmat:8").out
    assert out.startswith(
        "undirected, 256 vertices, at most 8,192 stored edges (not generated); policy random"
    )
    out = evener("plan", "grid:3x4", "--for", "wcc").out
    assert out.startswith("undirected, 12 vertices, 34 stored edges (not generated)\n\nwcc on cpu\n")
    banner = "%%MatrixMarket matrix coordinate pattern general\n"
    (tmp_path / "g.mtx").write_text(f"{banner}4 4 1\n1 1\n")
    out = evener("plan", tmp_path / "g.mtx").out
    assert out.startswith("directed, 4 vertices, at most 1 edge (not read); policy random")
    (tmp_path / "g.mtx").write_text(f"{banner}3 4 1\n1 1\n")
    assert "expected a square matrix, found 3 x 4" in evener("plan", tmp_path / "g.mtx").err


@pytest.mark.parametrize("words", [["g.csv"], ["g.mtx", "--undirected"], ["g.mtx", "--on", "cpu:1,cpu:1"]])
def test_other_graphs_are_read(evener, tmp_path, words):
    """If the file states no sizes, if an option changes them, or if there are several elements."""
    graph = ev.Graph.from_edges([0, 1], [1, 2])
    ev.write(graph, tmp_path / words[0])
    content = json.loads(evener("plan", tmp_path / words[0], *words[1:], "--json").out)
    assert content["exact"]
    assert sum(one["vertices"] for one in content["partitions"]) == 3
