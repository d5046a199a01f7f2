"""Verify betweenness of edges: run Brandes' algorithm again from the same sources, in float64."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.betweenness.betweenness import sources_of
from evener.algorithms.betweenness.verify import OF_LARGEST, RELATIVE, levels_in_parts
from evener.algorithms.edge_betweenness.edge_rows import StoredEdges, edge_rows
from evener.primitives.path_verification import path_sums, paths_in_parts, tight_edges
from evener.primitives.source_paths import check_positive_weights
from evener.spec.answer_parts import parts_of
from evener.spec.verification import column, fail, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.algorithms.edge_betweenness.edge_rows import EdgeRows
    from evener.graph.graph import Graph
    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts

__all__ = ["check"]


def check(answer: Answer) -> None:
    """Raise VerificationError unless the rows are the edges, with the result of Brandes' algorithm."""
    parts, graph, parameters = parts_of(answer), answer.graph, answer.parameters
    stored = column(answer, "centrality", of_vertices=False)
    u, v = parts.row_vertices("u"), parts.row_vertices("v")
    if parts.reduce(int(stored.dtype.name not in RELATIVE), "max"):
        fail(answer, "centralities are float32 or float64", f"found {stored.dtype}")
    given, seed = parameters.get("sources"), parameters.get("seed")
    drawn = parameters.get("k") if given is None else None
    chosen = sources_of(graph, given, drawn, 0 if seed is None else seed)
    weighted = check_positive_weights(graph, parameters.get("weights", False), "edge_betweenness")
    sums = _sums(parts, chosen, weighted=weighted)
    edges = [
        StoredEdges.of_part(
            np.asarray(rows.vertices, np.uint32),
            rows.offsets,
            rows.targets,
            rows.weights if weighted else None,
            own,
        )
        for rows, own in zip(parts.rows("out"), sums, strict=True)
    ]
    expected = edge_rows(parts.world, graph.n, directed=graph.directed, parts=edges)
    normalized = parameters.get("normalized")
    wanted = expected.values * _factor(graph, len(chosen), normalized=normalized is None or bool(normalized))
    lengths = {own.shape for own in (u, v, stored)} | {wanted.shape}
    if parts.reduce(int(len(lengths) > 1), "max"):
        fail(answer, "a row for each edge", f"the arrays have the shapes {lengths}")
    _require(parts, (u == expected.u) & (v == expected.v), "rows are the edges in ascending order", expected)
    largest = parts.reduce(float(wanted.max(initial=0)), "max")
    allowed = RELATIVE[stored.dtype.name] * wanted + OF_LARGEST[stored.dtype.name] * largest
    right = np.abs(stored.astype(np.float64) - wanted) <= allowed
    _require(parts, right, f"centralities are the dependencies from {len(chosen)} sources", expected)


def _sums(parts: AnswerParts, chosen: NDArray[np.int64], *, weighted: bool) -> list[NDArray[np.float64]]:
    """Return the sums of the dependencies of the stored edges of each part.

    This is a collective operation; all ranks must call it.
    """
    if parts.whole:
        own = path_sums(parts.graph, chosen, weighted=weighted)[1]
        if np.isfinite(own).all() or weighted:
            return [own]
    sums = [np.zeros(len(rows.targets)) for rows in parts.rows("out")]
    for source in chosen.tolist():
        found = paths_in_parts(parts, source) if weighted else levels_in_parts(parts, source)
        values = parts.fetch(found[0], found.paths, found.share)
        for total, rows, (distance, paths, share) in zip(sums, parts.rows("out"), values, strict=True):
            lengths = np.diff(rows.offsets).astype(np.int64)
            tails = np.repeat(np.arange(len(lengths)), lengths)
            if weighted:
                used = tight_edges(rows, distance)
            else:
                used = (distance[tails] >= 0) & (distance[rows.targets] == distance[tails] + 1)
            total[used] += paths[tails[used]] * share[rows.targets[used]]
    return sums


def _factor(graph: Graph, sources: int, *, normalized: bool) -> float:
    """Return the factor that scales a sum over some sources to an estimate over all sources."""
    n = graph.n
    if n <= 1 or sources == 0:
        return 0.0
    pairs = n * (n - 1) if normalized else (1 if graph.directed else 2)
    return n / sources / pairs


def _require(parts: AnswerParts, right: NDArray[np.bool_], rule: str, expected: EdgeRows) -> None:
    """Raise VerificationError if an edge is wrong on any rank.

    This is a collective operation; all ranks must call it.
    """
    i = 0 if right.all() else first_true(~right)
    wrong = [] if right.all() else [(int(expected.u[i]), int(expected.v[i]))]
    if found := parts.first_found(wrong):
        fail(
            parts.answer,
            rule,
            f"the row of the edge of {parts.id(found[0])} and {parts.id(found[1])} is wrong",
        )
