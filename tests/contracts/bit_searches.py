"""The contract of searches from many vertices at once: tests for each kind of element to inherit."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest
from scipy.sparse import coo_array
from scipy.sparse.csgraph import shortest_path

from evener.engine.engine import Engine
from evener.partition.build import partition
from evener.primitives.bit_search import WIDTH, BitSearch
from evener.testing.graphs import SHAPES, build, rmat
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements
from support.bitmaps import unpack

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["BitSearchContract"]


class BitSearchContract:
    """Tests that searches pass on each kind of element.

    Attributes
    ----------
    kind : str
        The name of the elements.
    """

    kind: str

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_levels_are_distances(self, shape: str, directed: bool) -> None:
        """One, two and four elements find the distances of SciPy, in both directions."""
        graph = build(SHAPES[shape](), directed=directed)
        for pg in placements(graph, self.kind, 2 * list(SHAPES).index(shape) + directed):
            check_searches(pg)

    @pytest.mark.parametrize("directed", [False, True])
    def test_ranks_find_distances(self, directed: bool) -> None:
        """Two and three ranks, each of which is late in turn, with one or two elements.

        Ranks that send eagerly with one direction do not with the other.
        """
        if not self.kind.startswith("cpu"):
            pytest.skip("ranks of this test have CPUs")
        graph = build(rmat(8), directed=directed)

        def run(world) -> None:
            check_searches(partition(graph, [self.kind] * (1 + world.rank % 2), policy="random"))

        for size, late in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]:
            run_ranks(size, run, late=late, eager=(size + late + directed) % 2 == 0)


def check_searches(pg: PartitionedGraph) -> None:
    """Compare the levels of one, two, and up to 64 searches with distances, one run after another."""
    distance = distances_of(pg.graph)
    search = BitSearch(Engine(pg, "test"))
    drawn = np.random.default_rng(1).permutation(pg.graph.n)
    for count, backward in product((1, 2, WIDTH), (False, True)):
        sources = np.sort(drawn[:count])
        away = distance.T if backward else distance
        check_run(search, sources, away[sources], backward=backward)


def check_run(search: BitSearch, sources: np.ndarray, distance: np.ndarray, *, backward: bool) -> None:
    """Compare the levels with distances from sources, of shape (sources, n), and inf without a path."""
    engine = search._engine
    vertices = zip(engine.download(engine.vertices), engine.owned, strict=True)
    owned = [numbers[:length] for numbers, length in vertices]
    levels = 0
    for level in search.run(sources, backward=backward):
        levels += 1
        assert level.distance == levels
        parts = zip(owned, engine.download(level.changed), engine.download(level.reached), strict=True)
        for numbers, changed, reached in parts:
            expected = distance[:, numbers] == levels
            assert np.array_equal(bits_of(reached[: len(numbers)], len(sources)), expected)
            assert np.array_equal(unpack(changed, len(numbers)), expected.any(0))
    assert levels == np.max(distance, where=np.isfinite(distance), initial=0)
    for numbers, seen in zip(owned, engine.download(search.seen), strict=True):
        assert np.array_equal(bits_of(seen, len(sources)), np.isfinite(distance[:, numbers]))


def bits_of(words: np.ndarray, count: int) -> np.ndarray:
    """Return the first bits of each word, of shape (count, words)."""
    assert not (words >> np.uint64(count - 1) > 1).any()
    return words[None, :] >> np.arange(count, dtype=np.uint64)[:, None] & np.uint64(1) == 1


def distances_of(graph: Graph) -> np.ndarray:
    """Return the distances from each vertex to each vertex, inf without a path."""
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    edges = coo_array((np.ones(graph.m), (tails, graph.targets)), shape=(graph.n, graph.n)).tocsr()
    return shortest_path(edges, unweighted=True)
