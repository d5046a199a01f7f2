// What the kernels of betweenness share, those of whole levels and those of narrow ones.

#pragma once

#include "common.cuh"

// A count below this has lost its bits, or its inverse is near the end of float64's range.
constexpr double LEAST = 0x1p-960;

// A vertex's paths as they enter the sum of its level's: infinite where they have left float64's range.
__device__ inline double in_range(double count) { return count >= LEAST ? count : infinite(); }

// Calls ``change(h, bits)`` for the bits of half `h` of a bitmap that belong to the vertices of a warp's
// lanes, once for neighbouring lanes that share a half: a level often lists vertices of one half together.
// All lanes come here together, those that have no vertex too.
template <typename Change> __device__ inline void by_half(bool has_vertex, u32 v, Change change) {
    u32 h = has_vertex ? v >> 5 : NOBODY;
    u32 bits = has_vertex ? 1u << (v & 31) : 0;
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 other = __shfl_down_sync(ALL, bits, step);
        if (__shfl_down_sync(ALL, h, step) == h) bits |= other;
    }
    u32 before = __shfl_up_sync(ALL, h, 1);
    if (has_vertex && (lane() == 0 || before != h)) change(h, bits);
}

// Turn what arrived at the vertices ``order[begin:end]`` into their dependency, and take them out of
// `visited`, with all threads of the grid. Returns how many of them this thread settled.
__device__ inline u64 settle_run(
    Array<const u32> order, u64 begin, u64 end, double scale, double counted, Array<double> arriving,
    Bits visited, Array<double> value, Array<double> centrality
) {
    u64 settled = 0;
    for (u64 first = begin + warp_of_grid() * WARP; first < end; first += threads_of_grid()) {
        u64 i = first + lane();
        u32 v = 0;
        if (i < end) {
            v = order[i];
            double paths = value[v];
            double dependency = paths * (look(arriving[v]) * scale);
            centrality[v] += dependency * counted;
            value[v] = (1 + dependency) / paths;
            arriving[v] = 0;
            settled++;
        }
        by_half(i < end, v, [&](u32 h, u32 bits) { atomicAnd(&visited.half(h), ~bits); });
    }
    return settled;
}
