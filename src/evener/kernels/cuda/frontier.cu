// A frontier as a queue of vertices and as a bitmap, and from one to the other. Arrays are those of
// kernels/cpu/frontier.py.

#include "frontier.cuh"

// Turn the queue into a bitmap; `frontier` is clear.
__global__ void PARALLEL(256) to_bits(Array<const u32> queue, Array<u64> length, Bits frontier, Grid grid) {
    flag_queued(queue, look(length[0]), frontier);
    grid.sync();  // until all have read it
    if (first_of_grid()) length[0] = 0;
}

// Turn the owned part of the bitmap into a queue and clear it; returns the edges out of its vertices.
__global__ void PARALLEL(256) to_queue(
    Array<const u64> offsets, u64 owned, Bits frontier, Array<u32> queue, Array<u64> length, Votes<u64> votes
) {
    votes.sum(queue_flagged(offsets, owned, frontier, queue, length));
}
