"""The contract of rows of neighbours: a class of tests for each kind of element to inherit."""

from __future__ import annotations

from itertools import product
from typing import TYPE_CHECKING

import numpy as np
import pytest

from evener.engine.engine import Engine
from evener.partition.build import partition
from evener.primitives import neighbour_rows
from evener.primitives.neighbour_rows import NeighbourRows
from evener.primitives.triangles import directed_triangles, triangle_counts
from evener.testing.graphs import SHAPES, build
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from evener.graph.graph import Graph
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["NeighbourRowsContract"]


class NeighbourRowsContract:
    """Tests that rows of neighbours pass on each kind of element.

    Attributes
    ----------
    kind : str
        The name of the elements.
    """

    kind: str

    @pytest.fixture(autouse=True)
    def several_batches(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """Fetch rows of mirrors in batches even on small graphs."""
        monkeypatch.setattr(neighbour_rows, "MIN_BATCH", 7)

    def placements(self, shape: str, *, directed: bool) -> Iterator[PartitionedGraph]:
        """Yield a graph on one, two and four elements."""
        graph = build(SHAPES[shape](), directed=directed)
        return placements(graph, self.kind, 2 * list(SHAPES).index(shape) + directed)

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_rows_have_each_neighbour_once(self, shape: str, directed: bool) -> None:
        """Rows of owned vertices, of mirrors and of other vertices equal those of a matrix."""
        for pg, oriented in product(self.placements(shape, directed=directed), (False, True)):
            check_rows(pg, *expected_rows(pg.graph, oriented=oriented), oriented=oriented)

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_triangles_equal_those_of_a_matrix(self, shape: str, directed: bool) -> None:
        """Triangles, and the choices of directions of their edges, do not depend on the split."""
        for pg in self.placements(shape, directed=directed):
            check_triangles(pg)

    @pytest.mark.parametrize("directed", [False, True])
    def test_ranks_fetch_rows(self, directed: bool) -> None:
        """Two and three ranks, each of which is late in turn, with one or two elements.

        Ranks that send eagerly with one direction do not with the other.
        """
        if not self.kind.startswith("cpu"):
            pytest.skip("ranks of this test have CPUs")
        graph = build(SHAPES["rmat"](), directed=directed)
        expected = {oriented: expected_rows(graph, oriented=oriented) for oriented in (False, True)}

        def run(world) -> None:
            pg = partition(graph, [self.kind] * (1 + world.rank % 2), policy="random")
            for oriented, rows in expected.items():
                check_rows(pg, *rows, oriented=oriented)
            check_triangles(pg)

        for size, late in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]:
            run_ranks(size, run, late=late, eager=(size + late + directed) % 2 == 0)


def edges_of(graph: Graph) -> np.ndarray:
    """Return which pairs of different vertices have an edge, of shape (n, n)."""
    edges = np.zeros((graph.n, graph.n), bool)
    edges[np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(int))), graph.targets] = 1
    np.fill_diagonal(edges, 0)
    return edges


def expected_rows(graph: Graph, *, oriented: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return which targets are in the row of each vertex, and which of them are mutual."""
    edges = edges_of(graph)
    degree = np.diff(graph.offsets.astype(int)) + (
        np.bincount(graph.targets, minlength=graph.n) if graph.directed else 0
    )
    order = np.lexsort((np.arange(graph.n), -degree)).argsort()
    rows = edges | edges.T
    if oriented:
        rows = rows * (order[None, :] < order[:, None])
    return rows, rows * (edges & edges.T)


def check_rows(pg: PartitionedGraph, rows: np.ndarray, mutual: np.ndarray, *, oriented: bool) -> None:
    """Compare the rows of owned vertices, of mirrors, and of vertices that are asked for."""
    engine = Engine(pg, "test")
    engine.superstep("rows", active=engine.owned)
    made = NeighbourRows(engine, oriented=oriented, mutual=True)
    assert [len(part) for part in NeighbourRows(engine, oriented=oriented).mutual] == [0] * len(pg.elements)
    vertices, lengths = engine.download(engine.vertices), engine.download(made.lengths())
    reached = [0] * len(vertices)
    for count, batch in enumerate(made.batches()):
        first, offsets = batch.first, engine.download(batch.offsets)
        for p, numbers in enumerate(vertices):
            listed = numbers[first[p] : first[p] + len(offsets[p]) - 1]
            check_part(engine, batch, p, listed, rows, mutual, ascending=count == 0)
            assert (np.diff(offsets[p]) == lengths[p][first[p] : first[p] + len(listed)]).all()
            reached[p] += len(listed)
            single = len(offsets[p]) == 2
            most = max(neighbour_rows.MIN_BATCH, len(made.targets[p]))
            assert count == 0 or single or offsets[p][-1] <= most
    assert reached == [len(numbers) for numbers in vertices]
    rng = np.random.default_rng(pg.world.rank)
    wanted = [rng.integers(0, pg.graph.n, 9 * p).astype(np.uint32) for p in range(len(vertices))]
    batch, places = made.fetch(wanted)
    for p, (numbers, place) in enumerate(zip(wanted, places, strict=True)):
        listed = np.empty(len(numbers), np.uint32)
        listed[place] = numbers
        check_part(engine, batch, p, listed, rows, mutual)


def check_part(engine, batch, p, listed, rows, mutual, *, ascending=False) -> None:
    """Compare rows on one element with those of the listed vertices."""
    offsets, targets, marks = (engine.elements[p].download(one[p]) for one in batch[1:])
    vertices = engine.elements[p].download(engine.vertices[p])
    here = np.zeros(engine.partitioned.graph.n, bool)
    here[vertices] = True
    assert len(offsets) == len(listed) + 1
    for k, number in enumerate(listed):
        row = targets[int(offsets[k]) : int(offsets[k + 1])]
        marked = marks[int(offsets[k]) : int(offsets[k + 1])]
        local = row[row != 2**32 - 1]
        assert not ascending or (np.diff(local.astype(int)) > 0).all()
        assert sorted(vertices[local]) == np.flatnonzero(rows[number] & here).tolist()
        assert len(row) == rows[number].sum()
        expected = mutual[number][vertices[local]] if engine.partitioned.graph.directed else 1
        assert (marked[row != 2**32 - 1] == expected).all()


def check_triangles(pg: PartitionedGraph) -> None:
    """Compare the triangles of each vertex with those of a matrix."""
    edges = edges_of(pg.graph)
    either, directions = (edges | edges.T) * 1.0, edges * 1.0 + edges.T
    block = slice(pg.block.start, pg.block.stop)
    for opposite in (None, False, True):
        engine = Engine(pg, "test")
        if opposite is None:
            counts, total = triangle_counts(engine)
            expected = _closed(either, either)
            assert total == expected.sum() / 3
        else:
            rows = NeighbourRows(engine, oriented=True, mutual=True)
            counts = directed_triangles(engine, rows, opposite=opposite)
            expected = _closed(*((either, directions) if opposite else (directions, directions)))
        assert pg.gather(counts.parts).tolist() == expected[block].tolist()
        engine.finish()


def _closed(edges, opposite):
    """Return the sum over triangles of a vertex of the product of the edges and the opposite edge."""
    return (edges * (edges @ opposite)).sum(1) / 2
