"""Shared by the verifiers: checks of an answer, and the error of a failed rule."""

from __future__ import annotations

import inspect
import math
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError, VerificationError
from evener.graph.checks import is_integral, is_number, type_name
from evener.graph.csr import rows_at
from evener.kernels.vertex import NO_VERTEX
from evener.spec.goal import parse_goal

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.spec.algorithm import AlgorithmSpec
    from evener.spec.answer import Answer
    from evener.spec.goal import Goal

__all__ = ["PIECE", "edge_blocks", "fail", "first_true", "vertex_numbers"]

# Blocks of rows with about equal edges; threads take them one by one.
_BLOCKS = 256
# Vertices in a piece. Checks that need temporary memory process one piece at a time.
PIECE = 1 << 22


def fail(answer: Answer, rule: str, detail: str) -> NoReturn:
    """Raise the error that names the algorithm, the failed rule and the place."""
    msg = f"{answer.algorithm}: {rule}: {detail}"
    raise VerificationError(msg)


def column(answer: Answer, name: str, *, of_vertices: bool = True) -> NDArray[Any]:
    """Return one array of numbers of the answer; without `of_vertices`, an array with a number for each row.

    Raises
    ------
    VerificationError
        If the array does not have one number for each vertex.
    ArgumentError
        If the answer does not have the array.
    """
    values = _values(answer, name, of_vertices=of_vertices)
    if values.dtype.kind == "O" and all(map(is_number, values)):
        values = np.array(values.tolist())
    if values.dtype.kind not in "biuf" or (values.dtype.kind == "f" and values.itemsize not in (4, 8)):
        fail(answer, f"{name} contains integers, float32 or float64", f"found {values.dtype}")
    if values.dtype == np.float64 and answer.parameters.get("dtype") == "float32":
        with np.errstate(over="ignore"):  # text and data frames hold the numbers of the run as float64
            return values.astype(np.float32)
    return values


def _values(answer: Answer, name: str, *, of_vertices: bool) -> NDArray[Any]:
    """Return one array of the answer, of any type, after checking its length."""
    try:
        given = answer[name]
    except KeyError:
        msg = f"cannot verify {answer.algorithm}: the answer has no array {name!r}; add it"
        raise ArgumentError(msg) from None
    rule = f"{name} has one value per {'vertex' if of_vertices else 'row'}"
    if answer.graph.has_object_ids and isinstance(given, list | tuple):
        given = np.fromiter(given, object, len(given))  # NumPy makes a matrix of tuples
    try:
        values = np.asarray(given)
    except Exception as error:  # noqa: BLE001 - of any object that a caller has as an array
        fail(answer, rule, f"expected an array, found {type_name(given)}: {error}")
    if not values.ndim:
        fail(answer, rule, "found a single value")
    if of_vertices and values.shape != (answer.graph.n,):
        fail(answer, rule, f"shape {values.shape}, {answer.graph.n} vertices")
    if values.ndim == 0:
        fail(answer, rule, "expected an array, found one value")
    if np.ma.is_masked(given):
        place = _place(answer, first_true(np.ma.getmaskarray(given)), of_vertices=of_vertices)
        fail(answer, rule, f"the value of {place} is masked")
    return values


def _place(answer: Answer, position: int, *, of_vertices: bool) -> str:
    return f"vertex {answer.graph.ids[position]}" if of_vertices else f"row {position}"


def vertex_numbers(answer: Answer, name: str, *, of_vertices: bool = True) -> NDArray[np.uint32]:
    """Return the vertices in an array of the answer as numbers 0..n-1, and NO_VERTEX for -1 or None.

    The array has a value for each vertex or, without `of_vertices`, for each row, with any shape.
    """
    graph, given = answer.graph, _values(answer, name, of_vertices=of_vertices)
    values = given.ravel()
    rule = f"{name} contains vertices of the graph"
    if not graph.has_integer_ids:
        present = np.array([value is not None for value in values], dtype=bool)
        named = np.full(len(values), NO_VERTEX, np.uint32)
        try:
            named[present] = graph.numbers_of(values[present].tolist())
        except UnknownVertexError as error:
            fail(answer, rule, str(error))
        return named.reshape(given.shape)
    if values.dtype.kind not in "iu":
        fail(answer, rule, f"expected integers, found {values.dtype}")
    numbers = np.empty(len(values), np.uint32)
    for begin in range(0, len(values), PIECE):
        piece = values[begin : begin + PIECE]
        found = piece.astype(np.int64)
        found[piece > np.iinfo(np.int64).max] = -2  # the cast made values of 2^63 or more negative
        absent = found == -1
        if graph.has_custom_ids:
            place = np.minimum(np.searchsorted(graph.ids, found), graph.n - 1)
            known = absent | (graph.ids[place] == found)
            found = place
        else:
            known = absent | ((found >= 0) & (found < graph.n))
        if not known.all():
            v = begin + first_true(~known)
            where = _place(answer, v, of_vertices=of_vertices)
            fail(answer, rule, f"{where} has {name} {values[v]}, which is not in the graph")
        numbers[begin : begin + PIECE] = np.where(absent, NO_VERTEX, found)
    return numbers.reshape(given.shape)


def goal_of(answer: Answer) -> Goal:
    """Return the sources of a search, and where it ends.

    Raises
    ------
    ArgumentError
        If a search with the parameters of the answer raises it.
    """
    parameters = answer.parameters
    if parameters.get("sources") is None:
        required_parameter(answer, "source")
    names = ("source", "sources", "target", "cutoff")
    return parse_goal(answer.graph, answer.algorithm, *(parameters.get(name) for name in names))


def required_parameter(answer: Answer, name: str) -> Any:
    """Return a parameter of the run.

    Raises
    ------
    ArgumentError
        If the answer does not have this parameter.
    """
    if answer.parameters.get(name) is None:
        option = "--" + name.replace("_", "-")
        msg = (
            f"cannot verify {answer.algorithm}: the answer does not record the parameter {name!r}; "
            f"give {option} on the command line, or an answer whose parameters include it"
        )
        raise ArgumentError(msg)
    return answer.parameters[name]


def finite_number(answer: Answer, name: str, given: Any) -> Any:
    """Return `given` if it is a finite number.

    Raises
    ------
    ArgumentError
        If it is not a finite number. The error gives its `name`.
    """
    if not (is_number(given) and math.isfinite(given)):
        msg = f"cannot verify {answer.algorithm}: expected a number as {name!r}, found {given!r}"
        raise ArgumentError(msg)
    return given


def count_parameter(answer: Answer, name: str) -> int:
    """Return a parameter of the run that is an integer of at least 0.

    Raises
    ------
    ArgumentError
        If the answer does not have this parameter, or if it is not such an integer.
    """
    return checked_count(answer, name, required_parameter(answer, name))


def checked_count(answer: Answer, name: str, given: Any) -> int:
    """Return `given` as an int.

    Raises
    ------
    ArgumentError
        If it is not an integer of at least 0. The error gives its `name`.
    """
    if not is_integral(given) or given < 0:
        expected = f"expected an integer of at least 0 as {name!r}"
        msg = f"cannot verify {answer.algorithm}: {expected}, found {given!r}"
        raise ArgumentError(msg)
    return int(given)


# Values of an option in messages, by its type.
_TYPES = {"float": "a number", "int": "an integer", "bool": "True or False", "str": "a string"}


def check_parameters(spec: AlgorithmSpec, parameters: Mapping[str, Any]) -> None:
    """Raise ArgumentError for a parameter that is no argument of an algorithm, or has another type."""
    options = {option.name: option for option in spec.options}
    known = {*options, *inspect.signature(spec.function()).parameters}
    for name, value in parameters.items():
        if name not in known:
            msg = (
                f"cannot verify {spec.name}: expected arguments of the algorithm as the answer's parameters, "
                f"found {name!r}; {spec.name} has {', '.join(options) or 'none'}"
            )
            raise ArgumentError(msg)
        if value is not None and name in options and not options[name].accepts(value):
            expected = " or ".join(map(repr, options[name].choices)) or _TYPES[options[name].type]
            msg = f"cannot verify {spec.name}: expected {expected} as {name!r}, found {value!r}"
            raise ArgumentError(msg)


def edge_blocks(offsets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Return the bounds of blocks of rows with about equal edges."""
    rows = len(offsets) - 1
    cuts = np.linspace(0, int(offsets[-1]) + rows, _BLOCKS + 1).astype(np.uint64)
    bounds = rows_at(offsets, cuts)
    bounds[0], bounds[-1] = 0, rows
    return bounds


def first_true(mask: NDArray[np.bool_]) -> int:
    """Return the position of the first true value; at least one value must be true."""
    return int(np.argmax(mask))
