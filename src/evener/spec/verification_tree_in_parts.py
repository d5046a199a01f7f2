"""Verify the trees of BFS and SSSP by the rules of Graph500, for a graph in parts.

Each rank checks its own edges. An edge must not give a shorter distance, and must not lead from a reached to
an unreached vertex, unless the search ends before. An edge from the parent of a vertex must give the
distance of the vertex. With weights of zero such edges may form a cycle, so parents must lead to a source.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from evener.spec.verification import first_true, goal_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from evener.spec.edges_in_parts import EdgesInParts
    from evener.spec.goal import Goal

__all__ = ["check_tree"]


def check_tree(
    edges: EdgesInParts,
    distance: NDArray[np.float64],
    *,
    weighted: bool,
    tolerance: float,
    overflows: Callable[..., NDArray[np.bool_]] | None = None,
) -> None:
    """Check the rules of a tree; the distance of an unreached vertex is infinite.

    `overflows` takes distances of tails, weights, and distances of heads. It returns the edges whose heads
    have no distance because it is too large for its type.
    """
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
            longer = found > through + tolerance * through
            if overflows is not None:
                longer |= overflows(own[tails], lengths, found)
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
