"""The fewest bytes that every method must move, which give the floor of each time.

The tables have bytes per vertex and bytes per stored edge. Offsets are 8 bytes. Targets, levels, parents,
labels and ranks are 4 bytes. Every array counts once, because a cache may hold it. The floor is these bytes
over the bandwidth of the same run. BFS and components may skip edges, so only the needs of vertices count.
"""

from __future__ import annotations

FLOORS = {
    # read offsets and one target (an edge leads to the parent), write distance and parent
    "bfs": (8 + 4 + 4 + 4, 0),
    # an iteration: read offsets, degree and old contribution, write the new one; every target
    "pagerank": (8 + 4 + 4 + 4, 4),
    # read offsets and one target (a spanning forest has fewer edges than vertices), write the label
    "wcc": (8 + 4 + 4, 0),
    # read offsets, write the distance; every target and weight (any edge may be shorter)
    "sssp": (8 + 4, 4 + 4),
    # a source: offsets and targets twice; level, path count (8), dependency, score
    "betweenness": (2 * 8 + 4 + 8 + 4 + 4, 2 * 4),
}


def floor_bytes(task, n, m):
    """Return the fewest bytes of one run: an iteration of PageRank, or a source of the others."""
    a_vertex, an_edge = FLOORS[task]
    return a_vertex * n + an_edge * m
