"""The contract of a policy: tests that a package inherits.

A subclass names the policy::

    class TestMyPolicy(PolicyContract):
        name = "mine"
"""

from __future__ import annotations

import numpy as np
import pytest

from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.partition.policy import find_policy

__all__ = ["PolicyContract"]


class PolicyContract:
    """Tests that every policy passes.

    Attributes
    ----------
    name : str
        The name of the policy to test.
    """

    name: str

    @pytest.mark.parametrize("vertices", [1, 2, 1000])
    def test_order_has_every_vertex_once(self, vertices: int) -> None:
        """The order is a permutation of the given vertices, of the same type."""
        by_degree = np.random.default_rng(1).permutation(vertices).astype(np.uint32)
        given = by_degree.copy()
        order = find_policy(self.name).order(by_degree, 3)
        assert order.dtype == np.uint32
        assert np.sort(order).tolist() == list(range(vertices))
        assert (by_degree == given).all()

    def test_order_depends_on_the_seed_only(self) -> None:
        """The same seed gives the same order."""
        by_degree = np.arange(1000, dtype=np.uint32)[::-1]
        order = find_policy(self.name).order
        assert (order(by_degree, 7) == order(by_degree, 7)).all()

    def test_order_of_positions(self) -> None:
        """A policy of degrees only orders positions in the same way for any vertices and any seed."""
        policy = find_policy(self.name)
        if not policy.degrees_only:
            pytest.skip(f"{self.name} does not order by degree")
        vertices = np.random.default_rng(2).permutation(100).astype(np.uint32)
        positions = policy.order(np.arange(100, dtype=np.uint32), 0)
        assert (policy.order(vertices, 5) == vertices[positions]).all()

    def test_elements_get_their_shares(self) -> None:
        """Each element gets its share of the edges, up to the edges of one vertex."""
        src, dst = (np.random.default_rng(4).random((2, 5000)) ** 4 * 500).astype(np.int64)
        graph = Graph.from_edges(src, dst, directed=False, n=500)
        placed = partition(graph, ["cpu:1"] * 2, policy=self.name, alpha=0.3)
        edges = placed.statistics.partitions[0].edges
        assert abs(edges - 0.3 * graph.m) <= int(graph.out_degree().max())
