"""The rows of a graph in one or both directions, and the ids of its vertices."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.graph import csr
from evener.graph.arrays import check_csr, check_symmetric, graph_arrays, read_only
from evener.graph.checks import check_bool

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import NDArray

__all__ = ["Adjacency"]


class Adjacency:
    """The arrays of a `Graph`, which has the same parameters."""

    def __init__(
        self,
        offsets: NDArray[np.uint64],
        targets: NDArray[np.uint32],
        *,
        directed: bool,
        weights: NDArray[Any] | None = None,
        ids: NDArray[Any] | None = None,
        validate: bool = True,
    ) -> None:
        offsets, targets, weights, ids = graph_arrays(offsets, targets, weights, ids, copied=validate)
        self.directed = check_bool(directed, "directed")
        if validate:
            check_csr(offsets, targets, weights=weights, ids=ids)
            if not directed:
                check_symmetric(offsets, targets, weights)
        self.offsets = read_only(offsets)
        self.targets = read_only(targets)
        self.weights = None if weights is None else read_only(weights)
        self._ids = None if ids is None else read_only(ids)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():  # unpickled arrays are writable
            vars(self)[name] = read_only(value) if isinstance(value, np.ndarray) else value

    @property
    def stored_directions(self) -> tuple[str, ...]:
        """The edges in memory: "out", "in", or both. The first access builds a missing direction."""
        stored = {"out": "offsets" in self.__dict__, "in": "reverse" in self.__dict__ or not self.directed}
        return tuple(direction for direction, present in stored.items() if present)

    @cached_property
    def offsets(self) -> NDArray[np.uint64]:
        """Row bounds, shape (n + 1,)."""
        self._build_out_edges()
        return self.offsets

    @cached_property
    def targets(self) -> NDArray[np.uint32]:
        """The head of each edge, shape (m,)."""
        self._build_out_edges()
        return self.targets

    @cached_property
    def weights(self) -> NDArray[Any] | None:
        """The weight of each edge, shape (m,), or None."""
        if self.weight_dtype is None:
            return None
        self._build_out_edges()
        return self.weights

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """The dtype of the weights, or None; does not build rows."""
        weights = self._primary.weights
        return None if weights is None else weights.dtype

    def _build_out_edges(self) -> None:
        """Build the out-edges of a graph that stores its in-edges."""
        rows = csr.transpose(self.reverse.offsets, self.reverse.targets, self.reverse.weights)
        self.offsets, self.targets = read_only(rows.offsets), read_only(rows.targets)
        self.weights = None if rows.weights is None else read_only(rows.weights)

    @property
    def _primary(self) -> Self:
        """The graph whose rows are in memory: this graph or its reverse."""
        return self if "out" in self.stored_directions else self.reverse

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self._primary.offsets) - 1

    @property
    def m(self) -> int:
        """Number of stored edges. An undirected edge counts twice, a self-loop once."""
        return len(self._primary.targets)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of the graph, with one direction of the edges."""
        stored = self._primary
        arrays = (stored.offsets, stored.targets, stored.weights, self._ids)
        return sum(a.nbytes for a in arrays if a is not None)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The caller's id of each vertex, shape (n,); integers and strings are ascending."""
        return self._ids if self._ids is not None else read_only(np.arange(self.n, dtype=np.int64))

    def out_degree(self) -> NDArray[np.uint64]:
        """Return the number of out-edges of each vertex, uint64, shape (n,)."""
        if "out" in self.stored_directions:
            return np.diff(self.offsets)
        return csr.in_degree(self.reverse.targets, self.n)

    def in_degree(self) -> NDArray[np.uint64]:
        """Return the number of in-edges of each vertex, uint64, shape (n,), without building the reverse."""
        if self.directed and "in" not in self.stored_directions:
            return csr.in_degree(self.targets, self.n)
        return np.diff(self.reverse.offsets)

    @cached_property
    def weight_range(self) -> tuple[float, float]:
        """The smallest and largest weight, NaN if a weight is NaN; (1, 1) without weights or edges."""
        weights = self._primary.weights
        if weights is None or self.m == 0:
            return 1.0, 1.0
        return float(weights.min()), float(weights.max())

    @cached_property
    def reverse(self) -> Self:
        """The graph with every edge reversed, built at first access; for undirected graphs, this graph."""
        if not self.directed:
            return self
        rows = csr.transpose(self.offsets, self.targets, self.weights)
        return type(self)(*rows[:2], weights=rows.weights, ids=self._ids, directed=True, validate=False)

    @property
    def summary(self) -> str:
        """The direction, the numbers of vertices and stored edges, and the type of the weights, in words.

        >>> import evener as ev
        >>> ev.Graph.from_edges([0, 0, 1], [1, 2, 2]).summary
        'directed, 3 vertices, 3 stored edges'
        """
        kind = "directed" if self.directed else "undirected"
        weighted = "" if self.weight_dtype is None else f", {self.weight_dtype} weights"
        return f"{kind}, {self.n:,} vertices, {self.m:,} stored edges{weighted}"

    def __repr__(self) -> str:
        return f"<Graph: {self.summary}>"
