// Vertex programs: each scheduled vertex combines the messages of its neighbours.

#include "gather.cuh"
#include "vertex_functions.cuh"

// Smallest number of edges of a row that a thread block shares, and edges for each lane of a shorter row.
constexpr u64 BLOCK_EDGES = 8192, LANE_EDGES = 16;  // if vertices have messages
constexpr u64 BLOCK_WEIGHTS = 4096, LANE_WEIGHTS = 8;  // if edges have messages

// Combine the rows of the scheduled vertices, or of all vertices if `everyone`. With `again`, `combined` holds
// messages of other rows, and they are combined too.
template <u64 FROM_BLOCK, u64 FROM_LANE, typename Wide, typename Gather>
__device__ inline void combine_rows(
    Array<const u64> offsets, Array<const u32> blocks, CombineAll<Wide> combine, u32 everyone, Bits scheduled,
    u32 again, Array<Wide> combined, Gather gather
) {
    over_rows<FROM_BLOCK, FROM_LANE>(
        offsets, blocks, combined.length,
        [&](u64 v, u64 first, u64 last, u32 who, u32 width) {
            if (first == last || !(everyone || scheduled.test(v))) return combine.nothing;
            return gather(first, last, who, width);
        },
        combine, [&](u64 v) { return again ? combined[v] : combine.nothing; },
        [&](u64 v, Wide all, Wide before) {
            if (everyone || scheduled.test(v)) combined[v] = combine(before, all);
        }
    );
}

// `message` holds the message of each vertex.
template <typename Message, typename Wide>
__global__ void PARALLEL(1024) combine_messages(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, Array<const Wide> nothing, u32 everyone,
    Bits scheduled, u32 again, Array<Wide> combined, Array<const Message> message, Shared shared
) {
    CombineAll<Wide> combine{nothing[0]};
    CachedValues<Message> cached(message, combined.length, shared);
    combine_rows<BLOCK_EDGES, LANE_EDGES>(
        offsets, blocks, combine, everyone, scheduled, again, combined,
        [&](u64 first, u64 last, u32 who, u32 width) {
            return gathered_by(cached, targets, first, last, who, width, combine, combine.nothing);
        }
    );
}

// Each edge makes its message from the state of its source.
template <typename Wide, typename Weight>
__global__ void PARALLEL(256) combine_edges(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, Array<const Wide> nothing, u32 everyone,
    Bits scheduled, u32 again, Array<Wide> combined, Tiered<Weight> weights, Array<const u64> fields,
    Array<const u32> degree, Array<const u32> vertices, u64 n, u64 iteration
) {
    CombineAll<Wide> combine{nothing[0]};
    States<Wide> sent{fields, degree, vertices, n, iteration};
    combine_rows<BLOCK_WEIGHTS, LANE_WEIGHTS>(
        offsets, blocks, combine, everyone, scheduled, again, combined,
        [&](u64 first, u64 last, u32 who, u32 width) {
            Wide all = combine.nothing;
#pragma unroll 4
            for (u64 e = first + who; e < last; e += width)
                all = combine(all, sent.message(sent.read(read(targets, e), false), read(weights, e)));
            return all;
        }
    );
}
