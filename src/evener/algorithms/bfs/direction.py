"""The direction policy of breadth-first search: Beamer's `alpha` and `beta` choose top-down or bottom-up.

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
        Value of `alpha` for a frontier of hubs, which bottom-up steps find first.
    hub_degree : int
        A frontier consists of hubs if its average degree is at least this many times the mean degree.
    beta : int
        Go top-down if the frontier shrinks and holds at most 1/beta of the vertices (Beamer).
    flood : int
        A top-down step over at least n/flood edges first sets the parents of the vertices that it reaches. A
        second pass collects them.
    narrow : int
        A single element handles frontiers of at most this many vertices and out-edges on one thread or block.
    narrow_levels : int
        Largest number of narrow levels in one superstep.
    fused : bool
        Whether a single element runs levels of all kinds in one kernel.
    fused_narrow_levels : int
        Narrow levels in a row after which the fused kernel returns.
    fused_levels : int
        Levels of all kinds after which the fused kernel returns.
    """

    alpha: int = 15
    alpha_of_hubs: int = 60
    hub_degree: int = 8
    beta: int = 18
    flood: int = 8
    narrow: int = 1 << 12
    narrow_levels: int = 64
    fused: bool = False
    fused_narrow_levels: int = 8
    fused_levels: int = 1024


TUNING = {
    "cpu": Tuning(),
    "cuda": Tuning(alpha=60, flood=2, fused=True),
    "group": Tuning(alpha=60, beta=1 << 14, flood=2),  # GPUs that read each other's memory
}


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
        Edges out of the frontier and unexplored edges of each element.
    """
    edges = sum(frontier_edges)
    hubs = edges * graph.n >= tuning.hub_degree * graph.m * frontier_vertices
    if edges > sum(unexplored_edges) / (tuning.alpha_of_hubs if hubs else tuning.alpha):
        return True
    # A top-down step of the element with the hubs may take longer than a bottom-up step of all elements.
    # Bottom-up steps that read host memory across a bus are slower still.
    if engine.reads_host_edges:
        return False
    return engine.slowest(frontier_edges) > engine.slowest(unexplored_edges) / tuning.alpha


def should_stay_bottom_up(tuning: Tuning, frontier_vertices: int, before: int, vertices: int) -> bool:
    """Return whether the step after a bottom-up step is also bottom-up.

    `before` is the size of the frontier before the last step, and `vertices` is the size of the graph.
    """
    return frontier_vertices > 0 and (
        frontier_vertices >= before or frontier_vertices > vertices // tuning.beta
    )
