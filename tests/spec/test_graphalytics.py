"""The expected outputs of LDBC Graphalytics' two example graphs, on one, two and four elements."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evener as ev

FOLDER = Path(__file__).resolve().parents[3] / "shared" / "data" / "graphalytics-example"

pytestmark = pytest.mark.skipif(
    not FOLDER.exists(), reason="expected the folder graphalytics-example in ../shared/data, found none"
)


@pytest.fixture(scope="module", params=["directed", "undirected"])
def name(request):
    return f"example-{request.param}"


@pytest.fixture(scope="module")
def graph(name):
    return ev.read(FOLDER / f"{name}.properties")


@pytest.fixture(scope="module")
def parameters(name):
    """The algorithm parameters of the properties file, such as "bfs.source-vertex"."""
    found = {}
    for line in (FOLDER / f"{name}.properties").read_text().splitlines():
        key, equals, value = line.partition("=")
        if equals:
            found[key.strip().removeprefix(f"graph.{name}.")] = value.strip()
    return found


@pytest.fixture(params=[1, 2, 4], ids="elements={}".format)
def placed(graph, request):
    return ev.partition(graph, ["cpu:1"] * request.param)


def expected(name, algorithm):
    """Return the values of the expected-output file by id, read by NumPy."""
    table = np.loadtxt(FOLDER / f"{name}-{algorithm}", dtype=str)
    return dict(zip(table[:, 0].astype(int).tolist(), table[:, 1].tolist(), strict=True))


def by_id(graph, column):
    return dict(zip(graph.ids.tolist(), column.tolist(), strict=True))


def test_the_graph_matches_its_properties(name, graph, parameters):
    assert graph.directed == (parameters["directed"] == "true") == (name == "example-directed")
    assert graph.n == int(parameters["meta.vertices"])
    assert graph.m == int(parameters["meta.edges"]) * (1 if graph.directed else 2)
    assert graph.weights is not None


def test_bfs(name, graph, placed, parameters):
    r = ev.bfs(placed, source=int(parameters["bfs.source-vertex"]))
    never = str(2**63 - 1)
    wanted = {v: -1 if text == never else int(text) for v, text in expected(name, "BFS").items()}
    assert by_id(graph, r["distance"]) == wanted
    ev.verify(r)


def test_pagerank(name, graph, placed, parameters):
    r = ev.pagerank(
        placed,
        damping=float(parameters["pr.damping-factor"]),
        max_iter=int(parameters["pr.num-iterations"]),
        semantics="graphalytics",
        dtype="float64",
    )
    wanted = {v: float(text) for v, text in expected(name, "PR").items()}
    assert by_id(graph, r["rank"]) == pytest.approx(wanted, rel=1e-12)
    ev.verify(r)


def test_sssp(name, graph, placed, parameters):
    r = ev.sssp(placed, source=int(parameters["sssp.source-vertex"]))
    wanted = {v: float(text) for v, text in expected(name, "SSSP").items()}
    assert by_id(graph, r["distance"]) == pytest.approx(wanted, rel=1e-12)
    ev.verify(r)


def test_wcc(name, graph, placed):
    r = ev.wcc(placed)
    found, wanted = by_id(graph, r["component"]), {v: int(c) for v, c in expected(name, "WCC").items()}
    for one in wanted:
        for other in wanted:
            assert (found[one] == found[other]) == (wanted[one] == wanted[other])
    ev.verify(r)


def test_cdlp(name, graph, placed, parameters):
    r = ev.cdlp(placed, max_iter=int(parameters["cdlp.max-iterations"]))
    wanted = {v: int(label) for v, label in expected(name, "CDLP").items()}
    assert by_id(graph, r["label"]) == wanted
    ev.verify(r)
