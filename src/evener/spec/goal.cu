// The end of a search: see goal_cpu.py.

#include "common.cuh"

template <typename Distance>
__global__ void PARALLEL(256) forget_beyond(
    u64 owned, Distance limit, Distance unreached, Array<Distance> distance, Array<u32> parent
) {
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
        if (distance[v] <= limit) continue;
        distance[v] = unreached;
        parent[v] = NO_VERTEX;
    }
}
