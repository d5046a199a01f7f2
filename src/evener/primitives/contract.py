"""Contraction: one vertex for each label, with the weights of all edges between two labels added.

Idea: the vertices of each label are grouped, and their rows are merged into one row through a small table. If
one element has the graph, it does all of this in its own memory. Otherwise each element merges the rows of
its own vertices. The merged rows then move between ranks, and are placed as the edges of any other graph.

Encoding: new vertices have numbers by ascending label. Weights are float64, so sums of integers are exact
below 2^53. Edges between vertices of one label become a self-loop. In an undirected graph, the loop weighs as
much as the inside, with each edge counted once. A loop counts twice in the degree of its vertex, as in
NetworkX. The degrees of labels, the sum of all weights, and modularity are therefore those of the graph
before.

Blondel, Guillaume, Lambiotte, Lefebvre: Fast unfolding of communities in large networks (2008); Sahu:
GVE-Leiden (2023).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.engine.array import PartitionedArray
from evener.kernels.kernel import KernelFile
from evener.partition.block_exchange import BlockExchange, block_bounds
from evener.primitives.merged_graph import place_merged
from evener.primitives.merged_rows import Merger, graph_on_element

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.engine.engine import Engine
    from evener.partition.partitioned import PartitionedGraph

__all__ = ["Contraction", "contract", "number_labels", "with_mirrors"]

kernels = KernelFile(__package__, "contract")


class Contraction:
    """A graph with one vertex for each label, and the new vertex of each old vertex.

    `expand` and `collapse` are collective operations; all ranks must call them.

    Attributes
    ----------
    partitioned : PartitionedGraph
        The new graph on the same elements. Its vertices have the numbers 0..K-1, by ascending label. The
        targets of a row are distinct. If one element has the graph, they are in no order.
    vertex : PartitionedArray
        The number of the new vertex of each old owned vertex and mirror, uint32.
    """

    def __init__(
        self,
        engine: Engine,
        partitioned: PartitionedGraph,
        vertex: PartitionedArray,
        local: PartitionedArray | None,
    ) -> None:
        self.partitioned, self.vertex = partitioned, vertex
        self._engine = engine
        # The local number of each new vertex, if one element has the graph.
        self._local = local
        self._exchanges: tuple[BlockExchange, BlockExchange] | None = None

    def expand(self, values: PartitionedArray) -> PartitionedArray:
        """Return the value of the new vertex of each old vertex, for the owned old vertices.

        `values` has a value for each owned vertex of the new graph.
        """
        engine, new = self._engine, self.partitioned
        if self._local is not None:
            expanded = engine.owned_array(values.dtype)
            engine.compute(kernels.expand, self.vertex, self._local, values, expanded)
            return expanded
        of_block, of_old = self._between()
        parts = [
            element.download(part)[: own.owned]
            for element, part, own in zip(new.elements, values, new.partitions, strict=True)
        ]
        return engine.upload(self._cut(of_old.fetch(of_block.deliver(np.concatenate(parts))), engine.owned))

    def collapse(self, values: PartitionedArray) -> PartitionedArray:
        """Return a value for each owned vertex of the new graph: that of the old vertices with its label.

        `values` has a value for each owned old vertex. Old vertices with the same label have equal values.
        """
        engine, new = self._engine, self.partitioned
        counts = [own.owned for own in new.partitions]
        if self._local is not None:
            collapsed = PartitionedArray([engine.elements[0].allocate(counts[0], values.dtype)])
            engine.compute(kernels.collapse, self.vertex, self._local, values, collapsed)
            return collapsed
        of_block, of_old = self._between()
        first, end = block_bounds(new.graph.n, new.world.size)[new.world.rank :][:2]
        block = np.zeros(int(end - first), values.dtype)
        owned = [part[:count] for part, count in zip(engine.download(values), engine.owned, strict=True)]
        of_old.combine(np.concatenate(owned), block, np.maximum)
        parts = self._cut(of_block.fetch(block), counts)
        return PartitionedArray([e.upload(own) for e, own in zip(new.elements, parts, strict=True)])

    def _between(self) -> tuple[BlockExchange, BlockExchange]:
        """Return the exchanges of blocks of new vertices with their owners and with their old vertices."""
        if self._exchanges is None:
            new, engine = self.partitioned, self._engine
            bounds = block_bounds(new.graph.n, new.world.size)
            old = [
                part[:count] for part, count in zip(engine.download(self.vertex), engine.owned, strict=True)
            ]
            self._exchanges = (
                BlockExchange(new.world, bounds, np.concatenate(new.owned_vertices())),
                BlockExchange(new.world, bounds, np.concatenate(old)),
            )
        return self._exchanges

    @staticmethod
    def _cut(values: NDArray[Any], counts: Any) -> list[NDArray[Any]]:
        return np.split(values, np.cumsum(list(counts))[:-1])


def contract(engine: Engine, label: PartitionedArray) -> Contraction:
    """Return the graph with one vertex for each label, on the elements of the engine.

    This is a collective operation; all ranks must call it.

    Parameters
    ----------
    engine : Engine
    label : PartitionedArray
        A vertex number of the graph for each owned vertex, uint32.

    Returns
    -------
    Contraction
    """
    vertex, size = number_labels(engine, label, engine.partitioned.graph.n)
    return (_contract_single if engine.single else _contract_parts)(engine, vertex, size)


def number_labels(engine: Engine, label: PartitionedArray, bound: int) -> tuple[PartitionedArray, int]:
    """Return the position of the label of each vertex and mirror among all labels, and the number of labels.

    This is a collective operation; all ranks must call it. `label` has a number below `bound` for each owned
    vertex, uint32.
    """
    numbers = engine.array("uint32")
    if engine.single:
        element = engine.elements[0]
        used, number = element.allocate(bound, "uint32", 0), element.allocate(bound + 1, "uint64")
        engine.compute(kernels.mark_labels, label, used)
        engine.compute("scan.offsets_of", used, number)
        engine.compute(kernels.new_vertices, label, number, numbers)
        return numbers, int(element.download(number[-1:])[0])
    parts = [part[:count] for part, count in zip(engine.download(label), engine.owned, strict=True)]
    of_all = engine.gather([np.unique(part) for part in parts])
    distinct = np.unique(np.concatenate([np.empty(0, np.uint32), *of_all]))
    engine.write(numbers, [np.searchsorted(distinct, part).astype(np.uint32) for part in parts])
    engine.pull(numbers)
    return numbers, len(distinct)


def with_mirrors(engine: Engine, values: PartitionedArray) -> PartitionedArray:
    """Return values of owned vertices with those of mirrors.

    This is a collective operation; all ranks must call it. `values` may be longer than the owned vertices.
    """
    both = engine.array(values.dtype)
    for element, part, own, count in zip(engine.elements, both, values, engine.owned, strict=True):
        element.run(part.__setitem__, slice(count), own[:count])
    engine.pull(both)
    return both


def _contract_single(engine: Engine, vertex: PartitionedArray, size: int) -> Contraction:
    """Return the contraction on the only element, in its own memory."""
    graph, element, partition = engine.partitioned.graph, engine.elements[0], engine.partitions[0]
    merged = Merger(element, graph.directed, vertex[0], partition.owned, size)
    rows = {}
    if partition.out is not None:
        rows["out"] = merged.rows(partition.out)
    if partition.in_ is not None and graph.directed:
        rows["in"] = merged.rows(partition.in_)
    new, local = graph_on_element(element, engine.partitioned, rows, size)
    return Contraction(engine, new, vertex, PartitionedArray([local]))


def _contract_parts(engine: Engine, vertex: PartitionedArray, size: int) -> Contraction:
    """Return the contraction of a graph on several elements."""
    old = engine.partitioned
    first = "in" if old.graph.directed and old.directions == "in" else "out"
    rows = []
    for element, partition, part in zip(engine.elements, engine.partitions, vertex, strict=True):
        merger = Merger(element, old.graph.directed, part, partition.owned, size)
        edges: Any = partition.in_ if first == "in" else partition.out
        rows.append(merger.closed_rows(edges))
    return Contraction(engine, place_merged(old, rows, size, first), vertex, None)
