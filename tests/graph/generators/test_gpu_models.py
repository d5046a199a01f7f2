"""Graphs that a GPU generates: equal to the graphs of the host, and placed without rows on the host."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement
from evener.graph.generators import gpu_models
from evener.graph.generators.models import recipe_of
from support.fake_gpu import FakeGpu, Reading, show_gpus
from support.gpu_build_cases import check_same
from support.kernel_inventory import find_kernels_of_gpus
from support.pair_cover import pairwise_cover

SPECS = [
    "rmat:9",
    "rmat:9,directed,edge_factor=5,seed=18446744073709551615",
    "rmat:8,weights=1..255,seed=7",
    "rmat:8,weights=real,directed,stored=in",
    "uniform:9,seed=3",
    "uniform:7,weights=real",
    "kronecker:0.5:0.2:0/0.2:0.1:0.1/0:0.3:0.4,power=6,edges=4000,weights=int,directed",
]


@pytest.fixture
def gpu(monkeypatch):
    find_kernels_of_gpus(monkeypatch)
    show_gpus(monkeypatch)
    monkeypatch.setattr(gpu_models, "_MIN_EDGES", 1)
    return FakeGpu("cuda:0", 0)


@pytest.mark.parametrize("spec", SPECS)
def test_the_graph_equals_that_of_the_host(gpu, spec):
    there, here = gpu_models.graph_on_gpu(recipe_of(spec), gpu), ev.read(spec)
    facts = ("directed", "n", "m", "weight_dtype")
    assert [getattr(there, one) for one in facts] == [getattr(here, one) for one in facts]
    assert "offsets" not in vars(there)
    for name in ("offsets", "targets", "weights", "ids"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


def test_a_run_on_one_gpu_generates_there(gpu):  # noqa: ARG001 - shows GPUs
    result = ev.bfs("rmat:8", source=3, on="cuda:0")
    assert result.graph.gpu_edges.generated
    np.testing.assert_array_equal(
        result["distance"], ev.bfs(ev.read("rmat:8"), source=3, on="cpu")["distance"]
    )


@pytest.mark.parametrize(
    "options", [{"on": "cpu"}, {"on": "cpu,cuda:0"}, {"on": "cuda:0", "gpu_memory": "1GiB"}], ids=str
)
def test_other_placements_generate_on_the_host(gpu, options):  # noqa: ARG001 - shows GPUs
    assert ev.bfs("rmat:8", source=3, **options).graph.gpu_edges is None


@pytest.fixture
def small_steps(monkeypatch):
    """Draw and sort few edges at a time."""
    monkeypatch.setattr(gpu_models, "_DRAWN", 700)
    monkeypatch.setattr(gpu_models, "_MOST_SORTED", 900)
    monkeypatch.setattr(gpu_models, "_MOST_PASSES", 1 << 20)


@pytest.mark.parametrize(
    ("spec", "count", "directions"), pairwise_cover(SPECS, [1, 2, 3], ["both", "out", "in"])
)
def test_several_gpus_generate_the_graph_of_the_host(gpu, small_steps, spec, count, directions):  # noqa: ARG001 - fixtures
    here, on = ev.read(spec), [Reading(f"cuda:{p}", p) for p in range(count)]
    there = gpu_models.graph_on_gpus(recipe_of(spec), on, directions)
    facts = ("directed", "n", "m", "weight_dtype", "weight_range", "loops" if not here.directed else "n")
    assert [getattr(there, one) for one in facts] == [getattr(here, one) for one in facts]
    for degree in ("out_degree", "in_degree"):
        np.testing.assert_array_equal(getattr(there, degree)(), getattr(here, degree)())
    placed = ev.partition(there, on, directions=directions)
    assert not {"offsets", "targets", "reverse"} & vars(there).keys()
    check_same(placed, ev.partition(here, on, directions=directions))
    again = ev.partition(there, on, directions=directions)  # the pieces are gone
    check_same(again, placed)
    for name in ("offsets", "targets", "weights", "ids"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))
        np.testing.assert_array_equal(getattr(there.reverse, name), getattr(here.reverse, name))


@pytest.mark.parametrize("on", [["cpu:1"], ["cuda:0", "cuda:1", "cuda:2"], ["cuda:1"]])
def test_other_elements_get_rows_from_the_host(gpu, on):  # noqa: ARG001 - shows GPUs
    there = gpu_models.graph_on_gpus(recipe_of("rmat:8"), [Reading(f"cuda:{p}", p) for p in range(2)], "both")
    elements = [Reading(name, int(name[-1])) if "cuda" in name else CpuElement(name, 1) for name in on]
    check_same(ev.partition(there, elements), ev.partition(ev.read("rmat:8"), elements))


def test_a_run_on_several_gpus_generates_there(gpu, monkeypatch):  # noqa: ARG001 - shows GPUs
    show_gpus(monkeypatch, Reading)
    result = ev.bfs("rmat:8", source=3, on="cuda:0,cuda:1")
    assert "offsets" not in vars(result.graph)
    expected = ev.bfs(ev.read("rmat:8"), source=3, on="cpu")["distance"]
    np.testing.assert_array_equal(result["distance"], expected)
    placed = ev.partition("rmat:8", on="cuda:0,cuda:1")
    assert "offsets" not in vars(placed.graph)
    np.testing.assert_array_equal(ev.bfs(placed, source=3)["distance"], expected)


def test_rows_that_the_host_will_need_count_in_its_memory(gpu, monkeypatch):
    """The targets of 4,330 stored edges, in the rows and in the partition, take 34,640 bytes."""
    there = gpu_models.graph_on_gpu(recipe_of("rmat:8"), gpu)
    assert there.m == len(ev.read("rmat:8").targets) == 4_330
    monkeypatch.setattr("evener.system.memory.available", lambda: 34_640)
    with pytest.raises(ev.OutOfMemoryError, match="placing <Graph"):
        ev.partition(there, "cpu:1")


def test_gpus_that_cannot_write_to_each_other_do_not_generate(gpu):  # noqa: ARG001 - shows GPUs
    assert (
        gpu_models.graph_on_gpus(recipe_of("rmat:8"), [FakeGpu(f"cuda:{p}", p) for p in range(2)], "both")
        is None
    )


@pytest.mark.parametrize("spec", ["grid:9x9", "kronecker:11/10,power=5"])
def test_exact_models_are_generated_on_the_host(spec):
    assert not gpu_models.suits_gpu(recipe_of(spec))


def test_a_graph_that_may_not_fit_is_generated_on_the_host(gpu, monkeypatch):
    monkeypatch.setattr(gpu, "_room", 1 << 16)
    assert gpu_models.graph_on_gpu(recipe_of("rmat:9"), gpu) is None
