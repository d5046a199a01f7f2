"""Vertex ids to vertex numbers: checks of edge arrays, and renumbering of ids with gaps.

Integer ids are not copied. The builder converts an id each time it reads an edge. Dense ids use the rank in a
bitmap; sparse ids use a binary search in the sorted ids. Strings are first replaced by their positions among
the sorted strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, first_clause
from evener.graph.arrays import MAX_VERTICES, as_native, first_nan
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = [
    "EdgeArrays",
    "check_ends",
    "check_vertex_count",
    "check_weights",
    "distinct",
    "number_edges",
    "number_strings",
    "raise_too_large",
]

# Largest id span of a bitmap, per edge end: 1.5 bytes with the ranks.
_SPAN_PER_END = 8
# Id span below which a bitmap is always small (1.5 MiB).
_SMALL_SPAN = 1 << 23
# Ids to sort in one step.
_SORT_CHUNK = 1 << 22


class EdgeArrays:
    """Edges in two arrays of ids, read as vertex numbers; an `evener.graph.csr.EdgeSource`.

    Attributes
    ----------
    n, m : int
        Numbers of vertices and edges.
    ids : ndarray or None
        The id of each vertex, ascending; None if the ids are ``0..n-1``.
    weight_dtype : dtype or None
        The dtype of the weights.
    """

    def __init__(
        self,
        src: NDArray[Any],
        dst: NDArray[Any],
        weights: NDArray[Any] | None,
        n: int,
        ids: NDArray[Any] | None = None,
        lookup: tuple[Any, ...] = (),
    ) -> None:
        import numba

        from evener.kernels.cpu import numbering as kernels

        self.src, self.dst, self.weights = src, dst, weights
        self.n, self.m, self.ids = n, len(src), ids
        self.weight_dtype = None if weights is None else weights.dtype
        self._lookup = lookup
        self._parts = numba.get_num_threads()
        by_arguments: dict[int, Any] = {
            0: kernels.copy_numbers,
            2: kernels.number_by_bitmap,
            4: kernels.number_by_search,
        }
        self._kernel = by_arguments[len(lookup)]

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the vertex numbers of edges ``start:stop``."""
        for ids, numbers in ((self.src, src), (self.dst, dst)):
            self._kernel(ids[start:stop], *self._lookup, numbers, self._parts)

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``."""
        if self.weights is not None:
            weights[:] = self.weights[start:stop]


def number_edges(src: ArrayLike, dst: ArrayLike, weights: ArrayLike | None, n: int | None) -> EdgeArrays:
    """Return checked edge arrays with their vertices; the arguments are as for `evener.Graph.from_edges`.

    Raises
    ------
    ArgumentError
        If the arrays have unequal lengths or another type. If an id is negative, too large or not an integer.
    """
    tails, heads = check_ends("src", src), check_ends("dst", dst)
    if len(tails) != len(heads):
        msg = f"src and dst: expected the same length, found {len(tails)} and {len(heads)}"
        raise ArgumentError(msg)
    edge_weights = None if weights is None else check_weights(weights, len(tails))
    count = None if n is None else check_vertex_count(n)
    if tails.dtype.kind in "OUT" or heads.dtype.kind in "OUT":
        return _number_strings(tails, heads, edge_weights, count)
    tails, heads = _to_common_dtype(tails, heads)
    span = _span(tails, heads)
    if count is not None:
        if span > count:
            raise_too_large(tails, heads, count)
        return EdgeArrays(tails, heads, edge_weights, count)
    return _number_integers(tails, heads, edge_weights, span)


# ---- the arguments ----------------------------------------------------------------------------------


def check_ends(name: str, given: ArrayLike) -> NDArray[Any]:
    """Return tails or heads as unsigned 32-bit or 64-bit integers, or as strings."""
    array = _as_array(name, given)
    if array.ndim != 1:
        msg = f"{name}: expected one dimension, found {array.ndim} (shape {array.shape})"
        raise ArgumentError(msg)
    if len(array) == 0:
        return np.empty(0, np.uint32)
    if isinstance(given, list | tuple) and any(isinstance(value, str) for value in (given[0], array[0])):
        _check_all_strings(name, given)
    elif array.dtype.kind == "O":
        _check_strings(name, array)
    if array.dtype.kind in "OUT":
        return array
    if array.dtype.kind == "f":
        array = _floats_to_integers(name, array)
    if array.dtype.kind not in "iu":
        msg = f"{name}: expected integers or strings, found {array.dtype}"
        raise ArgumentError(msg)
    array = as_native(array)
    wide = np.uint64 if array.dtype.itemsize > 4 else np.uint32
    if array.dtype.kind == "i":
        if array.dtype.itemsize < 4:
            array = array.astype(np.int32)
        # Viewed as unsigned, negative and too large values both exceed the limit.
        unsigned = array.view(f"u{array.dtype.itemsize}")
        if unsigned.max() >= 1 << (8 * array.dtype.itemsize - 1):
            place = int((array < 0).argmax())
            msg = f"{name}: expected ids of at least 0, found {name}[{place}] = {array[place]}"
            raise ArgumentError(msg)
        array = unsigned
    view = np.ascontiguousarray(array, dtype=wide).view()
    view.flags.writeable = False
    return view


def _as_array(name: str, given: ArrayLike) -> NDArray[Any]:
    """Return an argument as an array; a list of strings stays an object array, to save memory."""
    if np.ma.is_masked(given):
        msg = f"{name}: expected no masked entries; remove or fill them"
        raise ArgumentError(msg)
    strings = isinstance(given, list | tuple) and len(given) > 0 and isinstance(given[0], str)
    try:
        return np.asarray(given, dtype=object if strings else None)
    except (ValueError, TypeError, RuntimeError) as error:  # of the library of the array
        msg = f"{name}: expected a sequence of numbers or of strings: {first_clause(error)}"
        raise ArgumentError(msg) from error


def _check_strings(name: str, array: NDArray[Any]) -> None:
    """Raise unless all Python objects of an array are strings."""
    other = next((i for i, value in enumerate(array) if not isinstance(value, str)), None)
    if other is not None:
        msg = (
            f"{name}: expected integers or strings, found an array of Python objects with "
            f"{name}[{other}] = {array[other]!r}"
        )
        raise ArgumentError(msg)


def _check_all_strings(name: str, given: Sequence[Any]) -> None:
    """Raise unless a list holds strings only; NumPy would convert other values to strings."""
    if all(issubclass(kind, str) for kind in set(map(type, given))):
        return
    other = next(i for i, value in enumerate(given) if not isinstance(value, str))
    msg = (
        f"{name}: expected ids that are all integers or all strings, found strings and "
        f"{name}[{other}] = {given[other]!r}"
    )
    raise ArgumentError(msg)


def _floats_to_integers(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Return floats without fractional part as integers."""
    broken = ~((array == np.floor(array)) & (np.abs(array) < 2.0**53))
    if broken.any():
        place = int(broken.argmax())
        msg = f"{name}: expected integers below 2^53 as ids, found {name}[{place}] = {array[place]}"
        raise ArgumentError(msg)
    return array.astype(np.int64)


def check_weights(given: ArrayLike, m: int) -> NDArray[Any]:
    """Return the weights of `m` edges as an array in native byte order."""
    array = _as_array("weights", given)
    if array.shape != (m,):
        msg = f"weights: expected one entry for each of the {m} edges, found shape {array.shape}"
        raise ArgumentError(msg)
    if m == 0 and array.dtype.kind not in "iuf":
        array = array.astype(np.float64)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        msg = f"weights: expected floats or integers of up to 64 bits, found {array.dtype}"
        raise ArgumentError(msg)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    array = as_native(array)
    if (edge := first_nan(array)) is not None:
        msg = f"weights: expected numbers, found NaN as the weight of edge {edge}"
        raise ArgumentError(msg)
    return array


def check_vertex_count(n: int) -> int:
    """Return a number of vertices as an int."""
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) or n < 0:
        msg = f"n=: expected an integer of at least 0, found {n!r}"
        raise ArgumentError(msg)
    if n > MAX_VERTICES:
        msg = f"n=: expected at most {MAX_VERTICES:,} vertices (2^32 - 2), found {n:,}"
        raise ArgumentError(msg)
    return int(n)


def _to_common_dtype(src: NDArray[Any], dst: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return both arrays in the wider of their types."""
    dtype = np.promote_types(src.dtype, dst.dtype)
    ends = [np.ascontiguousarray(end, dtype=dtype).view() for end in (src, dst)]
    for end in ends:
        end.flags.writeable = False
    return ends[0], ends[1]


def _span(src: NDArray[Any], dst: NDArray[Any]) -> int:
    """Return the largest id plus one."""
    span = 1 + max(int(src.max()), int(dst.max())) if len(src) else 0
    if span > 1 << 63:
        name, end = ("src", src) if int(src.max()) == span - 1 else ("dst", dst)
        msg = f"{name}: expected ids below 2^63, found {name}[{int(end.argmax())}] = {span - 1}"
        raise ArgumentError(msg)
    return span


def raise_too_large(src: NDArray[Any], dst: NDArray[Any], n: int) -> None:
    """Raise an error that names the first id of `n` or more, if there is one."""
    for name, end in (("src", src), ("dst", dst)):
        if len(end) and end.max() >= n:
            place = int((end >= n).argmax())
            msg = f"{name}: expected ids below n = {n}, found {name}[{place}] = {end[place]}; omit n="
            raise ArgumentError(msg)


# ---- ids with gaps ----------------------------------------------------------------------------------


def _number_integers(
    src: NDArray[Any], dst: NDArray[Any], weights: NDArray[Any] | None, span: int
) -> EdgeArrays:
    """Number the distinct integer ids, by bitmap or by search."""
    if span > max(_SPAN_PER_END * 2 * len(src), _SMALL_SPAN):
        return _number_by_search(src, dst, weights)
    from evener.graph.bitmap import Bitmap

    used = Bitmap(span)
    for end in (src, dst):
        used.add(end)
    n = used.count()
    if n == span:
        return EdgeArrays(src, dst, weights, n)
    memory.require(8 * n, f"the list of {n:,} vertex ids")
    return EdgeArrays(src, dst, weights, n, used.numbers(np.int64), (used.words, used.ranks))


def _number_by_search(src: NDArray[Any], dst: NDArray[Any], weights: NDArray[Any] | None) -> EdgeArrays:
    """Number sparse ids by binary search; an index by the high bits shortens the search."""
    starts = range(0, len(src), _SORT_CHUNK)
    parts = [distinct(end[start : start + _SORT_CHUNK]) for end in (src, dst) for start in starts]
    ids = distinct(np.concatenate(parts))
    del parts
    n, lowest = len(ids), ids[0]
    index_bits = 1 + n.bit_length()
    shift = max(0, int(ids[-1] - lowest).bit_length() - index_bits)
    groups = (ids - lowest) >> ids.dtype.type(shift)
    index = np.searchsorted(groups, np.arange(int(groups[-1]) + 2, dtype=ids.dtype)).astype(np.uint32)
    lookup = (ids.astype(np.uint64, copy=False), np.uint64(lowest), np.uint64(shift), index)
    return EdgeArrays(src, dst, weights, n, ids.astype(np.int64), lookup)


def distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Return the distinct values, sorted; faster than the hashing of `numpy.unique`."""
    values = np.sort(values)
    distinct: NDArray[Any] = values[np.concatenate([[True], values[1:] != values[:-1]])[: len(values)]]
    return distinct


def _number_strings(
    src: NDArray[Any], dst: NDArray[Any], weights: NDArray[Any] | None, n: int | None
) -> EdgeArrays:
    """Number the distinct strings in the order of their code points."""
    import pyarrow as pa

    for name, end in (("src", src), ("dst", dst)):
        if end.dtype.kind not in "OUT":
            msg = f"src and dst: expected strings in both or integers in both, found integers in {name}"
            raise ArgumentError(msg)
    if n is not None:
        msg = f"n=: expected the integer ids 0..{n}-1, found strings in src and dst; remove n="
        raise ArgumentError(msg)
    columns = [pa.chunked_array([_to_arrow_strings(*end)]) for end in (("src", src), ("dst", dst))]
    (tails, heads), ids, nul = number_strings(columns, "src and dst")
    if nul is not None:
        msg = "src and dst: expected ids without the character NUL, which ends a string in NumPy; remove it"
        raise ArgumentError(msg)
    return EdgeArrays(*_to_common_dtype(tails, heads), weights, len(ids), ids)


def number_strings(
    columns: Sequence[Any], where: object
) -> tuple[list[NDArray[np.uint32]], NDArray[Any], Any]:
    """Number the strings of several Arrow columns in ascending order.

    Return the positions of each column in the ids, and the ids: the distinct strings, ascending. The third
    value is a string with the character NUL, which ends strings in NumPy, or None. The columns hold strings,
    or dictionaries of strings, without nulls. `where` is the source of the columns, for messages.
    """
    from evener.graph.names import NameTable

    memory.require(4 * sum(map(len, columns)), f"the ids of {where}")
    names = NameTable(where)
    codes = [np.empty(len(column), np.uint32) for column in columns]
    for column, own in zip(columns, codes, strict=True):
        names.add_column(column, own)
    ids, nul = names.number(codes)
    return codes, ids, nul


def _to_arrow_strings(name: str, end: NDArray[Any]) -> Any:
    """Return strings as an Arrow array."""
    import pyarrow as pa

    try:
        column = pa.array(end.astype(object, copy=False), type=pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException) as error:
        msg = f"{name} holds a string that UTF-8 cannot encode: {first_clause(error)}"
        raise ArgumentError(msg) from error
    if column.null_count:
        msg = f"{name}[{column.is_null().index(pa.scalar(True)).as_py()}] is missing; give a string"  # noqa: FBT003 - the value to find
        raise ArgumentError(msg)
    return column
