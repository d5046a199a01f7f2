// Convert a frontier between a queue of vertices and a bitmap.

#pragma once

#include "common.cuh"

// Set the bits of `queued` vertices.
template <typename T> __device__ inline void flag_queued(Array<T> queue, u64 queued, Bits frontier) {
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) frontier.set(queue[i]);
}

// Append the owned vertices of the bitmap to the queue and clear the bitmap. Returns the number of out-edges
// of the vertices that this thread appended.
__device__ inline u64 queue_flagged(
    Array<const u64> offsets, u64 owned, Bits frontier, Array<u32> queue, Array<u64> length
) {
    u64 frontier_edges = 0;
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = thread_of_grid(); h < halves; h += threads_of_grid()) {
        u32 half = frontier.half(h);
        if (half == 0) continue;
        frontier.half(h) = 0;
        for (half &= range_mask(h, 0, owned); half != 0; half &= half - 1) {
            u64 v = h * 32 + __ffs(half) - 1;
            frontier_edges += offsets[v + 1] - offsets[v];
            append(queue, length, (u32)v);
        }
    }
    return frontier_edges;
}
