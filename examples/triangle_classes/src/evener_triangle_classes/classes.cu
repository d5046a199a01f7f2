#include "triangles.cuh"

__global__ void PARALLEL(1024) count_classes(
    Array<const u64> offsets, Array<const u32> targets, u32 first, Array<const u64> other_offsets,
    Array<const u32> other_targets, Array<const u32> degree, Array<u64> counts, Shared shared
) {
    visit_triangles({offsets, targets, first, other_offsets, other_targets}, shared, [&](u32 u, u32 v, u32 w) {
        atomicAdd(counts.at + 32 * (31 - __clz(degree[u])) + 31 - __clz(degree[w]), 1);
    });
}
