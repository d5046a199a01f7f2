// Loops over a range of the edges of several rows.

#pragma once

#include "common.cuh"

// Edges of a tile: a block finds the rows of a tile once, and then the row of each edge among them.
constexpr u64 TILE = 2048;

// The last row in ``low:high`` that begins at or before edge `e`.
__device__ inline u64 row_of(Array<const u64> offsets, u64 low, u64 high, u64 e) {
    while (high - low > 1) {
        u64 middle = (low + high) / 2;
        if (read(offsets, middle) <= e) low = middle;
        else high = middle;
    }
    return low;
}

// Call ``visit(row, e)`` for the edges ``begin:end`` of the rows ``first:last``, with consecutive threads on
// consecutive edges. All threads of the grid call it, and blocks have at least two warps.
template <typename Visit>
__device__ inline void over_edges(
    Array<const u64> offsets, u64 first, u64 last, u64 begin, u64 end, Visit visit
) {
    __shared__ u64 low, high;
    for (u64 from = begin + blockIdx.x * TILE; from < end; from += gridDim.x * TILE) {
        u64 to = least(from + TILE, end);
        __syncthreads();
        if (threadIdx.x == 0) low = row_of(offsets, first, last, from);
        if (threadIdx.x == WARP) high = row_of(offsets, first, last, to - 1) + 1;
        __syncthreads();
        for (u64 e = from + threadIdx.x; e < to; e += blockDim.x) visit(row_of(offsets, low, high, e), e);
    }
}
