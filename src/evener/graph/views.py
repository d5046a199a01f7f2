"""Views of a graph: the neighbours and edges of its vertices by id, and the graph in other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph import csr
from evener.graph.adjacency import Adjacency
from evener.graph.edge_counts import edges_in_words
from evener.system.html import escape

if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Literal, Self

    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

__all__ = ["EdgeList", "GraphViews", "html_table", "id_column"]


class EdgeList(NamedTuple):
    """The edges of a graph as arrays.

    Attributes
    ----------
    source, target : ndarray, shape (edges,)
        Ids of the tail and the head of each edge.
    weight : ndarray, shape (edges,), or None
    """

    source: NDArray[Any]
    target: NDArray[Any]
    weight: NDArray[Any] | None


class GraphViews(Adjacency):
    """The methods of a `Graph` that show its edges by id. They read the out-edges."""

    def __len__(self) -> int:
        """Return the number of vertices."""
        return self.n

    def __contains__(self, vertex: object) -> bool:
        """Return whether the graph has a vertex with an id.

        Examples
        --------
        >>> import evener as ev
        >>> g = ev.Graph.from_edges([3, 3, 5], [9, 5, 9])
        >>> len(g), 5 in g, 4 in g
        (3, True, False)
        """
        try:
            self.numbers_of([vertex])
        except UnknownVertexError:
            return False
        return True

    def neighbors(self, vertex: Any) -> NDArray[Any]:
        """Return the ids of the heads of a vertex's out-edges, in the order of `ids`.

        Repeated edges give repeated ids.

        Examples
        --------
        >>> import evener as ev
        >>> ev.Graph.from_edges([3, 3, 5], [9, 5, 9]).neighbors(3).tolist()
        [5, 9]
        """
        (number,) = self.numbers_of([vertex])
        return self.ids_of(_row(self, number))

    def degree(self, vertex: Any) -> int:
        """Return the number of edges at a vertex: in-edges and out-edges. A self-loop counts twice.

        For all vertices at once, see `out_degree` and `in_degree`.

        Examples
        --------
        >>> import evener as ev
        >>> ev.Graph.from_edges([3, 3, 5], [9, 5, 9]).degree(5)
        2
        """
        (number,) = self.numbers_of([vertex])
        row = _row(self, number)
        if not self.directed:
            return len(row) + int(np.count_nonzero(row == number))
        if "in" in self.stored_directions:
            return len(row) + len(_row(self.reverse, number))
        return len(row) + int(np.count_nonzero(self.targets == number))

    def edges(self) -> EdgeList:
        """Return the ids of tails and heads, and the weights, of all edges; an undirected edge once.

        Examples
        --------
        >>> import evener as ev
        >>> source, target, weight = ev.Graph.from_edges([3, 3], [9, 5], directed=False).edges()
        >>> source.tolist(), target.tolist(), weight
        ([3, 3], [5, 9], None)
        """
        tails, heads, weights = _numbered_edges(self)
        return EdgeList(self.ids_of(tails), self.ids_of(heads), weights)

    def subgraph(self, ids: Iterable[Any] | ArrayLike) -> Self:
        """Return the graph of some vertices and of all edges between them. The vertices keep their ids.

        Parameters
        ----------
        ids : array_like
            Ids of vertices, in any order; a repeated id counts once.

        Raises
        ------
        UnknownVertexError
            If an id is not in the graph.

        Examples
        --------
        >>> import evener as ev
        >>> g = ev.Graph.from_edges([3, 3, 5], [9, 5, 9]).subgraph([9, 3])
        >>> g.ids.tolist(), g.edges().source.tolist(), g.edges().target.tolist()
        ([3, 9], [3], [9])
        """
        kept = np.unique(self.numbers_of(ids))
        number = np.full(self.n, -1, np.int64)
        number[kept] = np.arange(len(kept))
        tails, heads, weights = _numbered_edges(self)
        inside = (number[tails] >= 0) & (number[heads] >= 0)
        rows = csr.from_edges(
            number[tails[inside]],
            number[heads[inside]],
            None if weights is None else weights[inside],
            symmetrise=not self.directed,
            n=len(kept),
        )
        return type(self)(
            *rows[:2], weights=rows.weights, ids=self.ids_of(kept), directed=self.directed, validate=False
        )

    def to_scipy(self) -> csr_array:
        """Return a SciPy sparse array of shape (n, n): the weight of each stored edge, or 1.

        Rows and columns are in the order of `ids`.

        Examples
        --------
        >>> import evener as ev
        >>> ev.Graph.from_edges([0], [1]).to_scipy().toarray().tolist()
        [[0.0, 1.0], [0.0, 0.0]]
        """
        from scipy.sparse import csr_array

        weights = np.ones(self.m) if self.weights is None else self.weights.copy()
        arrays = weights, self.targets.astype(np.int64), self.offsets.astype(np.int64)
        return csr_array(arrays, shape=(self.n, self.n))

    def to_torch(self, *, layout: Literal["edge_index", "csr"] = "edge_index") -> Any:
        """Return the stored edges as PyTorch tensors, by vertex numbers in the order of `ids`.

        The tensors are on the GPU that has the edges of the graph, or on the CPU.

        Parameters
        ----------
        layout : {"edge_index", "csr"}, default "edge_index"

        Returns
        -------
        tuple of (torch.Tensor of int64, shape (2, m); torch.Tensor, shape (m,), or None)
            With "edge_index": tails and heads in the order of the rows, and the weights.
        torch.Tensor of shape (n, n)
            With "csr": a sparse tensor of the weights, or of ones (float32).

        Raises
        ------
        ArgumentError
            If PyTorch is not installed.
        """
        from evener.graph.torch import csr_tensor, edge_index

        if layout not in ("edge_index", "csr"):
            msg = f'layout=: expected "edge_index" or "csr", found {layout!r}'
            raise ArgumentError(msg)
        return edge_index(self) if layout == "edge_index" else csr_tensor(self)

    def to_networkx(self) -> nx.Graph:
        """Return a NetworkX graph with the same ids. Weights are the attribute "weight".

        The graph is a multigraph if an edge repeats.

        Examples
        --------
        >>> import evener as ev
        >>> ev.Graph.from_edges([3, 3], [9, 5], [0.5, 1.0]).to_networkx().edges[3, 9]
        {'weight': 0.5}
        """
        import networkx as nx

        tails, heads, weights = _numbered_edges(self)
        repeated = bool(((tails[1:] == tails[:-1]) & (heads[1:] == heads[:-1])).any())
        kind = {
            (True, False): nx.DiGraph, (True, True): nx.MultiDiGraph,
            (False, False): nx.Graph, (False, True): nx.MultiGraph,
        }[self.directed, repeated]  # fmt: skip
        found = kind()
        found.add_nodes_from(self.ids.tolist())
        ends = self.ids_of(tails).tolist(), self.ids_of(heads).tolist()
        if weights is None:
            found.add_edges_from(zip(*ends, strict=True))
        else:
            found.add_weighted_edges_from(zip(*ends, weights.tolist(), strict=True))
        return found

    def to_arrow(self) -> pa.Table:
        """Return an Arrow table of `edges`, with the columns source, target and, with weights, weight.

        Ids that are neither integers nor strings, such as tuples, become text, their `repr`.
        """
        import pyarrow as pa

        source, target, weight = self.edges()
        columns = {"source": id_column(self, source), "target": id_column(self, target)}
        return pa.table(columns if weight is None else columns | {"weight": pa.array(weight)})

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of `to_arrow` as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table of `to_arrow` as an Arrow stream, for polars, DuckDB and other libraries."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    def _repr_html_(self) -> str:
        """Return a table of the sizes, for notebooks."""
        kind = "directed" if self.directed else "undirected"
        weights = "none" if self.weight_dtype is None else str(self.weight_dtype)
        return html_table(
            ("graph", "vertices", "edges", "weights", "ids"),
            [(kind, f"{self.n:,}", edges_in_words(self), weights, _id_range(self))],
        )


def id_column(graph: Adjacency, ids: NDArray[Any]) -> pa.Array:
    """Return ids as an Arrow array, with a null for -1 or None; other objects as text."""
    import pyarrow as pa

    if graph.has_integer_ids:
        return pa.array(ids, mask=ids < 0)
    if graph.has_string_ids:
        return pa.array(ids, pa.string())
    texts = [one if one is None or isinstance(one, str) else repr(one) for one in ids]
    return pa.array(texts, pa.string())


def _row(graph: Adjacency, number: int) -> NDArray[np.uint32]:
    return graph.targets[int(graph.offsets[number]) : int(graph.offsets[number + 1])]


def _numbered_edges(graph: Adjacency) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return the numbers of tails and heads, and the weights; an undirected edge once."""
    tails = np.repeat(np.arange(graph.n, dtype=np.uint32), np.diff(graph.offsets).astype(np.int64))
    if graph.directed:
        return tails, graph.targets, graph.weights
    once = tails <= graph.targets
    return tails[once], graph.targets[once], None if graph.weights is None else graph.weights[once]


def _id_range(graph: Adjacency) -> str:
    if graph.n == 0:
        return "none"
    first, last = graph.ids[[0, -1]].tolist()
    return f"{first} to {last}"


def html_table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return an HTML table, for notebooks. Numbers that are no integers have six digits."""

    def text(cell: object) -> str:
        return f"{cell:.6g}" if isinstance(cell, float) else str(cell)

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(text(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(heads, 'th')}</thead><tbody>{body}</tbody></table>"
