// A narrow level: the edges of a few vertices, gone through by one block.

#pragma once

#include "common.cuh"

// A row of more edges than this is gone through by the whole block, not by a part of a warp, if it is among
// the first MOST_LONG that are found in its level: of 4096 edges, which algorithms call narrow, there are 15
// at most, and there is room for those of four times as many.
constexpr u32 LONG_ROW = 256;
constexpr u32 MOST_LONG = 64;

// Calls ``visit(u, e)`` for every edge e of every vertex ``u = list[i]``, ``begin <= i < end``, which have
// `edges` in all.
//
// As many lanes go through a row as the rows have edges on average, a quarter of them at a time; then the
// block goes through the long ones, end to end as if they were one. All threads of the block come here
// together, and what was written before, all see. They have to meet before they come again, and before what
// `visit` wrote is read.
template <typename Visit> __device__ inline void over_narrow(
    Array<const u64> offsets, const u32* list, u64 begin, u64 end, u64 edges, Visit visit
) {
    __shared__ u32 long_rows[MOST_LONG];
    __shared__ u32 found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();

    u32 lanes = 1;
    while (lanes < WARP && 4 * lanes * (end - begin) < edges) lanes *= 2;
    u32 part = threadIdx.x % lanes;
    u32 of_row = ALL >> (WARP - lanes) << (lane() - part);  // the lanes that share this one's row
    for (u64 i = begin + threadIdx.x / lanes; i < end; i += blockDim.x / lanes) {
        u32 u = look(list[i]);
        u64 first = offsets[u], stop = offsets[(u64)u + 1];
        if (stop - first > LONG_ROW) {
            u32 place = 0;
            if (part == 0) place = atomicAdd(&found, 1);
            place = __shfl_sync(of_row, place, 0, lanes);
            if (place < MOST_LONG) {
                if (part == 0) long_rows[place] = u;
                continue;
            }
        }
        for (u64 e = first + part; e < stop; e += lanes) visit(u, e);
    }
    __syncthreads();

    u32 rows = least(found, MOST_LONG);
    u64 next = threadIdx.x;  // this thread's next edge, counted from the start of the row
    for (u32 k = 0; k < rows; k++) {
        u32 u = long_rows[k];
        u64 first = offsets[u], length = offsets[(u64)u + 1] - first;
        for (; next < length; next += blockDim.x) visit(u, first + next);
        next -= length;
    }
}
