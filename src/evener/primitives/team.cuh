// Threads that work on a row together: a warp or a block.

#pragma once

#include "common.cuh"

struct Team {
    u32 who, width;

    __device__ static Team warp() { return {lane(), WARP}; }
    __device__ static Team block() { return {threadIdx.x, blockDim.x}; }
    // Wait for the other threads, and see what they wrote.
    __device__ void sync() const {
        if (width == WARP) __syncwarp();
        else __syncthreads();
    }
};

// Call ``visit(v)`` with all threads of a block for each of the first `count` vertices with ``wanted(v)``. Vertices
// that follow each other have different blocks. A block has up to 1024 threads, all of which call the function.
template <typename Wanted, typename Visit>
__device__ inline void over_wanted(u64 count, Wanted wanted, Visit visit) {
    __shared__ u32 queue[1024], length;
    for (u64 begin = 0; begin < count; begin += threads_of_grid()) {
        u64 v = begin + (u64)threadIdx.x * gridDim.x + blockIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) length = 0;
        __syncthreads();
        if (v < count && wanted((u32)v)) queue[atomicAdd(&length, 1)] = (u32)v;
        __syncthreads();
        for (u32 i = 0; i < length; i++) visit(queue[i]);
    }
}
