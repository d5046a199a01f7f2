"""The rules that make arrays a graph, checked once and fully before any kernel trusts them."""

from __future__ import annotations

import math
import os
from contextlib import suppress
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = [
    "MAX_VERTICES",
    "check_csr",
    "check_directed",
    "check_name_of_file",
    "check_path",
    "check_seed",
    "check_symmetric",
    "is_number",
    "is_whole",
    "nan_at",
    "native",
    "read_only",
    "rows_of",
    "type_name",
]

# Vertex numbers are uint32 and two of them are kept for marks ("none", "many").
MAX_VERTICES = (1 << 32) - 2


def is_number(value: Any) -> bool:
    """Whether it is a real number, NaN and infinities among them, and no truth value."""
    return isinstance(value, Real) and not isinstance(value, bool | np.bool_)


def is_whole(value: Any) -> bool:
    """Whether it is a whole number, of any type."""
    return is_number(value) and math.isfinite(value) and int(value) == value


def check_seed(seed: Any) -> int:
    """A seed, as NumPy takes it.

    Raises
    ------
    ArgumentError
        If it is no whole number of at least 0.
    """
    if not is_whole(seed) or seed < 0:
        msg = f"seed is a whole number of at least 0, not {seed!r}"
        raise ArgumentError(msg)
    return int(seed)


def check_directed(directed: Any) -> bool:
    """Whether edges count in one direction only, as a truth value.

    Raises
    ------
    ArgumentError
        If it is neither true nor false.
    """
    if not isinstance(directed, bool | np.bool_ | int) or directed not in (False, True):
        msg = f"directed is True or False, not {directed!r}"
        raise ArgumentError(msg)
    return bool(directed)


def type_name(value: Any) -> str:
    """The type of a value as its users name it, after its library if it has one: networkx.DiGraph."""
    found = type(value)
    library = found.__module__.partition(".")[0]
    return found.__qualname__ if library == "builtins" else f"{library}.{found.__qualname__}"


def _unsigned(values: Any, dtype: DTypeLike, name: str) -> NDArray[Any]:
    """An array of unsigned integers, of values that are such.

    Raises
    ------
    ArgumentError
        If they are no integers, or some are out of range: none is rounded or wrapped.
    """
    values = np.asarray(values)
    if values.dtype != dtype and values.size:
        if values.dtype.kind not in "iu":
            msg = f"{name} are integers, not {values.dtype}"
            raise ArgumentError(msg)
        least, most = int(values.min()), int(values.max())
        highest = np.iinfo(dtype).max
        if least < 0 or most > highest:
            msg = f"{name} are from 0 to {highest}, not {least if least < 0 else most}"
            raise ArgumentError(msg)
    return np.ascontiguousarray(values, dtype)


def check_csr(
    offsets: NDArray[np.uint64],
    targets: NDArray[np.uint32],
    *,
    weights: NDArray[Any] | None = None,
    ids: NDArray[Any] | None = None,
) -> None:
    """Check that arrays form a graph, before any kernel trusts them.

    Parameters
    ----------
    offsets : ndarray of uint64, shape (n + 1,)
        Row bounds: from 0 to m, never falling.
    targets : ndarray of uint32, shape (m,)
        Below n, ascending within each row.
    weights : ndarray, shape (m,), optional
        float32, float64 or integers; no NaN.
    ids : ndarray, shape (n,), optional
        Integers or strings, strictly ascending.

    Raises
    ------
    ArgumentError
        Naming the broken rule and the first place that breaks it.
    """
    if offsets.ndim != 1 or targets.ndim != 1:
        msg = f"offsets and targets must have one dimension, not {offsets.ndim} and {targets.ndim}"
        raise ArgumentError(msg)
    if len(offsets) == 0:
        msg = "offsets is empty; a graph without vertices has offsets [0]"
        raise ArgumentError(msg)
    n, m = len(offsets) - 1, len(targets)
    if n > MAX_VERTICES:
        msg = f"a graph has at most {MAX_VERTICES:,} vertices (2^32 - 2), not {n:,}"
        raise ArgumentError(msg)
    if offsets[0] != 0 or offsets[-1] != m:
        msg = f"offsets must run from 0 to the {m} targets, not from {offsets[0]} to {offsets[-1]}"
        raise ArgumentError(msg)
    _refuse(offsets[1:] < offsets[:-1], "offsets fall from vertex {0} to the next: {1} to {2}", offsets)
    if weights is not None:
        _check_weights(weights, m)
    if ids is not None:
        _check_ids(ids, n)
    if m:
        _check_targets(offsets, targets)


def _canonical_ids(ids: NDArray[Any]) -> NDArray[Any]:
    """Ids as int64 or ``str_``, where they are integers or strings of another type; else as they are.

    Raises
    ------
    ArgumentError
        For an integer that is negative, or 2^63 or more, or bytes that are not ASCII.
    """
    if ids.dtype.kind == "i" and ids.ndim == 1 and len(ids) and ids[0] < 0:  # they ascend
        msg = f"vertex ids must not be negative, but the first is {ids[0]}"
        raise ArgumentError(msg)
    if ids.dtype.kind == "u" and ids.size and ids.max() > np.iinfo(np.int64).max:
        msg = f"an id is an integer of up to 63 bits, not {ids.max()}"
        raise ArgumentError(msg)
    if ids.dtype.kind in "iu":
        return ids.astype(np.int64, copy=False)
    if ids.dtype.kind == "T":
        return np.array(ids.tolist(), np.str_)
    if ids.dtype.kind != "S":
        return ids.astype(ids.dtype.newbyteorder("="), copy=False)
    try:
        return ids.astype(np.str_)
    except UnicodeDecodeError as error:
        msg = f"ids of type {ids.dtype} are ASCII, which {error.object!r} is not; decode them first"
        raise ArgumentError(msg) from error


def _refuse(broken: NDArray[np.bool_], sentence: str, array: NDArray[Any]) -> None:
    """Raise `sentence` for the first place that is broken, with that value and the next."""
    if broken.any():
        i = int(broken.argmax())
        raise ArgumentError(sentence.format(i, array[i], array[min(i + 1, len(array) - 1)]))


def _check_weights(weights: NDArray[Any], m: int) -> None:
    if weights.shape != (m,):
        msg = f"weights must have one entry for each of the {m} edges, not shape {weights.shape}"
        raise ArgumentError(msg)
    if weights.dtype.kind not in "iuf" or weights.dtype.itemsize not in (1, 2, 4, 8) or weights.dtype == "f2":
        msg = f"weights must be float32, float64 or integers of up to 64 bits, not {weights.dtype}"
        raise ArgumentError(msg)
    if (edge := nan_at(weights)) is not None:
        msg = f"the weight of edge {edge} is NaN"
        raise ArgumentError(msg)


def check_symmetric(
    offsets: NDArray[np.uint64], targets: NDArray[np.uint32], weights: NDArray[Any] | None
) -> None:
    """Check that the rows of an undirected graph hold every edge in both directions with the same weight.

    Raises
    ------
    ArgumentError
        If they do not.
    """
    from evener.kernels.cpu.rows import asymmetry

    # Weights are alike if their bits are.
    marks = np.empty(0, np.uint64) if weights is None else weights.view(f"u{weights.itemsize}")
    if asymmetry(read_only(offsets), read_only(targets), read_only(marks)):
        msg = (
            "an undirected graph's rows hold every edge in both directions with the same weight, and these "
            "do not; take it with directed=True"
        )
        raise ArgumentError(msg)


def nan_at(weights: NDArray[Any]) -> int | None:
    """The place of the first NaN, if there is one."""
    # The minimum of anything and NaN is NaN, and it takes no array as large as the weights.
    if weights.dtype.kind != "f" or not len(weights) or not np.isnan(np.min(weights)):
        return None
    return int(np.isnan(weights).argmax())


def _check_ids(ids: NDArray[Any], n: int) -> None:
    if ids.shape != (n,):
        msg = f"ids must have one entry for each of the {n} vertices, not shape {ids.shape}"
        raise ArgumentError(msg)
    if ids.dtype.kind not in "iU":
        msg = f"ids must be integers or strings, not {ids.dtype}"
        raise ArgumentError(msg)
    _refuse(ids[1:] <= ids[:-1], "ids must ascend strictly, but vertex {0} has {1!r} and the next {2!r}", ids)


def _check_targets(offsets: NDArray[np.uint64], targets: NDArray[np.uint32]) -> None:
    import numba

    from evener.kernels.cpu import check as kernels

    n, parts = len(offsets) - 1, min(4 * numba.get_num_threads(), len(targets), len(offsets))
    highest, descents, row_descents = (np.zeros(parts, np.uint64) for _ in range(3))
    kernels.check_targets(read_only(targets), read_only(offsets), highest, descents, row_descents, parts)
    if highest.max() >= n:
        edge = int((targets >= n).argmax())
        msg = f"edge {edge} leads to vertex {targets[edge]}, but there are only {n} vertices"
        raise ArgumentError(msg)
    if descents.sum() != row_descents.sum():
        falls = np.flatnonzero(targets[1:] < targets[:-1]) + 1
        edge = int(np.setdiff1d(falls, offsets)[0])
        row = int(np.searchsorted(offsets, edge, side="right")) - 1
        msg = (
            f"the targets of vertex {row} must ascend, but edge {edge - 1} leads to {targets[edge - 1]} "
            f"and edge {edge} to {targets[edge]}"
        )
        raise ArgumentError(msg)


def check_path(path: Any, said: str) -> Path:
    """Give what may be the path of a file as one; `said` is what takes it, in the caller's words.

    Raises
    ------
    ArgumentError
        If it is no path, empty, or one that no file can have.
    """
    return Path(check_name_of_file(path, f"{said} takes the path of a file"))


def check_name_of_file(path: Any, takes: str) -> str:
    """As `check_path`, in words of the caller's: "read takes a path or a spec"."""
    name = None
    if isinstance(path, str | os.PathLike):
        with suppress(TypeError):  # of what says that it is a path, and gives none
            name = os.fsdecode(path)
    if name is None:
        raise ArgumentError(f"{takes}, not {type_name(path)}")
    if not name:
        raise ArgumentError(f"{takes}, and the name given is empty")
    if "\0" in name:
        msg = f"{takes}, and {name!r} holds a NUL character, which no path does"
        raise ArgumentError(msg)
    return name


def read_only(array: NDArray[Any]) -> NDArray[Any]:
    """Give a view that cannot be written: for Numba a type of its own, so that one compilation is enough."""
    view = np.ascontiguousarray(array).view()
    view.flags.writeable = False
    return view


def native(values: Any) -> NDArray[Any]:
    """An array in one piece, its bytes in the order of this machine."""
    array = np.asarray(values)
    return np.ascontiguousarray(array, array.dtype.newbyteorder("="))


def rows_of(offsets: Any, targets: Any, weights: Any, ids: Any, *, copied: bool) -> tuple[Any, Any, Any, Any]:
    """The arrays of a graph in the types that kernels take, weights and ids only where there are any.

    `copied` is whether to copy those that who gave them could still write to.

    Raises
    ------
    ArgumentError
        For numbers that are no integers or out of range, and ids of other types.
    """
    given = offsets, targets, weights, ids
    arrays = (
        _unsigned(offsets, np.uint64, "offsets"),
        _unsigned(targets, np.uint32, "targets"),
        None if weights is None else native(weights),
        None if ids is None else _canonical_ids(np.asarray(ids)),
    )
    if not copied:
        return arrays
    first, second, third, fourth = map(_kept_from_writing, arrays, given)
    return first, second, third, fourth


def _kept_from_writing(array: Any, given: Any) -> Any:
    shared = isinstance(given, np.ndarray) and given.flags.writeable and np.may_share_memory(array, given)
    return array.copy() if shared else array
