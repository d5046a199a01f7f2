"""GIM-V: known algorithms compared with NetworkX, SciPy and NumPy, on several splits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

import evener as ev
from evener.programs import operator_sets
from evener.testing.ranks import run_ranks
from support import gimv_cases

SPLITS = ("cpu:1", "cpu:1,cpu:1,cpu:1")


@pytest.fixture(scope="module")
def graph():
    return gimv_cases.weighted_graph()


def marked(case):
    """Return a case. The everyday command leaves out some, because each compiles several kernels."""
    return pytest.param(
        case, marks=[pytest.mark.slow] * (case in ("beliefs", "eigenvector", "hadi", "random_walk"))
    )


@pytest.mark.parametrize("case", [marked(case) for case in gimv_cases.CASES])
def test_known_algorithms(graph, case):
    """Each operator set gives the answer of NetworkX or SciPy on one and three elements, and two ranks."""
    for on in SPLITS:
        gimv_cases.check_known(case, *graph, on)
    run_ranks(2, lambda _: gimv_cases.check_known(case, *graph, "cpu:1"))


def test_an_identity_beyond_float32():
    """The run gives no warning. Without column blocks, messages are combined as float64."""
    graph = ev.Graph.from_edges([0, 1], [1, 2])
    labels = np.arange(3, dtype=np.float32)
    result = ev.gimv(graph, lambda m, v: v, min, min, labels, identity=1e300, until=1)
    assert result["value"].tolist() == [0, 0, 1]


def test_hadi_estimates_the_neighborhood_function():
    """With several seeds, the estimates of one and two hops are within 15% of the number of pairs."""
    graph = ev.read("uniform:9,edge_factor=4")
    shape, ones = (graph.n, graph.n), np.ones(graph.m)
    adjacency = scipy.sparse.csr_array((ones, graph.targets, graph.offsets.astype(int)), shape).toarray()
    for hops in (1, 2):
        found = []
        for seed in range(16):
            r = ev.gimv(graph, **operator_sets.hadi(graph, seed=seed) | {"until": hops})
            found.append(operator_sets.neighborhood_size(r["value"]))
        expected = np.count_nonzero(np.linalg.matrix_power(adjacency + np.eye(graph.n), hops))
        assert np.mean(found) == pytest.approx(expected, rel=0.15)


@pytest.mark.parametrize(("dtype", "weighted"), gimv_cases.EVERY_PARAMETER)
def test_every_parameter(dtype, weighted):
    gimv_cases.check_every_parameter(dtype, weighted, SPLITS)


def _half(old, new):
    return old / 2


def _add(x, y):
    return x + y


@pytest.fixture(scope="module")
def pair():
    return ev.Graph.from_edges([0], [1])


@pytest.mark.parametrize(
    ("until", "iterations"),
    [
        (3, 3),
        (0, 0),
        (0.3, 3),  # the changes are 1, 0.5 and 0.25
        (lambda old, new: new < 0.3, 2),
    ],
    ids=["iterations", "none", "tolerance", "predicate"],
)
def test_until(pair, until, iterations):
    for on in ("cpu:1", "cpu:1,cpu:1"):
        r = ev.gimv(pair, lambda m, v: v, _add, _half, 1.0, until=until, on=on)
        assert r.outcome == {"iterations": iterations, "converged": not isinstance(until, int)}
        assert r["value"].tolist() == [0.5**iterations] * 2


def test_values_in_another_byte_order(pair):
    r = ev.gimv(pair, lambda m, v: v, _add, _half, np.array([1, 3], ">f8"), until=1, on="cpu:1")
    assert r["value"].tolist() == [0.5, 1.5]


def test_a_run_ends_at_max_iter(pair):
    with pytest.warns(ev.ConvergenceWarning, match="did not converge in 5 iterations: expected no value to"):
        r = ev.gimv(pair, lambda m, v: v, _add, _half, 1.0, max_iter=5)
    assert r.outcome == {"iterations": 5, "converged": False}


def test_a_graph_without_vertices():
    graph = ev.Graph.from_edges([], [], n=0)
    r = ev.gimv(graph, lambda m, v: v, _add, _half, 1.0)
    assert r["value"].tolist() == []


def test_nan_names_the_vertex_on_all_ranks(pair):
    with pytest.raises(
        ev.ArgumentError, match="the value of vertex 0 is NaN after iteration 1; the functions"
    ):
        run_ranks(2, lambda _: ev.gimv(pair, lambda m, v: v, _add, lambda old, new: new / new, 1.0))


def test_ranks_may_read_their_own_parts():
    """With a spec, no rank has the whole graph. The components equal those of `ev.wcc`."""
    expected = ev.wcc(ev.read("rmat:6"))["component"]

    def check(_):
        r = ev.gimv("rmat:6", lambda m, v: v, min, min, np.arange(64))
        assert (r["value"] == expected[r.block.start : r.block.stop]).all()

    run_ranks(2, check)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"v0": [1.0]}, r"v0=: expected a number, or an array of shape \(2,\), found shape \(1,\)"),
        ({"v0": [1.0, np.nan]}, "v0=: expected numbers, found NaN for vertex 1"),
        ({"v0": [object(), 1]}, "v0=: expected integers, float32 or float64, found object in list"),
        ({"v0": 2**63}, "v0=: expected integers below 2"),
        (
            {"v0": 1, "graph": lambda: ev.Graph.from_edges([0], [1], weights=[0.5])},
            "v0=: expected floating-point numbers, as the weights are that combine2 uses; found integers",
        ),
        ({"v0": 1, "identity": 2**63}, "identity=: expected a number of the type of the messages, found 922"),
        ({"until": -1}, "until=: expected a number of iterations .* found -1"),
        ({"until": True}, "until=: expected a number of iterations .* found True"),
        ({"max_iter": -1}, "max_iter=: expected an integer of at least 0, found -1"),
        ({"graph": 3}, "gimv: expected a Graph or a PartitionedGraph, found int"),
    ],
)
def test_wrong_arguments(pair, arguments, message):
    given = {"graph": pair, "combine2": max, "combine_all": max, "assign": max, "v0": 1.0} | arguments
    if callable(given["graph"]):
        given["graph"] = given["graph"]()
    with pytest.raises(ev.ArgumentError, match=message):
        ev.gimv(**given)


def test_some_operator_sets_need_an_undirected_graph(pair):
    for operators in (
        operator_sets.connected_components,
        lambda g: operator_sets.belief_propagation(g, [0, 0]),
    ):
        with pytest.raises(ev.ArgumentError, match="expected an undirected graph"):
            operators(pair)
