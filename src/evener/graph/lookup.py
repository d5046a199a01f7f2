"""Look up vertex numbers by id."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError
from evener.graph.arrays import string_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph

__all__ = ["as_ids", "vertex_numbers"]


def vertex_numbers(graph: Graph, given: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
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


def as_ids(graph: Graph, given: Iterable[Any] | ArrayLike) -> NDArray[Any]:
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


def _wrong_type(graph: Graph, other: Any) -> UnknownVertexError:
    kind = "strings" if graph.has_string_ids else "integers"
    return UnknownVertexError(f"ids: expected {kind}, as in the graph, found {other!r}")


def _unknown(graph: Graph, missing: Any) -> UnknownVertexError:
    span = f"its ids run from {graph.ids[0]} to {graph.ids[-1]}" if graph.n else "it has no vertices"
    return UnknownVertexError(f"vertex {missing} is not in the graph ({graph.n} vertices; {span})")
