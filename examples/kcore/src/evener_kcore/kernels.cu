// K-core decomposition: the kernels for GPUs. The arrays are described in kcore.py.

#include "edges.cuh"

// Give each vertex with at most `level` remaining neighbours that core number, and queue it.
//
// Returns the number of these vertices.
__global__ void PARALLEL(256) peel(
    u32 level, Array<const u32> degree, Array<const u32> lost, Array<i32> core, Array<u32> queue,
    Array<u64> length, Results<u64> results
) {
    u64 peeled = 0;
    for (u64 v = thread_of_grid(); v < core.length; v += threads_of_grid()) {
        if (core[v] < 0 && degree[v] <= level + lost[v]) {
            core[v] = level;
            append(queue, length, v);
            peeled++;
        }
    }
    results.sum(peeled);
}

// Count a lost neighbour at every neighbour of the queued vertices, and empty the queue.
__global__ void PARALLEL(256) decrement(
    Array<const u64> offsets, Tiered<u32> targets, Array<u32> queue, Array<u64> length, Array<u32> lost,
    Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    edges.over(offsets, queue.at, 0, look(length[0]), Nothing(), [&](u32 v, u64 e) {
        atomicAdd(&lost[targets[e]], 1);
    });
    if (first_of_grid()) length[0] = 0;
}
