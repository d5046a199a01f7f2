"""The contract of `contract`: the new graph equals a product of sparse matrices, on all elements."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
import scipy.sparse as sp

import evener as ev
from evener.partition.upload import edges_on_host
from evener.primitives.contract import contract

if TYPE_CHECKING:
    from evener.partition.partitioned import PartitionedGraph

SHAPES = [(1, 0, 1), (5, 20, 2), (60, 400, 60), (300, 3000, 9), (2000, 9000, 500), (900, 30000, 1)]


def random_graph(n: int, m: int, *, directed: bool, weights: str | None) -> ev.Graph:
    rng = np.random.default_rng([n, m, directed])
    ends = rng.integers(0, n, (2, m))
    own = None if weights is None else rng.integers(1, 9, m).astype(weights)
    return ev.Graph.from_edges(*ends, own, directed=directed, n=n)


def expected(graph: ev.Graph, new: np.ndarray) -> np.ndarray:
    """Return the matrix of the new graph, given the new vertex of each vertex."""
    size = int(new.max()) + 1
    members = sp.csr_array((np.ones(graph.n), (np.arange(graph.n), new)), shape=(graph.n, size))
    matrix = graph.to_scipy().astype(float)
    loops = sp.diags_array(matrix.diagonal())
    between = (members.T @ (matrix - loops) @ members).toarray()
    if not graph.directed:
        np.fill_diagonal(between, between.diagonal() / 2)
    return between + (members.T @ loops @ members).toarray()


def rows_of(partitioned: PartitionedGraph) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Return tails, heads and weights of the stored edges of each partition of this rank."""
    found = []
    for element, own in zip(partitioned.elements, partitioned.partitions, strict=True):
        edges = own.out if own.out is not None else own.in_
        vertices, offsets = element.download(own.vertices), element.download(edges.offsets)
        tails = np.repeat(vertices[: own.owned], np.diff(offsets).astype(np.int64))
        heads = vertices[edges_on_host(edges.targets, element)]
        found.append((tails, heads, edges_on_host(edges.weights, element)))
        assert own.owned == partitioned.graph.n or len(partitioned.ranks) > 1
    return found


def check_contraction(pg: PartitionedGraph, label: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """Contract a graph, check values between the old and the new vertices, and return the new edges."""
    engine = ev.Engine(pg, "test")
    owned = [
        vertices[:count]
        for vertices, count in zip(engine.download(engine.vertices), engine.owned, strict=True)
    ]
    contraction = contract(engine, engine.upload([label[own].astype(np.uint32) for own in owned]))
    new = np.unique(label, return_inverse=True)[1]
    of_block = new[pg.block.start : pg.block.stop]
    assert np.array_equal(pg.gather(contraction.vertex.parts), of_block)
    after = contraction.partitioned
    assert after.graph.n == new.max() + 1
    values = ev.Engine(after, "test").upload([own * np.uint32(3) for own in after.owned_vertices()])
    expanded = contraction.expand(values)
    assert np.array_equal(pg.gather(expanded.parts), of_block * 3)
    collapsed = contraction.collapse(expanded)
    assert np.array_equal(
        after.gather(collapsed.parts), np.arange(after.graph.n)[after.block.start : after.block.stop] * 3
    )
    return rows_of(after)


def check_edges(graph: ev.Graph, label: np.ndarray, rows: list[tuple[np.ndarray, ...]]) -> None:
    new = np.unique(label, return_inverse=True)[1]
    size = int(new.max()) + 1
    tails, heads, weights = (np.concatenate(parts) for parts in zip(*rows, strict=True))
    assert len(np.unique(tails.astype(np.int64) * size + heads)) == len(tails)
    found = sp.coo_array((weights, (tails, heads)), shape=(size, size)).toarray()
    assert np.array_equal(found, expected(graph, new))


class ContractionContract:
    """Tests of contractions on elements of one kind."""

    kind = "cpu:1"

    @pytest.mark.parametrize("directed", [False, True])
    @pytest.mark.parametrize("weights", [None, "int32", "float32"])
    @pytest.mark.parametrize("elements", [1, 2])
    def test_the_new_graph_has_the_weights_between_labels(self, directed, weights, elements):
        for n, m, labels in SHAPES:
            graph = random_graph(n, m, directed=directed, weights=weights)
            label = np.random.default_rng(n).permutation(n)[np.random.default_rng(m).integers(0, labels, n)]
            pg = ev.partition(graph, on=[self.kind] * elements)
            check_edges(graph, label, check_contraction(pg, label))

    def test_edges_of_one_direction_are_contracted(self):
        graph = random_graph(300, 3000, directed=True, weights="float32")
        label = np.arange(300) // 7
        rows = check_contraction(ev.partition(graph, on=self.kind, directions="in"), label)
        check_edges(graph, label, [(heads, tails, weights) for tails, heads, weights in rows])
