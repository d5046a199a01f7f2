"""The class `ConvertedGraph`: a NetworkX graph with its rows as graphs of Evener."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

from _evener_networkx.lazy import ev, np

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

    from evener.graph.csr import CSR
    from evener.graph.graph import Graph

__all__ = ["ConvertedGraph", "LeaveToNetworkXError", "collector_paused", "stable_order"]

# Integers above it are not exact as float64.
_EXACT = 1 << 53
# Largest integer that NumPy sorts by digits, six times as fast as larger ones.
_RADIX = 65535


class LeaveToNetworkXError(Exception):
    """NetworkX must do this call: it raises an error, or it is faster."""


@contextmanager
def collector_paused() -> Iterator[None]:
    """Pause the garbage collector, which would visit a large graph again and again for new lists."""
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


def _beyond_float64(weights: NDArray[Any]) -> bool:
    """Return whether integers are too large for float64."""
    return weights.dtype.kind == "i" and bool(((weights > _EXACT) | (weights < -_EXACT)).any())


def _rows_of(src: NDArray[np.uint32], dst: NDArray[np.uint32], weights: NDArray[Any] | None, n: int) -> CSR:
    """Return the CSR arrays of stored edges; `dst` is overwritten."""
    from evener.graph.csr import CSR, from_edges
    from evener.primitives.neighbour_rows_cpu import sort_rows

    if weights is not None or not (src[1:] >= src[:-1]).all():
        return from_edges(src, dst, weights, symmetrise=False, n=n)
    # The edges have the order of the nodes, so each row is sorted where it is.
    offsets = np.append(0, np.cumsum(np.bincount(src, minlength=n))).astype(np.uint64)
    sort_rows(offsets, dst)
    return CSR(offsets, dst, None, None)


def stable_order(values: NDArray[Any]) -> NDArray[np.intp]:
    """Return the positions of values in ascending order; integers are at least 0."""
    if values.dtype.kind in "iu" and values.max(initial=0) <= _RADIX:
        values = values.astype(np.uint16)
    return np.argsort(values, kind="stable")


class ConvertedGraph:
    """A NetworkX graph with its rows as graphs of Evener; vertices are numbered in the order of the nodes.

    Rows of another edge attribute are read when a function asks for it.

    Parameters
    ----------
    source : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    attributes : mapping of str to number
        The edge attributes to read now, and the value of an edge without the attribute.
    """

    __networkx_backend__: ClassVar[str] = "evener"

    def __init__(self, source: Any, attributes: Mapping[Hashable, Any]) -> None:
        self.source = source
        self.nodes: list[Any] = list(source)
        self.n = len(self.nodes)
        self._weighted: dict[tuple[Hashable, Any], Graph] = {}
        for attribute, default in attributes.items():
            self.weighted(attribute, default)
        if not self._weighted:
            self.graph = self._read(None, 1)

    def is_directed(self) -> bool:
        """Return whether edges have one direction."""
        return bool(self.source.is_directed())

    def is_multigraph(self) -> bool:
        """Return whether edges may repeat."""
        return bool(self.source.is_multigraph())

    def __len__(self) -> int:
        return self.n

    def number_of_edges(self) -> int:
        """Return NetworkX's number of edges."""
        return self.edges

    @cached_property
    def graph(self) -> Graph:
        """The graph without weights; repeated edges are kept."""
        rows = next(iter(self._weighted.values()))
        if rows.weights is None:
            return rows
        return ev.Graph(rows.offsets, rows.targets, directed=rows.directed, validate=False)

    @cached_property
    def simple(self) -> Graph:
        """The graph without weights and without repeated edges."""
        if not self.is_multigraph():
            return self.graph
        from evener.graph.csr import from_edges

        tails = np.repeat(np.arange(self.n, dtype=np.uint32), self.out_degree)
        rows = from_edges(tails, self.graph.targets, n=self.n, symmetrise=False, duplicates="drop")
        return ev.Graph(*rows[:2], directed=self.is_directed(), validate=False)

    def weighted(self, attribute: Hashable | None, default: Any = 1) -> Graph:
        """Return the graph with an edge attribute as weights; without weights if no edge has the attribute.

        Raises
        ------
        NotImplementedError
            If a weight is not a number that float64 holds exactly.
        """
        if attribute is None:
            return self.graph
        key = attribute, default
        if key not in self._weighted:
            self._weighted[key] = self._read(attribute, default)
        return self._weighted[key]

    def _read(self, attribute: Hashable | None, default: Any) -> Graph:
        from evener.graph.networkx import edges_in_node_order

        try:
            src, dst, weights, _ = edges_in_node_order(self.source, attribute, default)
            rows = _rows_of(src, dst, weights, self.n)
        except ev.ArgumentError as error:
            raise NotImplementedError(str(error)) from error
        if weights is not None and _beyond_float64(weights):
            msg = f"the edge attribute {attribute!r} has integers above 2^53"
            raise NotImplementedError(msg)
        return ev.Graph(*rows[:2], weights=rows.weights, directed=self.is_directed(), validate=False)

    # ---- nodes and numbers --------------------------------------------------------------------------

    @cached_property
    def _numbers(self) -> Mapping[Any, int]:
        return {node: number for number, node in enumerate(self.nodes)}

    def number(self, node: Any) -> int:
        """Return the number of a node; raise `LeaveToNetworkXError` if it is not in the graph."""
        try:
            return self._numbers[node]
        except (KeyError, TypeError):
            raise LeaveToNetworkXError from None

    def numbers(self, nodes: Iterable[Any]) -> list[int]:
        """Return the numbers of several nodes; raise `LeaveToNetworkXError` if one is not in the graph."""
        return [self.number(node) for node in nodes]

    @cached_property
    def _array(self) -> NDArray[Any]:
        """The nodes as an array of objects."""
        return np.fromiter(self.nodes, dtype=object, count=self.n)

    @cached_property
    def _keys(self) -> dict[Any, None]:
        """A dictionary of all nodes; its copies have their size from the start."""
        return dict.fromkeys(self.nodes)

    @cached_property
    def _set(self) -> set[Any]:
        """The nodes as a set."""
        return set(self.nodes)

    def by_node(self, values: NDArray[Any]) -> dict[Any, Any]:
        """Return the values of all vertices as Python numbers by node."""
        result: dict[Any, Any] = self._keys.copy()
        result.update(zip(self.nodes, values.tolist(), strict=True))
        return result

    def named(self, numbers: NDArray[Any]) -> list[Any]:
        """Return the nodes of several numbers."""
        nodes: list[Any] = self._array[numbers].tolist()
        return nodes

    def groups(self, labels: NDArray[np.int64]) -> Iterator[set[Any]]:
        """Yield the nodes of each group as a set, given the first vertex of the group of each vertex."""
        return self.sets(self.ranks(labels))

    def ranks(self, labels: NDArray[np.int64]) -> NDArray[np.uint32]:
        """Return the number of the group of each vertex, in the order of first vertices."""
        ranks: NDArray[np.uint32] = np.cumsum(labels == np.arange(self.n), dtype=np.uint32)[
            labels
        ] - np.uint32(1)
        return ranks

    def sets(self, ranks: NDArray[Any]) -> Iterator[set[Any]]:
        """Yield the nodes of each rank as a set, by ascending rank; the ranks are ``0..k-1``."""
        sizes = np.bincount(ranks)
        most = int(sizes.argmax())
        giant = most if 2 * sizes[most] > self.n else -1
        others = np.flatnonzero(ranks != giant)
        names = self.named(others[stable_order(ranks[others])])
        start = 0
        for rank, size in enumerate(sizes.tolist()):
            if rank == giant:
                yield self._set.difference(names)  # a copy hashes no node again
            else:
                yield set(names[start : start + size])
                start += size

    # ---- edges --------------------------------------------------------------------------------------

    @cached_property
    def out_degree(self) -> NDArray[np.int64]:
        """The stored edges of each row; a self-loop of an undirected graph counts once."""
        degree: NDArray[np.int64] = np.diff(self.graph.offsets).astype(np.int64)
        return degree

    @cached_property
    def in_degree(self) -> NDArray[np.int64]:
        """The edges to each vertex."""
        return np.bincount(self.graph.targets, minlength=self.n)

    @cached_property
    def degree(self) -> NDArray[np.int64]:
        """NetworkX's degree: the edges at each vertex, where a self-loop counts twice."""
        return self.out_degree + (self.in_degree if self.is_directed() else self.loops)

    @cached_property
    def loops(self) -> NDArray[np.int64]:
        """The self-loops of each vertex."""
        tails = np.repeat(np.arange(self.n, dtype=np.uint32), self.out_degree)
        return np.bincount(tails[tails == self.graph.targets], minlength=self.n)

    @property
    def edges(self) -> int:
        """NetworkX's number of edges; an undirected edge counts once."""
        stored = self.graph.m
        return stored if self.is_directed() else (stored + int(self.loops.sum())) // 2
