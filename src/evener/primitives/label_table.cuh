// Sums of weights by label: a hash table that the threads of a warp or of a block share.

#pragma once

#include "common.cuh"

// Place in a table that holds no label.
constexpr u32 EMPTY = NO_VERTEX;

template <typename Sum> struct LabelTable {
    u32* labels;
    Sum* sums;
    u32 mask;

    // Clear the table, with `width` threads of which this is number `who`.
    __device__ void clear(u32 who, u32 width) const {
        for (u32 h = who; h <= mask; h += width) {
            labels[h] = EMPTY;
            sums[h] = 0;
        }
    }
    // Add to the sum of a label. Return false, and add nothing, if `used` counts `most` labels and this is another.
    __device__ bool add(u32 label, Sum weight, u32* used, u32 most) const {
        u32 h = (u32)((u64)label * 0x9E3779B97F4A7C15ull >> 32) & mask;
        while (true) {
            u32 found = look(labels[h]);
            if (found == EMPTY) {
                if (used != nullptr && look(*used) >= most) return false;
                found = atomicCAS(labels + h, EMPTY, label);
                if (found == EMPTY && used != nullptr) atomicAdd(used, 1);
            }
            if (found == EMPTY || found == label) break;
            h = (h + 1) & mask;
        }
        atomicAdd(sums + h, weight);
        return true;
    }
};

// Return the sum of the weights of the lanes in `equal`, one of groups of lanes; 0 if there is none. All lanes of a
// warp call it together.
template <typename Weight> __device__ inline Weight sum_of_lanes(u32 equal, Weight weight) {
    Weight sum = 0;
    for (u32 times = across((u32)__popc(equal), Max()); times > 0; times--) {
        Weight other = __shfl_sync(ALL, weight, equal != 0 ? __ffs(equal) - 1 : 0);
        if (equal != 0) sum += other;
        equal &= equal - 1;
    }
    return sum;
}

// Combine the values of all threads of the block; all of them receive the result.
template <typename T, typename Combine> __device__ inline T across_block(T value, Combine combine) {
    __shared__ T whole;
    value = over_block(value, combine);
    if (threadIdx.x == 0) whole = value;
    __syncthreads();
    value = whole;
    __syncthreads();
    return value;
}

// Return the first of the rows, which come by descending length, that has at most `limit` edges.
template <typename Length> __device__ inline u64 first_shorter(u64 rows, u64 limit, Length length) {
    u64 low = 0, high = rows;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (length(middle) > limit) low = middle + 1;
        else high = middle;
    }
    return low;
}
