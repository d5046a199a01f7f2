// The function of the user that combines two messages, compiled from Python and linked into a kernel: see
// elements/cuda/link.py. Messages are doubles, or integers of 64 bits.

#pragma once

#include "common.cuh"

extern "C" __device__ double combine_all_float64(double x, double y);
extern "C" __device__ i64 combine_all_int64(i64 x, i64 y);
__device__ inline double combine_all(double x, double y) { return combine_all_float64(x, y); }
__device__ inline i64 combine_all(i64 x, i64 y) { return combine_all_int64(x, y); }

// `combine_all` as a function object, with its identity.
template <typename Wide> struct CombineAll {
    Wide nothing;
    __device__ Wide operator()(Wide x, Wide y) const { return combine_all(x, y); }
    __device__ Wide pair(Wide x, Wide y) const { return combine_all(x, y); }
};
