// Convert a frontier between a queue of vertices and a bitmap. kernels/cpu/frontier.py describes the arrays.

#include "frontier.cuh"

// Set the bit of each vertex of the queue and empty the queue. `frontier` is clear before.
__global__ void PARALLEL(256) to_bits(Array<const u32> queue, Array<u64> length, Bits frontier, Grid grid) {
    flag_queued(queue, look(length[0]), frontier);
    grid.sync();  // all blocks have read the length
    if (first_of_grid()) length[0] = 0;
}

// Append the owned vertices of the bitmap to the queue and clear the bitmap.
//
// Returns the number of out-edges of these vertices.
__global__ void PARALLEL(256) to_queue(
    Array<const u64> offsets, u64 owned, Bits frontier, Array<u32> queue, Array<u64> length, Results<u64> results
) {
    results.sum(queue_flagged(offsets, owned, frontier, queue, length));
}
