// Sums of weights by label: a hash table that the threads of a team share.

#pragma once

#include "common.cuh"

// Place in a table that holds no label.
constexpr u32 EMPTY = NO_VERTEX;

// Threads that work on a row together: a warp, some warps, or a whole block of TEAM_BLOCK threads.
constexpr u32 TEAM_BLOCK = 1024;
template <u32 WIDTH> struct Team {
    static constexpr u32 TEAMS = TEAM_BLOCK / WIDTH;
    __device__ static u32 who() { return threadIdx.x % WIDTH; }
    __device__ static u32 number() { return threadIdx.x / WIDTH; }
    __device__ static void sync() {
        if (WIDTH == WARP) __syncwarp();
        else if (WIDTH == TEAM_BLOCK) __syncthreads();
        else asm volatile("bar.sync %0, %1;" ::"r"(1 + number()), "r"(WIDTH) : "memory");
    }
};

// A table is empty between two uses: it holds no labels, and all sums are 0.
template <typename Sum> struct LabelTable {
    u32* labels;
    Sum* sums;
    u32 places;

    template <u32 WIDTH> __device__ void clear() const {
#pragma unroll 1
        for (u32 h = Team<WIDTH>::who(); h < places; h += WIDTH) {
            labels[h] = EMPTY;
            sums[h] = 0;
        }
        Team<WIDTH>::sync();
    }
    __device__ void add(u32 label, Sum weight) const {
        u32 h = __umulhi(label * 0x9E3779B1u, places);
#pragma unroll 1
        while (true) {
            u32 there = look(labels[h]);
            if (there == EMPTY) there = atomicCAS(labels + h, EMPTY, label);
            if (there == EMPTY || there == label) break;
            if (++h == places) h = 0;
        }
        atomicAdd(sums + h, weight);
    }
};

// Return the sum of the weights of the lanes in `equal`, one of groups of lanes; 0 if there is none. All lanes of a
// warp call it together.
template <typename Weight> __device__ inline Weight sum_of_lanes(u32 equal, Weight weight) {
    Weight sum = 0;
#pragma unroll 1
    for (u32 times = across((u32)__popc(equal), Max()); times > 0; times--) {
        Weight other = __shfl_sync(ALL, weight, equal != 0 ? __ffs(equal) - 1 : 0);
        if (equal != 0) sum += other;
        equal &= equal - 1;
    }
    return sum;
}

// Return the first of the rows, which come by descending length, that has at most `limit` edges. A warp calls it.
template <typename Length> __device__ inline u64 first_shorter(u64 rows, u64 limit, Length length) {
    u64 low = 0, high = rows;
    while (low < high) {
        u64 step = (high - low + WARP - 1) / WARP, at = low + lane() * step;
        u32 longer = __popc(__ballot_sync(ALL, at < high && length(at) > limit));
        if (longer == 0) break;
        high = least(high, low + longer * step);
        low += (longer - 1) * step + 1;
    }
    return low;
}
