// Offsets of rows from their lengths: an exclusive prefix sum.

#include "common.cuh"

// Write the offset of each row, and the sum of all lengths (L,) after them to ``offsets[L]``.
//
// A block has a part of the rows. Until it writes their offsets, the last of them holds the sum of the part.
__global__ void PARALLEL(1024) offsets_of(Array<const u32> lengths, Array<u64> offsets, Grid grid) {
    __shared__ u64 of_warp[WARP], carry;
    u64 rows = lengths.length, part = (rows + gridDim.x - 1) / gridDim.x;
    u64 begin = least(rows, blockIdx.x * part), end = least(rows, begin + part);
    u64 own = 0;
    for (u64 v = begin + threadIdx.x; v < end; v += blockDim.x) own += lengths[v];
    own = over_block(own, Sum());
    if (threadIdx.x == 0 && begin < end) offsets[end] = own;
    grid.sync();
    own = 0;
    for (u64 b = threadIdx.x; b < blockIdx.x && b * part < rows; b += blockDim.x)
        own += look(offsets[least(rows, (b + 1) * part)]);
    own = over_block(own, Sum());
    if (threadIdx.x == 0) carry = own;
    if (first_of_grid()) offsets[0] = 0;
    grid.sync();
    for (u64 first = begin; first < end; first += blockDim.x) {
        u64 v = first + threadIdx.x;
        u64 sum = v < end ? lengths[v] : 0;
        for (u32 step = 1; step < WARP; step *= 2) {
            u64 other = __shfl_up_sync(ALL, sum, step);
            if (lane() >= step) sum += other;
        }
        if (lane() == WARP - 1) of_warp[threadIdx.x / WARP] = sum;
        __syncthreads();
        u64 before = carry;
        for (u32 w = 0; w < threadIdx.x / WARP; w++) before += of_warp[w];
        if (v < end) offsets[v + 1] = before + sum;
        __syncthreads();
        if (threadIdx.x == blockDim.x - 1) carry = before + sum;
        __syncthreads();
    }
}
