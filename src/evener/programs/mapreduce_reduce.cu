// MapReduce: a function of the user reduces all values of a key. See mapreduce/reducer.py.

#include "common.cuh"

// Reduce the values ``begin:end``, and write the result to position `row` of other columns. See
// mapreduce/functions_gpu.py.
extern "C" __device__ i64 reduce_key(
    i64 key, double** reals, i64** integers, i64 begin, i64 end, double** out_reals, i64** out_integers, i64 row
);

// Write one row for each key; the values of row `r` are at ``bounds[r]:bounds[r + 1]``.
__global__ void PARALLEL(256) reduce_rows(
    Array<const i64> keys, Array<const u64> bounds, Array<const u64> columns, Array<const u64> out
) {
    for (u64 r = thread_of_grid(); r < keys.length; r += threads_of_grid())
        reduce_key(
            keys[r], (double**)columns.at, (i64**)columns.at, bounds[r], bounds[r + 1], (double**)out.at,
            (i64**)out.at, r
        );
}
