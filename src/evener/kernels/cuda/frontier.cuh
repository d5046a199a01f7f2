// From a frontier as a queue of vertices to one as a bitmap, and back.

#pragma once

#include "common.cuh"

// Flag `queued` vertices.
template <typename T> __device__ inline void flag_queued(Array<T> queue, u64 queued, Bits frontier) {
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) frontier.set(queue[i]);
}

// Queue the owned vertices that are flagged, and clear all flags; the edges out of those that this thread queued.
__device__ inline u64 queue_flagged(
    Array<const u64> offsets, u64 owned, Bits frontier, Array<u32> queue, Array<u64> length
) {
    u64 scout = 0;
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = thread_of_grid(); h < halves; h += threads_of_grid()) {
        u32 half = frontier.half(h);
        if (half == 0) continue;
        frontier.half(h) = 0;
        for (half &= range_mask(h, 0, owned); half != 0; half &= half - 1) {
            u64 v = h * 32 + __ffs(half) - 1;
            scout += offsets[v + 1] - offsets[v];
            append(queue, length, (u32)v);
        }
    }
    return scout;
}
