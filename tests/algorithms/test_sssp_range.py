"""Distances beyond the range of their type: a vertex that can be reached does not look unreached."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.testing.ranks import run_ranks

INF = np.inf
MAX = float(np.finfo(float).max)
SPLITS = ["cpu:1", "cpu:1,cpu:1"]


def path(weights, *, directed=True):
    """Return a path whose vertices have ids from 10 on."""
    weights = np.asarray(weights)
    return ev.Graph.from_edges(
        np.arange(len(weights)) + 10, np.arange(len(weights)) + 11, weights=weights, directed=directed
    )


@pytest.mark.parametrize("on", SPLITS)
@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize(
    "weights", [[1e308, 1e308, 1.0], [MAX / 2, MAX / 4, MAX], [5e307] * 4, [1.0, MAX, MAX]]
)
def test_a_sum_above_the_largest_float64_is_refused(weights, directed, on):
    graph = path(weights, directed=directed)
    with np.errstate(over="ignore"):
        first = 10 + int(np.argmax(np.isinf(np.cumsum([0.0, *weights]))))
    with pytest.raises(ev.ArgumentError, match=f"^sssp: the distance of vertex {first} is above the largest"):
        ev.sssp(graph, source=10, on=on)
    for delta in (1e300, 1e308):
        with pytest.raises(ev.ArgumentError, match="is above the largest float64"):
            ev.sssp(graph, source=10, on=on, delta=delta)
    with pytest.raises(ev.ArgumentError, match="is above the largest float64"):
        ev.sssp(graph, sources=[10], each=True, on=on)


@pytest.mark.parametrize("on", SPLITS)
def test_sums_that_fit_are_right(on):
    fits = ev.sssp(path([MAX / 2, MAX / 4]), source=10, on=on)
    assert fits["distance"].tolist() == [0.0, MAX / 2, MAX / 2 + MAX / 4]
    detour = ev.Graph.from_edges([0, 1, 0], [1, 2, 2], weights=[1e308, 1e308, 1.5e308])
    assert ev.sssp(detour, source=0, on=on)["distance"].tolist() == [0.0, 1e308, 1.5e308]
    never = ev.sssp(path([1e308, INF, 1.0]), source=10, on=on)
    assert never["distance"].tolist() == [0.0, 1e308, INF, INF]
    narrow = path(np.array([3e38, 3e38], np.float32))
    assert ev.sssp(narrow, source=10, on=on)["distance"][2] == 2 * float(np.float32(3e38))


def test_the_end_of_a_search_may_be_before_the_sum():
    graph = path([1e308, 1e308])
    for end in ({"cutoff": 1e308}, {"target": 11}):
        assert ev.sssp(graph, source=10, **end)["distance"].tolist() == [0.0, 1e308, INF]
    for end in ({"cutoff": INF}, {"target": 12}):
        with pytest.raises(ev.ArgumentError, match="vertex 12 is above the largest float64"):
            ev.sssp(graph, source=10, **end)


@pytest.mark.parametrize("on", SPLITS)
@pytest.mark.parametrize("dtype", ["int64", "uint64"])
def test_integers_that_float64_rounds_are_refused(dtype, on):
    for weights in ([2**53 - 1, 1, 1], [2**62, 2**62], [2**40, 2**53]):
        with pytest.raises(ev.ArgumentError, match=r"vertex 1\d is 2\^53 or more"):
            ev.sssp(path(np.array(weights, dtype)), source=10, on=on)
    exact = ev.sssp(path(np.array([2**52, 2**52 - 1], dtype)), source=10, on=on)
    assert exact["distance"].tolist() == [0, 2**52, 2**53 - 1]
    ev.verify(exact)
    graph = ev.Graph.from_edges([0, 0, 1], [1, 2, 2], weights=np.array([1, 2**60, 1], dtype))
    assert ev.sssp(graph, source=0, on=on)["distance"].tolist() == [0, 1, 2]


def test_ranks_agree():
    def check(_):
        with pytest.raises(ev.ArgumentError, match="vertex 12 is above the largest float64"):
            ev.sssp(path([1e308] * 4), source=10, on="cpu:1")

    run_ranks(2, check)


def test_the_verifier_refuses_them():
    graph = path([1e308, 1e308])
    arrays = {"distance": np.array([0, 1e308, INF]), "parent": np.array([10, 10, -1])}
    with pytest.raises(ev.VerificationError, match="no distance is above the largest float64: vertex 12"):
        ev.verify(ev.Claim("sssp", graph, arrays, {"source": 10}))
    ev.verify(ev.Claim("sssp", graph, arrays, {"source": 10, "cutoff": 1e308}))
    rounded = path(np.array([2**53, 1]))
    arrays = {"distance": np.array([0.0, 2.0**53, 2.0**53]), "parent": np.array([10, 10, 11])}
    with pytest.raises(ev.VerificationError, match=r"below 2\^53"):
        ev.verify(ev.Claim("sssp", rounded, arrays, {"source": 10}))


def test_parts_of_a_graph(tmp_path):
    """No rank has the whole graph."""
    file = tmp_path / "path.evg"
    ev.write(path([1e308, 1e308, 1.0]), file)

    def check(_):
        with pytest.raises(ev.ArgumentError, match="vertex 12 is above the largest float64"):
            ev.sssp(str(file), source=10, on="cpu:1")
        r = ev.sssp(str(file), source=10, cutoff=1e308, on="cpu:1")
        ev.verify(r)
        r.parameters["cutoff"] = None
        with pytest.raises(ev.VerificationError):
            ev.verify(r)

    run_ranks(2, check)
