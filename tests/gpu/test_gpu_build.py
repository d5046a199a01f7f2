"""Partitions that a GPU builds equal the partitions that the host builds."""

from __future__ import annotations

import pytest

import evener as ev
from evener.elements.cuda.discovery import gpus
from evener.partition import gpu_build
from evener.partition.gpu_build import RowsBuild
from support.gpu_build_cases import EDGES, POLICIES, WEIGHTS, check_same, graph_of
from support.pair_cover import pairwise_cover

PLACES = [["cuda:0"], ["cuda:0", "cuda:0"], ["cuda:0", "cuda:1"], ["cpu:1", "cuda:0"]]


def check(monkeypatch, graph, on, **how):
    """Compare the partitions that GPUs build with those of the host."""
    placed = []
    build = RowsBuild.finish
    with monkeypatch.context() as noting:
        noting.setattr(RowsBuild, "finish", lambda self, *args: placed.append(self) or build(self, *args))
        one = ev.partition(graph, on, **how)
    assert len(placed) == sum(
        p.owned > 0 for p, e in zip(one.partitions, one.elements, strict=True) if e.kind == "cuda"
    )
    with monkeypatch.context() as refusing:
        refusing.setattr(RowsBuild, "numbers_fit", lambda *_: False)
        check_same(one, ev.partition(graph, on, **how))


@pytest.mark.parametrize(
    ("name", "on", "directed", "directions", "policy", "weights", "pieces"),
    pairwise_cover(
        list(EDGES),
        PLACES,
        [True, False],
        ["both", "out", "in"],
        POLICIES,
        [None, *WEIGHTS],
        [1 << 9, 1 << 24],
    ),
)
def test_a_gpu_builds_the_partitions_of_the_host(
    monkeypatch, name, on, directed, directions, policy, weights, pieces
):
    if "cuda:1" in on and gpus() < 2:
        pytest.skip("expected two GPUs, found one")
    monkeypatch.setattr(gpu_build, "_PIECE_BYTES", pieces)
    monkeypatch.setattr(gpu_build, "_EDGES_SORTED", pieces)
    graph = graph_of(name, directed=directed, weights=weights)
    check(monkeypatch, graph, on, policy=policy, directions=directions, alpha=0.5 if len(on) > 1 else None)


@pytest.mark.parametrize("spec", ["rmat:18", "uniform:18,directed", "grid:500x700", "rmat:17,weights=1..255"])
@pytest.mark.parametrize("count", [1, 2])
def test_a_large_graph_is_built_in_many_pieces(monkeypatch, spec, count):
    monkeypatch.setattr(gpu_build, "_PIECE_BYTES", 1 << 20)
    monkeypatch.setattr(gpu_build, "_EDGES_SORTED", 1 << 20)
    check(monkeypatch, ev.read(spec), ["cuda:0"] * count)
