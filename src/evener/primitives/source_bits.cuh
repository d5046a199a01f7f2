// The bits of searches that run at once.

#pragma once

#include "common.cuh"

// The bit of a source, 0 for other vertices.
__device__ inline u64 bit_of(u32 number, Array<const u32> sources) {
    u64 low = 0, high = sources.length;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (sources[middle] < number) low = middle + 1;
        else high = middle;
    }
    return low < sources.length && sources[low] == number ? 1ull << low : 0;
}
