"""GIM-V on GPUs: user operators, compared with NetworkX, SciPy and the built-in algorithms."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.discovery import gpus
from evener.programs import operator_sets
from evener.testing.ranks import run_ranks
from support import gimv_cases

placing = import_module("evener.partition.column_blocks")
SPLITS = ["cuda:0", "cuda:0,cuda:0", "cpu:1,cuda:0", "cuda:0,cpu:2"] + ["cuda:0,cuda:1"] * (gpus() > 1)


@pytest.fixture(scope="module")
def graph():
    return gimv_cases.weighted_graph()


@pytest.mark.parametrize("case", gimv_cases.CASES)
def test_known_algorithms(graph, case):
    """Run on one rank, and on two ranks with a CPU and a GPU."""
    for on in SPLITS:
        gimv_cases.check_known(case, *graph, on)
    run_ranks(2, lambda world: gimv_cases.check_known(case, *graph, ("cpu:1", "cuda:0")[world.rank]))


@pytest.mark.parametrize(("dtype", "weighted"), gimv_cases.EVERY_PARAMETER)
def test_every_parameter(dtype, weighted):
    gimv_cases.check_every_parameter(dtype, weighted, SPLITS)


def test_values_with_fields(graph):
    """Messages are numbers, and tuples of each vertex and of each edge, also on ranks."""
    gimv_cases.check_number_messages(SPLITS)
    gimv_cases.check_every_parameter_of_fields(SPLITS)
    for on in SPLITS:
        gimv_cases.check_parents(*graph, on)
    run_ranks(2, lambda world: gimv_cases.check_parents(*graph, ("cpu:1", "cuda:0")[world.rank]))


def test_messages_of_many_numbers():
    with pytest.raises(ev.ArgumentError, match="gimv with messages of more than 8 numbers runs on CPUs, and"):
        ev.gimv(
            ev.Graph.from_edges([0], [1]),
            lambda m, v: (v[0], 1, 2, 3, 4, 5, 6, 7, 8),
            max,
            lambda old, new: (new[0],),
            {"x": 1},
            on="cuda:0",
        )


def test_values_with_many_fields():
    graph, fields = ev.Graph.from_edges([0], [1]), {f"x{i}": i for i in range(33)}

    def run(on):
        return ev.gimv(graph, lambda m, v: v[32], max, lambda old, new: old, fields, until=1, on=on)

    assert run("cpu")["x31"].tolist() == [31, 31]
    with pytest.raises(ev.ArgumentError, match="gimv with more than 32 fields runs on CPUs, and"):
        run("cuda:0")


@pytest.mark.parametrize("on", SPLITS)
@pytest.mark.parametrize("spec", ["rmat:14", "rmat:13,directed", "uniform:12"])
def test_column_blocks(monkeypatch, spec, on):
    """PageRank and components in float32, over column blocks and over rows."""
    graph = ev.read(spec)
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 20)
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 4)
    first = np.full(graph.n, 1 / graph.n, np.float32)
    for least in (1, 1 << 40):
        monkeypatch.setattr(placing, "MIN_EDGES", least)
        pg = ev.partition(graph, on, policy="high", alpha=0.4 if "," in on else None)
        arguments = operator_sets.pagerank(graph) | {"v0": first, "until": 30}
        value = ev.gimv(pg, **arguments)["value"].astype(np.float64)
        if not graph.directed:  # only vertices without edges lose rank
            expected = ev.pagerank(pg, tol=0, max_iter=30)["rank"]
            np.testing.assert_allclose(value / value.sum(), expected, rtol=1e-5, atol=1e-9)
            labels = np.arange(graph.n, dtype=np.float32)
            found = ev.gimv(pg, lambda m, v: v, min, min, labels)["value"]
            assert (found == ev.wcc(graph)["component"]).all()
        else:
            on_cpu = ev.gimv(graph, **arguments, on="cpu")["value"]
            np.testing.assert_allclose(value, on_cpu, rtol=1e-5)


def test_edges_in_host_memory():
    """A GPU with little memory reads edges across the bus."""
    graph = ev.read("rmat:16")
    pg = ev.partition(graph, "cuda:0", gpu_memory="6MiB", directions="in")
    assert any(partition.host_edges for partition in pg.partitions)
    found = ev.gimv(pg, lambda m, v: v, min, min, np.arange(graph.n, dtype=np.float32))["value"]
    assert (found == ev.wcc(graph)["component"]).all()


def test_nan_names_the_vertex():
    graph = ev.Graph.from_edges([0], [1])
    with pytest.raises(
        ev.ArgumentError, match="the value of vertex 0 is NaN after iteration 1; the functions"
    ):
        ev.gimv(graph, lambda m, v: v, max, lambda old, new: new / new - new / new, 1.0, on="cuda:0")
