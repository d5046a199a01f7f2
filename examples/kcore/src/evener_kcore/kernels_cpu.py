"""K-core decomposition: the kernels for CPUs. The arrays are described in kcore.py."""

from numba import njit, prange

from evener.kernels.cpu.atomics import fetch_add

kernel = njit(parallel=True, nogil=True, cache=True)


@kernel
def peel(level, degree, lost, core, queue, length):
    """Give each vertex with at most `level` remaining neighbours that core number, and queue it.

    Returns the number of these vertices.
    """
    peeled = 0
    for v in prange(len(core)):
        if core[v] < 0 and degree[v] <= level + lost[v]:
            core[v] = level
            queue[fetch_add(length, 0, 1)] = v
            peeled += 1
    return peeled


@kernel
def decrement(offsets, targets, queue, length, lost):
    """Count a lost neighbour at every neighbour of the queued vertices, and empty the queue."""
    for i in prange(length[0]):
        v = queue[i]
        for e in range(offsets[v], offsets[v + 1]):
            fetch_add(lost, targets[e], 1)
    length[0] = 0
