"""Expected results of all algorithms for a graph, from `reference`, and checks of any placement."""

from __future__ import annotations

import numpy as np

import evener as ev
from evener.system.world import current_world
from support import graphs, reference

RELATIVE = 1e-6
# PageRank iterations, here and in the reference.
ITERATIONS = 15


def whole(result, name):
    """Return the values of all vertices, from the blocks of all ranks."""
    return np.concatenate(current_world().allgather(result[name]))


class Truth:
    """The reference results for one graph, computed once."""

    def __init__(self, graph, source):
        self.graph = graph
        self.source = graph.ids[source]
        self.distance, _ = reference.bfs(graph, source)
        self.length, _ = reference.sssp(graph, source)
        self.component = graph.ids[reference.wcc(graph)]
        self.rank = {
            weights: reference.pagerank(graph, iterations=ITERATIONS, weights=weights)
            for weights in (True, False)
        }
        self.sources = sorted({source, graph.n // 3, 2 * graph.n // 3})
        self.centrality = reference.betweenness(graph, sources=self.sources)

    def check(self, *, on, policy="random", alpha=None):
        """Run all five algorithms on one placement."""
        self.check_placed(ev.partition(self.graph, on, policy=policy, alpha=alpha))

    def check_placed(self, pg):
        self.check_bfs(ev.bfs(pg, source=self.source))
        self.check_wcc(ev.wcc(pg))
        self.check_ranks(pg)
        self.check_sssp(ev.sssp(pg, source=self.source))
        sources = self.graph.ids[self.sources]
        self.check_betweenness(ev.betweenness(pg, sources=sources, normalized=False))

    def check_bfs(self, result):
        assert (whole(result, "distance") == self.distance).all()
        self.check_parents(whole(result, "parent"), self.distance, np.ones(self.graph.m))

    def check_wcc(self, result):
        assert (whole(result, "component") == self.component).all()

    def check_ranks(self, pg):
        """Check PageRank without weights and, if the graph has weights, with them."""
        for weights in (False,) if pg.graph.weight_dtype is None else (True, False):
            self.check_pagerank(ev.pagerank(pg, tol=0, max_iter=ITERATIONS, weights=weights))

    def check_pagerank(self, result):
        expected = self.rank[result.parameters["weights"]]
        np.testing.assert_allclose(whole(result, "rank"), expected, rtol=RELATIVE, atol=0)

    def check_sssp(self, result):
        assert (whole(result, "distance") == self.length).all()
        self.check_parents(whole(result, "parent"), self.length, self.graph.weights)

    def check_betweenness(self, result):
        # Undirected pairs count from both ends. The estimate scales the sources to all vertices.
        scale = (1 if self.graph.directed else 0.5) * self.graph.n / len(self.sources)
        found, expected = whole(result, "centrality"), self.centrality * scale
        np.testing.assert_allclose(found, expected, rtol=RELATIVE, atol=1e-9)

    def check_parents(self, parent, distance, weights):
        """The source is its own parent. Other parents have an edge that explains the vertex's distance."""
        tails, heads = reference.edges(self.graph)
        reached = np.isfinite(distance) & (distance >= 0)
        assert ((parent == -1) == ~reached).all()
        numbers = self.graph.numbers_of(parent[reached])
        tight = distance[tails] + weights == distance[heads]
        tight &= reached[tails] & reached[heads]
        edges = set(zip(tails[tight].tolist(), heads[tight].tolist(), strict=True))
        source = int(self.graph.numbers_of([self.source])[0])
        for vertex, above in zip(np.flatnonzero(reached).tolist(), numbers.tolist(), strict=True):
            assert (above, vertex) in edges or vertex == above == source


def truth_of(parts, *, directed):
    """Return the results for a graph, from the source with the most out-edges."""
    graph = graphs.build(parts, directed=directed)
    return Truth(graph, int(graph.out_degree().argmax()))


def source_alone(*, directed):
    """Vertex 200 has five edges into a dense part. Policy "low" puts it alone into a partition."""
    src, dst = np.random.default_rng(3).integers(0, 200, (2, 4000))
    src, dst = np.append(src, [200] * 5), np.append(dst, range(5))
    return Truth(graphs.build((src, dst, 201), directed=directed), 200)
