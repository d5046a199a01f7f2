"""The class `Graph`: an immutable directed or undirected graph in compressed sparse rows (CSR)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph import csr
from evener.graph.arrays import check_csr, check_symmetric, graph_arrays, read_only
from evener.graph.checks import check_bool, type_name
from evener.graph.checksums import GraphChecksums
from evener.graph.lookup import GraphIds
from evener.graph.views import GraphViews

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Graph"]


class Graph(GraphViews, GraphIds, GraphChecksums):
    """An immutable graph in compressed sparse rows, with ascending targets in each row.

    Vertices have the numbers ``0..n-1``, and `ids` holds the caller's id of each vertex. An undirected graph
    stores every edge in both directions and a self-loop once, so `m` counts an undirected edge twice.

    Parameters
    ----------
    offsets : ndarray of uint64, shape (n + 1,)
        Row bounds: the out-edges of vertex ``v`` are ``targets[offsets[v]:offsets[v + 1]]``.
    targets : ndarray of uint32, shape (m,)
        The head of each edge, ascending within each row.
    weights : ndarray, shape (m,), optional
        The weight of each edge: float32, float64, or an integer type.
    directed : bool
        True if an edge has one direction. If false, the rows must be symmetric.
    ids : ndarray, shape (n,), optional
        The caller's id of each vertex, ascending: int64, strings or Python strings. Default: ``0..n-1``.
    validate : bool, default True
        Check all rules of the rows, including symmetry for undirected graphs, and copy writable arrays. If
        false, the graph uses the arrays unchecked and uncopied, and the caller must not modify them.

    Raises
    ------
    ArgumentError
        If the arrays do not form a graph. The message names the broken rule and its position.

    Examples
    --------
    >>> import evener as ev
    >>> g = ev.Graph.from_edges([0, 0, 1], [1, 2, 2])
    >>> g.n, g.m, g.targets.tolist()
    (3, 3, [1, 2, 2])
    """

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

    @classmethod
    def from_in_edges(cls, reverse: Graph) -> Graph:
        """Return the reverse of a graph, with the rows of that graph as in-edges.

        The first access to the out-edges builds them. PageRank reads in-edges only, so only one direction
        needs to fit the memory.

        Parameters
        ----------
        reverse : Graph
            A directed graph. An undirected graph is returned as it is.

        Returns
        -------
        Graph

        Examples
        --------
        >>> import evener as ev
        >>> g = ev.Graph.from_in_edges(ev.Graph.from_edges([1, 2, 2], [0, 0, 1]))
        >>> g.stored_directions, g.targets.tolist(), g.stored_directions
        (('in',), [1, 2, 2], ('out', 'in'))
        """
        if not isinstance(reverse, Graph):
            msg = f"reverse: expected a Graph, found {type_name(reverse)}"
            raise ArgumentError(msg)
        if not reverse.directed:
            return reverse
        graph = cls.__new__(cls)
        graph.directed, graph.reverse = True, reverse
        graph._ids = reverse.ids if reverse.has_custom_ids else None  # noqa: SLF001 - a graph of this class
        return graph

    @classmethod
    def from_edges(
        cls,
        src: ArrayLike,
        dst: ArrayLike,
        weights: ArrayLike | None = None,
        directed: bool = True,  # noqa: FBT001, FBT002 - the published signature
        n: int | None = None,
        *,
        self_loops: str = "keep",
        duplicates: str = "keep",
    ) -> Graph:
        """Return the graph of edges given by two arrays.

        Parameters
        ----------
        src, dst : array_like, shape (edges,)
            Tail and head of each edge: non-negative integers, with or without gaps, or strings.
        weights : array_like, shape (edges,), optional
            The weight of each edge, without NaN.
        directed : bool, default True
            If false, give each edge once; the graph stores it in both directions.
        n : int, optional
            The number of vertices; ids are then ``0..n-1``, and vertices without edges stay. By default,
            the vertices are the ids in `src` and `dst`.
        self_loops : {"keep", "drop"}, default "keep"
            Keep or drop edges from a vertex to itself.
        duplicates : {"keep", "drop"}, default "keep"
            Keep or drop repeated edges; "drop" keeps the lightest of them.

        Returns
        -------
        Graph

        Raises
        ------
        ArgumentError
            For an id that is negative or too large, arrays of unequal length, or a NaN weight.
        OutOfMemoryError
            If the build needs more memory than is available, before it allocates.
        """
        how = {"self_loops": self_loops, "duplicates": duplicates}
        directed = check_bool(directed, "directed")
        rows = csr.from_edges(src, dst, weights, symmetrise=not directed, n=n, **how)
        return cls(*rows[:2], weights=rows.weights, ids=rows.ids, directed=directed, validate=False)

    @classmethod
    def from_scipy(cls, matrix: Any, *, directed: bool = True) -> Graph:
        """Return the graph of a SciPy sparse matrix: entry ``[u, v]`` is an edge from `u` to `v`.

        Parameters
        ----------
        matrix : scipy.sparse array or matrix, shape (n, n)
            The stored entries are the weights, explicit zeros included. Repeated entries are summed, as in
            SciPy. A matrix of booleans gives a graph without weights.
        directed : bool, default True
            If false, the graph stores each edge in both directions, with the lighter of two entries.

        Returns
        -------
        Graph

        Examples
        --------
        >>> import evener as ev, scipy.sparse as sp
        >>> g = ev.Graph.from_scipy(sp.csr_array([[0.0, 2.0], [0.0, 0.0]]))
        >>> g.n, g.targets.tolist(), g.weights.tolist()
        (2, [1], [2.0])
        """
        shape: tuple[int, ...] = getattr(matrix, "shape", ())
        if not hasattr(matrix, "tocoo") or len(shape) != 2 or shape[0] != shape[1]:
            found = f"{type(matrix).__name__} of shape {shape}"
            msg = f"matrix: expected a square SciPy sparse matrix, found {found}"
            raise ArgumentError(msg)
        entries = matrix.tocoo(copy=True)
        entries.sum_duplicates()
        weights = None if entries.dtype == bool else entries.data
        fold = "keep" if directed else "drop"
        return cls.from_edges(entries.row, entries.col, weights, directed, shape[0], duplicates=fold)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = "weight") -> Graph:
        """Return the graph of a NetworkX graph.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            A graph with any nodes. Vertices are in ascending order if all nodes are non-negative integers or
            all are strings, else in the order of the graph. Nodes without edges stay.
        weight : str or None, default "weight"
            The edge attribute that holds the weight; an edge without it has weight 1. The graph has no
            weights with None, or with "weight" if no edge has the attribute.

        Returns
        -------
        Graph

        Raises
        ------
        ArgumentError
            If the object is not a NetworkX graph, or no edge has the attribute.

        Examples
        --------
        >>> import evener as ev, networkx as nx
        >>> g = ev.Graph.from_networkx(nx.path_graph(["b", "a", "c"]))
        >>> g.ids.tolist(), g.offsets.tolist(), g.targets.tolist()
        (['a', 'b', 'c'], [0, 2, 3, 4], [1, 2, 0, 0])
        >>> ev.Graph.from_networkx(nx.grid_2d_graph(2, 2)).neighbors((0, 0)).tolist()
        [(0, 1), (1, 0)]
        """
        from evener.graph.networkx import edges_from_networkx

        src, dst, weights, ids = edges_from_networkx(graph, weight)
        directed, n = graph.is_directed(), len(graph)
        rows = csr.from_edges(src, dst, weights, symmetrise=not directed, n=n)
        return cls(*rows[:2], weights=rows.weights, ids=ids, directed=directed, validate=False)

    @classmethod
    def from_arrow(
        cls,
        table: Any,
        *,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        directed: bool = True,
        n: int | None = None,
    ) -> Graph:
        """Return the graph of a table of edges from pyarrow, pandas, polars, DuckDB or another Arrow library.

        Parameters
        ----------
        table : pyarrow.Table, or any object with ``__arrow_c_stream__``
            A table with one row per edge.
        source, target : str, optional
            The columns of tails and heads: integers or strings without nulls. The default is a pair with
            usual names, such as src and dst or from and to, or the only two columns.
        weight : str, optional
            The column of weights. If no column is given, the default is a column with a usual name.
        directed, n
            As for `from_edges`.

        Returns
        -------
        Graph

        Examples
        --------
        >>> import evener as ev, pyarrow as pa
        >>> edges = pa.table({"from": [7, 7, 9], "to": [9, 12, 12]})
        >>> ev.Graph.from_arrow(edges).ids.tolist()
        [7, 9, 12]
        """
        from evener.graph.arrow import edge_columns

        return cls.from_edges(*edge_columns(table, source, target, weight), directed, n)

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
    def _primary(self) -> Graph:
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
    def reverse(self) -> Graph:
        """The graph with every edge reversed, built at first access; for undirected graphs, this graph."""
        if not self.directed:
            return self
        rows = csr.transpose(self.offsets, self.targets, self.weights)
        return Graph(*rows[:2], weights=rows.weights, ids=self._ids, directed=True, validate=False)

    @property
    def summary(self) -> str:
        """The direction, the numbers of vertices and stored edges, and the type of the weights, in words.

        >>> Graph.from_edges([0, 0, 1], [1, 2, 2]).summary
        'directed, 3 vertices, 3 stored edges'
        """
        kind = "directed" if self.directed else "undirected"
        weighted = "" if self.weight_dtype is None else f", {self.weight_dtype} weights"
        return f"{kind}, {self.n:,} vertices, {self.m:,} stored edges{weighted}"

    def __repr__(self) -> str:
        return f"<Graph: {self.summary}>"
