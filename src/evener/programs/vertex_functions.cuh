// The functions of a vertex program, compiled from Python and linked into a kernel: see vertex_kernels_gpu.py.
//
// A function sees the numbers of a state, or of a tuple, as doubles or as integers of 64 bits, through two
// pointers to the same words. The linker inlines the functions, so the words are in registers. Only `read_state`
// and `write_state` see the fields in memory. They get a table with the address of each field, as a pointer to
// pointers of each type that a field may have.

#pragma once

#include "combine_all.cuh"

// Most fields of a state; as in vertex_kernels_gpu.py.
constexpr u32 MAX_FIELDS = 32;

#define FIELDS float **floats, double **doubles, i64 **integers, i64 v
#define PLACE i64 degree, i64 vertex, i64 n, i64 iteration
#define TUPLE(name) double *name##_reals, i64 *name##_integers
#define ARRAYS(table) (float**)(table).at, (double**)(table).at, (i64**)(table).at
#define WORDS(tuple) (double*)(tuple).words, (tuple).words
#define FUNCTIONS(Wide, SUFFIX)                                                                                 \
    extern "C" __device__ Wide send_##SUFFIX(TUPLE(state), double real_weight, i64 weight, PLACE);              \
    extern "C" __device__ i64 apply_##SUFFIX(TUPLE(state), Wide message, PLACE, double total, double* change);  \
    template <> struct Functions<Wide> {                                                                        \
        __device__ static Wide send(TUPLE(state), double real_weight, i64 weight, PLACE) {                      \
            return send_##SUFFIX(state_reals, state_integers, real_weight, weight, degree, vertex, n, iteration); \
        }                                                                                                       \
        __device__ static i64 apply(TUPLE(state), Wide message, PLACE, double total, double* change) {          \
            return apply_##SUFFIX(                                                                              \
                state_reals, state_integers, message, degree, vertex, n, iteration, total, change               \
            );                                                                                                  \
        }                                                                                                       \
    };

template <typename Wide> struct Functions;
FUNCTIONS(double, float64)
FUNCTIONS(i64, int64)
extern "C" __device__ double aggregate(TUPLE(state), PLACE);
// Read the fields that change, and the others if `whole`; write the fields that change.
extern "C" __device__ i64 read_state(FIELDS, i64 whole, TUPLE(state));
extern "C" __device__ i64 write_state(FIELDS, TUPLE(state));

// The state of a vertex, with its other numbers that functions see.
struct State {
    i64 words[MAX_FIELDS];
    i64 degree, vertex;
};

// The states of vertices. `fields` has the address of each field.
template <typename Wide> struct States {
    Array<const u64> fields;
    Array<const u32> degree, vertices;
    u64 n, iteration;

    // Read the state of vertex `v`; unless `whole`, only the fields that change.
    __device__ State read(u64 v, bool whole = true) const {
        State own;
        read_state(ARRAYS(fields), v, whole, WORDS(own));
        own.degree = degree[v], own.vertex = vertices[v];
        return own;
    }
    __device__ void write(u64 v, State own) const { write_state(ARRAYS(fields), v, WORDS(own)); }
    // The message of a vertex along an edge.
    template <typename Weight> __device__ Wide message(State own, Weight weight) const {
        return Functions<Wide>::send(
            WORDS(own), (double)weight, (i64)weight, own.degree, own.vertex, n, iteration
        );
    }
    // Change a state. Return whether its vertex is active, and add the changes of its fields to `change`.
    __device__ bool apply(State& own, Wide combined, double total, double& change) const {
        double moved;
        i64 is_active = Functions<Wide>::apply(
            WORDS(own), combined, own.degree, own.vertex, n, iteration, total, &moved
        );
        change += moved;
        return is_active != 0;
    }
    __device__ double size(State own) const { return aggregate(WORDS(own), own.degree, own.vertex, n, iteration); }
};
