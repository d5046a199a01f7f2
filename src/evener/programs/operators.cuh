// The operators of GIM-V, compiled from Python and linked into a kernel: see elements/cuda/link.py. They see
// doubles, or integers of 64 bits.

#pragma once

#include "combine_all.cuh"

#define OPERATORS(Wide, SUFFIX)                                                                                 \
    extern "C" __device__ Wide combine2_##SUFFIX(Wide m, Wide v, i64 degree, i64 vertex, i64 n);                \
    extern "C" __device__ Wide assign_##SUFFIX(                                                                 \
        Wide old, Wide combined, i64 degree, i64 vertex, i64 n, double total, Wide initial                      \
    );                                                                                                          \
    extern "C" __device__ i64 until_##SUFFIX(                                                                   \
        Wide old, Wide now, i64 degree, i64 vertex, i64 n, double total, Wide initial                           \
    );                                                                                                          \
    __device__ inline Wide combine2(Wide m, Wide v, i64 degree, i64 vertex, i64 n) {                            \
        return combine2_##SUFFIX(m, v, degree, vertex, n);                                                      \
    }                                                                                                           \
    __device__ inline Wide assign(                                                                              \
        Wide old, Wide combined, i64 degree, i64 vertex, i64 n, double total, Wide initial                      \
    ) {                                                                                                         \
        return assign_##SUFFIX(old, combined, degree, vertex, n, total, initial);                               \
    }                                                                                                           \
    __device__ inline bool until(                                                                               \
        Wide old, Wide now, i64 degree, i64 vertex, i64 n, double total, Wide initial                           \
    ) {                                                                                                         \
        return until_##SUFFIX(old, now, degree, vertex, n, total, initial) != 0;                                \
    }

OPERATORS(double, float64)
OPERATORS(i64, int64)

// The values of the owned vertices in one iteration, and what decides whether the run stops.
template <typename Value, typename Wide> struct Vertices {
    Array<const u32> degree, vertices;
    u64 n;
    double total;
    Array<const Value> initial;
    u64 converged;
    double change, size;

    __device__ Vertices(Array<const u32> degree, Array<const u32> vertices, u64 n, double total, Array<const Value> initial)
        : degree(degree), vertices(vertices), n(n), total(total), initial(initial), converged(0), change(0), size(0) {}

    // The message of vertex `v` along an edge of weight `m`.
    __device__ Wide message(u64 v, Wide m, Value value) const {
        return combine2(m, (Wide)value, degree[v], vertices[v], n);
    }
    // Return the next value of vertex `v`, given its combined messages.
    __device__ Value next(u64 v, Value had, Wide combined) {
        Wide old = had, start = initial[v];
        Value value = (Value)assign(old, combined, degree[v], vertices[v], n, total, start);
        Wide now = value;
        size += fabs((double)now);
        change += now == old ? 0 : fabs((double)now - (double)old);
        if (until(old, now, degree[v], vertices[v], n, total, start)) converged++;
        return value;
    }
};
