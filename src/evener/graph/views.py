"""Views of a graph: the neighbours and edges of its vertices by id, and the graph in other libraries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, cast

import numpy as np

from evener.errors import ArgumentError
from evener.graph import csr
from evener.graph.checks import type_name
from evener.system.html import escape

if TYPE_CHECKING:
    from collections.abc import Iterable

    import networkx as nx
    import pandas as pd
    import pyarrow as pa
    from numpy.typing import ArrayLike, NDArray
    from scipy.sparse import csr_array

    from evener.graph.graph import Graph

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


class GraphViews:
    """The methods of a `Graph` that show its edges by id. They read the out-edges."""

    def neighbors(self, vertex: Any) -> NDArray[Any]:
        """Return the ids of the heads of a vertex's out-edges, in the order of `ids`.

        Repeated edges give repeated ids.

        Examples
        --------
        >>> import evener as ev
        >>> ev.Graph.from_edges([3, 3, 5], [9, 5, 9]).neighbors(3).tolist()
        [5, 9]
        """
        graph = cast("Graph", self)
        (number,) = graph.numbers_of([vertex])
        return graph.ids_of(_row(graph, number))

    def degree(self, vertex: Any) -> int:
        """Return the number of edges at a vertex: in-edges and out-edges. A self-loop counts twice.

        For all vertices at once, see `out_degree` and `in_degree`.

        Examples
        --------
        >>> import evener as ev
        >>> ev.Graph.from_edges([3, 3, 5], [9, 5, 9]).degree(5)
        2
        """
        graph = cast("Graph", self)
        (number,) = graph.numbers_of([vertex])
        row = _row(graph, number)
        if not graph.directed:
            return len(row) + int(np.count_nonzero(row == number))
        if "in" in graph.stored_directions:
            return len(row) + len(_row(graph.reverse, number))
        return len(row) + int(np.count_nonzero(graph.targets == number))

    def edges(self) -> EdgeList:
        """Return the ids of tails and heads, and the weights, of all edges; an undirected edge once.

        Examples
        --------
        >>> import evener as ev
        >>> source, target, weight = ev.Graph.from_edges([3, 3], [9, 5], directed=False).edges()
        >>> source.tolist(), target.tolist(), weight
        ([3, 3], [5, 9], None)
        """
        graph = cast("Graph", self)
        tails, heads, weights = _numbered_edges(graph)
        return EdgeList(graph.ids_of(tails), graph.ids_of(heads), weights)

    def subgraph(self, ids: Iterable[Any] | ArrayLike) -> Graph:
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
        graph = cast("Graph", self)
        kept = np.unique(graph.numbers_of(ids))
        number = np.full(graph.n, -1, np.int64)
        number[kept] = np.arange(len(kept))
        tails, heads, weights = _numbered_edges(graph)
        inside = (number[tails] >= 0) & (number[heads] >= 0)
        rows = csr.from_edges(
            number[tails[inside]],
            number[heads[inside]],
            None if weights is None else weights[inside],
            symmetrise=not graph.directed,
            n=len(kept),
        )
        return type(graph)(
            *rows[:2], weights=rows.weights, ids=graph.ids_of(kept), directed=graph.directed, validate=False
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

        graph = cast("Graph", self)
        weights = np.ones(graph.m) if graph.weights is None else graph.weights.copy()
        arrays = weights, graph.targets.astype(np.int64), graph.offsets.astype(np.int64)
        return csr_array(arrays, shape=(graph.n, graph.n))

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

        graph = cast("Graph", self)
        tails, heads, weights = _numbered_edges(graph)
        repeated = bool(((tails[1:] == tails[:-1]) & (heads[1:] == heads[:-1])).any())
        kind = {
            (True, False): nx.DiGraph, (True, True): nx.MultiDiGraph,
            (False, False): nx.Graph, (False, True): nx.MultiGraph,
        }[graph.directed, repeated]  # fmt: skip
        found = kind()
        found.add_nodes_from(graph.ids.tolist())
        ends = graph.ids_of(tails).tolist(), graph.ids_of(heads).tolist()
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

        graph = cast("Graph", self)
        source, target, weight = self.edges()
        columns = {"source": id_column(graph, source), "target": id_column(graph, target)}
        return pa.table(columns if weight is None else columns | {"weight": pa.array(weight)})

    def to_pandas(self) -> pd.DataFrame:
        """Return the table of `to_arrow` as a pandas DataFrame."""
        return self.to_arrow().to_pandas()

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """Return the table of `to_arrow` as an Arrow stream, for polars, DuckDB and other libraries."""
        return self.to_arrow().__arrow_c_stream__(requested_schema)

    @classmethod
    def from_pandas(cls, frame: Any, **columns: Any) -> Graph:
        """Return the graph of a DataFrame with one row per edge; the index is ignored.

        Parameters
        ----------
        frame : pandas.DataFrame
        **columns
            The keyword arguments of `from_arrow`: `source`, `target`, `weight`, `directed` and `n`.

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
        return cast("type[Graph]", cls).from_arrow(frame, **columns)

    def _repr_html_(self) -> str:
        """Return a table of the sizes, for notebooks."""
        graph = cast("Graph", self)
        kind = "directed" if graph.directed else "undirected"
        weights = "none" if graph.weight_dtype is None else str(graph.weight_dtype)
        return html_table(
            ("graph", "vertices", "stored edges", "weights", "ids"),
            [(kind, f"{graph.n:,}", f"{graph.m:,}", weights, _id_range(graph))],
        )


def id_column(graph: Graph, ids: NDArray[Any]) -> pa.Array:
    """Return ids as an Arrow array, with a null for -1 or None; other objects as text."""
    import pyarrow as pa

    if graph.has_integer_ids:
        return pa.array(ids, mask=ids < 0)
    if graph.has_string_ids:
        return pa.array(ids, pa.string())
    texts = [one if one is None or isinstance(one, str) else repr(one) for one in ids]
    return pa.array(texts, pa.string())


def _row(graph: Graph, number: int) -> NDArray[np.uint32]:
    return graph.targets[int(graph.offsets[number]) : int(graph.offsets[number + 1])]


def _numbered_edges(graph: Graph) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]:
    """Return the numbers of tails and heads, and the weights; an undirected edge once."""
    tails = np.repeat(np.arange(graph.n, dtype=np.uint32), np.diff(graph.offsets).astype(np.int64))
    if graph.directed:
        return tails, graph.targets, graph.weights
    once = tails <= graph.targets
    return tails[once], graph.targets[once], None if graph.weights is None else graph.weights[once]


def _id_range(graph: Graph) -> str:
    if graph.n == 0:
        return "none"
    first, last = graph.ids[[0, -1]].tolist()
    return f"{first} to {last}"


def html_table(heads: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return an HTML table, for notebooks."""

    def line(cells: Iterable[object], tag: str) -> str:
        return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"

    body = "".join(line(row, "td") for row in rows)
    return f"<table><thead>{line(heads, 'th')}</thead><tbody>{body}</tbody></table>"
