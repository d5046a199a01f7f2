"""`compare_policies` predicts the sizes that `partition` produces."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.partition.sizes import ElementShare
from evener.planning.planner import cost_model

ON = ["cpu:1"] * 3


def drawn(*, directed):
    src, dst = (np.random.default_rng(3).random((2, 4000)) ** 3 * 400).astype(np.int64)
    return ev.Graph.from_edges(src, dst, directed=directed, n=450)


@pytest.mark.parametrize(("directed", "algorithm"), [(False, "bfs"), (True, "bfs"), (True, "pagerank")])
def test_predicted_sizes_equal_partition_sizes(directed, algorithm):
    graph = drawn(directed=directed)
    names = ["random", "C-PG", "DP-OH", "ldg", "round-robin"]
    found = ev.compare_policies(graph, algorithm, on=ON, policies=names, alpha=0.4, passes=3)
    assert [one.policy for one in found] == names
    spec = ev.spec.registry.find(algorithm)
    for one in found:
        pg = ev.partition(graph, ON, policy=one.policy, alpha=0.4, directions=spec.directions)
        statistics = pg.statistics
        assert one.edges == tuple(part.edges for part in statistics.partitions)
        assert one.vertices == tuple(part.vertices for part in statistics.partitions)
        assert one.beta == pytest.approx(statistics.beta)
        assert one.beta_aggregated == pytest.approx(statistics.beta_aggregated)
        assert one.edge_imbalance == pytest.approx(statistics.edge_imbalance)
        assert one.vertex_imbalance == pytest.approx(statistics.vertex_imbalance)
        predicted = cost_model(spec, pg.elements).predict(ElementShare.all_of(pg), passes=3)
        assert one.predicted_seconds == pytest.approx(predicted.seconds)


def test_alpha_is_divided_among_the_cpus_of_all_machines():
    """Four machines have a CPU and a GPU each: α is divided among the CPUs."""
    graph = drawn(directed=False)
    (found,) = ev.compare_policies(
        graph, "pagerank", on="cpu:64,cuda:5", machines=4, policies=["C-PG"], alpha=0.2
    )
    wanted = np.array([0.05, 0.2] * 4) * graph.m
    assert np.abs(np.array(found.edges) - wanted).max() <= graph.out_degree().max()


def test_memory_limits_gpus():
    """With little GPU memory, PG gives the remaining edges to the CPU."""
    graph = ev.read("rmat:12")
    arguments = {"on": "cpu:4,cuda:0", "policies": ["C-PG"], "alpha": 0.1}
    (roomy,) = ev.compare_policies(graph, "pagerank", **arguments)
    (tight,) = ev.compare_policies(graph, "pagerank", gpu_memory="600KiB", **arguments)
    assert roomy.edges[0] == pytest.approx(0.1 * graph.m, abs=int(graph.out_degree().max()))
    assert tight.edges[1] * 4 < 600 * 1024
    assert sum(tight.edges) == graph.m


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"on": "gpu:0"}, "'gpu:0' is not an element"),
        ({"on": "cpu:0"}, "'cpu:0' is not an element"),
        ({"on": ["cpu", 3]}, "3 is not an element"),
        ({"on": "cpu", "machines": 0}, "machines=: expected a number of machines of at least 1, found 0"),
        ({"on": "cpu", "policies": ["best"]}, "policy=: expected one of"),
    ],
)
def test_wrong_arguments_are_refused(arguments, message):
    with pytest.raises(ev.ArgumentError, match=message):
        ev.compare_policies(ev.read("rmat:4"), "bfs", **arguments)
