"""Shared by the verifiers of communities: their names, and the modularity of an answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.vertex import NO_VERTEX
from evener.spec.verification import fail

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from evener.spec.answer_parts import AnswerParts, Direction, EdgeRows

__all__ = ["checked_communities", "directions_of", "modularity_of", "require_modularity", "weighted_pieces"]

# The largest error of a modularity.
_ERROR = 1e-9


def checked_communities(parts: AnswerParts) -> NDArray[np.uint32]:
    """Return the community of each vertex of this rank's block, as a vertex number.

    This is a collective operation for a graph in parts; all ranks must call it. VerificationError is raised
    unless a community has the name of its smallest vertex, and vertices without edges to others are alone.
    """
    community = parts.vertex_numbers("community")
    numbers = np.arange(parts.block.start, parts.block.stop, dtype=np.uint32)

    def name(v: int) -> str:
        own = parts.at(community, v)
        return (
            f"vertex {parts.id(v)} has {'no community' if own == NO_VERTEX else f'community {parts.id(own)}'}"
        )

    parts.require(community != NO_VERTEX, "each vertex has a community", name)
    named = parts.look_up(community, community)
    parts.require(
        (community <= numbers) & (named == community), "a community is named by its smallest vertex", name
    )
    others = np.zeros(len(numbers))
    for direction in directions_of(parts):
        found = []
        for rows in parts.rows(direction):
            own = np.zeros(len(rows.offsets) - 1)
            for tails, heads, _ in weighted_pieces(rows, weighted=False):
                own[tails[tails != heads]] = 1
            found.append(own)
        others += parts.collect(found)
    sizes = _sums_by_label(parts, community, np.ones(len(community)))
    alone = parts.look_up(community, sizes) == 1
    parts.require((others > 0) | alone, "a vertex without neighbours is alone in its community", name)
    return community


def modularity_of(
    parts: AnswerParts, community: NDArray[np.uint32], *, resolution: float, weighted: bool
) -> float:
    """Return the modularity of communities, which are vertex numbers; 0 for a graph without edges.

    This is a collective operation for a graph in parts; all ranks must call it.
    """
    directed = parts.graph.directed
    inside, strengths = 0.0, []
    for direction in directions_of(parts):
        found = []
        for rows, (label,) in zip(parts.rows(direction), parts.fetch(community), strict=True):
            own = np.zeros(len(rows.offsets) - 1)
            for tails, heads, weights in weighted_pieces(rows, weighted=weighted):
                counted = weights if directed else np.where(tails == heads, 2 * weights, weights)
                own += np.bincount(tails, counted, len(own))
                if direction == "out":
                    inside += float(counted[label[tails] == label[heads]].sum())
            found.append(own)
        strengths.append(parts.collect(found))
    whole = float(parts.reduce(float(strengths[0].sum()), "sum"))
    inside = float(parts.reduce(inside, "sum"))
    if not whole:
        return 0.0
    totals = [_sums_by_label(parts, community, own) / whole for own in strengths]
    return inside / whole - resolution * float(parts.reduce(float((totals[0] * totals[-1]).sum()), "sum"))


def require_modularity(parts: AnswerParts, community: NDArray[np.uint32], *, weighted: bool) -> None:
    """Raise VerificationError unless the outcome's modularity and number of communities are right.

    This is a collective operation for a graph in parts; all ranks must call it. An answer from elsewhere may
    lack both.
    """
    answer = parts.answer
    numbers = np.arange(parts.block.start, parts.block.stop, dtype=np.uint32)
    count = int(parts.reduce(int((community == numbers).sum()), "sum"))
    claimed = answer.outcome.get("communities")
    if claimed is not None and claimed != count:
        fail(answer, "the number of communities", f"found {claimed}, expected {count}")
    claimed = answer.outcome.get("modularity")
    if claimed is None:
        return
    resolution = float(answer.parameters.get("resolution", 1.0))
    expected = modularity_of(parts, community, resolution=resolution, weighted=weighted)
    if not abs(claimed - expected) <= _ERROR * (1 + resolution):
        fail(answer, "the modularity of the communities", f"found {claimed}, expected {expected:.12g}")


def directions_of(parts: AnswerParts) -> tuple[Direction, ...]:
    """Return the directions of edges that count at a vertex."""
    return ("out", "in") if parts.graph.directed else ("out",)


def weighted_pieces(
    rows: EdgeRows, *, weighted: bool
) -> Iterator[tuple[NDArray[np.int64], NDArray[np.uint32], NDArray[np.float64]]]:
    """Yield the rows, the targets and the weights of some edges; rows and targets as local numbers."""
    at = 0
    for tails, heads in rows.pieces():
        weights = rows.weights[at : at + len(heads)] if weighted else np.ones(len(heads))
        at += len(heads)
        yield tails, heads, weights.astype(np.float64)


def _sums_by_label(
    parts: AnswerParts, label: NDArray[np.uint32], values: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Return the sum of the values of the vertices with each label of this rank's block."""
    if parts.whole:
        return np.bincount(label, values, len(label)).astype(np.float64)
    sums = np.zeros(len(label))
    in_parts: Any = parts
    in_parts.combine_at(label, values, sums, np.add)
    return sums
