"""From the ids that a caller names vertices by to their numbers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import UnknownVertexError

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph

__all__ = ["numbers_of"]


def numbers_of(graph: Graph, given: Iterable[Any] | ArrayLike) -> NDArray[np.int64]:
    """The numbers ``0..n-1`` of the vertices with these ids.

    Parameters
    ----------
    graph : Graph
    given : iterable or array_like
        Integers or strings, as the graph's ids are; arrays of other libraries may hold them as objects.

    Raises
    ------
    UnknownVertexError
        Naming the first id that is not in the graph, or not of the kind that its ids are.
    """
    wanted = _array_of(graph, given)
    if len(wanted) == 0:
        return np.empty(0, dtype=np.int64)
    ids = wanted.astype(np.int64) if wanted.dtype.kind == "u" else wanted
    if not graph.has_own_ids:
        found, numbers = (ids >= 0) & (ids < graph.n), ids
    elif graph.n == 0:
        found, numbers = np.zeros(ids.shape, bool), ids
    else:
        numbers = np.minimum(np.searchsorted(graph.ids, ids), graph.n - 1)
        found = graph.ids[numbers] == ids
    if wanted.dtype.kind == "u":
        found &= ids >= 0  # those of 2^63 and more have become negative
    if not found.all():
        raise _unknown(graph, wanted[~found][0])
    return np.asarray(numbers, dtype=np.int64)


def _array_of(graph: Graph, given: Iterable[Any] | ArrayLike) -> NDArray[Any]:
    """Ids as an array of integers or strings, whichever the graph's are."""
    elements: Any = given
    if hasattr(given, "__array__"):
        array = np.atleast_1d(np.asarray(given))
        if array.dtype.kind != "O":
            if len(array) and array.dtype.kind not in ("UST" if graph.named_by_strings else "iu"):
                raise _of_another_kind(graph, array.flat[0].item())
            return array
        elements = array.ravel().tolist()
    elif isinstance(given, str | bytes) or not isinstance(given, Iterable):
        elements = [given]
    elements = list(elements)
    # NumPy makes strings of numbers beside strings, of NaN too.
    wanted = str if graph.named_by_strings else (int, np.integer)
    if not all(issubclass(kind, wanted) and kind is not bool for kind in set(map(type, elements))):
        other = next(e for e in elements if not isinstance(e, wanted) or isinstance(e, bool))
        raise _of_another_kind(graph, other)
    if graph.named_by_strings:
        return np.array(elements, dtype=np.str_)
    try:
        return np.array(elements, dtype=np.int64)
    except OverflowError:
        raise _unknown(graph, next(e for e in elements if not -(1 << 63) <= int(e) < 1 << 63)) from None


def _of_another_kind(graph: Graph, other: Any) -> UnknownVertexError:
    kind = "strings" if graph.named_by_strings else "integers"
    return UnknownVertexError(f"vertices of this graph are named by {kind}, not {other!r}")


def _unknown(graph: Graph, missing: Any) -> UnknownVertexError:
    span = f"its ids run from {graph.ids[0]} to {graph.ids[-1]}" if graph.n else "it has no vertices"
    return UnknownVertexError(f"vertex {missing} is not in the graph ({graph.n} vertices; {span})")
