"""Checks of the parity matrix, for CPU elements alone and for GPUs."""

from __future__ import annotations

import inspect
from functools import cache
from importlib import import_module
from itertools import groupby, pairwise, product

import numpy as np
import pytest

import evener as ev
from support import graphs, reference
from support.expected_results import RELATIVE, Truth, source_alone, truth_of
from support.kernel_inventory import (
    OF_CONTRACTS,
    OF_CPUS,
    OF_GPUS,
    OF_NO_ALGORITHM,
    OF_TABLES,
    find_kernels_of_gpus,
    kernels,
)
from support.pair_cover import pairwise_cover
from support.sanitizer_sizes import RUNS, sized
from support.tuning import tune
from support.twins import bfs_levels

POLICIES = ["random", "high", "low"]
ALPHAS = [None, 0, 0.2, 0.5, 0.8, 1]

directions = pytest.mark.parametrize("directed", [True, False], ids=["directed", "undirected"])
small_graphs = pytest.mark.parametrize("name", [name for name in graphs.SMALL if name != "empty"])
generated_graphs = pytest.mark.parametrize("name", graphs.GENERATED)
narrow_searches = pytest.mark.parametrize(
    ("name", "narrow", "levels", "directed"),
    pairwise_cover(
        list(graphs.NARROW), sized([0, 300, 1 << 12, 1 << 20], [0, 300, 1 << 20]), [3, 1024], [True, False]
    ),
)
_WIDE = {
    "name": ["two cores", "star", "late hub", "random"],
    "stored": ["undirected", "both", "out"],
    "narrow": [0, 40],
    "most": [2, 1024],  # levels per call
    "up": sized([1, 15, 10**6], [1, 10**6]),  # alpha: bottom-up steps begin at this part of the edges
    "broad": sized([1, 2, 10**9], [1, 10**9]),  # top-down steps flood from this part of the vertices on
}


def giants_apart(test):
    """Parametrize a test with two giant trees: joined by an edge or separate, directed or undirected."""
    return directions(pytest.mark.parametrize("joined", [True, False])(test))


def check_giants_apart(monkeypatch, on, *, directed, joined):
    """WCC finds the only edge between two giant trees, although both sides skip it at first.

    Elements 0 and 2 hold the leaves of two hubs each. Element 1 owns the hubs, so elements 0 and 2 have a
    giant tree each. One leaf of each tree, the centre, has a long row: two pieces on a GPU. The only edge
    between the trees joins the two centres. The root of each tree is a leaf with a longer row. While giants
    are skipped, the root is hung under a lower vertex: the middle of a star with an edge to a leaf. Each side
    also has a pair of vertices with parallel edges, because CPUs link the neighbours of the first vertex
    first. Returns the placed graph, the owners of its vertices, and the edges that must not come first in
    their rows.
    """
    hubs, leaves, of_root, of_centre, of_star, of_ray, of_pair = 2, 1500, 1110, 1100, 1120, 20, 1130
    ends, owner, centres, pairs, late = [], [1] * 2 * hubs, [], [], []
    for side in range(2):
        centre = len(owner)
        star = centre + leaves
        rays = star + 1 + of_star
        pair = rays + 2 * of_ray
        ends += [(leaf, side * hubs + hub) for hub in range(hubs) for leaf in range(centre, star)]
        ends += [(leaf, leaf + 1) for leaf in range(centre, star - 1)]
        ends += [(centre, leaf) for leaf in range(centre + 2, centre + 2 + of_centre)]
        for leaf, count in ((centre + 300, of_root), (centre + 301, of_root - 5)):  # before the other centre
            ends += [(leaf, other) for other in range(leaf + 2, leaf + 2 + count)]
        ends += [(star, own) for own in range(star + 1, rays)]
        # Two neighbours of higher degree come before the leaf in the star's row.
        ends += [(star + 1 + k // of_ray, rays + k) for k in range(2 * of_ray)]
        ends += [(pair, pair + 1)] * of_pair
        owner += [2 * side] * (pair + 2 - centre)
        centres.append(centre)
        pairs.append(pair)
        late.append((star, star - 1))
    if joined:
        late.append((centres[0], centres[1]))
    graph = ev.Graph.from_edges(*np.transpose(ends + late), directed=directed)
    monkeypatch.setattr(
        import_module("evener.partition.build"), "owners", lambda *_, **__: np.array(owner, np.uint8)
    )
    pg = ev.partition(graph, on=on, policy="C-PG")  # GPUs find the owners of simpler policies themselves
    result = ev.wcc(pg)
    assert result.outcome["components"] == 2 - joined + 2
    first_of_side = [0] * hubs + [hubs] * hubs + [p // 2 * hubs for p in owner[2 * hubs :]]
    expected = [0] * graph.n if joined else first_of_side
    for pair in pairs:
        expected[pair : pair + 2] = [pair, pair]
    assert result["component"].tolist() == expected
    assert result.timeline.supersteps == 2
    return pg, owner, late


def check_the_empty_graph(on, *, directed):
    pg = ev.partition(graphs.build(graphs.SMALL["empty"](), directed=directed), on)
    assert len(ev.wcc(pg)["component"]) == 0
    assert len(ev.pagerank(pg)["rank"]) == 0
    assert len(ev.betweenness(pg)["centrality"]) == 0
    for search in (ev.bfs, ev.sssp):
        with pytest.raises(ev.UnknownVertexError, match="0 is not in the graph"):
            search(pg, source=0)


def check_a_source_without_out_edges(splits, *, directed):
    """A source without out-edges reaches only itself."""
    graph = graphs.build((np.array([1, 2]), np.array([2, 0]), 5), directed=directed)
    for source, on in product([0, 4], splits):
        Truth(graph, source).check(on=on, alpha=0.5)


def check_a_search_that_turns_up_twice(monkeypatch, on):
    """The search turns bottom-up at each of two hubs, and top-down on the path between them.

    One element owns the path. Both elements own leaves of the two hubs.
    """
    leaves, path = 200, 3
    first, second = 0, leaves + path + 1
    ends = [(first, leaf) for leaf in range(1, leaves + 1)]
    ends += [(1, leaves + 1), *((leaves + i, leaves + i + 1) for i in range(1, path + 1))]
    ends += [(second, second + leaf) for leaf in range(1, leaves + 1)]
    graph = ev.Graph.from_edges(*np.transpose(ends), directed=False)
    owner = np.ones(graph.n, np.uint8)
    owner[2:leaves:2] = owner[second + 1 :: 2] = 0
    monkeypatch.setattr(import_module("evener.partition.build"), "owners", lambda *_, **__: owner)
    # GPUs find the owners of simpler policies themselves.
    result = ev.bfs(ev.partition(graph, on, policy="C-PG"), source=first)
    assert result["distance"].tolist() == [0] + leaves * [1] + [2, 3, 4, 5] + leaves * [6]
    ups = [step.phases[0] == "bottom-up" for step in result.timeline.by_superstep()]
    assert sum(now and not before for before, now in pairwise(ups)) == 2


@cache
def _narrow_truth(name, *, directed):
    """Return a graph, two sources, the distances from them, and the centralities by their paths."""
    graph = graphs.build(graphs.NARROW[name](), directed=directed)
    sources = [0, graph.n // 2]
    total = reference.betweenness(graph, sources=sources)
    distances = [reference.bfs(graph, source)[0] for source in sources]
    return graph, sources, distances, total * graph.n / 2 / (1 if directed else 2)


def check_narrow_levels(monkeypatch, name, on, *, directed, narrow, levels):
    """Results on one element do not depend on the threshold of narrow levels or on the levels per call."""
    tune(monkeypatch, "bfs", narrow=narrow, narrow_levels=levels, fused_narrow_levels=0)
    module = import_module("evener.algorithms.betweenness.betweenness")
    monkeypatch.setattr(module, "NARROW", narrow)
    monkeypatch.setattr(module, "NARROW_LEVELS", levels)
    graph, sources, distances, centrality = _narrow_truth(name, directed=directed)
    pg = ev.partition(graph, on)
    search = ev.bfs(pg, source=sources[0])
    assert (search["distance"] == distances[0]).all()
    ev.verify(search)
    between = ev.betweenness(pg, sources=sources, normalized=False)
    np.testing.assert_allclose(between["centrality"], centrality, rtol=RELATIVE, atol=1e-9)
    # The count includes all out-edges of reached vertices; an undirected edge counts once.
    edges = sum(int(graph.out_degree()[distance >= 0].sum()) for distance in distances)
    assert between.edges == (edges if directed else edges // 2)
    phases = {span.phase for result in (search, between) for span in result.timeline}
    narrow_phases = {"narrow", "paths of narrow levels", "dependencies of narrow levels"}
    assert narrow > 0 or not phases & narrow_phases
    begins = {"begin", "search"} if on.startswith("cuda") else {"begin"}
    assert narrow < graph.m or phases == begins | narrow_phases


# Searches of graphs with wide frontiers. Each pair of parameter values occurs.
searches_at_once = pytest.mark.parametrize(tuple(_WIDE), pairwise_cover(*_WIDE.values()))


@cache
def _wide_truth(name, *, directed):
    """Return a graph with wide frontiers, and the distances from three vertices."""
    rng = np.random.default_rng(3)
    if name == "two cores":  # joined by a path: the search turns bottom-up twice
        core, path = 300, 12
        one, other = rng.integers(0, core, (2, 8 * core)), core + path + rng.integers(0, core, (2, 8 * core))
        bridge = np.arange(core - 1, core + path + 1)
        ends = np.concatenate([one, other, [bridge[:-1], bridge[1:]]], axis=1)
    elif name == "star":
        ends = np.array([[0] * 600 + [1, 2], [*range(1, 601), 601, 602]])
    elif name == "late hub":  # the hub has few of all edges, but most of the unexplored edges
        path, leaves = sized((400, 40), (50, 5))
        ends = np.array([[*range(path), *[path] * leaves], range(1, path + leaves + 1)])
    else:
        ends = rng.integers(0, 200, (2, 900))
    graph = ev.Graph.from_edges(*ends, directed=directed)
    sources = {0, graph.n - 1, int(graph.out_degree().argmax())}
    return graph, {source: reference.bfs(graph, source)[0] for source in sources}


class _Watched:
    """Record the supersteps of a search, and check the arrays after steps of all kinds."""

    def __init__(self, monkeypatch):
        self.steps = []  # phase, levels, out-edges of the frontiers of top-down steps
        self._begin, self._compute = ev.Engine.superstep, ev.Engine.compute
        monkeypatch.setattr(ev.Engine, "superstep", lambda *args, **more: self._superstep(*args, **more))
        monkeypatch.setattr(ev.Engine, "compute", lambda *args, **more: self._computed(*args, **more))

    def _superstep(self, engine, phase, **more):
        self.steps.append((phase, 1, more.get("edges", 0) if phase == "top-down" else 0))
        self._begin(engine, phase, **more)

    def _computed(self, engine, kernel, *args, **more):
        votes = self._compute(engine, kernel, *args, **more)
        if kernel == "evener.algorithms.bfs:levels.narrow_steps":
            self.steps[-1] = ("narrow", *votes[3:])
        if kernel == "evener.algorithms.bfs:levels.all_steps":
            _, awake, scout, levels, edges = votes
            self.steps[-1] = ("search", levels, edges)
            names = inspect.signature(bfs_levels.all_steps.py_func).parameters
            given = dict(zip(names, args, strict=True))
            assert levels >= given["max_levels"] or awake == 0 or max(awake, scout) <= given["narrow_limit"]
            assert not engine.download(given["frontier"])[0].any()
            assert not engine.download(given["next_frontier"])[0].any()
            now, other = ("", "next_") if levels % 2 == 0 else ("next_", "")
            lengths = [engine.download(given[f"{which}length"])[0][0] for which in (now, other)]
            assert lengths == [awake, 0]
            # The entries after the length are undefined.
            queued = engine.download(given[f"{now}queue"].first([awake]))[0].astype(np.int64)
            reached = engine.download(given["distance"])[0] == given["level"] + levels
            assert np.array_equal(np.sort(queued), np.flatnonzero(reached))
            assert np.diff(engine.download(given["offsets"])[0].astype(np.int64))[queued].sum() == scout
        return votes

    def runs(self):
        """Yield each run of narrow or other levels: (narrow, levels, edges of its top-down steps)."""
        steps = [step for step in self.steps if step[0] != "begin" and step[1]]
        for narrow, run in groupby(steps, lambda step: step[0] == "narrow"):
            _, levels, edges = zip(*run, strict=True)
            yield narrow, sum(levels), sum(edges)


def check_levels_at_once(monkeypatch, on, name, stored, narrow, most, up, broad, *, among_all=None):
    """Several levels in one call equal the same levels in single calls."""
    if among_all is None:
        among_all = 0 if most == 2 else most
    tune(monkeypatch, "bfs", narrow=narrow, fused_narrow_levels=among_all, fused_levels=most, flood=broad)
    graph, truth = _wide_truth(name, directed=stored != "undirected")
    directions = "both" if stored == "undirected" else stored
    for source, distance in truth.items():
        with pytest.MonkeyPatch.context() as patch:
            tune(patch, "bfs", alpha=up, alpha_of_hubs=up)
            expected = _Watched(patch)
            ev.bfs(ev.partition(graph, "cpu:1", directions=directions), source=source)
        with pytest.MonkeyPatch.context() as patch:
            tune(patch, "bfs", alpha=up, fused=True)
            find_kernels_of_gpus(patch)
            found = _Watched(patch)
            result = ev.bfs(ev.partition(graph, on, directions=directions), source=source)
        assert (result["distance"] == distance).all()
        ev.verify(result)
        _, levels, edges = zip(*expected.runs(), strict=True)
        if among_all == most:
            assert found.steps == [("search", sum(levels), sum(edges))]
            continue
        if among_all:  # both kinds of calls contain narrow levels
            assert sum(step[1] for step in found.steps) == sum(levels)
            assert sum(step[2] for step in found.steps) == sum(edges)
        else:
            assert list(found.runs()) == list(expected.runs())
        if all(phase != "bottom-up" for phase, _, _ in expected.steps):
            assert max(levels for phase, levels, _ in found.steps if phase == "search") <= most


few_narrow_levels_among_all = pytest.mark.parametrize(("most", "among_all"), [(3, 2), (4, 3), (5, 1)])


def check_few_narrow_levels_among_all(monkeypatch, on, most, among_all):
    """A call stops after `among_all` narrow levels, near its limit of `most` levels of all kinds."""
    check_levels_at_once(
        monkeypatch, on, "two cores", "undirected", 40, most, up=10**6, broad=10**9, among_all=among_all
    )
    check_levels_at_once(monkeypatch, on, "two cores", "out", 40, most, up=1, broad=1, among_all=among_all)


def check_a_generated_graph(name, placements):
    graph = graphs.GENERATED[name]()
    # Both directions are stored, so the directed graph has the same edges.
    expected = ev.Graph.from_edges(*reference.edges(graph), np.ones(graph.m), directed=True, n=graph.n)
    truth = Truth(expected, int(graph.out_degree().argmax()))
    for placement in placements:
        pg = ev.partition(graph, **placement)
        check_values(truth, pg)


def check_many_runs(on, alpha=None):
    """In every run, distances and components are equal to the reference, and ranks within 1e-6."""
    truth = truth_of(graphs.LARGE["rmat"](), directed=True)
    pg = ev.partition(truth.graph, on, alpha=alpha)
    for _ in range(RUNS):
        check_values(truth, pg)


def check_values(truth, pg):
    """Check as `Truth.check_placed`, without the slow checks of parents and centralities."""
    assert (ev.bfs(pg, source=truth.source)["distance"] == truth.distance).all()
    assert (ev.sssp(pg, source=truth.source)["distance"] == truth.length).all()
    truth.check_wcc(ev.wcc(pg))
    truth.check_ranks(pg)


def check_that_every_kernel_is_reached(monkeypatch, kind, splits):
    """The small graphs and two larger graphs call every kernel; the first split is a single element."""
    asked = set()
    every = list(product([name for name in graphs.SMALL if name != "empty"], splits))
    # A chain has long runs of narrow levels, which one element processes in one call.
    few = [*product(["rmat", "star"], splits), ("chain", splits[0])]
    kernel = kind.kernel
    monkeypatch.setattr(kind, "kernel", lambda self, name: asked.add(name) or kernel(self, name))
    for (name, on), directed in product(sized(every, few), [True, False]):
        truth_of(graphs.SMALL[name](), directed=directed).check(on=on, alpha=0.5)
    for directed in (True, False):
        source_alone(directed=directed).check(on=splits[0] * 2, policy="low", alpha=0.001)
    with monkeypatch.context() as placing:
        check_giants_apart(placing, splits[0] * 3, directed=True, joined=True)
    placed = ev.partition(ev.read("grid:3x3,weights=1..9"), on=splits[0])
    for search in (ev.bfs, ev.sssp):
        search(placed, source=0, cutoff=1)
    of_matrix = {name for name in kernels() if name.rpartition(".")[0] not in OF_CONTRACTS}
    reachable = of_matrix - OF_NO_ALGORITHM - OF_TABLES - OF_GPUS
    assert sorted(reachable - asked) == []
    of_contracts = set(kernels()) - of_matrix  # the matrix calls some of them too
    assert sorted(asked - OF_CPUS - OF_GPUS - reachable - of_contracts) == []
