"""Vertex programs on GPUs, compared with CPUs and with loops over the edges, on any split."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.discovery import gpus
from evener.elements.cuda.element import CudaElement
from evener.programs import vertex_kernels_gpu
from evener.testing.ranks import run_ranks
from support import vertex_cases

placing = import_module("evener.partition.column_blocks")
SPLITS = ["cuda:0", "cuda:0,cuda:0", "cpu:1,cuda:0"] + ["cuda:0,cuda:1"] * (gpus() > 1)

# Vertex programs of the library that together reach each kernel.
LIBRARY = [
    ("cdlp", "rmat:13", {"max_iter": 5}),
    ("cdlp", "rmat:12,directed", {"max_iter": 5}),
    ("k_core", "rmat:12,directed", {"k": 20}),
    ("maximal_independent_set", "rmat:12", {}),
    ("hits", "rmat:10,directed", {}),
    ("katz", "rmat:10,directed", {}),
    ("eigenvector", "rmat:12", {}),
]


@pytest.mark.parametrize(("name", "spec", "arguments"), LIBRARY)
def test_library(monkeypatch, name, spec, arguments):
    """Run on one rank, and on two with a CPU and a GPU. CDLP counts some messages in global memory."""
    monkeypatch.setattr(vertex_kernels_gpu, "_MANY", 300)
    graph, run = ev.read(spec), getattr(ev, name)
    expected = run(graph, **arguments, on="cpu")

    def check(r):
        if r.outcome == expected.outcome:
            assert r.edges == expected.edges
        whole = r.gather()
        for column in expected if whole is not None else ():
            np.testing.assert_allclose(whole[column], expected[column], rtol=1e-6, atol=1e-9)

    for on in SPLITS:
        check(run(graph, **arguments, on=on))
    ev.verify(run(graph, **arguments, on="cuda:0"))
    run_ranks(2, lambda world: check(run(graph, **arguments, on=("cpu:1", "cuda:0")[world.rank])))


@pytest.mark.parametrize("spec", ["rmat:7,directed,weights=1..255", "rmat:12,weights=1..255"])
def test_only_neighbours_of_active_vertices_work(spec):
    graph = ev.read(spec)
    expected = ev.sssp(graph, source=0, on="cpu")["distance"]
    splits = ["cpu:1", *SPLITS]
    assert len({vertex_cases.check_few_vertices_work(graph, expected, on) for on in splits}) == 1


def test_messages_of_inactive_neighbours_are_current():
    vertex_cases.check_inactive_neighbours(SPLITS)


def test_tuples():
    vertex_cases.check_tuples(["cpu:1", *SPLITS])


def test_along_every_parameter():
    vertex_cases.check_every_parameter(SPLITS)


@pytest.mark.parametrize("dtype", [np.int64, np.float32])
def test_the_most_frequent_message_of_edges(monkeypatch, dtype):
    """Weights decide the messages. The smallest integer, and zeros of both signs, are messages too."""
    monkeypatch.setattr(vertex_kernels_gpu, "_MANY", 100)
    random, n, m = np.random.default_rng(3), 300, 20_000
    src, dst = random.integers(0, n, m), (n * random.random(m) ** 4).astype(np.int64)
    weights = random.integers(-2, 3, m).astype(dtype)
    x = random.integers(0, 3, n).astype(dtype)
    x[:100] = np.iinfo(np.int64).min if dtype is np.int64 else -1.5
    program = ev.VertexProgram(
        state={"x": x},
        send=lambda state, weight: state.x * (weight != 0) if weight < 2 else -weight * state.x,
        combine="most_frequent",
        apply=lambda state, message: ((message,), True),
        identity=-7,
    )
    messages = np.where(weights < 2, x[src] * (weights != 0), -weights * x[src])
    expected = np.full(n, -7, dtype)
    for v in np.unique(dst):
        values, counts = np.unique(messages[dst == v], return_counts=True)
        expected[v] = values[counts.argmax()]
    graph = ev.Graph.from_edges(src, dst, weights=weights, n=n)
    for on in ["cpu:1", *SPLITS]:
        np.testing.assert_array_equal(ev.vertex_program(graph, program, until=1, on=on)["x"], expected)


@pytest.fixture(params=[1, 1 << 40], ids=["column blocks", "rows"])
def least_edges(request, monkeypatch):
    """Give small graphs several column blocks, or none."""
    monkeypatch.setattr(placing, "MIN_EDGES", request.param)
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 20)
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 4)
    monkeypatch.setattr(CudaElement, "table_columns", 1024)
    return request.param


@pytest.mark.parametrize("along", ["out", "in", "both", ("out", "in")])
def test_float32_messages_are_added_over_column_blocks(least_edges, along):
    """Every direction, compared with products of SciPy's matrices."""
    vertex_cases.check_products(along, SPLITS)
    graph = ev.read("rmat:13,directed")
    pg = ev.partition(graph, "cuda:0")
    ev.vertex_program(pg, vertex_cases.product(graph, along), until=1)
    (partition,) = pg.partitions
    built = [edges.derived.get("column_blocks") is not None for edges in (partition.in_, partition.out)]
    reads = [along != "in", along != "out"]
    assert built == [least_edges == 1 and one for one in reads]


@pytest.mark.usefixtures("least_edges")
def test_smallest_labels_over_column_blocks():
    """Most vertices are active at first, and few later. The labels equal the components."""
    graph = ev.read("rmat:14")
    program = ev.VertexProgram(
        state={"label": np.arange(graph.n, dtype=np.float32)},
        send=lambda state, weight: state.label,
        combine=min,
        apply=lambda state, message: ((min(state.label, message),), message < state.label),
    )
    expected = ev.wcc(graph, on="cpu")["component"]
    for on in SPLITS:
        np.testing.assert_array_equal(ev.vertex_program(graph, program, on=on)["label"], expected)


def test_nan_names_the_vertex():
    program = ev.VertexProgram(
        state={"x": 1.0},
        send=lambda state, weight: state.x,
        combine=max,
        apply=lambda state, message: ((message / 0 - message / 0,), True),
    )
    with pytest.raises(
        ev.ArgumentError, match="the value of vertex 0 is NaN after iteration 1; the functions"
    ):
        ev.vertex_program(ev.Graph.from_edges([0, 1], [1, 0]), program, on="cuda:0")
