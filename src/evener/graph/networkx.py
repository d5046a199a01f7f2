"""Edge arrays of NetworkX graphs.

NetworkX keeps a dictionary of neighbours for each node, `_adj`. An undirected edge is in two rows, and a
self-loop in one, as in the CSR rows of Evener. So the rows are read one after the other, by functions that
iterate in C, and nothing is symmetrised.
"""

from __future__ import annotations

from itertools import chain
from struct import error as StructError  # noqa: N812 - the class of its errors
from struct import pack_into
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import ArgumentError
from evener.graph.arrays import string_array
from evener.graph.arrow import ArrowColumn, note_unread_columns
from evener.graph.checks import is_number, type_name

if TYPE_CHECKING:
    from collections.abc import Collection, Hashable, Iterable, Mapping

    from numpy.typing import NDArray

__all__ = ["EdgeWeightError", "NumberedEdges", "edges_from_networkx", "edges_in_node_order"]

# Largest span of integer nodes, per node, for which a table of numbers is small.
_TABLE_SPAN = 8
# Integers of rows to pack together, so that they stay in the cache.
_PACKED = 512
# Adjacency entries for which loading Arrow is worth its time.
_ARROW_ENTRIES = 1 << 16


class EdgeWeightError(ArgumentError):
    """An edge weight is not an integer or a float of at most 64 bits."""


class NumberedEdges(NamedTuple):
    """Stored edges by vertex number (uint32), their weights, and the id of each vertex.

    An undirected edge is in both directions, a self-loop once. The ids are ascending, or any objects in the
    order of the graph; None if the ids are ``0..n-1``.
    """

    src: NDArray[np.uint32]
    dst: NDArray[np.uint32]
    weights: NDArray[Any] | None
    ids: NDArray[Any] | None


def edges_from_networkx(graph: Any, weight: str | None) -> NumberedEdges:
    """Return the edges of a NetworkX graph; see `evener.Graph.from_networkx`.

    Nodes are numbered in ascending order if all are non-negative integers or all are strings.
    """
    if not all(hasattr(graph, name) for name in ("is_directed", "edges", "_adj")):
        msg = f"graph: expected a NetworkX graph, found {type(graph).__name__}"
        raise ArgumentError(msg)
    nodes = list(graph)
    strings, integers = _are_strings(nodes), _are_integers(nodes, lowest=0)
    if strings or integers:
        nodes.sort()
    plain = _with_dictionaries(graph)
    src, dst = _ends(plain, nodes)
    ids = None
    if not integers:
        # One by one, because np.array would make a matrix of tuples.
        ids = string_array(nodes) if strings else np.fromiter(nodes, dtype=object, count=len(nodes))
    elif nodes and nodes[-1] != len(nodes) - 1:
        ids = np.array(nodes, dtype=np.int64)
    return NumberedEdges(src, dst, _named_weights(plain, weight, type_name(graph)), ids)


def edges_in_node_order(graph: Any, weight: Hashable | None, default: Any = 1) -> NumberedEdges:
    """Return the edges of a NetworkX graph, with the vertices in the order of its nodes and without ids.

    Parameters
    ----------
    graph : networkx.Graph, DiGraph, MultiGraph or MultiDiGraph
    weight : hashable or None
        The edge attribute that holds the weight. With None, or if no edge has it, there are no weights.
    default : number, default 1
        The weight of an edge without the attribute, if another edge has it.

    Raises
    ------
    EdgeWeightError
        If a weight is not an integer or a float.
    """
    plain = _with_dictionaries(graph)
    src, dst = _ends(plain, list(graph))
    attributes = weight is not None and _have_attributes(plain)
    return NumberedEdges(src, dst, _read_weights(plain, weight, default) if attributes else None, None)


# ---- nodes ------------------------------------------------------------------------------------------


def _are_strings(nodes: list[Any]) -> bool:
    return all(issubclass(kind, str) for kind in set(map(type, nodes)))


def _are_integers(nodes: list[Any], lowest: int) -> bool:
    """Return whether all nodes are integers from `lowest` to the largest int64; booleans are not."""
    kinds = set(map(type, nodes))
    if not all(issubclass(kind, int | np.integer) and kind is not bool for kind in kinds):
        return False
    return not nodes or bool(lowest <= min(nodes) and max(nodes) < 1 << 63)


def _ends(graph: Any, nodes: list[Any]) -> tuple[NDArray[np.uint32], NDArray[np.uint32]]:
    """Return tail and head of each stored edge, as positions in `nodes`."""
    rows = _rows(graph)
    lengths = np.fromiter(map(len, rows.values()), np.int64, len(rows))
    count = int(lengths.sum())
    in_order = nodes == list(rows)
    tails = np.arange(len(rows), dtype=np.uint32) if in_order else _numbers(nodes, [rows], len(rows))
    heads = _numbers(nodes, rows.values(), count)
    src = np.repeat(tails, lengths)
    if not graph.is_multigraph():
        return src, heads
    keys = chain.from_iterable(row.values() for row in rows.values())
    parallel = np.fromiter(map(len, keys), np.int64, count)
    return np.repeat(src, parallel), np.repeat(heads, parallel)


def _with_dictionaries(graph: Any) -> Any:
    """Return a graph whose rows are dictionaries. Those of a view are copied once, because it filters slowly.

    The attributes of an edge can differ at its ends in an undirected view of a directed graph. Then those at
    the first end count, as in ``graph.edges``.
    """
    rows = graph._adj  # noqa: SLF001 - graph.adj wraps each row in a view
    if isinstance(rows, dict):
        return graph
    copies = {node: dict(row) for node, row in rows.items()}
    if not graph.is_directed():
        place = {node: position for position, node in enumerate(copies)}
        for node, row in copies.items():
            row.update({other: copies[other][node] for other in row if place[other] < place[node]})
    return SimpleNamespace(_adj=copies, is_multigraph=graph.is_multigraph)


def _rows(graph: Any) -> Mapping[Any, Mapping[Any, Any]]:
    """Return the dictionaries of neighbours."""
    rows: Mapping[Any, Mapping[Any, Any]] = graph._adj  # noqa: SLF001 - as above
    return rows


def _numbers(nodes: list[Any], given: Collection[Iterable[Any]], count: int) -> NDArray[np.uint32]:
    """Return the position in `nodes` of each of `count` nodes given by rows, uint32 of shape (count,)."""
    if _are_integers(nodes, lowest=-(1 << 63)):
        return _numbers_of_integers(np.array(nodes, np.int64), _integers(given, count))
    flat = chain.from_iterable(given)
    if count >= _ARROW_ENTRIES and _are_strings(nodes):
        return _numbers_of_strings(nodes, list(flat))
    number = {node: position for position, node in enumerate(nodes)}
    return np.fromiter(map(number.__getitem__, flat), np.uint32, count)


def _integers(rows: Collection[Iterable[Any]], count: int) -> NDArray[np.int64]:
    """Return the integers of all rows, int64 of shape (count,)."""
    integers, done = bytearray(8 * count), 0
    # The list loads its integers from memory together: twice as fast as one by one.
    some: list[Any] = []
    try:
        for row in rows:
            some += row
            if len(some) >= _PACKED:
                pack_into(f"{len(some)}q", integers, 8 * done, *some)
                done += len(some)
                some.clear()
        pack_into(f"{len(some)}q", integers, 8 * done, *some)
    except StructError:  # a float that equals an integer node
        return np.fromiter(chain.from_iterable(rows), np.int64, count)
    return np.frombuffer(integers, np.int64)


def _numbers_of_integers(nodes: NDArray[np.int64], given: NDArray[np.int64]) -> NDArray[np.uint32]:
    if len(given) == 0:
        return np.empty(0, np.uint32)
    lowest, span = int(nodes.min()), int(nodes.max()) - int(nodes.min()) + 1
    positions = np.arange(len(nodes), dtype=np.uint32)
    if lowest == 0 and span == len(nodes) and bool((nodes == positions).all()):
        return given.astype(np.uint32)
    if span <= _TABLE_SPAN * len(nodes):
        table = np.empty(span, np.uint32)
        table[nodes - lowest] = positions
        return table[given - lowest]
    order = np.argsort(nodes).astype(np.uint32)
    return order[np.searchsorted(nodes[order], given)]


def _numbers_of_strings(nodes: list[str], given: list[str]) -> NDArray[np.uint32]:
    """Return the positions of strings; Arrow finds the distinct strings, faster than Python."""
    import pyarrow as pa

    number = {node: position for position, node in enumerate(nodes)}
    try:
        codes = pa.array(given, pa.large_string()).dictionary_encode()
    except (UnicodeEncodeError, pa.ArrowException):  # a lone surrogate
        return np.fromiter(map(number.__getitem__, given), np.uint32, len(given))
    names = codes.dictionary.to_pylist()
    of_code = np.fromiter(map(number.__getitem__, names), np.uint32, len(names))
    numbers: NDArray[np.uint32] = of_code[codes.indices.to_numpy()]
    return numbers


# ---- weights ----------------------------------------------------------------------------------------


class _Absent:
    """Marks the edges without the attribute."""


def _edge_attributes(graph: Any) -> Iterable[Mapping[Any, Any]]:
    """Return an iterator over the attributes of stored edges, in the order of `_ends`."""
    attributes = chain.from_iterable(row.values() for row in _rows(graph).values())
    if graph.is_multigraph():
        return chain.from_iterable(keys.values() for keys in attributes)
    return attributes


def _have_attributes(graph: Any) -> bool:
    """Return whether any edge has attributes."""
    if graph.is_multigraph():
        return any(_edge_attributes(graph))
    # A list loads the attributes from memory together, as in `_integers`.
    return any(any([*row.values()]) for row in _rows(graph).values())


def _read_weights(graph: Any, weight: Hashable | None, default: Any) -> NDArray[Any] | None:
    """Return the weights of stored edges, or None if no edge has the attribute."""
    absent = _Absent()
    values = [edge.get(weight, absent) for edge in _edge_attributes(graph)]
    kinds = set(map(type, values))
    if _Absent in kinds:
        if len(kinds) == 1:
            return None
        values = [default if value is absent else value for value in values]
        kinds = set(map(type, values))
    return _numeric(values, kinds, weight)


def _numeric(values: list[Any], kinds: set[type], weight: Hashable | None) -> NDArray[Any]:
    """Return weights as an array; raise unless all are integers or floats that the array holds exactly."""
    if kinds == {float}:
        return np.fromiter(values, np.float64, len(values))
    wrong = {kind for kind in kinds if issubclass(kind, bool) or not issubclass(kind, _NUMBERS)}
    if wrong:
        found = next(value for value in values if type(value) in wrong)
        msg = f"expected integers or floats in the edge attribute {weight!r}, found {found!r}"
        raise EdgeWeightError(msg)
    if all(issubclass(kind, int | np.integer) for kind in kinds):
        try:
            return np.fromiter(values, np.int64, len(values))
        except OverflowError:
            large = next(value for value in values if not -(1 << 63) <= value < 1 << 63)
            msg = f"expected 64-bit integers in the edge attribute {weight!r}, found {large}"
            raise EdgeWeightError(msg) from None
    if any(isinstance(value, int) and abs(value) > 1 << 53 for value in values):
        msg = f"expected integers up to 2^53 among the floats in the edge attribute {weight!r}"
        raise EdgeWeightError(msg)
    return np.array(values)


_NUMBERS = int | float | np.integer | np.float16 | np.float32 | np.float64


def _named_weights(graph: Any, weight: str | None, kind: str) -> NDArray[Any] | None:
    """Return the weights; raise if no edge has the attribute that the caller names. A note names `kind`."""
    if weight is None:
        return None
    attributes = _have_attributes(graph)
    if attributes and (weights := _read_weights(graph, weight, 1)) is not None:
        return weights
    if weight != "weight" and (first := next(iter(_edge_attributes(graph)), None)) is not None:
        names = ", ".join(map(repr, sorted(map(str, first))))
        found = f"the attributes {names}" if names else "no attributes"
        msg = f"expected edges with the attribute {weight!r} as weight; the first edge has {found}"
        raise ArgumentError(msg)
    if not attributes:
        return None
    items = (item for edge in _edge_attributes(graph) for item in edge.items())
    numeric = dict.fromkeys(str(key) for key, value in items if is_number(value))
    unread = [ArrowColumn(name, numbers=True) for name in numeric]
    note_unread_columns(kind, unread, None, remedy="weight=", noun="edge attribute")
    return None
