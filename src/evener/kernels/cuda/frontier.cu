// A frontier as a queue of vertices and as a bitmap, and from one to the other. Arrays are those of
// kernels/cpu/frontier.py.

#include "common.cuh"

// Turn the queue into a bitmap; `frontier` is clear.
__global__ void PARALLEL(256) to_bits(Array<const u32> queue, Array<u64> length, Bits frontier, Grid grid) {
    u64 queued = look(length[0]);
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) frontier.set(queue[i]);
    grid.sync();  // until all have read it
    if (first_of_grid()) length[0] = 0;
}

// Turn the owned part of the bitmap into a queue and clear it; returns the edges out of its vertices.
__global__ void PARALLEL(256) to_queue(
    Array<const u64> offsets, u64 owned, Bits frontier, Array<u32> queue, Array<u64> length, Votes<u64> votes
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
    votes.sum(scout);
}
