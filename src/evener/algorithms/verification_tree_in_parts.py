"""Verify the trees of BFS and SSSP by the rules of Graph500, for a graph in parts.

Each rank checks its own edges. An edge must not give a shorter distance, and must not lead from a reached to
an unreached vertex, unless the search ends before. An edge from the parent of a vertex must give the
distance of the vertex. With weights of zero such edges may form a cycle, so parents must lead to a source.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.algorithms.edges_in_parts import EdgesInParts
from evener.algorithms.sssp.range_check import EXACT, overflows
from evener.algorithms.sssp.verify import INTEGERS, tolerance_of
from evener.algorithms.verification import first_true, goal_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.algorithms.goal import Goal
    from evener.results.result import Result

__all__ = ["check_bfs", "check_sssp"]


def check_bfs(result: Result) -> None:
    """Raise VerificationError unless `distance` and `parent` are a breadth-first tree of the sources."""
    levels = result["distance"].astype(np.float64)
    edges = EdgesInParts(result)
    edges.require(levels >= -1, "no distance is negative", lambda v: f"has distance {levels[v]:.0f}, not -1")
    levels[levels == -1] = np.inf
    _check(edges, levels, weighted=False, tolerance=0.0)


def check_sssp(result: Result) -> None:
    """Raise VerificationError unless `distance` and `parent` are a shortest-path tree of the sources."""
    own = result["distance"]
    distance = own.astype(np.float64)
    edges = EdgesInParts(result)
    rule = "no distance is negative or NaN"
    edges.require(distance >= 0, rule, lambda v: f"is at {distance[v]}, not >= 0")
    weight = edges.graph.weight_dtype
    if weight is not None and weight.kind in "iu":
        exact = (distance < EXACT) | np.isinf(distance)
        edges.require(exact, INTEGERS, lambda v: f"has distance {distance[v]:.0f}")
    own_farthest = float(distance.max(initial=0, where=np.isfinite(distance)))
    farthest = edges.world.allreduce(own_farthest, "max")
    tolerance = tolerance_of(own.dtype, weight, farthest)
    _check(edges, distance, weighted=weight is not None, tolerance=tolerance)


def _check(edges: EdgesInParts, distance: NDArray[np.float64], *, weighted: bool, tolerance: float) -> None:
    """Check the rules of a tree; the distance of an unreached vertex is infinite."""
    goal = goal_of(edges.result)
    sources = np.array(goal.numbers, np.uint32)
    parent = edges.vertex_numbers("parent")
    reached, root = np.isfinite(distance), np.isin(edges.numbers, sources)
    edges.require(~root | (distance == 0), "a source is at distance 0", lambda v: f"is at {distance[v]:g}")
    edges.require(
        ~root | (parent == edges.numbers),
        "a source is its own parent",
        lambda v: f"has parent number {parent[v]}",
    )
    limit = _largest_distance(edges, goal, distance)
    edges.require(
        ~reached | (distance <= limit),
        "no vertex is farther away than the target or the cutoff",
        lambda v: f"has distance {distance[v]:g}, which is more than {limit:g}",
    )
    edges.require(
        reached == (parent >= 0),
        "exactly the reached vertices have a parent (rule 4)",
        lambda v: f"has distance {distance[v]:g} and {'a' if parent[v] >= 0 else 'no'} parent",
    )
    own, parents = edges.fetch(distance, parent)
    joined = np.zeros(len(own), np.bool_)
    shorter = None
    for tails, heads, weights in edges.pieces():
        lengths = weights if weighted and weights is not None else 1.0
        with np.errstate(over="ignore", invalid="ignore"):  # infinite distances
            through, found = own[tails] + lengths, own[heads]
            longer = (found > through + tolerance * through) | overflows(own[tails], lengths, found)
            longer &= through <= limit
            tight = np.abs(found - through) <= tolerance * found
        if shorter is None and longer.any():
            e = first_true(longer)
            shorter = int(tails[e]), int(heads[e])
        tight &= parents[heads] == edges.vertices[tails]
        joined[heads[tight]] = True
    edges.require_none(
        shorter,
        "no edge gives a shorter distance, or leads to an unreached vertex (rules 3 and 4)",
        lambda ends: f"the distances are {own[ends[0]]:g} and {own[ends[1]]:g}",
    )
    found = np.zeros(len(distance), np.bool_)
    edges.combine(joined, found, np.logical_or)
    edges.require(
        found | root | ~reached,
        "an edge from the parent gives the distance (rules 2 and 5)",
        lambda v: f"has distance {distance[v]:g}, which no edge from its parent gives",
    )
    _check_cycles(edges, parent, sources)


def _largest_distance(edges: EdgesInParts, goal: Goal, distance: NDArray[np.float64]) -> float:
    """Return the distance at which the search ended, as `verification.largest_distance`."""
    limit = math.inf if goal.cutoff is None else float(goal.cutoff)
    if goal.target_number is None:
        return limit
    own = distance[edges.numbers == goal.target_number]
    return min(limit, float(edges.world.allreduce(float(own.min(initial=math.inf)), "min")))


def _check_cycles(edges: EdgesInParts, parent: NDArray[np.int64], sources: NDArray[np.uint32]) -> None:
    """Raise VerificationError unless the parents of each reached vertex lead to a source."""
    ancestor = np.where(parent >= 0, parent, sources[0])
    for _ in range(edges.graph.n.bit_length()):  # each step doubles the distance to the ancestor
        if edges.world.allreduce(int((~np.isin(ancestor, sources)).sum()), "sum") == 0:
            return
        ancestor = edges.fetch_at(ancestor, ancestor)
    edges.require(
        np.isin(ancestor, sources),
        "parents lead to a source without a cycle (rule 1)",
        lambda _: "has parents that lead into a cycle",
    )
