"""Graph: an immutable directed or undirected graph in compressed sparse rows (CSR)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.graph import csr as build
from evener.graph.checks import check_directed, read_only, rows_of, type_name
from evener.graph.lookup import numbers_of

if TYPE_CHECKING:
    from collections.abc import Iterable

    from numpy.typing import ArrayLike, NDArray

__all__ = ["Graph"]


class Graph:
    """An immutable graph: for every vertex, the sorted list of the vertices its edges lead to.

    Vertices are numbered ``0..n-1`` inside; `ids` gives the caller's own name of each. An undirected
    graph stores every edge in both directions (a self-loop once), so `m` counts it twice.

    Parameters
    ----------
    offsets : ndarray of uint64, shape (n + 1,)
        Row bounds: the out-edges of vertex ``v`` are ``targets[offsets[v]:offsets[v + 1]]``.
    targets : ndarray of uint32, shape (m,)
        The head of every edge, ascending within each row.
    weights : ndarray, shape (m,), optional
        The weight of every edge: float32, float64, or an integer type.
    directed : bool
        Whether an edge counts in one direction only. If false, the rows must be symmetric.
    ids : ndarray, shape (n,), optional
        The caller's id of each vertex, ascending: int64 or strings. Without it, ids are ``0..n-1``.
    validate : bool, default True
        Check the rows fully before accepting them: bounds, order of offsets, lengths (0.44 ns an edge) and,
        where undirected, symmetry (1.2 ns). Arrays that can be written to are copied; without it, all are
        taken as they are, and must stay so.

    Raises
    ------
    ArgumentError
        If the arrays do not form a graph; the sentence says which rule is broken, and where.

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
        offsets, targets, weights, ids = rows_of(offsets, targets, weights, ids, copied=validate)
        self.directed = check_directed(directed)
        if validate:
            build.check_csr(offsets, targets, weights=weights, ids=ids)
            if not directed:
                build.check_symmetric(offsets, targets, weights)
        self.offsets = read_only(offsets)
        self.targets = read_only(targets)
        self.weights = None if weights is None else read_only(weights)
        self._ids = None if ids is None else read_only(ids)

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():  # arrays come out of a pickle free to be written to
            vars(self)[name] = read_only(value) if isinstance(value, np.ndarray) else value

    # ---- construction ---------------------------------------------------------------------------

    @classmethod
    def from_reverse(cls, reverse: Graph) -> Graph:
        """The graph with every edge of another turned round, stored as that other one.

        It has the rows of `reverse` as its in-edges. Its out-edges are made when they are first asked for,
        and PageRank never asks: so a graph of which only one direction fits the memory can be ranked.

        Parameters
        ----------
        reverse : Graph
            Directed; an undirected graph is its own reverse.

        Returns
        -------
        Graph

        Examples
        --------
        >>> import evener as ev
        >>> g = ev.Graph.from_reverse(ev.Graph.from_edges([1, 2, 2], [0, 0, 1]))
        >>> g.has, g.in_degree().tolist(), g.targets.tolist(), g.has
        (('in',), [0, 1, 2], [1, 2, 2], ('out', 'in'))
        """
        if not isinstance(reverse, Graph):
            msg = f"reverse is a Graph, not {type_name(reverse)}"
            raise ArgumentError(msg)
        if not reverse.directed:
            return reverse
        graph = cls.__new__(cls)
        graph.directed, graph.reverse = True, reverse
        graph._ids = reverse.ids if reverse.has_own_ids else None  # noqa: SLF001 - a graph of this class
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
        """Build a graph from two arrays of edge ends.

        Parameters
        ----------
        src, dst : array_like, shape (edges,)
            Tail and head of each edge: non-negative integers, gaps allowed, or strings.
        weights : array_like, shape (edges,), optional
            The weight of each edge; NaN is refused.
        directed : bool, default True
            If false, each edge is given once and stored in both directions.
        n : int, optional
            The number of vertices. Then ids are ``0..n-1`` and vertices without edges are kept;
            without it, the vertices are those that appear.
        self_loops : {"keep", "drop"}
            What to do with edges from a vertex to itself.
        duplicates : {"keep", "drop"}
            What to do with repeated edges; "drop" keeps the lightest of them.

        Returns
        -------
        Graph

        Raises
        ------
        ArgumentError
            For a negative or too large id, arrays of unequal length, or a NaN weight.
        OutOfMemoryError
            If the build would need more memory than there is, before allocating it.
        """
        how = {"self_loops": self_loops, "duplicates": duplicates}
        directed = check_directed(directed)
        csr = build.from_edges(src, dst, weights, symmetrise=not directed, n=n, **how)
        return cls(
            csr.offsets, csr.targets, weights=csr.weights, ids=csr.ids, directed=directed, validate=False
        )

    @classmethod
    def from_scipy(cls, matrix: Any, *, directed: bool = True) -> Graph:
        """Build a graph from a SciPy sparse matrix: entry ``[u, v]`` is an edge from `u` to `v`.

        Parameters
        ----------
        matrix : scipy.sparse array or matrix, shape (n, n)
            Its stored entries are the weights, explicit zeros too; repeated entries are summed, as SciPy
            does. A matrix of booleans makes a graph without weights.
        directed : bool, default True
            If false, each edge is stored in both directions; of two entries for one edge the lighter stays.

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
            msg = f"expected a square SciPy sparse matrix, not {type(matrix).__name__} of shape {shape}"
            raise ArgumentError(msg)
        entries = matrix.tocoo(copy=True)
        entries.sum_duplicates()
        weights = None if entries.dtype == bool else entries.data
        repeats = "keep" if directed else "drop"
        return cls.from_edges(entries.row, entries.col, weights, directed, shape[0], duplicates=repeats)

    @classmethod
    def from_networkx(cls, graph: Any, *, weight: str | None = "weight") -> Graph:
        """Build a graph from a NetworkX graph, its nodes in ascending order.

        Parameters
        ----------
        graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
            Its nodes are all non-negative integers or all strings; nodes without edges are kept.
        weight : str or None, default "weight"
            The edge attribute to take as weight, 1 where an edge lacks it. None makes a graph without
            weights, as does "weight" where no edge has it.

        Returns
        -------
        Graph

        Raises
        ------
        ArgumentError
            If it is no NetworkX graph, its nodes are others, or no edge has the attribute that is named.

        Examples
        --------
        >>> import evener as ev, networkx as nx
        >>> g = ev.Graph.from_networkx(nx.path_graph(["b", "a", "c"]))
        >>> g.ids.tolist(), g.offsets.tolist(), g.targets.tolist()
        (['a', 'b', 'c'], [0, 2, 3, 4], [1, 2, 0, 0])
        """
        from evener.graph.networkx import edges_of

        src, dst, weights, ids = edges_of(graph, weight)
        directed, n = graph.is_directed(), len(graph)
        csr = build.from_edges(src, dst, weights, symmetrise=not directed, n=n)
        return cls(csr.offsets, csr.targets, weights=csr.weights, ids=ids, directed=directed, validate=False)

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
        """Build a graph from a table of edges: pyarrow, pandas, polars, DuckDB, anything Arrow.

        Parameters
        ----------
        table : pyarrow.Table, or any object with ``__arrow_c_stream__``
            One row for each edge.
        source, target : str, optional
            The columns of the ends: integers or strings without nulls. By default those that go by such
            names, as in files (src and dst, source and target, from and to, ...), or the only two.
        weight : str, optional
            The column of weights. By default, if no column is named here, one that goes by such a name.
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
        from evener.graph.edge_table import edge_columns

        ends_and_weights = edge_columns(table, source, target, weight)
        return cls.from_edges(*ends_and_weights, directed, n)

    # ---- rows -----------------------------------------------------------------------------------

    @property
    def has(self) -> tuple[str, ...]:
        """Which edges are in memory: "out", "in", or both. What is not there is made when asked for."""
        held = {"out": "offsets" in self.__dict__, "in": "reverse" in self.__dict__ or not self.directed}
        return tuple(direction for direction, there in held.items() if there)

    @cached_property
    def offsets(self) -> NDArray[np.uint64]:
        """Row bounds, shape (n + 1,)."""
        self._turn_round()
        return self.offsets

    @cached_property
    def targets(self) -> NDArray[np.uint32]:
        """The head of every edge, shape (m,)."""
        self._turn_round()
        return self.targets

    @cached_property
    def weights(self) -> NDArray[Any] | None:
        """The weight of every edge, shape (m,), or None."""
        if self.weight_dtype is None:
            return None
        self._turn_round()
        return self.weights

    @property
    def weight_dtype(self) -> np.dtype[Any] | None:
        """The type of the weights, or None; tells it without making rows."""
        weights = self._stored.weights
        return None if weights is None else weights.dtype

    def _turn_round(self) -> None:
        """Make the rows of a graph that is stored by its in-edges."""
        csr = build.transpose(self.reverse.offsets, self.reverse.targets, self.reverse.weights)
        self.offsets, self.targets = read_only(csr.offsets), read_only(csr.targets)
        self.weights = None if csr.weights is None else read_only(csr.weights)

    @property
    def _stored(self) -> Graph:
        """The graph whose rows are in memory: this one, or else its reverse."""
        return self if "out" in self.has else self.reverse

    # ---- shape ----------------------------------------------------------------------------------

    @property
    def n(self) -> int:
        """Number of vertices."""
        return len(self._stored.offsets) - 1

    @property
    def m(self) -> int:
        """Number of stored edges; an undirected edge counts twice, a self-loop once."""
        return len(self._stored.targets)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays that make up the graph, one direction of its edges counted."""
        stored = self._stored
        arrays = (stored.offsets, stored.targets, stored.weights, self._ids)
        return sum(a.nbytes for a in arrays if a is not None)

    @property
    def has_own_ids(self) -> bool:
        """Whether vertices carry ids other than ``0..n-1``."""
        return self._ids is not None

    @property
    def named_by_strings(self) -> bool:
        """Whether ids are strings, in place of which results hold positions."""
        return self._ids is not None and self._ids.dtype.kind == "U"

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The caller's id of each vertex, ascending, shape (n,)."""
        return self._ids if self._ids is not None else read_only(np.arange(self.n, dtype=np.int64))

    def out_degree(self) -> NDArray[np.uint64]:
        """Out-edges of each vertex, shape (n,)."""
        return np.diff(self.offsets) if "out" in self.has else build.in_degree(self.reverse.targets, self.n)

    def in_degree(self) -> NDArray[np.uint64]:
        """In-edges of each vertex, shape (n,); found without building the reverse."""
        if self.directed and "in" not in self.has:
            return build.in_degree(self.targets, self.n)
        return np.diff(self.reverse.offsets)

    @cached_property
    def weight_range(self) -> tuple[float, float]:
        """The lightest and the heaviest weight, both NaN if one is; (1, 1) for a graph without weights."""
        weights = self._stored.weights
        if weights is None or self.m == 0:
            return 1.0, 1.0
        return float(weights.min()), float(weights.max())

    @cached_property
    def reverse(self) -> Graph:
        """The graph with every edge turned round, built at first use; an undirected graph is its own."""
        if not self.directed:
            return self
        csr = build.transpose(self.offsets, self.targets, self.weights)
        return Graph(
            csr.offsets, csr.targets, weights=csr.weights, ids=self._ids, directed=True, validate=False
        )

    # ---- vertices -------------------------------------------------------------------------------

    def numbers_of(self, ids: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
        """The numbers ``0..n-1`` of the vertices with these ids.

        Raises
        ------
        UnknownVertexError
            Naming the first id that is not in the graph, or not of the kind that its ids are.
        """
        return numbers_of(self, ids)

    def __repr__(self) -> str:
        kind = "directed" if self.directed else "undirected"
        weighted = "" if self.weight_dtype is None else f", {self.weight_dtype} weights"
        return f"<Graph: {kind}, {self.n:,} vertices, {self.m:,} stored edges{weighted}>"
