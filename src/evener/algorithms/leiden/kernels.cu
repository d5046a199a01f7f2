// Leiden: the connected parts of communities. The arrays are those of kernels_cpu.py.

#include "edge_range.cuh"

// Lower the label of each vertex to the smallest of neighbours in its community. Return the changes.
__global__ void PARALLEL(256) spread_smallest(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> community, Array<u32> label,
    Results<u64> results
) {
    u64 changes = 0;
    over_edges(offsets, 0, offsets.length - 1, 0, targets.length, [&](u64 v, u64 e) {
        u32 u = read(targets, e);
        if (read(community, u) != read(community, v)) return;
        u32 smallest = look(label[u]);
        if (smallest >= look(label[v])) return;
        atomicMin(label.at + v, smallest);
        changes++;
    });
    results.sum(changes);
}
