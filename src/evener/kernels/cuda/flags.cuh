// Read and clear flags.

#pragma once

#include "common.cuh"

// Clear the flags of half `h` in ``begin:end`` and return them.
__device__ inline u32 take_flags(Bits flags, u64 h, u64 begin, u64 end) {
    u32 mask = range_mask(h, begin, end);
    u32 half = flags.half(h) & mask;
    if (half != 0) atomicAnd(&flags.half(h), ~mask);
    return half;
}

// Call ``visit(i)`` for every flag i set in ``begin:end``, and clear the flags.
template <typename Visit> __device__ inline void take_each(Bits flags, u64 begin, u64 end, Visit visit) {
    for (u64 h = begin / 32 + thread_of_grid(); h < (end + 31) / 32; h += threads_of_grid())
        for (u32 half = take_flags(flags, h, begin, end); half != 0; half &= half - 1)
            visit(h * 32 + __ffs(half) - 1);
}
