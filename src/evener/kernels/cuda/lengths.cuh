// Path lengths as uint32 or float64: sums bitwise equal to the CPU's, and an atomic minimum.

#pragma once

#include "common.cuh"

// The length of a path extended by one edge. Integer distances and weights are below 2^31, so a sum does not
// overflow. A sum of floats is rounded once.
template <typename Weight> __device__ inline u32 longer(u32 length, Weight weight) {
    return length + (u32)weight;
}
template <typename Weight> __device__ inline double longer(double length, Weight weight) {
    return length + (double)weight;
}

// Atomically store the minimum of `place` and `length`. Returns the old value.
__device__ inline u32 fetch_min(u32& place, u32 length) { return atomicMin(&place, length); }
// Non-negative floats, including infinity, compare like their bit patterns.
__device__ inline double fetch_min(double& place, double length) {
    u64 bits = (u64)__double_as_longlong(length);
    return __longlong_as_double((long long)atomicMin((u64*)&place, bits));
}
// The same in the memory of another GPU.
__device__ inline void lower_on_peer(u32& place, u32 length) { atomicMin_system(&place, length); }
__device__ inline void lower_on_peer(double& place, double length) {
    atomicMin_system((u64*)&place, (u64)__double_as_longlong(length));
}
