// A narrow level: one block processes the edges of a few vertices.

#pragma once

#include "common.cuh"

// Edges. The whole block processes a longer row, if the row is among the first MAX_LONG_ROWS long rows of its
// level.
constexpr u32 LONG_ROW = 256;
constexpr u32 MAX_LONG_ROWS = 64;

// Call ``visit(u, e)`` for every edge e of each vertex ``u = list[i]``, ``begin <= i < end``. These vertices
// have `edges` edges in total.
//
// First, groups of lanes process one row each; a group has about a quarter as many lanes as a row has edges
// on average. Then the block processes the long rows as if they were one row. All threads of the block call
// it together, and earlier writes are visible to all of them. The threads need a barrier before the next
// call, and before they read the values that `visit` wrote.
template <typename Visit> __device__ inline void over_narrow(
    Array<const u64> offsets, const u32* list, u64 begin, u64 end, u64 edges, Visit visit
) {
    __shared__ u32 long_rows[MAX_LONG_ROWS];
    __shared__ u32 found;
    if (threadIdx.x == 0) found = 0;
    __syncthreads();

    u32 lanes = 1;
    while (lanes < WARP && 4 * lanes * (end - begin) < edges) lanes *= 2;
    u32 part = threadIdx.x % lanes;
    u32 of_row = ALL >> (WARP - lanes) << (lane() - part);  // the lanes that process the same row
    for (u64 i = begin + threadIdx.x / lanes; i < end; i += blockDim.x / lanes) {
        u32 u = look(list[i]);
        u64 first = offsets[u], stop = offsets[(u64)u + 1];
        if (stop - first > LONG_ROW) {
            u32 place = 0;
            if (part == 0) place = atomicAdd(&found, 1);
            place = __shfl_sync(of_row, place, 0, lanes);
            if (place < MAX_LONG_ROWS) {
                if (part == 0) long_rows[place] = u;
                continue;
            }
        }
        for (u64 e = first + part; e < stop; e += lanes) visit(u, e);
    }
    __syncthreads();

    u32 rows = least(found, MAX_LONG_ROWS);
    u64 next = threadIdx.x;  // this thread's next edge, relative to the start of the row
    for (u32 k = 0; k < rows; k++) {
        u32 u = long_rows[k];
        u64 first = offsets[u], length = offsets[(u64)u + 1] - first;
        for (; next < length; next += blockDim.x) visit(u, first + next);
        next -= length;
    }
}
