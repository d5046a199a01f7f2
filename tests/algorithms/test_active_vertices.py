"""The timeline counts the active vertices of every algorithm, on one element as on several."""

from __future__ import annotations

import inspect
import math

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.programs import operator_sets
from evener.spec import registry
from evener.testing.ranks import run_ranks
from support.fake_gpu import FakeGpu
from support.kernel_inventory import find_kernels_of_gpus

SPECS = ["grid:9x9,weights=1..9", "rmat:7,weights=1..9", "rmat:7,directed,weights=1..9"]
ELEMENTS = {"one": ["cpu:1"], "two": ["cpu:1", "cpu:1"]}
# Phases that only begin or end a search: they read no frontier.
AROUND = ("begin", "parents", "plateaus")


@pytest.fixture(scope="module", params=SPECS)
def graph(request):
    return ev.read(request.param)


def reached_from(graph, source):
    """Return how many vertices NetworkX reaches from a source."""
    kind = nx.DiGraph if graph.directed else nx.Graph
    ends = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    other = kind(zip(ends.tolist(), graph.targets.tolist(), strict=True))
    return len(nx.descendants(other, source)) + 1 if source in other else 1


def active(result):
    return sum(span.active for span in result.timeline if span.phase not in AROUND)


@pytest.mark.parametrize("name", registry.names_with_kernels())
def test_sums_of_active_vertices(graph, name):
    """A search counts what it reaches; other algorithms count at least each vertex with an edge once."""
    run = registry.find(name).function()
    source = int(graph.out_degree().argmax())
    more = {"source": source} if "source" in inspect.signature(run).parameters else {}
    found = {key: run(graph, on=on, policy="random", **more) for key, on in ELEMENTS.items()}
    counts = {key: active(result) for key, result in found.items()}
    reached = reached_from(graph, source) if more else int((graph.out_degree() > 0).sum())
    assert min(counts.values()) >= reached
    # Two elements relax vertices again, and merge what each has found.
    assert max(counts.values()) <= 4 * min(counts.values())
    if name == "bfs":
        assert set(counts.values()) == {reached}
    if name == "betweenness":
        sums = sum(reached_from(graph, v) for v in range(graph.n))
        assert all(sums <= count <= 2 * sums for count in counts.values())
    assert found["one"].edges == found["two"].edges
    assert found["one"].timeline.supersteps > 0
    assert math.isclose(sum(found["one"].timeline.shares()), 1)


@pytest.mark.parametrize("delta", [0.5, 4.0, math.inf])
@pytest.mark.parametrize("elements", [1, 2, 3])
def test_sssp_counts_vertices_that_enter_a_bucket_while_it_is_relaxed(graph, delta, elements):
    source = int(graph.out_degree().argmax())
    r = ev.sssp(graph, source=source, delta=delta, on=["cpu:1"] * elements, policy="low", alpha=0.5)
    settled = sum(span.active for span in r.timeline if span.phase in ("narrow", "settle", "sweep"))
    assert settled >= reached_from(graph, source)


@pytest.mark.parametrize("cutoff", [0, 1, 2, 5])
@pytest.mark.parametrize("elements", [1, 2])
def test_bfs_counts_the_frontiers_up_to_the_cutoff(graph, cutoff, elements):
    source = int(graph.out_degree().argmax())
    distance = ev.bfs(graph, source=source, on="cpu:1")["distance"]
    r = ev.bfs(graph, source=source, cutoff=cutoff, on=["cpu:1"] * elements)
    assert active(r) == ((distance >= 0) & (distance < cutoff)).sum()


def test_the_first_rank_has_the_counts_of_all(graph):
    source = int(graph.out_degree().argmax())

    def run(_):
        return active(ev.bfs(graph, source=source, on="cpu:1")), active(ev.wcc(graph, on="cpu:1"))

    bfs, wcc = run_ranks(2, run)[0]
    assert bfs == reached_from(graph, source)
    assert graph.n <= wcc <= 2 * graph.n


def test_one_kernel_of_all_levels_counts_as_single_levels(graph, monkeypatch):
    """The kernel of GPUs, by its twin."""
    find_kernels_of_gpus(monkeypatch)
    source = int(graph.out_degree().argmax())
    for sources in ([source], [source, (source + 1) % graph.n]):
        r = ev.bfs(graph, sources=sources, on=[FakeGpu("cuda:0", 0)])
        assert "search" in {span.phase for span in r.timeline} | {"narrow"}
        assert active(r) == (r["distance"] >= 0).sum()


@pytest.mark.parametrize("elements", [1, 2])
def test_operators_and_jobs_count_all_vertices(elements):
    graph, on = ev.read("rmat:7"), ["cpu:1"] * elements
    program = ev.gimv(graph, **operator_sets.connected_components(graph), on=on)
    steps = program.timeline.by_superstep()
    assert [step.active for step in steps] == [graph.n] * len(steps)
