"""What a verifier asks of every edge: each kernel looks for the first vertex that breaks one rule.

The kernels share nothing with those that made the answers: they follow the definition, not the method.
A block is a range of rows with about equal edges; `first[b]` receives the first offending vertex of block
`b`, or NONE. Vertices and levels are unsigned, and NONE (all bits set) says "unreached" or "no parent".
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.jit import inline_step, parallel, serial

NONE = np.uint32(0xFFFFFFFF)
ZERO = np.uint64(0)
ONE = np.uint64(1)

# On a mesh of 1,000 x 1,000 there are 2^1994 paths to a corner, and 2^995 times as many to one vertex of a
# level as to another: room for both below the largest float64, 2^1024.
MANY_PATHS = 2.0**900
SHRINK = 2.0**-64


@inline_step
def _edge_position(offsets, targets, tail, head):
    """Position of the first edge tail -> head in its sorted row, or where it would stand."""
    low = offsets[tail]
    high = offsets[tail + ONE]
    while low < high:
        middle = (low + high) >> ONE
        if targets[middle] < head:
            low = middle + ONE
        else:
            high = middle
    return low


@inline_step
def _row_and_end(offsets, tail, head, undirected):
    """The row to look for an edge in, and the vertex it then leads to: it stands in both rows if undirected.

    Parents are mostly hubs: in the shorter rows two threads find R-MAT 22's tree edges in 61 ms, not in 158.
    """
    if undirected and offsets[head + ONE] - offsets[head] < offsets[tail + ONE] - offsets[tail]:
        return head, tail
    return tail, head


@inline_step
def _missing_edge_in(offsets, targets, undirected, parent, start, stop):
    for v in range(start, stop):
        if parent[v] != NONE and parent[v] != v:
            row, end = _row_and_end(offsets, np.uint64(parent[v]), v, undirected)
            e = _edge_position(offsets, targets, row, end)
            if e == offsets[row + ONE] or targets[e] != end:
                return np.uint32(v)
    return NONE


@parallel
def missing_edge(offsets, targets, undirected, parent, blocks, first):
    """First vertex whose `parent` has no edge to it; a vertex that is its own parent is a root."""
    for b in prange(len(blocks) - 1):
        first[b] = _missing_edge_in(offsets, targets, undirected, parent, blocks[b], blocks[b + 1])


@inline_step
def _steep_edge_in(offsets, targets, level, unreached, start, stop):
    for v in range(start, stop):
        if level[v] != unreached:
            limit = np.uint64(level[v]) + ONE
            above = ZERO
            for e in range(offsets[v], offsets[v + ONE]):
                above += np.uint64(level[targets[e]] > limit)
            if above != ZERO:
                return np.uint32(v)
    return NONE


@parallel
def steep_edge(offsets, targets, level, unreached, blocks, first):
    """First reached vertex with an edge to an unreached one, or to a `level` above its own plus one.

    Levels are unsigned, of any width, with `unreached` two above the highest or more.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _steep_edge_in(offsets, targets, level, unreached, blocks[b], blocks[b + 1])


@inline_step
def _stray_in(source, level, parent, start, stop):
    for v in range(start, stop):
        u = parent[v]
        if v == source:
            held = level[v] == np.uint32(0) and u == source
        elif level[v] == NONE or u == NONE:
            held = level[v] == u
        else:
            held = level[u] != NONE and level[u] + np.uint32(1) == level[v]
        if not held:
            return np.uint32(v)
    return NONE


@parallel
def stray(source, level, parent, blocks, first):
    """First vertex that is not one `level` below its `parent`, nor the source, nor without both.

    If there is none, parents lead from all vertices with a level to the source: levels fall on the way.
    """
    for b in prange(len(blocks) - 1):
        first[b] = _stray_in(np.uint64(source), level, parent, blocks[b], blocks[b + 1])


@inline_step
def _loose_parent_in(offsets, targets, weights, undirected, parent, distance, tolerance, start, stop):
    for v in range(start, stop):
        if parent[v] != NONE and parent[v] != v:
            tight = False
            row, end = _row_and_end(offsets, np.uint64(parent[v]), v, undirected)
            e = _edge_position(offsets, targets, row, end)
            while e < offsets[row + ONE] and targets[e] == end:
                gap = abs(distance[parent[v]] + weights[e] - distance[v])
                tight = tight or gap <= tolerance * abs(distance[v])
                e += ONE
            if not tight:
                return np.uint32(v)
    return NONE


@parallel
def loose_parent(offsets, targets, weights, undirected, parent, distance, tolerance, blocks, first):
    """First vertex whose `distance` is not that of its parent plus the weight of an edge between them."""
    for b in prange(len(blocks) - 1):
        first[b] = _loose_parent_in(
            offsets, targets, weights, undirected, parent, distance, tolerance, blocks[b], blocks[b + 1]
        )


@inline_step
def _shorter_path_in(offsets, targets, weights, distance, tolerance, start, stop):
    for v in range(start, stop):
        if distance[v] < np.inf:
            shorter = ZERO
            for e in range(offsets[v], offsets[v + ONE]):
                through = distance[v] + weights[e]
                shorter += np.uint64(distance[targets[e]] > through + tolerance * through)
            if shorter != ZERO:
                return np.uint32(v)
    return NONE


@parallel
def shorter_path(offsets, targets, weights, distance, tolerance, blocks, first):
    """First reached vertex through which one of its neighbours would be nearer than `distance` says."""
    for b in prange(len(blocks) - 1):
        first[b] = _shorter_path_in(offsets, targets, weights, distance, tolerance, blocks[b], blocks[b + 1])


@serial
def rootless(parent, walk):
    """First vertex from which following `parent` runs in a circle, or NONE.

    `walk` (uint32, zeroed) records on which walk each vertex was first met; a root is its own parent.
    """
    for start in range(np.uint32(len(parent))):
        v = np.uint32(start)
        if parent[v] != NONE:
            stamp = np.uint32(start + 1)
            while walk[v] == np.uint32(0):
                walk[v] = stamp
                if parent[v] == v:
                    break
                v = parent[v]
            if walk[v] == stamp and parent[v] != v:
                return v
    return NONE


@inline_step
def _divided_edge_in(offsets, targets, label, start, stop):
    for v in range(start, stop):
        mine = label[v]
        differing = ZERO
        for e in range(offsets[v], offsets[v + ONE]):
            differing += np.uint64(label[targets[e]] != mine)
        if differing != ZERO:
            return np.uint32(v)
    return NONE


@parallel
def divided_edge(offsets, targets, label, blocks, first):
    """First vertex with an edge to a vertex of another `label`."""
    for b in prange(len(blocks) - 1):
        first[b] = _divided_edge_in(offsets, targets, label, blocks[b], blocks[b + 1])


@inline_step
def _root_of(root, v):
    while root[v] != v:
        root[v] = root[root[v]]
        v = root[v]
    return v


@serial
def smallest_member(offsets, targets, root):
    """Union-find over all edges; `root` (given as 0..n-1) ends as the smallest vertex of each component."""
    for v in range(np.uint64(len(root))):
        mine = _root_of(root, np.uint32(v))
        for e in range(offsets[v], offsets[v + ONE]):
            theirs = _root_of(root, targets[e])
            if theirs < mine:
                root[mine] = theirs
                mine = theirs
            elif mine < theirs:
                root[theirs] = mine
    for v in range(np.uint64(len(root))):
        root[v] = root[root[v]]


@inline_step
def _gather_in(offsets, targets, contribution, total, start, stop):
    for v in range(start, stop):
        row = 0.0
        for e in range(offsets[v], offsets[v + ONE]):
            row += contribution[targets[e]]
        total[v] = row


@inline_step
def _gather_weighted_in(offsets, targets, weights, contribution, total, start, stop):
    for v in range(start, stop):
        row = 0.0
        for e in range(offsets[v], offsets[v + ONE]):
            row += contribution[targets[e]] * weights[e]
        total[v] = row


@parallel
def gather_weighted(offsets, targets, weights, contribution, total, blocks):
    """`total[v]`: the sum of `contribution` (float64) times the weight over the targets of row v."""
    for b in prange(len(blocks) - 1):
        _gather_weighted_in(offsets, targets, weights, contribution, total, blocks[b], blocks[b + 1])


@parallel
def gather(offsets, targets, contribution, total, blocks):
    """`total[v]`: the sum of `contribution` (float64) over the targets of row v."""
    for b in prange(len(blocks) - 1):
        _gather_in(offsets, targets, contribution, total, blocks[b], blocks[b + 1])


@inline_step
def _shrink_level(queue, paths, head, tail):
    """Scale the path counts of a whole level down when they near the end of float64; returns the factor."""
    most = 0.0
    for i in range(head, tail):
        most = max(most, paths[queue[i]])
    if most <= MANY_PATHS:
        return 1.0
    for i in range(head, tail):
        paths[queue[i]] *= SHRINK
    return SHRINK


@inline_step
def _add_dependencies(offsets, targets, source, queue, level, paths, dependency, shrunk, score):
    """Brandes' two passes from one source, by the book: a queue forward, the same queue backward.

    Only ratios of counts on neighbouring levels matter, so `shrunk[l]` remembers the factor of level l.
    """
    level[:] = NONE
    paths[:] = 0.0
    queue[0] = source
    level[source] = 0
    paths[source] = 1.0
    shrunk[0] = 1.0
    deepest = np.uint32(0)
    head = ZERO
    tail = ONE
    while head < tail:
        v = np.uint64(queue[head])
        if level[v] > deepest:
            # All of a level is in the queue, and nothing below it, when its first vertex comes to the head.
            deepest = level[v]
            shrunk[deepest] = _shrink_level(queue, paths, head, tail)
        head += ONE
        for e in range(offsets[v], offsets[v + ONE]):
            w = targets[e]
            if level[w] == NONE:
                level[w] = level[v] + np.uint32(1)
                queue[tail] = w
                tail += ONE
            if level[w] == level[v] + np.uint32(1):
                paths[w] += paths[v]
    while head > ZERO:
        head -= ONE
        v = np.uint64(queue[head])
        through = 0.0
        for e in range(offsets[v], offsets[v + ONE]):
            w = targets[e]
            if level[w] == level[v] + np.uint32(1):
                through += (1.0 + dependency[w]) / paths[w] * shrunk[level[w]]
        dependency[v] = through * paths[v]
        if v != np.uint64(source):
            score[v] += dependency[v]


@parallel
def dependencies(offsets, targets, sources, queue, level, paths, dependency, shrunk, score):
    """Brandes' dependencies of every vertex on `sources`, one row of the scratch arrays a thread.

    The scratch arrays have shape (threads, n); `score[t]` receives thread t's part of the sum.
    """
    for t in prange(len(score)):
        for s in range(t, len(sources), len(score)):
            _add_dependencies(
                offsets, targets, sources[s], queue[t], level[t], paths[t], dependency[t], shrunk[t], score[t]
            )
