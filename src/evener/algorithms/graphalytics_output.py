"""Comparison with an expected answer: LDBC Graphalytics' three match rules, and its output files.

A file has a line "id value" for each vertex. An unreached vertex has 9223372036854775807 as its BFS
distance and "infinity" as its SSSP distance. Rules: section 5.4 of the Graphalytics specification.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.registry import find
from evener.errors import ArgumentError, FileError, FormatError, UnknownVertexError, VerificationError

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from evener.algorithms.verification import Answer
    from evener.graph.graph import Graph

__all__ = ["against", "match_epsilon", "match_equivalent", "match_exact", "read_expected"]

# The specification's relative tolerance for ranks and distances with weights.
EPSILON = 1e-4

_UNREACHED = np.iinfo(np.int64).max


def match_exact(column: ArrayLike, expected: ArrayLike, *, ids: ArrayLike | None = None) -> None:
    """Raise VerificationError unless the two columns are the same.

    Parameters
    ----------
    column, expected : array_like, shape (n,)
        One value a vertex.
    ids : array_like, shape (n,), optional
        What to call the vertices in the error; without it, their positions.
    """
    found, wanted = _pair(column, expected)
    _tell_first(found != wanted, found, wanted, ids, "exact match")


def match_epsilon(
    column: ArrayLike, expected: ArrayLike, *, ids: ArrayLike | None = None, epsilon: float = EPSILON
) -> None:
    """Raise VerificationError unless each value lies within `epsilon` times the expected one.

    Parameters
    ----------
    column, expected : array_like, shape (n,)
        One value a vertex; infinity matches infinity only.
    ids : array_like, shape (n,), optional
        What to call the vertices in the error; without it, their positions.
    epsilon : float, default 1e-4
        The relative tolerance.
    """
    found, wanted = _pair(column, expected)
    same = found == wanted
    near = np.zeros(len(found), dtype=bool)
    finite = np.isfinite(found) & np.isfinite(wanted)
    near[finite] = np.abs(found[finite] - wanted[finite]) <= epsilon * np.abs(wanted[finite])
    _tell_first(~(same | near), found, wanted, ids, f"match within {epsilon:g}")


def match_equivalent(column: ArrayLike, expected: ArrayLike, *, ids: ArrayLike | None = None) -> None:
    """Raise VerificationError unless the two columns group the vertices alike, whatever the labels.

    Parameters
    ----------
    column, expected : array_like, shape (n,)
        One label a vertex.
    ids : array_like, shape (n,), optional
        What to call the vertices in the error; without it, their positions.
    """
    found, wanted = _pair(column, expected)
    # Two groupings are the same if each label of one always meets the same label of the other.
    _tell_first(_first_met(wanted, found) != found, found, wanted, ids, "equivalence match")
    _tell_first(_first_met(found, wanted) != wanted, found, wanted, ids, "equivalence match")


def read_expected(path: str | os.PathLike[str]) -> tuple[NDArray[np.int64], NDArray[Any]]:
    """Read an LDBC expected-output file.

    Parameters
    ----------
    path : str or path-like
        Lines "id value"; plain, ``.gz`` or ``.zst``.

    Returns
    -------
    ids : ndarray of int64, shape (n,)
    values : ndarray of int64 or float64, shape (n,)

    Raises
    ------
    FileError
        If the file cannot be read.
    FormatError
        If a line is not an id and a number.
    """
    import pyarrow as pa
    from pyarrow import csv

    layout = csv.ReadOptions(column_names=["id", "value"])
    types = csv.ConvertOptions(column_types={"id": pa.int64()})
    try:
        table = csv.read_csv(
            Path(path), layout, parse_options=csv.ParseOptions(delimiter=" "), convert_options=types
        )
    except OSError as error:
        msg = f"{path}: cannot be read ({error.strerror or error})"
        raise FileError(msg) from error
    except pa.ArrowInvalid as error:
        msg = f"expected lines of an id and a value with one space between them ({error})"
        raise FormatError(msg, path=Path(path)) from error
    values = table["value"]
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) or values.null_count:
        values = _as_numbers(values.cast(pa.string()).to_pylist(), path)
    return table["id"].to_numpy(), np.asarray(values)


def against(result: Answer, path: str | os.PathLike[str]) -> None:
    """Compare a result with an LDBC Graphalytics expected-output file, by the rule for its algorithm.

    Parameters
    ----------
    result : Result or Claim
        The answer of an algorithm whose spec has a match rule.
    path : str or path-like
        The expected output; see `read_expected`.

    Raises
    ------
    VerificationError
        Naming the first vertex where the two differ, and the two values.
    ArgumentError
        If the algorithm has no match rule, or the file is about other vertices than the graph.
    FileError, FormatError
        If the file cannot be read.
    """
    spec = find(result.algorithm)
    if spec.graphalytics is None:
        msg = f"LDBC Graphalytics defines no match rule for {spec.name}"
        raise ArgumentError(msg)
    name, rule = spec.graphalytics
    match = {"exact": match_exact, "epsilon": match_epsilon, "equivalence": match_equivalent}[rule]
    wanted = _in_id_order(result.graph, *read_expected(path), path)
    found = np.asarray(result[name])
    if found.dtype.kind == "i":
        wanted = np.where(wanted == _UNREACHED, -1, wanted)
    try:
        match(found, wanted, ids=result.graph.ids)
    except VerificationError as error:
        msg = f"{result.algorithm}: {name} differs from {Path(path).name}: {error}"
        raise VerificationError(msg) from None


def _in_id_order(
    graph: Graph, ids: NDArray[np.int64], values: NDArray[Any], path: str | os.PathLike[str]
) -> NDArray[Any]:
    try:
        numbers = graph.numbers_of(ids)
    except UnknownVertexError as error:
        msg = f"{path} is not about this graph: {error}"
        raise ArgumentError(msg) from error
    counts = np.bincount(numbers, minlength=graph.n)
    if (counts != 1).any():
        v = int(np.argmax(counts != 1))
        msg = f"{path} is not about this graph: vertex {graph.ids[v]} has {counts[v]} lines, not 1"
        raise ArgumentError(msg)
    ordered = np.empty_like(values)
    ordered[numbers] = values
    return ordered


def _as_numbers(words: list[str | None], path: str | os.PathLike[str]) -> NDArray[np.float64]:
    values = np.empty(len(words))
    for line, word in enumerate(words, start=1):
        try:
            values[line - 1] = float(word or "")
        except ValueError:
            msg = f"expected a number after the id, not {word or 'nothing'!r}"
            raise FormatError(msg, path=Path(path), line=line) from None
    return values


def _pair(column: ArrayLike, expected: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    found, wanted = np.asarray(column), np.asarray(expected)
    if found.shape != wanted.shape or found.ndim != 1:
        msg = f"columns to compare have one value a vertex each, not shapes {found.shape} and {wanted.shape}"
        raise ArgumentError(msg)
    return found, wanted


def _first_met(keys: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """For each position, the value at the first position with the same key."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    met: NDArray[Any] = values[first][group]
    return met


def _tell_first(
    wrong: NDArray[np.bool_], found: NDArray[Any], wanted: NDArray[Any], ids: ArrayLike | None, rule: str
) -> None:
    if not wrong.any():
        return
    v = int(np.argmax(wrong))
    name = v if ids is None else np.asarray(ids)[v]
    msg = f"{rule}: vertex {name} has {found[v]}, expected {wanted[v]}"
    raise VerificationError(msg)
