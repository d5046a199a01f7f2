"""The contract of a policy: a class of tests for each policy to inherit.

A subclass names the policy::

    class TestMyPolicy(PolicyContract):
        name = "mine"
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.partition.policy import find_policy
from evener.partition.statistics import imbalance
from support.owners import owners

__all__ = ["PolicyContract"]

# Two machines with a CPU and a GPU each. The first machine has two thirds of the edges.
_MACHINES: dict[str, Any] = {
    "shares": np.array([1, 3, 0.5, 1.5]) / 6,
    "on_cpu": [True, False] * 2,
    "ranks": [0, 0, 1, 1],
}


def skewed(n: int, edges: int, *, directed: bool = False) -> tuple[Graph, np.ndarray, np.ndarray]:
    """Return a graph with few vertices of high degree, its vertices in descending degree, and the degrees."""
    src, dst = (np.random.default_rng(n).random((2, edges)) ** 4 * n).astype(np.int64)
    graph = Graph.from_edges(src, dst, directed=directed, n=n)
    degree = graph.out_degree() + (graph.in_degree() if directed else 0)
    return graph, np.argsort(-degree.astype(np.int64), kind="stable").astype(np.uint32), degree


class PolicyContract:
    """Tests that every policy passes.

    Attributes
    ----------
    name : str
        The name of the policy to test.
    tolerance : float
        The relative error of an element's share of edges, in addition to the edges of one vertex for each
        other element. Infinite for a policy that divides vertices.
    """

    name: str
    tolerance: float = 0.0

    @pytest.mark.parametrize("vertices", [1, 3, 2000])
    def test_every_vertex_has_an_owner_and_the_seed_decides(self, vertices: int) -> None:
        """Owners are valid elements, also if elements outnumber vertices, and depend only on the seed."""
        graph, by_degree, degree = skewed(vertices, 5 * vertices)
        given = by_degree.copy(), degree.copy()
        first, second = (
            owners(by_degree, degree, policy=self.name, graph=graph, seed=7, **_MACHINES) for _ in range(2)
        )
        assert first.shape == (vertices,)
        assert first.dtype == np.uint8
        assert first.max() < len(_MACHINES["shares"])
        assert (first == second).all()
        assert (by_degree == given[0]).all()
        assert (degree == given[1]).all()

    def test_owners_depend_only_on_the_needs_of_the_policy(self) -> None:
        """A policy of positions ignores the numbers of vertices, and a policy of numbers ignores degrees."""
        graph, by_degree, degree = skewed(500, 3000)
        needs = find_policy(self.name).needs
        found = owners(by_degree, degree, policy=self.name, graph=graph, seed=5, **_MACHINES)
        if needs == "positions":
            positions = np.arange(500, dtype=np.uint32)
            others = owners(positions, degree[by_degree], policy=self.name, seed=5, **_MACHINES)
            assert (found[by_degree] == others).all()
        elif needs == "numbers":
            others = owners(by_degree[::-1].copy(), degree[::-1].copy(), policy=self.name, **_MACHINES)
            assert (found == others).all()
        elif needs == "degrees":
            others = owners(by_degree, degree, policy=self.name, seed=5, **_MACHINES)
            assert (found == others).all()

    def test_places_equal_the_order(self) -> None:
        """`places` gives the positions of vertices in the order of all vertices."""
        policy = find_policy(self.name)
        if policy.places is None:
            pytest.skip(f"{self.name} has no places")
        assert policy.order is not None
        some = np.array([0, 41, 99, 7], np.uint32)
        order = policy.order(np.arange(100, dtype=np.uint32), 3)
        assert (order[policy.places(some, 100, 3)] == some).all()

    @pytest.mark.parametrize("directed", [False, True])
    def test_elements_get_their_shares(self, directed: bool) -> None:
        """Each element gets its share of the edges; a policy of equal parts gives equal parts."""
        graph, by_degree, degree = skewed(2000, 20_000, directed=directed)
        owner = owners(by_degree, degree, policy=self.name, graph=graph, **_MACHINES)
        if find_policy(self.name).even and self.tolerance == np.inf:
            assert imbalance(np.bincount(owner, minlength=4)) < 0.2
            return
        shares = np.full(4, 0.25) if find_policy(self.name).even else _MACHINES["shares"]
        edges = np.bincount(owner, weights=degree, minlength=4)
        allowed = 3 * int(degree.max()) + self.tolerance * degree.sum() * shares
        assert (np.abs(edges - shares * degree.sum()) <= allowed).all()

    def test_a_graph_is_partitioned(self) -> None:
        """`partition` places a graph by the policy: every vertex and edge is in one partition."""
        graph, _, _ = skewed(500, 5000)
        placed = partition(graph, ["cpu:1"] * 3, policy=self.name)
        parts = placed.partitions
        owned = np.concatenate([one.vertices[: one.owned] for one in parts])
        assert np.sort(owned).tolist() == list(range(graph.n))
        assert sum(one.stored_edges for one in parts) == graph.m
