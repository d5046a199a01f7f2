"""Common Python libraries, each with the same five tasks on the same edges.

A library's clock stops when the answer exists in its own form. Converting the answer to an array
(`distances`, `labels`) is not timed. Evener's time includes the array in id order. `None` for a task means
that the library does not offer it, or not for given sources.
"""

from __future__ import annotations

import numpy as np

# Distance of an unreached vertex, for all libraries.
UNREACHED = np.inf


def undirected_pairs(graph):
    """Return each undirected edge once, as two int64 arrays, and its weight."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    once = tails <= graph.targets
    weights = None if graph.weights is None else graph.weights[once].astype(np.float64)
    return tails[once], graph.targets[once].astype(np.int64), weights


class NetworKit:
    name = "NetworKit"

    def __init__(self, graph, threads):
        import networkit

        self.networkit = networkit
        networkit.setNumberOfThreads(threads)
        src, dst, weights = undirected_pairs(graph)
        given = (src, dst) if weights is None else (weights, (src, dst))
        self.graph = networkit.GraphFromCoo(given, n=graph.n, weighted=weights is not None, directed=False)

    def bfs(self, source):
        return self.networkit.distance.BFS(self.graph, source, storePaths=False).run()

    def pagerank(self, iterations):
        rank = self.networkit.centrality.PageRank(self.graph, damp=0.85, tol=1e-300)
        rank.maxIterations = iterations
        return rank.run()

    def wcc(self):
        return self.networkit.components.ParallelConnectedComponents(self.graph, coarsening=False).run()

    def sssp(self, source):
        return self.networkit.distance.Dijkstra(self.graph, source, storePaths=False).run()

    def betweenness(self, sources):
        # NetworKit chooses its own sources.
        estimate = self.networkit.centrality.EstimateBetweenness
        return estimate(self.graph, len(sources), normalized=False, parallel=True).run()

    def distances(self, answer):
        found = np.asarray(answer.getDistances(asarray=True))
        return np.where(found > 1e300, UNREACHED, found)

    def labels(self, answer):
        return np.asarray(answer.getPartition().getVector())

    def ranks(self, answer):
        # NetworKit drops the rank of vertices without edges, so scale the sum to 1.
        found = np.asarray(answer.scores())
        return found / found.sum()


class IGraph:
    name = "igraph"
    # PRPACK solves to convergence by another method, without iterations to time.
    pagerank = None

    def __init__(self, graph, _threads):
        import igraph

        src, dst, weights = undirected_pairs(graph)
        self.graph = igraph.Graph(n=graph.n, edges=np.column_stack([src, dst]), directed=False)
        if weights is not None:
            self.graph.es["weight"] = weights.tolist()

    def bfs(self, source):
        return self.graph.distances(source)

    def wcc(self):
        return self.graph.connected_components()

    def sssp(self, source):
        return self.graph.distances(source, weights="weight", algorithm="dijkstra")

    def betweenness(self, sources):
        return self.graph.betweenness(sources=sources)

    def distances(self, answer):
        return np.asarray(answer[0], dtype=np.float64)

    def labels(self, answer):
        return np.asarray(answer.membership)


class SciPy:
    name = "SciPy"
    betweenness = None

    def __init__(self, graph, _threads):
        from scipy import sparse

        self.csgraph = sparse.csgraph
        weights = np.ones(graph.m, dtype=np.float32) if graph.weights is None else graph.weights
        offsets, targets = graph.offsets.astype(np.int32), graph.targets.astype(np.int32)
        self.matrix = sparse.csr_array((weights.astype(np.float64), targets, offsets), shape=(graph.n,) * 2)
        degree = np.diff(offsets)
        self.alone = degree == 0
        self.share = 1 / np.maximum(degree, 1)

    def bfs(self, source):
        return self.csgraph.breadth_first_order(self.matrix, source)

    def pagerank(self, iterations):
        n = len(self.share)
        rank = np.full(n, 1 / n)
        for _ in range(iterations):
            lost = rank[self.alone].sum()
            rank = 0.85 * (self.matrix @ (rank * self.share) + lost / n) + 0.15 / n
        return rank

    def wcc(self):
        return self.csgraph.connected_components(self.matrix, directed=False)

    def sssp(self, source):
        return self.csgraph.dijkstra(self.matrix, indices=source)

    def distances(self, answer):
        if not isinstance(answer, tuple):
            return answer
        order, before = answer
        found = np.full(len(before), UNREACHED)
        found[order[0]] = 0
        for v in order[1:].tolist():
            found[v] = found[before[v]] + 1
        return found

    def labels(self, answer):
        return answer[1]

    def ranks(self, answer):
        return answer


class GraphBLAS:
    name = "GraphBLAS"
    # The package has no algorithms; these need one line per step.
    wcc = betweenness = None

    def __init__(self, graph, threads):
        import graphblas

        self.graphblas = graphblas
        graphblas.ss.config["nthreads"] = threads
        values = True if graph.weights is None else graph.weights.astype(np.float32)
        self.matrix = graphblas.Matrix.from_csr(
            graph.offsets, graph.targets.astype(np.uint64), values, ncols=graph.n
        )
        degree = np.maximum(np.diff(graph.offsets.astype(np.int64)), 1)
        self.share = graphblas.Vector.from_dense((0.85 / degree).astype(np.float32))
        self.alone = graphblas.Vector.from_dense(np.diff(graph.offsets) == 0, missing_value=False)

    def bfs(self, source):
        gb, n = self.graphblas, self.matrix.nrows
        level = gb.Vector(gb.dtypes.INT32, size=n)
        frontier = gb.Vector(gb.dtypes.BOOL, size=n)
        frontier[source] = True
        depth = 0
        while frontier.nvals:
            level(frontier.S)[:] << depth
            frontier(~level.S, replace=True) << frontier.vxm(self.matrix, gb.semiring.any_pair)
            depth += 1
        return level

    def pagerank(self, iterations):
        gb, n = self.graphblas, self.matrix.nrows
        rank = gb.Vector.from_scalar(1 / n, n, dtype=gb.dtypes.FP32)
        for _ in range(iterations):
            outgoing = rank.ewise_mult(self.share, gb.binary.times).new()
            lost = rank.ewise_mult(self.alone, gb.binary.first).reduce(gb.monoid.plus).get(0)
            after = gb.Vector.from_scalar((0.15 + 0.85 * lost) / n, n, dtype=gb.dtypes.FP32)
            # rank' = jumps + A (damping . rank / degree); the shares include the damping.
            after(gb.binary.plus) << self.matrix.mxv(outgoing, gb.semiring.plus_second)
            rank = after
        return rank

    def sssp(self, source):
        gb, n = self.graphblas, self.matrix.nrows
        nearest = gb.Vector(gb.dtypes.FP32, size=n)
        nearest[source] = 0
        improved = nearest.dup()
        while improved.nvals:
            # Bellman-Ford, from the vertices that improved in the last step.
            through = improved.vxm(self.matrix, gb.semiring.min_plus).new()
            worse = through.ewise_mult(nearest, gb.binary.ge).select("!=", 0).new()
            improved = gb.Vector(gb.dtypes.FP32, size=n)
            improved(~worse.S) << through
            nearest(gb.binary.min) << improved
        return nearest

    def distances(self, answer):
        where, values = answer.to_coo()
        found = np.full(answer.size, UNREACHED)
        found[where] = values
        return found

    def ranks(self, answer):
        return answer.to_dense(fill_value=0)


LIBRARIES = {"networkit": NetworKit, "igraph": IGraph, "scipy": SciPy, "graphblas": GraphBLAS}
