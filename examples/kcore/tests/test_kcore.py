"""K-core decomposition holds Evener's contract for algorithms."""

import networkx as nx
import numpy as np
import pytest

import evener as ev
from evener.testing.algorithms import AlgorithmContract


class TestKCore(AlgorithmContract):
    name = "kcore"
    directed = (False,)
    simple = True

    def expected(self, graph, arguments):
        ours = nx.Graph()
        ours.add_nodes_from(range(graph.n))
        tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets).astype(np.int64))
        ours.add_edges_from(zip(tails.tolist(), graph.targets.tolist(), strict=True))
        cores = nx.core_number(ours)
        return {"core": np.array([cores[v] for v in range(graph.n)])}


def test_a_directed_graph_is_refused():
    from evener_kcore.kcore import kcore

    with pytest.raises(ev.ArgumentError, match="expected an undirected graph"):
        kcore(ev.Graph.from_edges([0], [1]))
