"""The contract of sums by label: a class of tests for each kind of element to inherit."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

from evener.engine.engine import Engine
from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.primitives.label_sums import LabelSums
from evener.testing.graphs import SHAPES, rmat
from evener.testing.ranks import run_ranks
from evener.testing.splits import placements

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.partition.partitioned import PartitionedGraph

    Labels = NDArray[np.intp]

__all__ = ["LabelSumsContract"]


class LabelSumsContract:
    """Tests that sums by label pass on each kind of element.

    Attributes
    ----------
    kind : str
        The name of the elements.
    """

    kind: str

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("shape", SHAPES)
    def test_vertices_take_the_best_labels(self, shape: str, directed: bool) -> None:
        """One, two and four elements choose the labels of a dense matrix."""
        graph = with_weights(SHAPES[shape](), directed=directed)
        for pg in placements(graph, self.kind, 2 * list(SHAPES).index(shape) + directed):
            check_moves(pg)

    @pytest.mark.parametrize("directed", [False, True])
    def test_ranks_take_the_best_labels(self, directed: bool) -> None:
        """Two and three ranks, each of which is late in turn, with one or two elements.

        Ranks that send eagerly with one direction do not with the other.
        """
        if not self.kind.startswith("cpu"):
            pytest.skip("ranks of this test have CPUs")
        graph = with_weights(rmat(7), directed=directed)

        def run(world) -> None:
            check_moves(partition(graph, [self.kind] * (1 + world.rank % 2), policy="random"))

        for size, late in [(2, 0), (2, 1), (3, 0), (3, 1), (3, 2)]:
            run_ranks(size, run, late=late, eager=(size + late + directed) % 2 == 0)


def with_weights(edges: tuple, *, directed: bool) -> Graph:
    """Return a graph whose edges weigh 1 to 8, so that all sums are exact."""
    src, dst, n = edges
    weights = np.random.default_rng(len(src)).integers(1, 9, len(src)).astype(np.int32)
    return Graph.from_edges(src, dst, weights, n=n, directed=directed)


def check_moves(pg: PartitionedGraph) -> None:
    """Compare moves with and without penalties, and inside groups, with those of a dense matrix."""
    n = pg.graph.n
    rng = np.random.default_rng(n)
    drawn, groups = rng.integers(0, n, n), rng.integers(0, 3, n)
    check_round(pg, np.arange(n), None, rounds=3)
    check_round(pg, drawn, None)
    check_round(pg, drawn, 0.7)
    check_round(pg, np.arange(n), 1.0, groups=groups)


def check_round(
    pg: PartitionedGraph,
    label: Labels,
    resolution: float | None,
    *,
    rounds: int = 1,
    groups: Labels | None = None,
) -> None:
    """Compare the labels, the moves and the modularity after some rounds of one bucket."""
    engine = Engine(pg, "test")
    engine.superstep("move")
    vertices = engine.download(engine.vertices)
    sums = LabelSums(engine, weighted=True, resolution=resolution)
    sums.begin(engine.upload([label[own].astype(np.uint32) for own in vertices]))
    within = None if groups is None else engine.upload([groups[own].astype(np.uint32) for own in vertices])
    _, moves, last = sums.move(buckets=1, salt=5, enough=0, rounds=rounds, within=within)
    matrix = pg.graph.to_scipy().toarray().astype(np.float64)
    changed = []
    for _ in range(rounds):
        after = best_labels(matrix, label, resolution, directed=pg.graph.directed, groups=groups)
        changed.append(int((after != label).sum()))
        label = after
        if not changed[-1]:
            break
    assert (moves, last) == (sum(changed), changed[-1])
    for own, found in zip(vertices, engine.download(sums.label), strict=True):
        assert np.array_equal(found[: len(own)], label[own])
    if resolution is not None:
        expected = modularity(matrix, label, resolution, directed=pg.graph.directed)
        assert sums.modularity() == pytest.approx(expected, rel=1e-12, abs=1e-12)


def best_labels(
    matrix: NDArray[np.float64],
    label: Labels,
    resolution: float | None,
    *,
    directed: bool,
    groups: Labels | None = None,
) -> Labels:
    """Return the best label for each vertex: its own, or the smallest of those with a higher score."""
    n = len(matrix)
    near = matrix - np.diag(matrix.diagonal())
    if directed:
        near = near + near.T
    if groups is not None:
        near = near * (groups[:, None] == groups)
    member = np.eye(n)[label]
    scores = near @ member
    candidate = scores > 0
    if resolution is not None:
        out, into, whole = strengths(matrix, directed=directed)
        rate = resolution / whole if whole else 0.0
        penalty = (rate * out)[:, None] * (into @ member - member * into[:, None])
        if directed:
            penalty = penalty + (rate * into)[:, None] * (out @ member - member * out[:, None])
        scores = scores - penalty
    vertex = np.arange(n)
    own = scores[vertex, label]
    scores[~candidate] = -np.inf
    scores[vertex, label] = -np.inf
    other = scores.argmax(1)
    return np.where(scores[vertex, other] > own, other, label)


def strengths(
    matrix: NDArray[np.float64], *, directed: bool
) -> tuple[NDArray[np.float64], NDArray[np.float64], float]:
    """Return the strengths of the out-edges and in-edges of each vertex, and the sum of all strengths."""
    out, into = matrix.sum(1), matrix.sum(0)
    if not directed:
        out = into = out + matrix.diagonal()
    return out, into, float(out.sum())


def modularity(matrix: NDArray[np.float64], label: Labels, resolution: float, *, directed: bool) -> float:
    """Return the modularity by its definition for each pair of vertices."""
    out, into, whole = strengths(matrix, directed=directed)
    if not whole:
        return 0.0
    weight = matrix if directed else matrix + np.diag(matrix.diagonal())
    same = label[:, None] == label
    return float((weight - resolution * np.outer(out, into) / whole)[same].sum() / whole)
