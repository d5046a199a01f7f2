"""Partitions on GPUs: scatter and gather, statistics, memory limits, and the timeline."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import evener as ev
from evener.errors import DeviceOutOfMemory
from support import graphs
from support.expected_results import truth_of

SPLITS = [["cuda:0"], ["cuda:0", "cuda:0"], ["cpu:1", "cuda:0"], ["cpu:1", "cuda:0", "cuda:0", "cpu:1"]]
everywhere = pytest.mark.parametrize("on", SPLITS, ids=",".join)


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return graphs.build(graphs.SMALL["rmat"](), directed=request.param)


@everywhere
@pytest.mark.parametrize("dtype", ["int32", "uint32", "float32", "float64"])
def test_scatter_and_gather(graph, on, dtype):
    pg = ev.partition(graph, on, alpha=0.5)
    values = np.random.default_rng(1).integers(0, 1000, graph.n).astype(dtype)
    parts = pg.scatter(values)
    for element, p, part in zip(pg.elements, pg.partitions, parts, strict=True):
        assert (element.download(part) == values[element.download(p.vertices)]).all()
    owned = [part[: p.owned] for p, part in zip(pg.partitions, parts, strict=True)]
    assert (pg.gather(owned) == values).all()


@pytest.mark.parametrize("policy", ["random", "high", "low"])
def test_a_cpu_and_a_gpu_have_the_statistics_of_two_cpus(graph, policy):
    """With half of the edges each, the statistics differ only in the names."""
    mixed = ev.partition(graph, ["cpu:1", "cuda:0"], policy=policy, alpha=0.5).statistics
    cpus = ev.partition(graph, ["cpu:1", "cpu:1"], policy=policy, alpha=0.5).statistics
    assert [row.element for row in mixed.partitions] == ["cpu:1", "cuda:0"]
    for one, other in zip(mixed.partitions, cpus.partitions, strict=True):
        assert dataclasses.replace(one, element="") == dataclasses.replace(other, element="")
    assert (mixed.alpha, mixed.beta, mixed.beta_aggregated) == (cpus.alpha, cpus.beta, cpus.beta_aggregated)


def test_a_gpu_gets_most_edges_by_default():
    graph = graphs.build(graphs.LARGE["uniform"](), directed=True)
    cpu, gpu = ev.partition(graph, ["cpu:1", "cuda:0"]).statistics.partitions
    assert gpu.edge_share > 0.9
    assert cpu.edge_share < 0.1


def test_edges_that_exceed_gpu_memory_stay_in_host_memory():
    """The share of edges in host memory grows as GPU memory shrinks, until the vertices do not fit."""
    truth = truth_of(graphs.LARGE["rmat"](), directed=True)
    room = 4 * ev.partition(truth.graph, "cuda:0").statistics.nbytes
    by_share = {}
    for _ in range(60):
        try:
            pg = ev.partition(truth.graph, "cuda:0", gpu_memory=room)
        except DeviceOutOfMemory:
            break
        (p,) = pg.partitions
        assert {len(edges.targets) for edges in p.directions} == {truth.graph.m}
        by_share[len(p.out.targets.host_part) / truth.graph.m] = pg
        room = room * 9 // 10
    else:
        pytest.fail(f"expected an error with little GPU memory, found none with {room} bytes")
    shares = list(by_share)
    assert shares == sorted(shares)
    assert shares[0] == 0
    half = min(shares, key=lambda share: abs(share - 0.5))
    assert 0.2 < half < 0.8
    for share in (half, shares[-1]):
        truth.check_placed(by_share[share])


@pytest.mark.parametrize("on", [["cuda:0"], ["cpu:1", "cuda:0"]], ids=",".join)
def test_too_little_memory_for_the_vertices_is_refused(graph, on):
    with pytest.raises(ev.OutOfMemoryError, match=r"cuda:0 has room for 1000 bytes.* needs ") as caught:
        ev.partition(graph, on, alpha=0.1, gpu_memory=1000)
    assert isinstance(caught.value, DeviceOutOfMemory)
    assert caught.value.available == 1000 < caught.value.needed
    assert "\n" not in str(caught.value)


def test_repr_names_the_elements(graph):
    assert "cpu:1, cuda:0" in repr(ev.partition(graph, ["cpu:1", "cuda:0"]))


@everywhere
def test_the_timeline_has_plausible_times_for_each_element(graph, on):
    r = ev.pagerank(ev.partition(graph, on, alpha=0.5), tol=0, max_iter=10)
    spans = list(r.timeline)
    assert len(spans) == len(on) * r.timeline.supersteps == 11 * len(on)
    for span in spans:
        # Two clocks are compared, so a duration near 0 may be slightly negative.
        assert min(span.compute, span.send, span.receive, span.wait) >= -1e-3
        assert span.seconds < r.seconds + 0.01
    for k in range(len(on)):
        assert sum(span.compute for span in spans[k :: len(on)]) > 0
    crossing = sum(span.bytes_sent for span in spans)
    assert (crossing > 0) == (len(on) > 1)
