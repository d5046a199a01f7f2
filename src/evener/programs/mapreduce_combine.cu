// MapReduce: combine the payloads of sorted records with equal keys. See mapreduce/reducer.py.

#include "edge_range.cuh"

// Combine the payloads ``begin:end``, and write the result to position `at` of other columns. If `ordered`,
// payload `i` is at ``order[i]``. See mapreduce/functions_gpu.py.
extern "C" __device__ i64 fold(
    const i64* order, i64 ordered, double** reals, i64** integers, i64 begin, i64 end, double** out_reals,
    i64** out_integers, i64 at
);

// Combine segments of at most `length` payloads of one key, one segment with each thread. Key `k` has the
// payloads ``bounds[k]:bounds[k + 1]``, and its segments are the rows ``rows[k]:rows[k + 1]`` of `out`.
__global__ void PARALLEL(256) combine_segments(
    Array<const u64> bounds, Array<const u64> rows, u64 length, Array<const u64> order, u32 ordered,
    Array<const u64> columns, Array<const u64> out
) {
    u64 keys = rows.length - 1;
    over_edges(rows, 0, keys, 0, rows[keys], [&](u64 k, u64 row) {
        u64 begin = bounds[k] + (row - rows[k]) * length;
        fold(
            (const i64*)order.at, ordered, (double**)columns.at, (i64**)columns.at, begin,
            least(begin + length, bounds[k + 1]), (double**)out.at, (i64**)out.at, row
        );
    });
}
