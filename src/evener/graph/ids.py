"""From the caller's ids to vertex numbers: checks of edge arrays, and the renumbering of ids with gaps.

Integer ids are never copied: an id becomes its number as an edge is read, by its rank in a bitmap where ids
lie dense enough, by a search among the sorted ids where not. Strings first become their places among the
sorted strings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, first_clause
from evener.graph.checks import MAX_VERTICES, nan_at, native
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike, NDArray

__all__ = ["EdgeArrays", "number_edges"]

# A bitmap and its ranks take 3/16 byte for every number up to the largest id: with a span of at most this
# many # ids for each edge end, 1.5 bytes an edge end, well inside what the records of a pass take.
_SPAN_PER_END = 8
# Up to this span a bitmap is small (1.5 MiB) whatever the number of edges.
_SMALL_SPAN = 1 << 23
# Ids sorted at a time on the way to the sorted list of all.
_SORTED_AT_ONCE = 1 << 22


class EdgeArrays:
    """Edges held in two arrays of ids, read as vertex numbers (an `evener.graph.csr.EdgeSource`).

    Attributes
    ----------
    n, m : int
        Vertices and edges.
    ids : ndarray or None
        The id of each vertex, ascending, or None if the ids are the numbers.
    weight_dtype : dtype or None
        Of the weights as stored.
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
            0: kernels.number_itself,
            2: kernels.number_by_bitmap,
            4: kernels.number_by_search,
        }
        self._kernel = by_arguments[len(lookup)]

    def fill(self, start: int, stop: int, src: NDArray[np.uint32], dst: NDArray[np.uint32]) -> None:
        """Write the vertex numbers of edges ``start:stop``."""
        self._kernel(self.src[start:stop], self.dst[start:stop], *self._lookup, src, dst, self._parts)

    def fill_weights(self, start: int, stop: int, weights: NDArray[Any]) -> None:
        """Write the weights of edges ``start:stop``."""
        if self.weights is not None:
            weights[:] = self.weights[start:stop]


def number_edges(src: ArrayLike, dst: ArrayLike, weights: ArrayLike | None, n: int | None) -> EdgeArrays:
    """Check edge arrays and find their vertices.

    Parameters
    ----------
    src, dst : array_like, shape (edges,)
        Non-negative integers, or strings.
    weights : array_like, shape (edges,), optional
        Floats or integers, no NaN.
    n : int, optional
        The number of vertices, whose ids are then ``0..n-1``.

    Raises
    ------
    ArgumentError
        For arrays of unequal length or of another kind, and for ids that are negative, too large or not
        whole numbers.
    """
    tails, heads = _ends("src", src), _ends("dst", dst)
    if len(tails) != len(heads):
        msg = f"src and dst must have the same length, not {len(tails)} and {len(heads)}"
        raise ArgumentError(msg)
    carried = None if weights is None else _weights(weights, len(tails))
    count = None if n is None else _count(n)
    if tails.dtype.kind in "OUT" or heads.dtype.kind in "OUT":
        return _number_strings(tails, heads, carried, count)
    tails, heads = _alike(tails, heads)
    span = _span(tails, heads)
    if count is not None:
        if span > count:
            _name_too_large(tails, heads, count)
        return EdgeArrays(tails, heads, carried, count)
    return _number_integers(tails, heads, carried, span)


# ---- the arguments ----------------------------------------------------------------------------------


def _ends(name: str, given: ArrayLike) -> NDArray[Any]:
    """One end of all edges, as an array of unsigned 32- or 64-bit integers, or of strings."""
    array = _array(name, given)
    if array.ndim != 1:
        msg = f"{name} must have one dimension, not {array.ndim} (shape {array.shape})"
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
        array = _whole(name, array)
    if array.dtype.kind not in "iu":
        msg = f"{name} must hold integers or strings, not {array.dtype}"
        raise ArgumentError(msg)
    array = native(array)
    wide = np.uint64 if array.dtype.itemsize > 4 else np.uint32
    if array.dtype.kind == "i":
        if array.dtype.itemsize < 4:
            array = array.astype(np.int32)
        # Seen as unsigned, a negative number is larger than any that is allowed: one scan finds both.
        unsigned = array.view(f"u{array.dtype.itemsize}")
        if unsigned.max() >= 1 << (8 * array.dtype.itemsize - 1):
            place = int((array < 0).argmax())
            msg = f"vertex ids must not be negative, but {name}[{place}] is {array[place]}"
            raise ArgumentError(msg)
        array = unsigned
    view = np.ascontiguousarray(array, dtype=wide).view()
    view.flags.writeable = False
    return view


def _array(name: str, given: ArrayLike) -> NDArray[Any]:
    """What was given, as an array; strings in a list stay objects, for one may be far longer than others."""
    if np.ma.is_masked(given):
        msg = f"{name} is an array with masked entries; leave them out, or fill them"
        raise ArgumentError(msg)
    strings = isinstance(given, list | tuple) and len(given) > 0 and isinstance(given[0], str)
    try:
        return np.asarray(given, dtype=object if strings else None)
    except ValueError as error:
        msg = f"{name} must be a sequence of numbers or of strings: {first_clause(error)}"
        raise ArgumentError(msg) from error


def _check_strings(name: str, array: NDArray[Any]) -> None:
    """Accept an array of Python objects only if all of it is strings."""
    other = next((i for i, value in enumerate(array) if not isinstance(value, str)), None)
    if other is not None:
        msg = (
            f"{name} is an array of Python objects, and {name}[{other}] is {array[other]!r}, not a string; "
            "give an array of integers or of strings"
        )
        raise ArgumentError(msg)


def _check_all_strings(name: str, given: Sequence[Any]) -> None:
    """Refuse a list with a string in it unless all of it is strings: NumPy makes others, NaN too, strings."""
    if all(issubclass(kind, str) for kind in set(map(type, given))):  # 1 million take 25 ms
        return
    other = next(i for i, value in enumerate(given) if not isinstance(value, str))
    msg = (
        f"vertex ids must be all integers or all strings, but {name} holds strings and {name}[{other}] is "
        f"{given[other]!r}"
    )
    raise ArgumentError(msg)


def _whole(name: str, array: NDArray[Any]) -> NDArray[Any]:
    """Floats as integers, if all of them are whole."""
    broken = ~((array == np.floor(array)) & (np.abs(array) < 2.0**53))
    if broken.any():
        place = int(broken.argmax())
        msg = f"vertex ids must be whole numbers, but {name}[{place}] is {array[place]}"
        raise ArgumentError(msg)
    return array.astype(np.int64)


def _weights(given: ArrayLike, m: int) -> NDArray[Any]:
    array = _array("weights", given)
    if array.shape != (m,):
        msg = f"weights must have one entry for each of the {m} edges, not shape {array.shape}"
        raise ArgumentError(msg)
    if m == 0 and array.dtype.kind not in "iuf":
        array = array.astype(np.float64)
    if array.dtype.kind not in "iuf" or array.dtype.itemsize > 8:
        msg = f"weights must be floats or integers of up to 64 bits, not {array.dtype}"
        raise ArgumentError(msg)
    if array.dtype == np.float16:
        array = array.astype(np.float32)
    array = native(array)
    if (edge := nan_at(array)) is not None:
        msg = f"the weight of edge {edge} is NaN"
        raise ArgumentError(msg)
    return array


def _count(n: int) -> int:
    if isinstance(n, bool | np.bool_) or not isinstance(n, int | np.integer) or n < 0:
        msg = f"n must be a whole number of vertices, not {n!r}"
        raise ArgumentError(msg)
    if n > MAX_VERTICES:
        msg = f"a graph has at most {MAX_VERTICES:,} vertices (2^32 - 2), not {n:,}"
        raise ArgumentError(msg)
    return int(n)


def _alike(src: NDArray[Any], dst: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any]]:
    """Both ends in the wider of their two types."""
    dtype = np.promote_types(src.dtype, dst.dtype)
    ends = [np.ascontiguousarray(end, dtype=dtype).view() for end in (src, dst)]
    for end in ends:
        end.flags.writeable = False
    return ends[0], ends[1]


def _span(src: NDArray[Any], dst: NDArray[Any]) -> int:
    """One more than the largest id."""
    span = 1 + max(int(src.max()), int(dst.max())) if len(src) else 0
    if span > 1 << 63:
        name, end = ("src", src) if int(src.max()) == span - 1 else ("dst", dst)
        msg = f"vertex ids must be below 2^63, but {name}[{int(end.argmax())}] is {span - 1}"
        raise ArgumentError(msg)
    return span


def _name_too_large(src: NDArray[Any], dst: NDArray[Any], n: int) -> None:
    for name, end in (("src", src), ("dst", dst)):
        if len(end) and end.max() >= n:
            place = int((end >= n).argmax())
            msg = f"vertex ids must be below n = {n}, but {name}[{place}] is {end[place]}"
            raise ArgumentError(msg)


# ---- ids with gaps ----------------------------------------------------------------------------------


def _number_integers(
    src: NDArray[Any], dst: NDArray[Any], weights: NDArray[Any] | None, span: int
) -> EdgeArrays:
    """Take as vertices the ids that appear."""
    if span > max(_SPAN_PER_END * 2 * len(src), _SMALL_SPAN):
        return _number_by_search(src, dst, weights)
    import numba

    from evener.kernels.cpu import numbering as kernels

    bitmap = np.zeros(-(-span // 64), np.uint64)
    for end in (src, dst):
        kernels.mark(end, bitmap, numba.get_num_threads())
    counts = np.bitwise_count(bitmap)
    n = int(counts.sum(dtype=np.int64))
    if n == span:
        return EdgeArrays(src, dst, weights, n)
    ranks = np.zeros(len(bitmap), np.uint32)
    np.cumsum(counts[:-1], out=ranks[1:], dtype=np.uint32)
    memory.require(8 * n, f"the list of {n:,} vertex ids")
    ids = np.empty(n, np.int64)
    kernels.list_marked(bitmap, ranks, ids)
    return EdgeArrays(src, dst, weights, n, ids, (bitmap, ranks))


def _number_by_search(src: NDArray[Any], dst: NDArray[Any], weights: NDArray[Any] | None) -> EdgeArrays:
    """Sort the ids a part at a time; an index by high bits then leaves a search few steps."""
    starts = range(0, len(src), _SORTED_AT_ONCE)
    parts = [_distinct(end[start : start + _SORTED_AT_ONCE]) for end in (src, dst) for start in starts]
    ids = _distinct(np.concatenate(parts))
    del parts
    n, lowest = len(ids), ids[0]
    wanted = 1 + n.bit_length()
    shift = max(0, int(ids[-1] - lowest).bit_length() - wanted)
    groups = (ids - lowest) >> ids.dtype.type(shift)
    index = np.searchsorted(groups, np.arange(int(groups[-1]) + 2, dtype=ids.dtype)).astype(np.uint32)
    lookup = (ids.astype(np.uint64, copy=False), np.uint64(lowest), np.uint64(shift), index)
    return EdgeArrays(src, dst, weights, n, ids.astype(np.int64), lookup)


def _distinct(values: NDArray[Any]) -> NDArray[Any]:
    """Sort values and keep each once: 4 million take 0.3 s, by hashing, as `numpy.unique` does, 1.6 s."""
    values = np.sort(values)
    distinct: NDArray[Any] = values[np.concatenate([[True], values[1:] != values[:-1]])]
    return distinct


def _number_strings(
    src: NDArray[Any], dst: NDArray[Any], weights: NDArray[Any] | None, n: int | None
) -> EdgeArrays:
    """Take as vertices the strings that appear, in the order of their code points."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for name, end in (("src", src), ("dst", dst)):
        if end.dtype.kind not in "OUT":
            msg = f"src and dst must both hold strings or both integers, but {name} holds integers"
            raise ArgumentError(msg)
    if n is not None:
        msg = f"n = {n} says that ids are the integers 0..n-1, but src and dst hold strings; leave n out"
        raise ArgumentError(msg)
    columns = [_string_column(name, end) for name, end in (("src", src), ("dst", dst))]
    both = pa.chunked_array(columns).dictionary_encode().unify_dictionaries()
    names = both.chunk(0).dictionary
    if pc.any(pc.match_substring(names, "\0")).as_py():
        msg = "vertex names must not hold the character NUL, with which strings of NumPy's and Arrow's end"
        raise ArgumentError(msg)
    order = pc.sort_indices(names).to_numpy()
    places = np.empty(len(order), np.uint32)
    places[order] = np.arange(len(order), dtype=np.uint32)
    longest = int(pc.max(pc.utf8_length(names)).as_py())
    memory.require(4 * longest * len(order), f"the list of {len(order):,} vertex names")
    ids = np.array(names.take(pa.array(order)).to_pylist(), dtype=f"U{max(1, longest)}")
    codes = [places[chunk.indices.to_numpy(zero_copy_only=False)] for chunk in both.chunks]
    ends = _alike(codes[0], codes[1])
    return EdgeArrays(*ends, weights, len(order), ids)


def _string_column(name: str, end: NDArray[Any]) -> Any:
    """Strings as Arrow holds them."""
    import pyarrow as pa

    try:
        column = pa.array(end.astype(object, copy=False), type=pa.large_string())
    except (UnicodeEncodeError, pa.ArrowException) as error:
        msg = f"{name} holds a string that has no UTF-8 form: {first_clause(error)}"
        raise ArgumentError(msg) from error
    if column.null_count:
        msg = f"{name}[{column.is_null().index(pa.scalar(True)).as_py()}] is missing"  # noqa: FBT003 - sought
        raise ArgumentError(msg)
    return column
