// MapReduce: the map function of the user, for each edge of a chunk. See mapreduce/worker.py.

#include "edge_range.cuh"

// Write the record of an edge to position `at`, and return 1; return 0 if the edge has none. `source_at` and
// `target_at` are positions in the values of vertices. See mapreduce/functions_gpu.py.
extern "C" __device__ i64 emit(
    i64 source, i64 target, double real_weight, i64 weight, const double* real_values, const i64* integer_values,
    i64 source_at, i64 target_at, i64 degree, i64 n, i64* keys, double** reals, i64** integers, i64 at
);

// Map the edges ``begin:end``. Edge `e` has a record, at position ``e - begin``, if ``found[e - begin]`` is 1.
// Returns the number of records.
template <typename WeightOf>
__device__ inline void map_range(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices,
    Array<const u32> degree, Array<const u64> values, u64 n, Array<i64> keys, Array<const u64> columns,
    Array<u8> found, Results<u64> results, WeightOf weight_of
) {
    u64 records = 0;
    over_edges(offsets, 0, offsets.length - 1, begin, end, [&](u64 u, u64 e) {
        u32 v = read_once(targets, e);
        auto weight = weight_of(e);
        u8 has = emit(
            vertices[u], vertices[v], (double)weight, (i64)weight, (const double*)values.at, (const i64*)values.at,
            u, v, degree[u], n, keys.at, (double**)columns.at, (i64**)columns.at, e - begin
        );
        found[e - begin] = has;
        records += has;
    });
    results.sum(records);
}

__global__ void PARALLEL(256) map_edges(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices,
    Array<const u32> degree, Array<const u64> values, u64 n, Array<i64> keys, Array<const u64> columns,
    Array<u8> found, Results<u64> results
) {
    map_range(
        begin, end, offsets, targets, vertices, degree, values, n, keys, columns, found, results,
        [](u64) { return (i64)1; }
    );
}

template <typename Weight>
__global__ void PARALLEL(256) map_weighted_edges(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights,
    Array<const u32> vertices, Array<const u32> degree, Array<const u64> values, u64 n, Array<i64> keys,
    Array<const u64> columns, Array<u8> found, Results<u64> results
) {
    map_range(
        begin, end, offsets, targets, vertices, degree, values, n, keys, columns, found, results,
        [&](u64 e) { return read(weights, e); }
    );
}
