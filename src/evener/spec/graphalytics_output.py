"""Compare an answer with an expected output of LDBC Graphalytics, by the three match rules.

A file has a line "id value" for each vertex. An unreached vertex has 9223372036854775807 as its BFS
distance and "infinity" as its SSSP distance. Section 5.4 of the Graphalytics specification defines the rules.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.errors import ArgumentError, FileError, FormatError, UnknownVertexError, VerificationError
from evener.spec.registry import find

if TYPE_CHECKING:
    import os

    from numpy.typing import ArrayLike, NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer import Answer

__all__ = ["against", "match_epsilon", "match_equivalent", "match_exact", "read_expected"]

# Relative tolerance of the specification for ranks and weighted distances.
EPSILON = 1e-4

_UNREACHED = np.iinfo(np.int64).max


def match_exact(column: ArrayLike, expected: ArrayLike, *, ids: ArrayLike | None = None) -> None:
    """Raise VerificationError unless two columns are equal.

    Parameters
    ----------
    column, expected : array_like, shape (n,)
        One value per vertex.
    ids : array_like, shape (n,), optional
        The vertex ids for the error message. Default: positions.
    """
    found, wanted = _pair(column, expected)
    _fail_first(found != wanted, found, wanted, ids, "exact match")


def match_epsilon(
    column: ArrayLike, expected: ArrayLike, *, ids: ArrayLike | None = None, epsilon: float = EPSILON
) -> None:
    """Raise VerificationError unless each value differs by at most `epsilon` times the expected value.

    Parameters
    ----------
    column, expected : array_like, shape (n,)
        One value per vertex. Infinity matches only infinity.
    ids : array_like, shape (n,), optional
        The vertex ids for the error message. Default: positions.
    epsilon : float, default 1e-4
        The relative tolerance.
    """
    found, wanted = _pair(column, expected)
    same = found == wanted
    close = np.zeros(len(found), dtype=bool)
    finite = np.isfinite(found) & np.isfinite(wanted)
    close[finite] = np.abs(found[finite] - wanted[finite]) <= epsilon * np.abs(wanted[finite])
    _fail_first(~(same | close), found, wanted, ids, f"match within {epsilon:g}")


def match_equivalent(column: ArrayLike, expected: ArrayLike, *, ids: ArrayLike | None = None) -> None:
    """Raise VerificationError unless two columns of labels define the same groups of vertices.

    Parameters
    ----------
    column, expected : array_like, shape (n,)
        One label per vertex.
    ids : array_like, shape (n,), optional
        The vertex ids for the error message. Default: positions.
    """
    found, wanted = _pair(column, expected)
    # The groups are the same if each label of one column pairs with exactly one label of the other column.
    _fail_first(_first_partner(wanted, found) != found, found, wanted, ids, "equivalence match")
    _fail_first(_first_partner(found, wanted) != wanted, found, wanted, ids, "equivalence match")


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
        If a line does not contain an id and a number.
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
        msg = f"cannot read {path}: {error.strerror or error}"
        raise FileError(msg) from error
    except pa.ArrowInvalid as error:
        msg = f'expected lines "id value" with one space ({error})'
        raise FormatError(msg, path=Path(path)) from error
    values = table["value"]
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)) or values.null_count:
        values = _as_numbers(values.cast(pa.string()).to_pylist(), path)
    return table["id"].to_numpy(), np.asarray(values)


def against(result: Answer, path: str | os.PathLike[str]) -> None:
    """Compare a result with an LDBC Graphalytics expected-output file, by the match rule of its algorithm.

    Parameters
    ----------
    result : Result or Claim
        The answer of an algorithm with a match rule in its spec.
    path : str or path-like
        The expected output; see `read_expected`.

    Raises
    ------
    VerificationError
        If the values differ. The error names the first vertex and the two values.
    ArgumentError
        If the algorithm has no match rule, or the file and the graph have different vertices.
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
        msg = f"{path} does not fit this graph: {error}"
        raise ArgumentError(msg) from error
    counts = np.bincount(numbers, minlength=graph.n)
    if (counts != 1).any():
        v = int(np.argmax(counts != 1))
        msg = f"{path} does not fit this graph: expected 1 line for vertex {graph.ids[v]}, found {counts[v]}"
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
            msg = f"expected a number after the id, found {word or 'nothing'!r}"
            raise FormatError(msg, path=Path(path), line=line) from None
    return values


def _pair(column: ArrayLike, expected: ArrayLike) -> tuple[NDArray[Any], NDArray[Any]]:
    found, wanted = np.asarray(column), np.asarray(expected)
    if found.shape != wanted.shape or found.ndim != 1:
        msg = f"expected two columns of equal length, found shapes {found.shape} and {wanted.shape}"
        raise ArgumentError(msg)
    return found, wanted


def _first_partner(keys: NDArray[Any], values: NDArray[Any]) -> NDArray[Any]:
    """Return, for each position, the value at the first position with the same key."""
    _, first, group = np.unique(keys, return_index=True, return_inverse=True)
    partner: NDArray[Any] = values[first][group]
    return partner


def _fail_first(
    wrong: NDArray[np.bool_], found: NDArray[Any], wanted: NDArray[Any], ids: ArrayLike | None, rule: str
) -> None:
    if not wrong.any():
        return
    v = int(np.argmax(wrong))
    name = v if ids is None else np.asarray(ids)[v]
    msg = f"{rule}: vertex {name} has {found[v]}, expected {wanted[v]}"
    raise VerificationError(msg)
