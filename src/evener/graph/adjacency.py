"""The rows of a graph in one or both directions, the ids of its vertices, and its checksums."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph import csr
from evener.graph.arrays import check_csr, check_symmetric, graph_arrays, read_only, string_array
from evener.graph.checks import check_bool
from evener.graph.edge_counts import count_loops, edges_in_words
from evener.kernels.cpu.checksum import edge_checksums
from evener.system.fingerprint import Words

if TYPE_CHECKING:
    from typing import Self

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.gpu_edges import GpuEdges
    from evener.graph.gpu_rows import GpuRows

__all__ = ["Adjacency", "as_ids"]


class Adjacency:
    """The arrays of a `Graph`, which has the same parameters.

    A graph of arrays on a GPU has `gpu_edges`. The first access to its rows copies the edges to the host.
    Rows that several GPUs generated are generated again on the host.
    """

    gpu_edges: GpuEdges | GpuRows | None = None

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

    @classmethod
    def from_gpu_edges(cls, edges: GpuEdges | GpuRows, *, directed: bool) -> Self:
        """Return the graph of edges on a GPU, or of rows on several GPUs."""
        graph = cls.__new__(cls)
        graph.gpu_edges, graph.directed = edges, directed
        return graph

    def __getstate__(self) -> dict[str, Any]:
        if self.gpu_edges is None:
            return vars(self)
        names = ("directed", "offsets", "targets", "weights", "_ids")
        return {name: getattr(self, name) for name in names}

    def __setstate__(self, state: dict[str, Any]) -> None:
        for name, value in state.items():  # unpickled arrays are writable
            vars(self)[name] = read_only(value) if isinstance(value, np.ndarray) else value

    @property
    def stored_directions(self) -> tuple[str, ...]:
        """The edges in memory: "out", "in", or both. The first access builds a missing direction."""
        if self.gpu_edges is not None:  # each direction is built from the edges
            return "out", "in"
        stored = {"out": "offsets" in self.__dict__, "in": "reverse" in self.__dict__ or not self.directed}
        return tuple(direction for direction, present in stored.items() if present)

    @property
    def host_directions(self) -> tuple[str, ...]:
        """The edges in host memory: "out", "in", or both."""
        if self.gpu_edges is None:
            return self.stored_directions
        rows = {"out": self, "in": vars(self).get("reverse") if self.directed else self}
        return tuple(one for one, of in rows.items() if of is not None and "offsets" in vars(of))

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
        if self.gpu_edges is not None:
            return self.gpu_edges.weight_dtype
        weights = self._primary.weights
        return None if weights is None else weights.dtype

    @property
    def edge_bytes(self) -> int:
        """Bytes of a stored edge: its target and its weight."""
        return 4 if self.weight_dtype is None else 4 + self.weight_dtype.itemsize

    def _build_out_edges(self) -> None:
        """Build the out-edges of a graph that stores its in-edges, or edges on a GPU."""
        if self.gpu_edges is not None:
            rows = self.gpu_edges.host_rows()
        else:
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
        if self.gpu_edges is not None:
            return self.gpu_edges.n
        return len(self._primary.offsets) - 1

    @property
    def m(self) -> int:
        """Number of stored edges. An undirected edge counts twice, a self-loop once."""
        if self.gpu_edges is not None:
            return self.gpu_edges.m
        return len(self._primary.targets)

    @cached_property
    def loops(self) -> int | None:
        """Number of self-loops; None for a graph in parts."""
        if self.gpu_edges is not None and self.gpu_edges.both:
            return self.gpu_edges.loops
        stored = self._primary
        return count_loops(stored.offsets, stored.targets)

    @property
    def nbytes(self) -> int:
        """Bytes of the arrays of the graph, with one direction of the edges."""
        if self.gpu_edges is not None:
            return self.gpu_edges.nbytes
        stored = self._primary
        arrays = (stored.offsets, stored.targets, stored.weights, self._ids)
        return sum(a.nbytes for a in arrays if a is not None)

    @cached_property
    def ids(self) -> NDArray[Any]:
        """The caller's id of each vertex, shape (n,); integers and strings are ascending."""
        return self._ids if self._ids is not None else read_only(np.arange(self.n, dtype=np.int64))

    @cached_property
    def _ids(self) -> NDArray[Any] | None:
        """The ids of a graph of arrays on a GPU."""
        ids = None if self.gpu_edges is None else self.gpu_edges.host_ids()
        return None if ids is None else read_only(ids)

    @property
    def has_custom_ids(self) -> bool:
        """True if the graph stores ids of its own; False if the ids are ``0..n-1``."""
        if self.gpu_edges is not None:
            return self.gpu_edges.ids is not None
        return self._ids is not None

    @property
    def has_integer_ids(self) -> bool:
        """True if the ids are integers."""
        return self.gpu_edges is not None or self._ids is None or self._ids.dtype.kind not in "UO"

    @property
    def has_string_ids(self) -> bool:
        """True if the ids are strings."""
        return not self.has_integer_ids and not self.has_object_ids

    @cached_property
    def has_object_ids(self) -> bool:
        """True if the ids are any hashable objects, such as the nodes of a NetworkX graph, in any order."""
        ids = None if self.gpu_edges is not None else self._ids
        return ids is not None and ids.dtype.kind == "O" and not all(isinstance(name, str) for name in ids)

    @cached_property
    def _number_of_object(self) -> dict[Any, int]:
        """The number of each vertex by its id, if the ids are any objects."""
        return {vertex: number for number, vertex in enumerate(self.ids)}

    def numbers_of(self, ids: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
        """Return the vertex numbers ``0..n-1`` of ids, which have the type of the graph's ids.

        An unknown id, or an id of another type, raises `UnknownVertexError`. The message names the id.
        """
        if self.has_object_ids:
            return self._numbers_of_objects(ids)
        array = as_ids(self, ids)
        if len(array) == 0:
            return np.empty(0, dtype=np.int64)
        given = array.astype(np.int64) if array.dtype.kind == "u" else array
        if not self.has_custom_ids:
            found, numbers = (given >= 0) & (given < self.n), given
        elif self.n == 0:
            found, numbers = np.zeros(given.shape, bool), given
        else:
            numbers = np.minimum(np.searchsorted(self.ids, given), self.n - 1)
            found = self.ids[numbers] == given
        if array.dtype.kind == "u":
            found &= given >= 0  # the cast made values of 2^63 or more negative
        if not found.all():
            raise _unknown(self, array[~found][0])
        return np.asarray(numbers, dtype=np.int64)

    def ids_of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of vertices, given their numbers."""
        return np.asarray(self.ids[numbers])

    def _numbers_of_objects(self, given: Any) -> NDArray[np.int64]:
        numbers = []
        for vertex in given:
            try:
                numbers.append(self._number_of_object[vertex])
            except (KeyError, TypeError):  # unknown, or a tuple of lists
                raise _unknown(self, repr(vertex)) from None
        return np.array(numbers, np.int64)

    def out_degree(self) -> NDArray[np.uint64]:
        """Return the number of out-edges of each vertex, uint64, shape (n,)."""
        if self.gpu_edges is not None:
            return self.gpu_edges.host_row_lengths()
        if "out" in self.stored_directions:
            return np.diff(self.offsets)
        return csr.in_degree(self.reverse.targets, self.n)

    def in_degree(self) -> NDArray[np.uint64]:
        """Return the number of in-edges of each vertex, uint64, shape (n,), without building the reverse."""
        if self.gpu_edges is not None:
            return self.gpu_edges.reversed().host_row_lengths()
        if self.directed and "in" not in self.stored_directions:
            return csr.in_degree(self.targets, self.n)
        return np.diff(self.reverse.offsets)

    @cached_property
    def weight_range(self) -> tuple[float, float]:
        """The smallest and largest weight, NaN if a weight is NaN; (1, 1) without weights or edges."""
        if self.gpu_edges is not None:
            return self.gpu_edges.weight_range
        weights = self._primary.weights
        if weights is None or self.m == 0:
            return 1.0, 1.0
        return float(weights.min()), float(weights.max())

    @cached_property
    def reverse(self) -> Self:
        """The graph with every edge reversed, built at first access; for undirected graphs, this graph."""
        if not self.directed:
            return self
        if self.gpu_edges is not None:
            return self.from_gpu_edges(self.gpu_edges.reversed(), directed=True)
        rows = csr.transpose(self.offsets, self.targets, self.weights)
        return type(self)(*rows[:2], weights=rows.weights, ids=self._ids, directed=True, validate=False)

    def agreed(self) -> dict[str, Any]:
        """Return the facts by name that are equal on all ranks with the same graph."""
        weight = None if self.weight_dtype is None else str(self.weight_dtype)
        edges, weights = self._checksums
        return {
            "direction": Words("directed" if self.directed else "undirected"),
            "number of vertices": self.n,
            "number of edges": self.m,
            "type of weights": weight,
            "edges": Words(f"checksum {edges:016x}"),
            "weights": Words(f"checksum {weights:016x}"),
            "ids": _exact(self.ids) if self.has_custom_ids else None,
        }

    @cached_property
    def _checksums(self) -> tuple[int, int]:
        """The checksums of the edges and of the weights. They do not depend on the stored direction."""
        turned = "out" not in self.stored_directions
        rows = self.reverse if turned else self
        if self.m == 0:
            return 0, 0
        parts = 4 * numba.get_num_threads()
        sums = np.zeros((2, parts), np.uint64)
        weights, bits = rows.weights, rows.targets
        if weights is not None:
            bits = weights.view(f"u{weights.itemsize}")
        edge_checksums(
            read_only(rows.offsets), read_only(rows.targets), read_only(bits), turned, weights is not None,
            *sums, parts,
        )  # fmt: skip
        edges, of_weights = sums.sum(axis=1).tolist()
        return edges, of_weights

    @property
    def summary(self) -> str:
        """The direction, the numbers of vertices and edges, and the type of the weights, in words.

        An undirected edge counts once, and then the stored edges follow.

        >>> import evener as ev
        >>> ev.Graph.from_edges([0, 0, 1], [1, 2, 2]).summary
        'directed, 3 vertices, 3 edges'
        """
        kind = "directed" if self.directed else "undirected"
        weighted = "" if self.weight_dtype is None else f", {self.weight_dtype} weights"
        return f"{kind}, {self.n:,} vertices, {edges_in_words(self)}{weighted}"

    def __repr__(self) -> str:
        return f"<Graph: {self.summary}>"


def as_ids(graph: Adjacency, given: Iterable[Any] | ArrayLike) -> NDArray[Any]:
    """Return ids as an array of the id type of the graph, integers or strings."""
    elements: Any = given
    if hasattr(given, "__array__"):
        array = np.atleast_1d(np.asarray(given))
        if array.ndim > 1:
            msg = f"expected a list of vertex ids, found an array of shape {array.shape}; use its ravel()"
            raise ArgumentError(msg)
        if array.dtype.kind != "O":
            if len(array) and array.dtype.kind not in ("UST" if graph.has_string_ids else "iu"):
                raise _wrong_type(graph, array.flat[0].item())
            return array
        elements = array.ravel().tolist()
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        elements = [given]
    elements = list(elements)
    # NumPy converts numbers, NaN included, to strings in a list that holds a string.
    kinds = str if graph.has_string_ids else (int, np.integer)
    if not all(issubclass(kind, kinds) and kind is not bool for kind in set(map(type, elements))):
        other = next(e for e in elements if not isinstance(e, kinds) or isinstance(e, bool))
        raise _wrong_type(graph, other)
    if graph.has_string_ids:
        return string_array(elements)
    try:
        return np.array(elements, dtype=np.int64)
    except OverflowError:
        raise _unknown(graph, next(e for e in elements if not -(1 << 63) <= int(e) < 1 << 63)) from None


def _wrong_type(graph: Adjacency, other: Any) -> UnknownVertexError:
    kind = "strings" if graph.has_string_ids else "integers"
    return UnknownVertexError(f"ids: expected {kind}, as in the graph, found {other!r}")


def _unknown(graph: Adjacency, missing: Any) -> UnknownVertexError:
    verb = "are" if graph.has_object_ids else "run from"
    span = f"its ids {verb} {graph.ids[0]!s} to {graph.ids[-1]!s}" if graph.n else "it has no vertices"
    return UnknownVertexError(f"vertex {missing} is not in the graph ({graph.n} vertices; {span})")


def _exact(ids: NDArray[Any]) -> NDArray[Any]:
    """Return ids without unused characters, whose number may differ between equal graphs."""
    if ids.dtype.kind != "U":
        return ids
    longest = int(np.char.str_len(ids).max(initial=1))
    return ids.astype(f"U{max(longest, 1)}", copy=False)
