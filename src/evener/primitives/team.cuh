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
