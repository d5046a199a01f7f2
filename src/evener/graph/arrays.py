"""Checks and conversions of the arrays of a graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError
from evener.system import memory

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import DTypeLike, NDArray

__all__ = [
    "MAX_VERTICES",
    "as_native",
    "check_csr",
    "check_symmetric",
    "constant",
    "first_nan",
    "fit_one_width",
    "graph_arrays",
    "read_only",
    "string_array",
]

# Bytes of strings of one width that are always acceptable.
_FIXED_BYTES = 1 << 24
# Largest ratio of strings of one width to Python strings, which need about 60 bytes each.
_MAX_RATIO = 8
_OBJECT_BYTES = 60

# Vertex numbers are uint32; two values are reserved for "none" and "many".
MAX_VERTICES = (1 << 32) - 2


def string_array(strings: Sequence[str]) -> NDArray[Any]:
    """Return strings as an array of one width, or of Python strings if the widths are very unequal."""
    lengths = [len(string) for string in strings]
    longest = max(lengths, default=1)
    if not fit_one_width(longest, sum(lengths), len(lengths)):
        return np.array(strings, dtype=object)
    memory.require(4 * longest * len(lengths), f"the list of {len(lengths):,} vertex ids")
    return np.array(strings, dtype=np.str_)


def fit_one_width(longest: int, total: int, count: int) -> bool:
    """Return whether an array of one width suits strings, given their longest and total length."""
    fixed = 4 * longest * count
    return fixed <= _FIXED_BYTES or fixed <= _MAX_RATIO * (total + _OBJECT_BYTES * count)


def _unsigned(values: Any, dtype: DTypeLike, name: str) -> NDArray[Any]:
    """Return integers as a contiguous array of an unsigned type, without rounding or wrapping."""
    values = np.asarray(values)
    if values.dtype != dtype and values.size:
        if values.dtype.kind not in "iu":
            msg = f"{name}: expected integers, found {values.dtype}"
            raise ArgumentError(msg)
        smallest, largest = int(values.min()), int(values.max())
        highest = np.iinfo(dtype).max
        if smallest < 0 or largest > highest:
            msg = (
                f"{name}: expected numbers from 0 to {highest}, found {smallest if smallest < 0 else largest}"
            )
            raise ArgumentError(msg)
    return np.ascontiguousarray(values, dtype)


def check_csr(
    offsets: NDArray[np.uint64],
    targets: NDArray[np.uint32],
    *,
    weights: NDArray[Any] | None = None,
    ids: NDArray[Any] | None = None,
) -> None:
    """Check that arrays form a graph in compressed sparse rows; kernels do not check again.

    Parameters
    ----------
    offsets : ndarray of uint64, shape (n + 1,)
        Row bounds, ascending from 0 to m; equal neighbours are allowed.
    targets : ndarray of uint32, shape (m,)
        Vertex numbers below n, ascending within each row.
    weights : ndarray, shape (m,), optional
        float32, float64 or integers, without NaN.
    ids : ndarray, shape (n,), optional
        Integers or strings, strictly ascending. Strings may be Python objects.

    Raises
    ------
    ArgumentError
        If the arrays break a rule. The message names the rule and the first position.
    """
    if offsets.ndim != 1 or targets.ndim != 1:
        msg = f"offsets and targets: expected one dimension, found {offsets.ndim} and {targets.ndim}"
        raise ArgumentError(msg)
    if len(offsets) == 0:
        msg = "offsets: expected n + 1 numbers, found none; a graph without vertices has offsets [0]"
        raise ArgumentError(msg)
    n, m = len(offsets) - 1, len(targets)
    if n > MAX_VERTICES:
        msg = f"offsets: expected at most {MAX_VERTICES:,} vertices (2^32 - 2), found {n:,}"
        raise ArgumentError(msg)
    if offsets[0] != 0 or offsets[-1] != m:
        msg = f"offsets: expected 0 to {m}, the number of targets, found {offsets[0]} to {offsets[-1]}"
        raise ArgumentError(msg)
    _raise_at_first(
        offsets[1:] < offsets[:-1],
        "offsets: expected ascending numbers, found {1} for vertex {0} and then {2}",
        offsets,
    )
    if weights is not None:
        _check_weights(weights, m)
    if ids is not None:
        _check_ids(ids, n)
    if m:
        _check_targets(offsets, targets)


def _canonical_ids(ids: NDArray[Any]) -> NDArray[Any]:
    """Return integer ids as int64 and string ids as ``str_``; return other types in native byte order."""
    if ids.dtype.kind == "i" and ids.ndim == 1 and len(ids) and ids[0] < 0:  # ids ascend
        msg = f"ids: expected integers of at least 0, found {ids[0]} as the first"
        raise ArgumentError(msg)
    if ids.dtype.kind == "u" and ids.size and ids.max() > np.iinfo(np.int64).max:
        msg = f"ids: expected integers below 2^63, found {ids.max()}"
        raise ArgumentError(msg)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64, copy=False)
    if ids.dtype.kind == "T":
        return string_array(ids.tolist())
    if ids.dtype.kind != "S":
        return ids.astype(ids.dtype.newbyteorder("="), copy=False)
    try:
        return ids.astype(np.str_)
    except UnicodeDecodeError as error:
        msg = f"ids: expected ASCII in bytes, found {error.object!r}; decode them first"
        raise ArgumentError(msg) from error


def _raise_at_first(broken: NDArray[np.bool_], sentence: str, array: NDArray[Any]) -> None:
    """Raise `sentence` for the first True position, with its value and the next value."""
    if broken.any():
        i = int(broken.argmax())
        raise ArgumentError(sentence.format(i, array[i], array[min(i + 1, len(array) - 1)]))


def _check_weights(weights: NDArray[Any], m: int) -> None:
    if weights.shape != (m,):
        msg = f"weights: expected one entry for each of the {m} edges, found shape {weights.shape}"
        raise ArgumentError(msg)
    if weights.dtype.kind not in "iuf" or weights.dtype.itemsize not in (1, 2, 4, 8) or weights.dtype == "f2":
        msg = f"weights: expected float32, float64 or integers of up to 64 bits, found {weights.dtype}"
        raise ArgumentError(msg)
    if (edge := first_nan(weights)) is not None:
        msg = f"weights: expected numbers, found NaN as the weight of edge {edge}"
        raise ArgumentError(msg)


def check_symmetric(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], weights: NDArray[Any] | None
) -> None:
    """Raise `ArgumentError` unless rows store every edge in both directions with the same weight."""
    from evener.kernels.cpu.symmetry import asymmetry

    # Two weights are equal if their bits are equal.
    marks = np.empty(0, np.uint64) if weights is None else weights.view(f"u{weights.itemsize}")
    if asymmetry(read_only(offsets), read_only(targets), read_only(marks)):
        msg = (
            "expected every edge in both directions with the same weight, as in an undirected graph; "
            "give directed=True for these rows"
        )
        raise ArgumentError(msg)


def first_nan(weights: NDArray[Any]) -> int | None:
    """Return the position of the first NaN, or None."""
    # A minimum over a NaN is NaN; np.min allocates no temporary array.
    if weights.dtype.kind != "f" or not len(weights) or not np.isnan(np.min(weights)):
        return None
    return int(np.isnan(weights).argmax())


def _check_ids(ids: NDArray[Any], n: int) -> None:
    if ids.shape != (n,):
        msg = f"ids: expected one entry for each of the {n} vertices, found shape {ids.shape}"
        raise ArgumentError(msg)
    python_strings = ids.dtype.kind == "O" and all(isinstance(value, str) for value in ids)
    if ids.dtype.kind not in "iU" and not python_strings:
        msg = f"ids: expected integers or strings, found {ids.dtype}"
        raise ArgumentError(msg)
    _raise_at_first(
        ids[1:] <= ids[:-1],
        "ids: expected ascending and distinct ids, found {1} for vertex {0} and then {2}",
        ids,
    )


def _check_targets(offsets: NDArray[np.uint64], targets: NDArray[np.uint32]) -> None:
    import numba

    from evener.kernels.cpu import check as kernels

    n, parts = len(offsets) - 1, min(4 * numba.get_num_threads(), len(targets), len(offsets))
    highest, descents, row_descents = (np.zeros(parts, np.uint64) for _ in range(3))
    kernels.check_targets(read_only(targets), read_only(offsets), highest, descents, row_descents, parts)
    if highest.max() >= n:
        edge = int((targets >= n).argmax())
        msg = f"targets: expected vertices below {n}, found {targets[edge]} at edge {edge}"
        raise ArgumentError(msg)
    if descents.sum() != row_descents.sum():
        falls = np.flatnonzero(targets[1:] < targets[:-1]) + 1
        edge = int(np.setdiff1d(falls, offsets)[0])
        row = int(np.searchsorted(offsets, edge, side="right")) - 1
        msg = (
            f"targets: expected ascending targets in the row of vertex {row}, found "
            f"{targets[edge - 1]} at edge {edge - 1} and then {targets[edge]}"
        )
        raise ArgumentError(msg)


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Return a read-only view; Numba then compiles each kernel for one array type only."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def constant(array: Any) -> Any:
    """Return a read-only view of a host array, as `read_only` does; return an array of a GPU itself."""
    if not isinstance(array, np.ndarray):
        return array
    view = array.view()
    view.flags.writeable = False
    return view


def as_native(values: Any) -> NDArray[Any]:
    """Return a contiguous array in native byte order."""
    array = np.asarray(values)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def graph_arrays(
    offsets: Any, targets: Any, weights: Any, ids: Any, *, copied: bool
) -> tuple[Any, Any, Any, Any]:
    """Return the arrays of a graph in the types of the kernels; absent weights and ids stay None.

    `copied` copies the arrays that the caller can still write to.

    Raises
    ------
    ArgumentError
        If offsets or targets are not integers or are out of range. If ids are neither integers nor strings.
    """
    given = offsets, targets, weights, ids
    arrays = (
        _unsigned(offsets, np.uint64, "offsets"),
        _unsigned(targets, np.uint32, "targets"),
        None if weights is None else as_native(weights),
        None if ids is None else _canonical_ids(np.asarray(ids)),
    )
    if not copied:
        return arrays
    first, second, third, fourth = map(_copy_if_shared, arrays, given)
    return first, second, third, fourth


def _copy_if_shared(array: Any, given: Any) -> Any:
    shared = isinstance(given, np.ndarray) and given.flags.writeable and np.may_share_memory(array, given)
    return array.copy() if shared else array
