"""Verification of a spanning forest.

The rows are edges of the graph and close no cycle. Each edge of the graph has both ends in one tree, and is
not lighter than an edge between its ends in the tree: then no other forest weighs less (the cycle property;
Tarjan, 1979).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.algorithms.spanning_forest import verify_cpu as kernels
from evener.graph.arrays import read_only
from evener.kernels.vertex import NO_VERTEX
from evener.spec.answer_parts import NO_WEIGHTS, parts_of
from evener.spec.arguments import weights_used
from evener.spec.verification import column, fail, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless the rows are a spanning forest of the least weight."""
    parts = parts_of(answer)
    weighted = weights_used(parts.graph, answer.parameters.get("weights"), "the spanning forest")
    own = parts.row_vertices("u"), parts.row_vertices("v"), column(answer, "weight", of_vertices=False).copy()
    shapes = {values.shape for values in own}
    if parts.reduce(int(len(shapes) > 1 or len(own[0].shape) != 1), "max"):
        fail(answer, "each row has two vertices and a weight", f"the arrays have the shapes {shapes}")
    u, v, weight = (np.concatenate(values) for values in zip(*parts.world.allgather(own), strict=True))
    _require(parts, (u < v) & (v != NO_VERTEX), "u comes before v", u, v)
    _require(parts, np.isfinite(weight), "weights are finite", u, v)
    order = np.argsort(weight, kind="stable")
    parent, row = np.arange(parts.graph.n, dtype=np.uint32), np.full(parts.graph.n, NO_VERTEX, np.uint32)
    joined = kernels.join_rows(u[order], v[order], np.ones(parts.graph.n, np.uint32), parent, row)
    if joined < len(order):
        i = int(order[joined])
        fail(answer, "rows close no cycle", f"{_edge(parts, u[i], v[i])} closes one")
    _require_edges(parts, u, v, weight.astype(np.float64), weighted=weighted)
    values = read_only(parent), read_only(row), weight[order].astype(np.float64)
    found = []
    for rows in parts.rows("out"):
        numbers = np.asarray(rows.vertices, np.uint32)
        if (local := _first(rows, weighted, kernels.find_lighter, read_only(numbers), *values)) is not None:
            found.append((int(numbers[local]),))
    if wrong := parts.first_found(found):
        fail(
            answer, "each edge of the graph has its ends in one tree, without heavier rows between them",
            f"an edge of vertex {parts.id(wrong[0])} has not",
        )  # fmt: skip


def _first(rows: Any, weighted: bool, kernel: Any, *values: Any) -> int | None:  # noqa: FBT001 - private
    first = np.empty(len(rows.blocks) - 1, np.uint32)
    weights = rows.weights if weighted else NO_WEIGHTS
    kernel(rows.offsets, rows.targets, weights, *values, rows.blocks, first)
    return None if (v := first.min()) == NO_VERTEX else int(v)


def _require_edges(
    parts: AnswerParts, u: NDArray[Any], v: NDArray[Any], weight: NDArray[np.float64], *, weighted: bool
) -> None:
    """Require that each row is an edge of the graph with its weight."""
    ends = (u.astype(np.uint64) << np.uint64(32)) | v
    order = np.argsort(ends)
    marked = np.zeros(len(ends), np.uint8)
    for rows in parts.rows("out"):
        kernels.mark_rows(
            rows.offsets, rows.targets, rows.weights if weighted else NO_WEIGHTS,
            read_only(np.asarray(rows.vertices, np.uint32)), ends[order], weight[order], marked, rows.blocks,
        )  # fmt: skip
    everywhere = np.sum(parts.world.allgather(marked), axis=0) > 0
    right = np.empty(len(ends), np.bool_)
    right[order] = everywhere
    _require(parts, right, "rows are edges of the graph with their weights", u, v)


def _require(
    parts: AnswerParts, right: NDArray[np.bool_], rule: str, u: NDArray[Any], v: NDArray[Any]
) -> None:
    if not right.all():
        i = first_true(~right)
        fail(parts.answer, rule, f"{_edge(parts, u[i], v[i])} in row {i} is wrong")


def _edge(parts: AnswerParts, u: int, v: int) -> str:
    named = [parts.id(end) if end != NO_VERTEX else "no vertex" for end in (u, v)]
    return f"the edge of {named[0]} and {named[1]}"
