// Lengths of paths, as uint32 or float64: sums that equal the CPU's to the bit, and lowering one in place.

#pragma once

#include "common.cuh"

// A path one edge longer. No integer distance or weight reaches 2^31, so a weight of any type fits in 32 bits
// and no sum wraps; a sum of floating numbers is rounded once.
template <typename Weight> __device__ inline u32 longer(u32 length, Weight weight) {
    return length + (u32)weight;
}
template <typename Weight> __device__ inline double longer(double length, Weight weight) {
    return length + (double)weight;
}

// The lesser of a length and what is at `place`, put there; returns what was there before.
__device__ inline u32 fetch_min(u32& place, u32 length) { return atomicMin(&place, length); }
// The bits of numbers that are not negative, infinity among them, are in the numbers' order.
__device__ inline double fetch_min(double& place, double length) {
    u64 bits = (u64)__double_as_longlong(length);
    return __longlong_as_double((long long)atomicMin((u64*)&place, bits));
}
