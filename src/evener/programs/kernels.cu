// GIM-V: one iteration, in which every vertex combines the messages of its in-neighbours. Arrays and results are
// as in programs/kernels_cpu.py, where one kernel has the work of these three.

#include "gather.cuh"
#include "operators.cuh"

// Smallest number of edges of a row that a thread block shares, and edges for each lane of a shorter row.
constexpr u64 BLOCK_EDGES = 8192, LANE_EDGES = 16;  // if vertices have messages
constexpr u64 BLOCK_WEIGHTS = 4096, LANE_WEIGHTS = 8;  // if edges have messages

// Set the first messages of the vertices, or their first values if each edge makes its message.
template <typename Value, typename Wide>
__global__ void PARALLEL(256) begin(
    u32 per_edge, Array<const Wide> identity, Array<const u32> degree, Array<const u32> vertices, u64 n,
    Array<const Value> initial, Array<const Value> value, Array<Value> next_message, u64 owned,
    Results<u64, double, double> results
) {
    Vertices<Value, Wide> own(degree, vertices, n, 0, initial);
    double size = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
        next_message[v] = per_edge ? value[v] : own.message(v, value[v]);
        size += fabs((double)(Wide)value[v]);
    }
    results.sum(0, 0, size);
}

// One iteration in which `message` holds the messages of vertices.
template <typename Value, typename Wide>
__global__ void PARALLEL(1024) gather_messages(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, Array<const Wide> identity,
    Array<const u32> degree, Array<const u32> vertices, u64 n, double total, Array<const Value> initial,
    Array<const Value> message, Array<Value> value, Array<Value> next_message,
    Results<u64, double, double> results, Shared shared
) {
    CombineAll<Wide> combine{identity[0]};
    Vertices<Value, Wide> own(degree, vertices, n, total, initial);
    CachedValues<Value> cached(message, value.length, shared);
    over_rows<BLOCK_EDGES, LANE_EDGES>(
        offsets, blocks, value.length,
        [&](u64, u64 first, u64 last, u32 who, u32 width) {
            return gathered_by(cached, targets, first, last, who, width, combine, combine.nothing);
        },
        combine, [&](u64 v) { return value[v]; },
        [&](u64 v, Wide combined, Value had) {
            Value now = own.next(v, had, combined);
            value[v] = now;
            next_message[v] = own.message(v, now);
        }
    );
    results.sum(own.converged, own.change, own.size);
}

// One iteration in which `message` holds values, and each edge makes its message.
template <typename Value, typename Wide, typename Weight>
__global__ void PARALLEL(256) gather_values(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    Array<const Wide> identity, Array<const u32> degree, Array<const u32> vertices, u64 n, double total,
    Array<const Value> initial, Array<const Value> message, Array<Value> next_message, u64 owned,
    Results<u64, double, double> results
) {
    CombineAll<Wide> combine{identity[0]};
    Vertices<Value, Wide> own(degree, vertices, n, total, initial);
    over_rows<BLOCK_WEIGHTS, LANE_WEIGHTS>(
        offsets, blocks, owned,
        [&](u64, u64 first, u64 last, u32 who, u32 width) {
            Wide all = combine.nothing;
#pragma unroll 4
            for (u64 e = first + who; e < last; e += width) {
                u32 u = read(targets, e);
                all = combine(all, own.message(u, (Wide)read(weights, e), read(message, u)));
            }
            return all;
        },
        combine, [&](u64 v) { return message[v]; },
        [&](u64 v, Wide combined, Value had) { next_message[v] = own.next(v, had, combined); }
    );
    results.sum(own.converged, own.change, own.size);
}
