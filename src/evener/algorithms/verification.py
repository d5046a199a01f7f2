"""Shared by the verifiers: the form of an answer, checks of its arrays, and the error of a failed rule."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn, Protocol

import numpy as np

from evener.errors import ArgumentError, UnknownVertexError, VerificationError
from evener.graph.checks import is_number
from evener.graph.csr import rows_at
from evener.kernels.vertex import NO_VERTEX
from evener.system.world import SingleProcess

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.system.world import World

__all__ = ["PIECE", "Answer", "Claim", "edge_blocks", "fail", "first_true", "vertex_numbers"]

# Blocks of rows with about equal edges; threads take them one by one.
_BLOCKS = 256
# Vertices in a piece. Checks that need temporary memory process one piece at a time.
PIECE = 1 << 22


class Answer(Protocol):
    """The form of an answer that a verifier reads: the graph, the parameters, and the arrays in id order."""

    @property
    def algorithm(self) -> str:
        """The name of the algorithm."""

    @property
    def graph(self) -> Graph:
        """The graph of the run."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """The parameters of the run: source, damping, tol, ..."""

    @property
    def outcome(self) -> Mapping[str, Any]:
        """Facts about the run, for example the iterations of PageRank. May be empty."""

    def __getitem__(self, name: str, /) -> NDArray[Any]:
        """One array of the answer, shape (n,), in the order of `graph.ids`."""


@dataclass(frozen=True)
class Claim:
    """An answer from a file or another library, in the form that `verify` reads.

    Parameters
    ----------
    algorithm : str
        The name of a registered algorithm.
    graph : Graph
        The graph of the run.
    arrays : mapping of str to ndarray
        The arrays of the answer, under the names that `Result` uses.
    parameters : mapping, optional
        The arguments of the algorithm, such as ``{"source": 0}`` of a search.
    outcome : mapping, optional
        Facts about the run. With PageRank's ``iterations``, the verifier repeats that many iterations.

    Examples
    --------
    >>> import evener as ev, numpy as np
    >>> g = ev.Graph.from_edges([0, 1], [1, 2])
    >>> ev.verify(ev.Claim("wcc", g, {"component": np.zeros(3, np.int64)}))
    """

    algorithm: str
    graph: Graph
    arrays: Mapping[str, NDArray[Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)
    world: ClassVar[World] = SingleProcess()  # each rank verifies its own claims

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


def fail(answer: Answer, rule: str, detail: str) -> NoReturn:
    """Raise the error that names the algorithm, the failed rule and the place."""
    msg = f"{answer.algorithm}: {rule}: {detail}"
    raise VerificationError(msg)


def column(answer: Answer, name: str) -> NDArray[Any]:
    """Return one array of the answer after checking its length."""
    try:
        values = np.asarray(answer[name])
    except KeyError:
        msg = f"cannot verify {answer.algorithm}: the answer has no array {name!r}; add it"
        raise ArgumentError(msg) from None
    if values.shape != (answer.graph.n,):
        fail(answer, f"{name} has one value per vertex", f"shape {values.shape}, {answer.graph.n} vertices")
    return values


def vertex_numbers(answer: Answer, name: str) -> NDArray[np.uint32]:
    """Return the vertices in an array of the answer as numbers 0..n-1, and NO_VERTEX for -1 or None."""
    graph, values = answer.graph, column(answer, name)
    rule = f"{name} contains vertices of the graph"
    if not graph.has_integer_ids:
        present = np.array([value is not None for value in values], dtype=bool)
        named = np.full(graph.n, NO_VERTEX, np.uint32)
        try:
            named[present] = graph.numbers_of(values[present].tolist())
        except UnknownVertexError as error:
            fail(answer, rule, str(error))
        return named
    if values.dtype.kind not in "iu":
        fail(answer, rule, f"expected integers, found {values.dtype}")
    numbers = np.empty(graph.n, np.uint32)
    for begin in range(0, graph.n, PIECE):
        piece = values[begin : begin + PIECE]
        absent, found = piece == -1, piece
        known = absent | ((piece >= 0) & (piece < graph.n))
        if graph.has_custom_ids:
            found = np.minimum(np.searchsorted(graph.ids, piece), graph.n - 1)
            known = absent | (graph.ids[found] == piece)
        if not known.all():
            v = begin + first_true(~known)
            fail(answer, rule, f"vertex {graph.ids[v]} has {name} {values[v]}, which is not in the graph")
        numbers[begin : begin + PIECE] = np.where(absent, NO_VERTEX, found)
    return numbers


def source_numbers(answer: Answer) -> NDArray[np.uint32]:
    """Return the distinct numbers of the source vertices, ascending."""
    source = required_parameter(answer, "source")
    ids = source if isinstance(source, list) else [source]
    return np.unique(answer.graph.numbers_of(ids)).astype(np.uint32)


def largest_distance(answer: Answer, distance: NDArray[Any], reached: NDArray[np.bool_]) -> float:
    """Return the distance at which a search ended: that of the target or the cutoff; infinity without either.

    Raises
    ------
    VerificationError
        If a reached vertex is farther away.
    """
    cutoff, target = answer.parameters.get("cutoff"), answer.parameters.get("target")
    limit = math.inf if cutoff is None else float(finite_number(answer, "cutoff", cutoff))
    if target is not None:
        (number,) = answer.graph.numbers_of([target])
        if reached[number]:
            limit = min(limit, float(distance[number]))
    if (beyond := reached & (distance > limit)).any():
        v = first_true(beyond)
        rule = "no vertex is farther away than the target or the cutoff"
        detail = f"vertex {answer.graph.ids[v]} has distance {distance[v]}, which is more than {limit:g}"
        fail(answer, rule, detail)
    return limit


def required_parameter(answer: Answer, name: str) -> Any:
    """Return a parameter of the run.

    Raises
    ------
    ArgumentError
        If the answer does not have this parameter.
    """
    if name not in answer.parameters:
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


def none_found(first: NDArray[np.uint32]) -> bool:
    """Return true if a kernel found no wrong vertex in any block."""
    return bool((first == NO_VERTEX).all())
