"""The direction policy of breadth-first search: top-down or bottom-up, as Beamer's `alpha` and `beta` decide.

Beamer, Asanović, Patterson: Direction-Optimizing Breadth-First Search (SC 2012).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.engine.engine import Engine
    from evener.graph.graph import Graph

__all__ = ["TUNING", "Tuning", "should_go_bottom_up", "should_stay_bottom_up"]


@dataclass(frozen=True, slots=True)
class Tuning:
    """The constants of a search on one kind of element.

    Attributes
    ----------
    alpha : int
        Go bottom-up if more than 1/alpha of the unexplored edges lead out of the frontier (Beamer).
    alpha_of_hubs : int
        The same for a frontier of hubs, which bottom-up steps find first.
    hub_degree : int
        A frontier is one of hubs if its vertices have on average this many times the mean degree.
    beta : int
        Go top-down if the frontier shrinks and holds at most 1/beta of the vertices (Beamer).
    flood : int
        A top-down step over at least 1/flood as many edges as the graph has vertices marks what it reaches
        and collects it afterwards.
    narrow : int
        A single element takes frontiers of at most this many vertices and out-edges on one thread or block.
    narrow_levels : int
        Levels of such frontiers in one superstep.
    fused : bool
        Whether a single element takes levels of all kinds in one kernel.
    fused_narrow_levels : int
        Narrow levels in a row that this kernel takes before it returns.
    fused_levels : int
        Levels of all kinds that it takes before it returns.
    """

    alpha: int = 15
    alpha_of_hubs: int = 60
    hub_degree: int = 8
    beta: int = 18
    flood: int = 2
    narrow: int = 1 << 12
    narrow_levels: int = 64
    fused: bool = False
    fused_narrow_levels: int = 8
    fused_levels: int = 1024


TUNING = {"cpu": Tuning(), "cuda": Tuning(alpha=60, fused=True)}


def should_go_bottom_up(
    engine: Engine,
    tuning: Tuning,
    graph: Graph,
    frontier_vertices: int,
    frontier_edges: Sequence[int],
    unexplored_edges: Sequence[int],
) -> bool:
    """Return whether the next step is bottom-up.

    Parameters
    ----------
    engine : Engine
    tuning : Tuning
    graph : Graph
    frontier_vertices : int
    frontier_edges, unexplored_edges : sequence of int
        Edges out of the frontier, and edges not yet looked at, of each element.
    """
    edges = sum(frontier_edges)
    hubs = edges * graph.n >= tuning.hub_degree * graph.m * frontier_vertices
    if edges > sum(unexplored_edges) / (tuning.alpha_of_hubs if hubs else tuning.alpha):
        return True
    # The element with the hubs may take longer for a top-down step than all take for a bottom-up step. Not if
    # bottom-up steps read host memory across a bus.
    if engine.reads_host_edges:
        return False
    return engine.slowest(frontier_edges) > engine.slowest(unexplored_edges) / tuning.alpha


def should_stay_bottom_up(tuning: Tuning, frontier_vertices: int, before: int, vertices: int) -> bool:
    """Return whether the step after a bottom-up step is bottom-up too.

    `before` is the frontier's size before that step, `vertices` the size of the graph.
    """
    return frontier_vertices > 0 and (
        frontier_vertices >= before or frontier_vertices > vertices // tuning.beta
    )
