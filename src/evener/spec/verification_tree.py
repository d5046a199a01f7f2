"""Verify the trees of BFS and SSSP by the rules of Graph500, also of graphs in parts.

1. The parents of every reached vertex lead to a source without a cycle.
2. A tree edge gives the distance of its head.
3. No edge of the graph gives a shorter distance.
4. The tree contains exactly the vertices that the sources reach.
5. A tree edge is an edge of the graph.

Rule 1 follows from rule 2, unless tree edges have a weight of zero. An error names the rule that fits best.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.kernels.vertex import NO_VERTEX
from evener.spec import verification_tree_cpu as kernels
from evener.spec.answer_parts import NO_WEIGHTS
from evener.spec.verification import fail, first_true

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from evener.spec.answer_parts import AnswerParts, EdgeRows
    from evener.spec.goal import Goal

__all__ = ["SearchTree"]


class SearchTree:
    """The tree of a search. The constructor checks the sources, and that the reached vertices have parents.

    The constructor and all methods are collective operations for a graph in parts; all ranks must call them.

    Parameters
    ----------
    parts : AnswerParts
    goal : Goal
    distance : ndarray
        The distances of this rank's block.
    reached : ndarray of bool
    """

    def __init__(
        self, parts: AnswerParts, goal: Goal, distance: NDArray[Any], reached: NDArray[np.bool_]
    ) -> None:
        self.parts, self.goal, self.distance, self.reached = parts, goal, distance, reached
        self.sources = sources = np.array(goal.numbers, np.uint32)
        self.parent = parent = parts.vertex_numbers("parent")
        starts = parts.look_up(sources, distance)
        for source, start in zip(sources[starts != 0], starts[starts != 0], strict=True):
            fail(parts.answer, "a source is at distance 0", f"vertex {parts.id(source)} is at {start}")
        parents = parts.look_up(sources, parent)
        for source, own in zip(sources[parents != sources], parents[parents != sources], strict=True):
            found = "none" if own == NO_VERTEX else parts.id(own)
            rule = "a source is its own parent"
            fail(parts.answer, rule, f"vertex {parts.id(source)} has parent {found}")
        parts.require(
            reached == (parent != NO_VERTEX), "exactly the reached vertices have a parent (rule 4)", self._has
        )
        numbers = np.arange(parts.block.start, parts.block.stop, dtype=np.uint32)
        roots = parent == numbers
        if parts.reduce(int(np.count_nonzero(roots)), "sum") > len(sources):
            parts.require(
                ~roots | np.isin(numbers, sources),
                "only sources are their own parents (rule 1)",
                lambda v: (
                    f"vertex {(own := parts.id(v))} has parent {own}, the source is {parts.id(sources[0])}"
                ),
            )

    def _has(self, v: int) -> str:
        parts, parent = self.parts, self.parts.at(self.parent, v)
        has = "no parent" if parent == NO_VERTEX else f"parent {parts.id(parent)}"
        return f"vertex {parts.id(v)} has distance {parts.at(self.distance, v)} and {has}"

    def largest_distance(self) -> float:
        """Return the distance at which the search ended; infinity without a target or a cutoff.

        Raises
        ------
        VerificationError
            If a reached vertex is farther away.
        """
        parts, goal, distance = self.parts, self.goal, self.distance
        limit = math.inf if goal.cutoff is None else float(goal.cutoff)
        if goal.target_number is not None and parts.at(self.reached, goal.target_number):
            limit = min(limit, float(parts.at(distance, goal.target_number)))
        if limit < math.inf:
            parts.require(
                ~self.reached | (distance <= limit),
                "no vertex is farther away than the target or the cutoff",
                lambda v: (
                    f"vertex {parts.id(v)} has distance {parts.at(distance, v)}, which is more than {limit:g}"
                ),
            )
        return limit

    def check_edges(self, distance: NDArray[Any], *, limit: Any, tolerance: Any, weighted: bool) -> None:
        """Raise VerificationError unless edges of the tree give the distances, and no edge a shorter one.

        Parameters
        ----------
        distance : ndarray of uint8, uint32 or float64
            The distances in the type in which the rules are checked, the largest for unreached vertices.
        limit : float or integer
            The distance at which the search ended. Longer paths do not count.
        tolerance : float or integer
            Relative rounding error of a distance. Integers keep the checks of levels in integers.
        weighted : bool
            Whether edges have weights. Otherwise each edge has weight 1.
        """
        self._check_parents(distance, tolerance=tolerance, weighted=weighted)
        parts, found = self.parts, []
        for rows, (own,) in zip(parts.rows("out"), parts.fetch(distance), strict=True):
            weights = rows.weights if weighted else NO_WEIGHTS
            v = rows.first(kernels.find_shorter_path, weights, own, limit, tolerance)
            if v is not None:
                found.append(_shorter_path(rows, weights, v, own, limit, tolerance))
        if (path := parts.first_found(found)) is None:
            return
        tail, head, through, beyond = path
        known = parts.at(self.distance, head)
        detail = f"vertex {parts.id(head)} has distance {known}, but {through} through {parts.id(tail)}"
        rule = "no edge gives a shorter distance (rule 3)"
        if beyond:
            rule = "no distance is above the largest float64"
            detail = f"vertex {parts.id(head)} looks unreached, and has an edge from {parts.id(tail)}"
        elif not parts.at(self.reached, head):
            rule = "the tree contains all vertices that the source reaches (rule 4)"
        fail(parts.answer, rule, detail)

    def _check_parents(self, distance: NDArray[Any], *, tolerance: Any, weighted: bool) -> None:
        """Raise VerificationError unless an edge from its parent gives the distance of each vertex."""
        parts, found, equal = self.parts, [], np.zeros(1, np.bool_)
        for rows, (own, numbers) in zip(parts.rows(), parts.fetch(distance, self.parent), strict=True):
            weights = rows.weights if weighted else NO_WEIGHTS
            parent, by_head = rows.local(numbers[: len(rows.offsets) - 1]), rows.direction == "in"
            v = rows.first(kernels.find_wrong_parent, weights, by_head, parent, own, tolerance, equal)
            if v is not None:
                row, end = (v, parent[v]) if by_head else (int(parent[v]), v)
                found.append((rows.vertices[v], _lightest(rows, weights, row, end)))
        wrong = parts.first_found(found)
        if wrong is not None or parts.reduce(int(equal[0]), "max"):
            self._check_cycles()
        if wrong is not None:
            self._fail_wrong_parent(*wrong)

    def _check_cycles(self) -> None:
        """Raise VerificationError unless the parents of each reached vertex lead to a source."""
        parts, parent, sources = self.parts, self.parent, self.sources
        ancestor = np.where(parent == NO_VERTEX, sources[0], parent)
        for _ in range(parts.graph.n.bit_length()):  # each step doubles the distance to the ancestor
            if (v := parts.first(~np.isin(ancestor, sources))) is None:
                return
            ancestor = parts.look_up(ancestor, ancestor)
        if (v := parts.first(~np.isin(ancestor, sources))) is not None:
            v = parts.at(ancestor, v)  # it is on the cycle
            begin, above = parts.id(v), parts.id(parts.at(parent, v))
            detail = f"from vertex {begin}, its parent {above} leads back to vertex {begin}"
            fail(parts.answer, "parents lead to a source without a cycle (rule 1)", detail)

    def _fail_wrong_parent(self, v: int, weight: Any) -> None:
        """Raise the error of a vertex whose distance no edge from its parent gives."""
        parts, distance = self.parts, self.distance
        u = parts.at(self.parent, v)
        mine, theirs = parts.id(v), parts.id(u)
        far, near = parts.at(distance, v), parts.at(distance, u)
        if not parts.at(self.reached, u):
            rule = "every parent is reached (rule 4)"
            detail = f"vertex {mine} has distance {far}, its parent {theirs} has {near}"
        elif weight is None:
            rule = "each tree edge is an edge of the graph (rule 5)"
            detail = f"vertex {mine} has parent {theirs}, but no edge joins them"
        else:
            rule = "a distance is the parent's distance plus the edge's weight (rule 2)"
            detail = (
                f"vertex {mine} has distance {far}, but its parent {theirs} has distance {near} "
                f"and the edge has weight {weight}, in total {near + weight}"
            )
        fail(parts.answer, rule, detail)


def _lightest(rows: EdgeRows, weights: NDArray[Any], row: int, end: int) -> Any:
    """Return the smallest weight of the edges of a row to a vertex; None without such an edge."""
    joining = rows.targets[rows.row(row)] == end
    if not joining.any():
        return None
    return weights[rows.row(row)][joining].min() if len(weights) else 1


def _shorter_path(
    rows: EdgeRows, weights: NDArray[Any], v: int, distance: NDArray[Any], limit: Any, tolerance: Any
) -> tuple[int, int, Any, bool]:
    """Return an edge of a row that gives a shorter distance, this distance, and whether it is infinite."""
    heads = rows.targets[rows.row(v)]
    steps = weights[rows.row(v)] if len(weights) else np.ones(len(heads), distance.dtype)
    through, known = distance[v] + steps, distance[heads]
    beyond = np.isinf(through) & np.isfinite(steps) & np.isinf(known) & (limit == np.inf)
    longer = (known > through * (1 + tolerance)) & (through <= limit)
    e = first_true(beyond if beyond.any() else longer)
    return rows.vertices[v], rows.vertices[heads[e]], through[e], bool(beyond.any())
