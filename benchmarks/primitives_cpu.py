"""Question: how fast are communities, cores, triangles and others on the CPU, compared with libraries.

Rivals: the GAP reference code (triangles only; with --gap or GAP_DIR), NetworKit and igraph. All have the
same edges in memory: each undirected edge once, without self-loops and repeated edges. Strong components run
on the directed graph of the same scale.

    python benchmarks/primitives_cpu.py --graphs rmat:18 --gap path/to/gapbs
    python benchmarks/primitives_cpu.py --graphs planted.npz soc-Epinions1.txt.gz --tasks louvain leiden

A graph is a specification of a generator, a file, or a NumPy archive with the arrays `u` and `v`.
Evener's graph is placed before the clock starts. Every answer of Evener is verified, and compared with those
of the rivals: equal numbers, or the modularity of both.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import numpy as np

import evener as ev
import harness
from gap import Gap
from rivals import undirected_pairs

SEED = 1
# Pairs whose similarity is computed, and sources of closeness.
PAIRS, SOURCES = 100_000, 64
# Random walks from the first vertices of the pairs, and their steps.
WALKS, STEPS = 1 << 14, 80
# The largest difference of real answers. NetworKit and igraph compute in float64.
_APART = 1e-9
# Modularity that Evener's communities may have less than those of a rival.
_LESS = 0.005


class Evener:
    name = "evener"

    def __init__(self, graph, pairs, threads):
        self.placed = ev.partition(graph, on=[f"cpu:{threads}"])
        self.pairs = graph.ids[pairs]

    def triangles(self):
        return ev.triangles(self.placed), "triangles"

    def clustering(self):
        return ev.clustering(self.placed), "clustering"

    def core_number(self):
        return ev.core_number(self.placed), "core"

    def scc(self):
        return ev.scc(self.placed), "component"

    def louvain(self):
        return ev.louvain(self.placed, seed=SEED), "community"

    def leiden(self):
        return ev.leiden(self.placed, seed=SEED), "community"

    def label_propagation(self):
        return ev.label_propagation(self.placed, seed=SEED), "community"

    def closeness(self):
        return ev.closeness(self.placed, k=SOURCES, seed=SEED), "closeness"

    def spanning_forest(self):
        return ev.spanning_forest(self.placed), "u"

    def jaccard(self):
        return ev.jaccard(self.placed, pairs=self.pairs), "jaccard"

    def random_walks(self):
        return ev.random_walks(self.placed, self.pairs[:WALKS, 0], length=STEPS, seed=SEED), "walk"


class NetworKit:
    name = "NetworKit"

    def __init__(self, graph, _pairs, threads):
        import networkit

        self.networkit = networkit
        networkit.setNumberOfThreads(threads)
        networkit.setSeed(SEED, useThreadId=False)
        if graph.directed:
            tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
            given = (tails, graph.targets.astype(np.int64))
        else:
            given = undirected_pairs(graph)[:2]
        self.graph = networkit.GraphFromCoo(given, n=graph.n, weighted=False, directed=graph.directed)

    def clustering(self):
        return np.array(self.networkit.centrality.LocalClusteringCoefficient(self.graph).run().scores())

    def core_number(self):
        return np.array(self.networkit.centrality.CoreDecomposition(self.graph).run().scores())

    def scc(self):
        found = self.networkit.components.StronglyConnectedComponents(self.graph).run()
        return np.array(found.getPartition().getVector())

    def louvain(self):
        return self._communities(self.networkit.community.PLM(self.graph, refine=False))

    def leiden(self):
        return self._communities(self.networkit.community.ParallelLeiden(self.graph))

    def label_propagation(self):
        return self._communities(self.networkit.community.PLP(self.graph))

    def closeness(self):
        return np.array(self.networkit.centrality.ApproxCloseness(self.graph, SOURCES).run().scores())

    def spanning_forest(self):
        return self.networkit.graph.RandomMaximumSpanningForest(self.graph).run().getMSF(move=True)

    def _communities(self, algorithm):
        return np.array(algorithm.run().getPartition().getVector())


class Igraph:
    name = "igraph"

    def __init__(self, graph, pairs, _threads):
        import igraph

        if graph.directed:
            tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
            edges = np.stack([tails, graph.targets.astype(np.int64)], axis=1)
        else:
            edges = np.stack(undirected_pairs(graph)[:2], axis=1)
        self.graph, self.pairs = igraph.Graph(graph.n, edges, directed=graph.directed), pairs.tolist()

    def clustering(self):
        return np.array(self.graph.transitivity_local_undirected(mode="zero"))

    def core_number(self):
        return np.array(self.graph.coreness())

    def scc(self):
        return np.array(self.graph.connected_components(mode="strong").membership)

    def louvain(self):
        return np.array(self.graph.community_multilevel().membership)

    def leiden(self):
        return np.array(self.graph.community_leiden("modularity", n_iterations=2).membership)

    def label_propagation(self):
        return np.array(self.graph.community_label_propagation().membership)

    def closeness(self):
        vertices = np.random.default_rng(SEED).choice(self.graph.vcount(), SOURCES, replace=False)
        return self.graph.closeness(vertices.tolist())

    def spanning_forest(self):
        return self.graph.spanning_tree()

    def jaccard(self):
        return np.array(self.graph.similarity_jaccard(pairs=self.pairs, loops=False))

    def random_walks(self):
        return [self.graph.random_walk(first, STEPS, stuck="return") for first, _ in self.pairs[:WALKS]]


class GapTriangles:
    name = "GAP"

    def __init__(self, folder, file, threads):
        self._gap = Gap(folder, file, file, threads)

    def triangles(self):
        return self._gap.triangles()


RIVALS = {"networkit": NetworKit, "igraph": Igraph}
TASKS = [name for name in vars(Evener) if not name.startswith("_") and name != "name"]
COMMUNITIES = ("louvain", "leiden", "label_propagation")
# Tasks whose answers are equal numbers.
EXACT = ("clustering", "core_number", "jaccard")


def main():
    options = _options()
    rows = []
    for name in options.graphs:
        for directed in (False, True):
            tasks = [task for task in options.tasks if (task == "scc") == directed]
            if tasks and not (directed and Path(name).suffix == ".npz"):
                rows += _one_graph(name, _read(name, directed=directed), tasks, options)
    if not options.no_record:
        harness.record("primitives_cpu", question=__doc__.splitlines()[0], rows=rows, threads=options.threads)


def _read(name, *, directed):
    if Path(name).suffix == ".npz":
        ends = np.load(name)
        return ev.Graph.from_edges(ends["u"], ends["v"], directed=False)
    options = {"self_loops": "drop", "duplicates": "drop"}
    if ":" not in name:
        return ev.read(name, directed=directed, **options)
    given = ev.read(f"{name},directed" if directed else name)
    tails = np.repeat(np.arange(given.n), np.diff(given.offsets.astype(np.int64)))
    return ev.Graph.from_edges(tails, given.targets, n=given.n, directed=directed, **options)


def _one_graph(name, graph, tasks, options):
    print(f"{name}: {graph}")
    pairs = np.random.default_rng(SEED).integers(0, graph.n, (PAIRS, 2))
    contenders = [Evener(graph, pairs, options.threads)]
    contenders += [RIVALS[rival](graph, pairs, options.threads) for rival in options.rivals]
    rows = []
    with tempfile.TemporaryDirectory(prefix="evener-bench-", dir=options.scratch) as folder:
        if options.gap and "triangles" in tasks:
            file = Path(folder) / "graph.sg"
            ev.write(graph, file)
            contenders.append(GapTriangles(options.gap, file, options.threads))
        for task in tasks:
            check = _Check(task, graph)
            runs = {one.name: _clock(one, task) for one in contenders if hasattr(one, task)}
            times = harness.interleaved(runs, rounds=options.rounds, check=check, budget=options.budget)
            rows += _rows(name, task, times, check.facts)
    return rows


def _clock(contender, task):
    call = getattr(contender, task)
    if contender.name == "GAP":  # it reports its own time
        return lambda _: (call(), None)

    def run(_round):
        answer = call()
        if contender.name == "evener":
            result, column = answer
            result[column]  # the clock stops when the array exists
            return result
        return answer

    return harness.clocked(run)


class _Check:
    """Verifies Evener's answers, and compares the answers of rivals with them.

    `facts` has the modularity or the outcome of each contender's communities.
    """

    def __init__(self, task, graph):
        self._task, self._graph, self._ours, self.facts = task, graph, None, {}

    def __call__(self, name, _round, answer):
        if name == "evener":
            if self._ours is None:
                ev.verify(answer)
            self._ours = answer
            if self._task in COMMUNITIES:
                self.facts[name] = {"modularity": self._modularity(answer["community"])}
        elif self._task in COMMUNITIES:
            self.facts[name] = {"modularity": self._modularity(answer)}
        elif self._task in EXACT:
            column = self._ours[list(self._ours)[-1]]
            np.testing.assert_allclose(answer, column, rtol=_APART, atol=1e-12)
        elif self._task == "scc" and name != "GAP":
            ev.spec.verify.match_equivalent(answer, self._ours["component"])

    def _modularity(self, community):
        return float(ev.modularity(self._graph, np.asarray(community)))


def _rows(graph, task, times, facts):
    ours = harness.median(times["evener"])
    rows, cells = [], []
    for name, taken in times.items():
        row = {"graph": graph, "task": task, "contender": name, "median_seconds": harness.median(taken)}
        row |= {"times_ours": harness.median(taken) / ours, **facts.get(name, {}), "seconds": taken}
        rows.append(row)
        quality = f"{row['modularity']:.4f}" if "modularity" in row else ""
        cells.append((name, harness.duration(row["median_seconds"]), f"{row['times_ours']:.2f}", quality))
    harness.show(f"{task}, {graph}", ["", "median", "times ours", "modularity"], cells)
    for name, found in facts.items():
        if facts["evener"]["modularity"] < found["modularity"] - _LESS:
            print(f"the modularity of {name} is higher by more than {_LESS}")
    return rows


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat:18"])
    parser.add_argument("--tasks", nargs="+", default=TASKS, choices=TASKS)
    parser.add_argument("--rivals", nargs="*", default=list(RIVALS), choices=list(RIVALS))
    parser.add_argument("--scratch", default=None, help="folder for GAP's graph files")
    return harness.racing(parser, rounds=3, budget=60.0)


if __name__ == "__main__":
    main()
