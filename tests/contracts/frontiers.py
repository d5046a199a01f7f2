"""The contract of a frontier: a class of tests for each kind of element to inherit."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evener.engine.engine import Engine
from evener.partition.build import partition
from evener.primitives.frontier import Frontier
from evener.testing.graphs import SHAPES, build, rmat
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements
from support.bitmaps import pack, unpack

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.array import PartitionedArray
    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

    Numbers = NDArray[np.uint32]

__all__ = ["FrontierContract"]

NONE = 2**32 - 1
# How many vertices are members, and whether the others have a value.
FRONTIERS = {"one": (1, False), "some": (7, False), "all": (1 << 20, True), "some of many values": (7, True)}


class FrontierContract:
    """Tests that frontiers pass on each kind of element.

    Attributes
    ----------
    kind : str
        The name of the elements.
    """

    kind: str

    @pytest.mark.parametrize("frontier", FRONTIERS)
    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_values_spread_along_paths(self, shape: str, directed: bool, frontier: str) -> None:
        """One, two and four elements give the values of a search on one thread, in both directions."""
        graph = build(SHAPES[shape](), directed=directed)
        number = 2 * (list(SHAPES).index(shape) + list(FRONTIERS).index(frontier))
        for against in (False, True)[: 1 + directed]:
            case = Case(graph, *FRONTIERS[frontier], against=against)
            for pg in placements(graph, self.kind, number + against):
                case.check(pg)

    @pytest.mark.parametrize("directed", [False, True])
    def test_a_search_of_most_vertices(self, directed: bool) -> None:
        """A vertex reaches hundreds in a step, so that an element with all vertices gathers values."""
        graph = build(rmat(10), directed=directed)
        for against, count in product((False, True), (1, 2)):
            Case(graph, 1, False, against=against).check(partition(graph, [self.kind] * count))

    @pytest.mark.parametrize("frontier", FRONTIERS)
    @pytest.mark.parametrize("directed", [False, True])
    def test_values_spread_between_ranks(self, directed: bool, frontier: str) -> None:
        """Two and three ranks, each of which is late in turn, with one or two elements.

        Ranks that send eagerly with one direction do not with the other.
        """
        if not self.kind.startswith("cpu"):
            pytest.skip("ranks of this test have CPUs")
        graph = build(SHAPES["rmat"](), directed=directed)
        case = Case(graph, *FRONTIERS[frontier], against=directed)

        def run(world) -> None:
            case.check(partition(graph, [self.kind] * (1 + world.rank % 2), policy="random"))

        for size, late in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]:
            run_ranks(size, run, late=late, eager=(size + late + directed) % 2 == 0)


class Case:
    """Values, members and peers on a graph, and the values after a spread."""

    def __init__(self, graph: Graph, count: int, others_have_values: bool, *, against: bool) -> None:
        rng = np.random.default_rng([graph.n, count])
        self.against = against
        edges = graph.to_scipy().T.tocsr() if against else graph.to_scipy()
        self.member = np.zeros(graph.n, bool)
        # The vertex of most edges first, because it reaches many.
        order = np.argsort(np.diff(edges.indptr))[::-1] if count == 1 else rng.permutation(graph.n)
        self.member[order[:count]] = True
        self.value = rng.permutation(graph.n).astype(np.uint32)
        if not others_have_values:
            self.value[~self.member] = NONE
        self.peers = (rng.integers(0, 5, graph.n) > 0).astype(np.uint32)
        self.expected = spread(edges, self.peers, self.value, self.member)

    def check(self, pg: PartitionedGraph) -> None:
        """Spread the values on a placed graph, and compare the values of its vertices."""
        engine = Engine(pg, "test")
        engine.superstep("spread")
        frontier = Frontier(engine)
        values, peers = self._array(engine, self.value), self._array(engine, self.peers)
        owned = [self.member[own] for own in pg.owned_vertices()]
        words = [np.zeros(len(part), np.uint64) for part in engine.download(frontier.members)]
        for part, own in zip(words, owned, strict=True):
            part[: (len(own) + 63) // 64] = pack(own)
        engine.write(frontier.members, words)
        far = engine.in_ if pg.graph.directed else engine.out
        edges, far_edges = (far[:2], engine.out[:2]) if self.against else (engine.out[:2], far[:2])
        for _ in range(2):  # the set is empty afterwards, so that nothing more spreads
            frontier.spread(edges, far_edges, peers, values)
            found = pg.gather(values.parts)
            assert found.tolist() == self.expected[pg.block.start : pg.block.stop].tolist()
            for part, own in zip(engine.download(frontier.members), owned, strict=True):
                assert not unpack(part, len(own)).any()
        engine.finish()

    @staticmethod
    def _array(engine: Engine, values: Numbers) -> PartitionedArray:
        """Return values of all vertices as an array with mirrors."""
        array = engine.array("uint32")
        engine.write(array, [values[own] for own in engine.partitioned.owned_vertices()])
        engine.pull(array)
        return array


def spread(edges, peers: Numbers, values: Numbers, member: NDArray[np.bool_]) -> Numbers:
    """Return the values after a spread; a queue of vertices in any order gives the same."""
    value, queue = values.copy(), np.flatnonzero(member).tolist()
    while queue:
        u = queue.pop()
        row = edges.indices[edges.indptr[u] : edges.indptr[u + 1]]
        lowered = np.unique(row[(peers[row] == peers[u]) & (value[row] > value[u])])
        value[lowered] = value[u]
        queue += lowered.tolist()
    return value
