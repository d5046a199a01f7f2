"""Heading: the sizes of a graph that the heading of a file or a generator spec states."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from evener.graph.edge_counts import edges_in_words

if TYPE_CHECKING:
    from evener.graph.graph import Graph

__all__ = ["TEXT_WEIGHT_BYTES", "Heading"]

# Bytes of a weight in a text file, at most.
TEXT_WEIGHT_BYTES = 8


class Heading(NamedTuple):
    """The sizes of a graph before its edges are read.

    Attributes
    ----------
    n, m : int
        Vertices and stored edges.
    directed : bool
    weight_bytes : int
        Bytes of a weight, at most; 0 without weights.
    exact : bool
        Whether the graph has `m` edges. If false, it may have fewer, because `read` drops repeated edges and
        self-loops.
    generated : bool
        Whether a generator makes the edges. If false, a file has them.
    """

    n: int
    m: int
    directed: bool
    weight_bytes: int
    exact: bool
    generated: bool = False

    @classmethod
    def of(cls, graph: Graph) -> Heading:
        """Return the heading of a graph whose edges are mapped into memory and not read."""
        weight = graph.weight_dtype
        return cls(graph.n, graph.m, graph.directed, 0 if weight is None else weight.itemsize, exact=True)

    @property
    def loops(self) -> int | None:
        """None: the edges are not read."""
        return None

    @property
    def summary(self) -> str:
        """The direction and the sizes in words, as in `Graph.summary`, and what was not done."""
        kind, most = "directed" if self.directed else "undirected", "" if self.exact else "at most "
        action = "generated" if self.generated else "read"
        return f"{kind}, {self.n:,} vertices, {most}{edges_in_words(self)} (not {action})"
