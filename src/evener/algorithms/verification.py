"""What verifiers share: the form of an answer, its arrays checked, and how a broken rule is told."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NoReturn, Protocol

import numpy as np

from evener.errors import ArgumentError, VerificationError
from evener.graph.checks import is_number
from evener.graph.csr import rows_at

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from evener.graph.graph import Graph

__all__ = ["NONE", "PIECE", "Answer", "Claim", "broken", "edge_blocks", "first_true", "vertex_numbers"]

# "No vertex" in the kernels' unsigned numbers, where results say -1.
NONE = np.uint32(0xFFFFFFFF)

# Rows are handed to threads in this many blocks of equal edges; a gather at R-MAT 20 on two threads took
# the same 21 ms with 64 to 4,096 of them, and 33 ms with 2.
_BLOCKS = 256
# Vertices looked at together: what is asked of all of them then needs little memory beside the answer.
PIECE = 1 << 22


class Answer(Protocol):
    """What a verifier reads of a result: its graph, how it was made, and its arrays in id order."""

    @property
    def algorithm(self) -> str:
        """Name of the algorithm."""

    @property
    def graph(self) -> Graph:
        """The graph that was asked about."""

    @property
    def parameters(self) -> Mapping[str, Any]:
        """What the algorithm was called with: source, damping, tol, ..."""

    @property
    def outcome(self) -> Mapping[str, Any]:
        """What it says of its run: PageRank's iterations. May be empty."""

    def __getitem__(self, name: str, /) -> NDArray[Any]:
        """One array of the answer, shape (n,), in the order of `graph.ids`."""


@dataclass(frozen=True)
class Claim:
    """An answer from anywhere - a file, another library - in the form that `verify` reads.

    Parameters
    ----------
    algorithm : str
        The name of a registered algorithm.
    graph : Graph
        The graph that was asked about.
    arrays : mapping of str to ndarray
        The answer's arrays by the names that `Result` gives them.
    parameters : mapping, optional
        What the algorithm was called with.
    outcome : mapping, optional
        What is known of the run; with PageRank's ``iterations`` they are done again and compared.
    """

    algorithm: str
    graph: Graph
    arrays: Mapping[str, NDArray[Any]]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    outcome: Mapping[str, Any] = field(default_factory=dict)

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self.arrays[name]


def broken(answer: Answer, rule: str, detail: str) -> NoReturn:
    """Raise the error that says which rule of which algorithm is broken, and where."""
    msg = f"{answer.algorithm}: {rule}: {detail}"
    raise VerificationError(msg)


def column(answer: Answer, name: str) -> NDArray[Any]:
    """One array of the answer, its length checked."""
    try:
        values = np.asarray(answer[name])
    except KeyError:
        msg = f"to verify {answer.algorithm} its answer must have an array {name!r}"
        raise ArgumentError(msg) from None
    if values.shape != (answer.graph.n,):
        broken(answer, f"{name} has one value a vertex", f"shape {values.shape}, {answer.graph.n} vertices")
    return values


def vertex_numbers(answer: Answer, name: str) -> NDArray[np.uint32]:
    """Return the vertices named in an array of the answer as numbers 0..n-1; NONE where it says -1."""
    graph, values = answer.graph, column(answer, name)
    rule = f"{name} names vertices of the graph"
    if values.dtype.kind not in "iu":
        broken(answer, rule, f"values are {values.dtype}, not integers")
    numbers = np.empty(graph.n, np.uint32)
    for begin in range(0, graph.n, PIECE):
        piece = values[begin : begin + PIECE]
        absent, found = piece == -1, piece
        known = absent | ((piece >= 0) & (piece < graph.n))
        if graph.has_custom_ids and not graph.has_string_ids:
            found = np.minimum(np.searchsorted(graph.ids, piece), graph.n - 1)
            known = absent | (graph.ids[found] == piece)
        if not known.all():
            v = begin + first_true(~known)
            broken(answer, rule, f"vertex {graph.ids[v]} has {name} {values[v]}, which is not in the graph")
        numbers[begin : begin + PIECE] = np.where(absent, NONE, found)
    return numbers


def source_number(answer: Answer) -> np.uint32:
    """Return the number of the vertex that the run started from."""
    return np.uint32(answer.graph.numbers_of([asked(answer, "source")])[0])


def asked(answer: Answer, name: str) -> Any:
    """What the algorithm was called with under this name.

    Raises
    ------
    ArgumentError
        If the answer does not tell.
    """
    if name not in answer.parameters:
        option = "--" + name.replace("_", "-")
        msg = (
            f"the answer of {answer.algorithm} does not tell its {name!r}, without which it cannot be "
            f"verified; give {option} on the command line, or an answer whose parameters have it"
        )
        raise ArgumentError(msg)
    return answer.parameters[name]


def number(answer: Answer, name: str, given: Any) -> Any:
    """Give back what an answer tells under this name, which is a number.

    Raises
    ------
    ArgumentError
        If it is something else.
    """
    if not (is_number(given) and math.isfinite(given)):
        msg = f"to verify {answer.algorithm} its {name!r} must be a number, not {given!r}"
        raise ArgumentError(msg)
    return given


def edge_blocks(offsets: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Bounds of blocks of rows with about equal edges, and of rows where edges are few."""
    rows = len(offsets) - 1
    cuts = np.linspace(0, int(offsets[-1]) + rows, _BLOCKS + 1).astype(np.uint64)
    bounds = rows_at(offsets, cuts)
    bounds[0], bounds[-1] = 0, rows
    return bounds


def first_true(mask: NDArray[np.bool_]) -> int:
    """Position of the first true value; there must be one."""
    return int(np.argmax(mask))


def ran_without(first: NDArray[np.uint32]) -> bool:
    """Whether a kernel found no offender in any block."""
    return bool((first == NONE).all())
