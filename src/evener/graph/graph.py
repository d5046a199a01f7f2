"""The class `Graph`: an immutable directed or undirected graph in compressed sparse rows (CSR)."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

from evener.errors import ArgumentError, DeviceOutOfMemory
from evener.graph import csr
from evener.graph.checks import check_bool, type_name
from evener.graph.gpu_arrays import host_array, on_one_gpu
from evener.graph.gpu_edges import edges_on_gpu, edges_on_host
from evener.graph.views import GraphViews

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

__all__ = ["Graph"]


class Graph(GraphViews):
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
            Tail and head of each edge: non-negative integers, with or without gaps, or strings. Arrays of
            other libraries have ``__dlpack__`` or ``__cuda_array_interface__``.
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

        Notes
        -----
        If a GPU holds the arrays, the graph keeps a copy of the edges there, and runs are on this GPU by
        default. No edge passes through the host if the GPU has memory to sort the edges, and there are less
        than 2^32 of them. The first use of the rows on the host, such as `offsets`, copies the edges to the
        host and builds the rows. The host builds the graph at once if the
        GPU lacks memory, or the largest id exceeds both 8 million and 16 times the number of edges.

        Raises
        ------
        ArgumentError
            For an id that is negative or too large, arrays of unequal length, or a NaN weight. For arrays on
            a GPU and in host memory together, or on a GPU with ids that are not integers or are missing.
        OutOfMemoryError
            If the build needs more memory than is available, before it allocates.
        DeviceError
            If the arrays are on a GPU and no GPU is usable, for example because CuPy is not installed.
        """
        how = {"self_loops": self_loops, "duplicates": duplicates}
        directed = check_bool(directed, "directed")
        if on_gpu := on_one_gpu({"src": src, "dst": dst, "weights": weights}):
            with suppress(DeviceOutOfMemory):
                edges = edges_on_gpu(on_gpu, both=not directed, n=n, **how)
                if edges is not None:
                    return cls.from_gpu_edges(edges, directed=directed)
            src, dst, weights = edges_on_host(on_gpu)
        src, dst = host_array("src", src), host_array("dst", dst)
        weights = host_array("weights", weights)
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
        rows = csr.from_edges(src, dst, weights, symmetrise=False, n=len(graph))
        directed = graph.is_directed()
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
        table : pyarrow.Table, or any object with ``__arrow_c_stream__`` or ``__arrow_c_device_array__``
            A table with one row per edge, in host memory. Also a data frame on a GPU, such as cuDF's, whose
            columns have ``__cuda_array_interface__``; see `from_edges`.
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

    @classmethod
    def from_pandas(
        cls,
        frame: Any,
        *,
        source: str | None = None,
        target: str | None = None,
        weight: str | None = None,
        directed: bool = True,
        n: int | None = None,
    ) -> Graph:
        """Return the graph of a DataFrame with one row per edge; the index is ignored.

        Parameters
        ----------
        frame : pandas.DataFrame or cudf.DataFrame
        source, target, weight, directed, n
            As for `from_arrow`.

        Examples
        --------
        >>> import evener as ev, pandas as pd
        >>> edges = pd.DataFrame({"from": ["ann", "ann"], "to": ["bob", "eve"]})
        >>> ev.Graph.from_pandas(edges).neighbors("ann").tolist()
        ['bob', 'eve']
        """
        if not hasattr(frame, "iloc") or not hasattr(frame, "columns"):
            msg = f"frame: expected a pandas DataFrame, found {type_name(frame)}"
            raise ArgumentError(msg)
        return cls.from_arrow(frame, source=source, target=target, weight=weight, directed=directed, n=n)
