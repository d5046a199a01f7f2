"""The class `ConvertedGraph`: a NetworkX graph with its rows as graphs of Evener."""

from __future__ import annotations

import gc
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from evener.errors import ArgumentError
from evener.graph.csr import from_edges
from evener.graph.graph import Graph
from evener.graph.networkx import edges_in_node_order

if TYPE_CHECKING:
    from collections.abc import Hashable, Iterable, Iterator, Mapping

    from numpy.typing import NDArray

__all__ = ["ConvertedGraph", "LeaveToNetworkXError", "collector_paused"]

# Integers above it are not exact as float64.
_EXACT = 1 << 53


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
        return Graph(rows.offsets, rows.targets, directed=rows.directed, validate=False)

    @cached_property
    def simple(self) -> Graph:
        """The graph without weights and without repeated edges."""
        if not self.is_multigraph():
            return self.graph
        tails = np.repeat(np.arange(self.n, dtype=np.uint32), self.out_degree)
        rows = from_edges(tails, self.graph.targets, n=self.n, symmetrise=False, duplicates="drop")
        return Graph(*rows[:2], directed=self.is_directed(), validate=False)

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
        try:
            src, dst, weights, _ = edges_in_node_order(self.source, attribute, default)
            rows = from_edges(src, dst, weights, symmetrise=False, n=self.n)
        except ArgumentError as error:
            raise NotImplementedError(str(error)) from error
        if weights is not None and _beyond_float64(weights):
            msg = f"the edge attribute {attribute!r} has integers above 2^53"
            raise NotImplementedError(msg)
        return Graph(*rows[:2], weights=rows.weights, directed=self.is_directed(), validate=False)

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

    def by_node(self, values: NDArray[Any]) -> dict[Any, Any]:
        """Return the values of all vertices as Python numbers by node."""
        return dict(zip(self.nodes, values.tolist(), strict=True))

    def named(self, numbers: NDArray[Any]) -> Iterator[Any]:
        """Return the nodes of several numbers."""
        return map(self.nodes.__getitem__, numbers.tolist())

    def groups(self, labels: NDArray[Any]) -> Iterator[set[Any]]:
        """Yield the nodes of each label as a set, by the first node of each label."""
        order = np.argsort(labels, kind="stable")
        starts = np.flatnonzero(np.diff(labels[order], prepend=-1))
        by_first = np.argsort(order[starts], kind="stable")
        ends = np.append(starts[1:], len(labels))
        for group in by_first.tolist():
            yield set(self.named(order[starts[group] : ends[group]]))

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
