"""Graphs that a real GPU generates are those of the host."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.elements import parse_elements
from evener.graph.generators import gpu_models
from evener.graph.generators.models import recipe_of
from support.gpu_build_cases import check_same

SPECS = [
    "rmat:12",
    "rmat:17,seed=5",
    "rmat:14,directed,edge_factor=5,seed=18446744073709551615",
    "rmat:13,weights=1..255,seed=7",
    "rmat:13,weights=real,directed,stored=in",
    "uniform:14,seed=3",
    "uniform:13,weights=real,edge_factor=3",
    "kronecker:0.5:0.2:0/0.2:0.1:0.1/0:0.3:0.4,power=9,edges=70000,weights=5..9,directed",
]


@pytest.mark.parametrize("spec", SPECS)
def test_the_graph_equals_that_of_the_host(spec):
    (gpu,) = parse_elements("cuda:0")
    there, here = gpu_models.graph_on_gpu(recipe_of(spec), gpu), ev.read(spec)
    assert (there.n, there.m, there.directed) == (here.n, here.m, here.directed)
    for one, other in zip(
        ev.partition(there, "cuda:0").partitions[0].directions,
        ev.partition(here, "cuda:0").partitions[0].directions,
        strict=True,
    ):
        for name in ("offsets", "targets", "weights"):
            arrays = [getattr(each, name) for each in (one, other)]
            if arrays[1] is not None:
                parts = [getattr(array, "device_part", array) for array in arrays]
                np.testing.assert_array_equal(*(gpu.download(part) for part in parts))
    assert "offsets" not in vars(there)
    for name in ("offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(there, name), getattr(here, name))


@pytest.mark.parametrize("spec", SPECS)
def test_several_gpus_generate_the_graph_of_the_host(two_gpus, monkeypatch, spec):  # noqa: ARG001 - skips
    monkeypatch.setattr(gpu_models, "_DRAWN", 1 << 16)
    monkeypatch.setattr(gpu_models, "_MOST_SORTED", 1 << 19)
    on, here = parse_elements(["cuda:0", "cuda:1"]), ev.read(spec)
    there = gpu_models.graph_on_gpus(recipe_of(spec), on, "both")
    assert (there.n, there.m, there.directed) == (here.n, here.m, here.directed)
    placed = ev.partition(there, on)
    assert "offsets" not in vars(there)
    check_same(placed, ev.partition(here, on))
