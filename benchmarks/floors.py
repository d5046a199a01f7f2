"""The bytes that no method can avoid moving: what the floor under each time is made of.

Bytes a vertex and bytes a stored edge. Offsets are 8 bytes; targets, levels, parents, labels and ranks are 4.
Every array counts once however often it is read, for a cache may hold it. The floor is these bytes over the
bandwidth measured in the same run. BFS and components may skip edges: only what each vertex needs counts.
"""

from __future__ import annotations

FLOORS = {
    # offsets, one target (the parent is found through an edge), distance and parent written
    "bfs": (8 + 4 + 4 + 4, 0),
    # an iteration: offsets, degree and old contribution read, the new one written; every target
    "pagerank": (8 + 4 + 4 + 4, 4),
    # offsets, one target (a spanning forest has no more edges than vertices), the label written
    "wcc": (8 + 4 + 4, 0),
    # offsets, the distance written; every target and weight (an edge not looked at might be shorter)
    "sssp": (8 + 4, 4 + 4),
    # a source: offsets and targets forward and backward; level, path count (8), dependency, score
    "betweenness": (2 * 8 + 4 + 8 + 4 + 4, 2 * 4),
}


def floor_bytes(task, n, m):
    """Return the bytes under one run of a task: an iteration of PageRank, a source of the searches."""
    a_vertex, an_edge = FLOORS[task]
    return a_vertex * n + an_edge * m
