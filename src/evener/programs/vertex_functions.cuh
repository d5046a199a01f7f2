// The functions of a vertex program, compiled from Python and linked into a kernel: see vertex_kernels_gpu.py.
//
// Messages are doubles, or integers of 64 bits. A function reads and writes the fields of a vertex itself. It
// gets a table with the address of each field, as a pointer to pointers of each type that a field may have.

#pragma once

#include "combine_all.cuh"

#define FIELDS float **floats, double **doubles, i64 **integers, i64 v
#define PLACE i64 degree, i64 vertex, i64 n, i64 iteration
#define FUNCTIONS(Wide, SUFFIX)                                                                                 \
    extern "C" __device__ Wide send_##SUFFIX(FIELDS, double real_weight, i64 weight, PLACE);                    \
    extern "C" __device__ i64 apply_##SUFFIX(FIELDS, Wide message, PLACE, double total, double* change);        \
    template <> struct Functions<Wide> {                                                                        \
        __device__ static Wide send(FIELDS, double real_weight, i64 weight, PLACE) {                            \
            return send_##SUFFIX(                                                                               \
                floats, doubles, integers, v, real_weight, weight, degree, vertex, n, iteration                 \
            );                                                                                                  \
        }                                                                                                       \
        __device__ static i64 apply(FIELDS, Wide message, PLACE, double total, double* change) {                \
            return apply_##SUFFIX(                                                                              \
                floats, doubles, integers, v, message, degree, vertex, n, iteration, total, change              \
            );                                                                                                  \
        }                                                                                                       \
    };

template <typename Wide> struct Functions;
FUNCTIONS(double, float64)
FUNCTIONS(i64, int64)
extern "C" __device__ double aggregate(FIELDS, PLACE);

// The states of vertices. `fields` has the address of each field.
template <typename Wide> struct States {
    Array<const u64> fields;
    Array<const u32> degree, vertices;
    u64 n, iteration;

    // The message of vertex `v` along an edge.
    template <typename Weight> __device__ Wide message(u64 v, Weight weight) const {
        return Functions<Wide>::send(
            table<float>(), table<double>(), table<i64>(), v, (double)weight, (i64)weight, degree[v], vertices[v], n,
            iteration
        );
    }
    // Change the state of vertex `v`. Return whether it is active, and add the changes of its fields to `change`.
    __device__ bool apply(u64 v, Wide combined, double total, double& change) const {
        double moved;
        i64 is_active = Functions<Wide>::apply(
            table<float>(), table<double>(), table<i64>(), v, combined, degree[v], vertices[v], n, iteration, total,
            &moved
        );
        change += moved;
        return is_active != 0;
    }
    __device__ double size(u64 v) const {
        return aggregate(
            table<float>(), table<double>(), table<i64>(), v, degree[v], vertices[v], n, iteration
        );
    }

  private:
    template <typename Field> __device__ Field** table() const { return (Field**)fields.at; }
};
