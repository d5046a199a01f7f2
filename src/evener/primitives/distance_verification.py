"""Verify distances: sums of those to a vertex, and the largest of those from a vertex, by one search each.

A verifier of a large graph takes a sample of vertices.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from evener.primitives import distance_verification_cpu as kernels
from evener.primitives.sampled_sources import Sample
from evener.spec.answer_parts import parts_of
from evener.spec.verification import column, fail, vertex_numbers

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from evener.graph.graph import Graph
    from evener.spec.answer import Answer
    from evener.spec.answer_parts import AnswerParts, Direction

    # The value of a vertex, given the other sources, those that reach it, and the sums of the distances from
    # them and of the reciprocal distances.
    Value = Callable[[int, int, int, float], float]

__all__ = [
    "check_closeness",
    "check_diameter",
    "check_eccentricity",
    "check_harmonic",
    "distances",
    "verified_scope",
]

# Edges that all searches of a verification may read, if more than one vertex is verified.
_MOST_EDGES = 1 << 26
_SEED = 1
_APART = 1e-9


def check_closeness(answer: Answer) -> None:
    """Raise VerificationError unless `closeness` is the reciprocal of average distances."""
    improved = answer.parameters.get("wf_improved", True)

    def value(others: int, count: int, total: int, _: float) -> float:
        return count / total * (count / others if improved else 1) if total else 0.0

    _check(answer, "closeness", value)


def check_harmonic(answer: Answer) -> None:
    """Raise VerificationError unless `harmonic` is the sum of reciprocal distances."""
    n = answer.graph.n

    def value(others: int, _count: int, _total: int, reciprocals: float) -> float:
        return reciprocals * max(n - 1, 1) / others

    _check(answer, "harmonic", value)


def verified_scope(answer: Answer) -> str:
    """Return the scope of a verification, as the end of a sentence."""
    chosen, n = len(_chosen(answer.graph)), answer.graph.n
    return "" if chosen == n else f" for {chosen:,} of {n:,} vertices"


def _chosen(graph: Graph) -> NDArray[np.int64]:
    """Return the numbers of the vertices to verify."""
    count = max(1, min(graph.n, _MOST_EDGES // max(graph.m + graph.n, 1)))
    return np.random.default_rng(_SEED).permutation(graph.n)[:count]


def _check(answer: Answer, name: str, value: Value) -> None:
    parts, parameters = parts_of(answer), answer.parameters
    found = parts.column(name)
    parts.require(
        np.isfinite(found) & (found >= 0),
        f"{name} is a finite number of at least 0",
        lambda v: f"vertex {parts.id(v)} has {parts.at(found, v)}",
    )
    sample = Sample.draw(answer.graph, parameters.get("k"), parameters.get("seed") or 0)
    is_source = np.zeros(len(parts.block), np.bool_)
    own = (sample.sources >= parts.block.start) & (sample.sources < parts.block.stop)
    is_source[sample.sources[own] - parts.block.start] = True
    for v, distance in distances(parts, _chosen(answer.graph), "in"):
        there = distance[is_source & (distance > 0)]
        sums = (len(there), int(there.sum()), float((1 / there).sum()))
        count, total, reciprocals = parts.reduce(sums, "sum")
        others = max(len(sample.sources) - int(parts.at(is_source, v)), 1)
        expected, given = value(others, count, total, reciprocals), float(parts.at(found, v))
        if not abs(given - expected) <= _APART * expected:
            rule = f"{name} follows from the distances to a vertex"
            fail(answer, rule, f"vertex {parts.id(v)} has {given}, recomputed {expected}")


def check_eccentricity(answer: Answer) -> None:
    """Raise VerificationError unless `eccentricity` is the largest distance from a vertex."""
    parts = parts_of(answer)
    found = parts.column("eccentricity")
    for v, expected in _largest_distances(parts):
        if (given := parts.at(found, v)) != expected:
            rule = "eccentricity is the largest distance from a vertex"
            fail(answer, rule, f"vertex {parts.id(v)} has {given}, recomputed {expected}")


def check_diameter(answer: Answer) -> None:
    """Raise VerificationError unless source and target have this distance, and none exceeds `upper`."""
    parts, n = parts_of(answer), answer.graph.n
    found, upper = (_number(answer, name) for name in ("diameter", "upper"))
    source, target = (vertex_numbers(answer, name, of_vertices=False)[0] for name in ("source", "target"))
    if not 0 <= found <= upper:
        fail(answer, "diameter is at least 0 and at most upper", f"found {found} and {upper}")
    if not n:
        return
    for _, distance in distances(parts, np.array([source]), "out"):
        if (given := int(parts.at(distance, int(target)))) != found:
            pair = f"from {parts.id(int(source))} to {parts.id(int(target))}"
            fail(answer, "source and target are at the distance of the diameter", f"{pair} it is {given}")
    for v, largest in _largest_distances(parts):
        if largest > upper:
            fail(answer, "no distance exceeds upper", f"from vertex {parts.id(v)} it is {largest}")


def _number(answer: Answer, name: str) -> int:
    """Return the number in a row about the whole graph."""
    values = column(answer, name, of_vertices=False)
    if values.shape != (1,) or not float(values[0]).is_integer():
        fail(answer, f"{name} is an integer", f"found {values.tolist()}")
    return int(values[0])


def _largest_distances(parts: AnswerParts) -> Iterator[tuple[int, int]]:
    """Yield each vertex to verify with the largest distance from it."""
    for v, distance in distances(parts, _chosen(parts.graph), "out"):
        yield v, int(parts.reduce(int(distance.max(initial=0)), "max"))


def distances(
    parts: AnswerParts, vertices: NDArray[np.integer], along: Direction
) -> Iterator[tuple[int, NDArray[np.int64]]]:
    """Yield each vertex with the distances of this rank's vertices, -1 if there is no path.

    This is a collective operation; all ranks must call it. Distances are those from the vertex, along "out"
    edges, or those to it, along "in" edges.
    """
    for v in vertices.tolist():
        if parts.whole:
            (rows,) = parts.rows(along)
            distance = np.full(len(parts.block), -1, np.int64)
            kernels.search(rows.offsets, rows.targets, v, distance, np.empty(len(distance), np.uint32))
        else:
            distance = np.where(np.arange(parts.block.start, parts.block.stop) == v, 0, -1)
            behind: Direction = "in" if along == "out" else "out"
            level = 0
            while parts.reduce(int((distance == level).sum()), "sum"):
                reaches = parts.row_sums((distance == level).astype(np.float64), behind) > 0
                level += 1
                distance[(distance < 0) & reaches] = level
        yield v, distance
