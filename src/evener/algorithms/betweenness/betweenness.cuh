// Betweenness: device functions shared by all kernels.

#pragma once

#include "common.cuh"

// Smallest path count with full precision and a finite inverse.
constexpr double MIN_COUNT = 0x1p-960;
// Numbers per level in `level_table`: vertices, out-edges, in-edges, scale.
constexpr u32 COLUMNS = 4;

// The term of a count in the sum of its level: infinity if the count is below MIN_COUNT.
__device__ inline double in_range(double count) { return count >= MIN_COUNT ? count : infinite(); }

// Call ``change(h, bits)`` for the bits of half `h` of a bitmap that belong to the vertices of a warp's
// lanes. Neighbouring lanes with the same half share one call. All lanes call it together, also lanes without
// a vertex.
template <typename Change> __device__ inline void by_half(bool has_vertex, u32 v, Change change) {
    u32 h = has_vertex ? v >> 5 : NO_VERTEX;
    u32 bits = has_vertex ? 1u << (v & 31) : 0;
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 other = __shfl_down_sync(ALL, bits, step);
        if (__shfl_down_sync(ALL, h, step) == h) bits |= other;
    }
    u32 before = __shfl_up_sync(ALL, h, 1);
    if (has_vertex && (lane() == 0 || before != h)) change(h, bits);
}

// Finish the vertices ``order[begin:end]`` with all threads of the grid; see `finish_level`. Returns the
// number of vertices that this thread finished.
__device__ inline u64 finish_chunk(
    Array<const u32> order, u64 begin, u64 end, double scale, double weight, Array<double> incoming,
    Bits visited, Array<double> value, Array<double> centrality
) {
    u64 finished = 0;
    for (u64 first = begin + warp_of_grid() * WARP; first < end; first += threads_of_grid()) {
        u64 i = first + lane();
        u32 v = 0;
        if (i < end) {
            v = order[i];
            double paths = value[v];
            double dependency = paths * (look(incoming[v]) * scale);
            centrality[v] += dependency * weight;
            value[v] = (1 + dependency) / paths;
            incoming[v] = 0;
            finished++;
        }
        by_half(i < end, v, [&](u32 h, u32 bits) { atomicAnd(&visited.half(h), ~bits); });
    }
    return finished;
}
