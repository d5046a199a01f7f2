"""The ids of vertices: their kind, and the numbers of vertices by id."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.adjacency import Adjacency
from evener.graph.arrays import string_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["GraphIds", "as_ids", "vertex_numbers"]


class GraphIds(Adjacency):
    """The methods of a `Graph` for the ids of its vertices."""

    @property
    def has_custom_ids(self) -> bool:
        """True if the graph stores ids of its own; False if the ids are ``0..n-1``."""
        return self._ids is not None

    @property
    def has_integer_ids(self) -> bool:
        """True if the ids are integers."""
        return self._ids is None or self._ids.dtype.kind not in "UO"

    @property
    def has_string_ids(self) -> bool:
        """True if the ids are strings."""
        return not self.has_integer_ids and not self.has_object_ids

    @cached_property
    def has_object_ids(self) -> bool:
        """True if the ids are any hashable objects, such as the nodes of a NetworkX graph, in any order."""
        ids = self._ids
        return ids is not None and ids.dtype.kind == "O" and not all(isinstance(one, str) for one in ids)

    @cached_property
    def _number_of_object(self) -> dict[Any, int]:
        """The number of each vertex by its id, if the ids are any objects."""
        return {one: number for number, one in enumerate(self.ids)}

    def numbers_of(self, ids: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
        """Return the vertex numbers ``0..n-1`` of ids, which have the type of the graph's ids.

        An unknown id, or an id of another type, raises `UnknownVertexError`. The message names the id.
        """
        return vertex_numbers(self, ids)

    def ids_of(self, numbers: NDArray[Any]) -> NDArray[Any]:
        """Return the ids of vertices, given their numbers."""
        return np.asarray(self.ids[numbers])

    def _numbers_of_objects(self, given: Any) -> NDArray[np.int64]:
        numbers = []
        for one in given:
            try:
                numbers.append(self._number_of_object[one])
            except (KeyError, TypeError):  # unknown, or a tuple of lists
                raise _unknown(self, repr(one)) from None
        return np.array(numbers, np.int64)


def vertex_numbers(graph: GraphIds, given: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
    """Return the vertex numbers ``0..n-1`` of ids.

    Parameters
    ----------
    graph : Graph
    given : iterable or array_like
        Integers or strings, like the ids of the graph. Arrays of Python objects are allowed.

    Returns
    -------
    ndarray of int64

    Raises
    ------
    UnknownVertexError
        If an id is not in the graph or has another type. The message names the first unknown id.
    """
    if graph.has_object_ids:
        return graph._numbers_of_objects(given)  # noqa: SLF001 - the same file
    array = as_ids(graph, given)
    if len(array) == 0:
        return np.empty(0, dtype=np.int64)
    ids = array.astype(np.int64) if array.dtype.kind == "u" else array
    if not graph.has_custom_ids:
        found, numbers = (ids >= 0) & (ids < graph.n), ids
    elif graph.n == 0:
        found, numbers = np.zeros(ids.shape, bool), ids
    else:
        numbers = np.minimum(np.searchsorted(graph.ids, ids), graph.n - 1)
        found = graph.ids[numbers] == ids
    if array.dtype.kind == "u":
        found &= ids >= 0  # the cast made values of 2^63 or more negative
    if not found.all():
        raise _unknown(graph, array[~found][0])
    return np.asarray(numbers, dtype=np.int64)


def as_ids(graph: GraphIds, given: Iterable[Any] | ArrayLike) -> NDArray[Any]:
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


def _wrong_type(graph: GraphIds, other: Any) -> UnknownVertexError:
    kind = "strings" if graph.has_string_ids else "integers"
    return UnknownVertexError(f"ids: expected {kind}, as in the graph, found {other!r}")


def _unknown(graph: GraphIds, missing: Any) -> UnknownVertexError:
    verb = "are" if graph.has_object_ids else "run from"
    span = f"its ids {verb} {graph.ids[0]!s} to {graph.ids[-1]!s}" if graph.n else "it has no vertices"
    return UnknownVertexError(f"vertex {missing} is not in the graph ({graph.n} vertices; {span})")
