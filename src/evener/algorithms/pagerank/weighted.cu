// Weighted PageRank: one iteration, in which every vertex pulls the weighted contributions of its in-neighbours.
// Arrays and results are as in algorithms/pagerank/weighted_cpu.py.

#include "common.cuh"

// A block shares each row of a run if its rows have this many edges on average.
constexpr u64 BLOCK_EDGES = 4096;
// Edges for each lane of a row that part of a warp shares.
constexpr u64 LANE_EDGES = 8;

// The weighted contributions of a row's neighbours that thread `who` of `width` neighbouring threads adds.
template <typename Weight>
__device__ inline double pulled_by(
    Array<const double> contribution, Tiered<u32> targets, Tiered<Weight> weights, u64 first, u64 last, u32 who,
    u32 width
) {
    double sum = 0;
#pragma unroll 4
    for (u64 e = first + who; e < last; e += width)
        sum += read(contribution, read(targets, e)) * (double)read(weights, e);
    return sum;
}

// Set the first rank of each vertex to ``start[v]`` or ``start[0]``; return the dangling rank.
template <typename Rank>
__global__ void PARALLEL(256) begin(
    Array<const double> out_strength, Array<const u32> blocks, Array<const double> start, Array<Rank> rank,
    Array<double> contribution, Results<double> results
) {
    double dangling = 0;
    for (u64 v = thread_of_grid(); v < rank.length; v += threads_of_grid()) {
        double r = start[start.length > 1 ? v : 0], strength = out_strength[v];
        Rank stored = (Rank)r;
        rank[v] = stored;
        if (strength == 0) dangling += r;
        contribution[v] = strength == 0 ? 0 : (double)stored / strength;
    }
    results.sum(dangling);
}

// Set ``rank = damping A^T contribution + jump teleport``, where A holds the weights.
//
// Returns (L1 change, rank of dangling vertices). Each row is added in a fixed order, so equal arguments give
// equal results.
template <typename Rank, typename Weight>
__global__ void PARALLEL(256) iterate(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    u64 connected, Array<const double> out_strength, double damping, double jump,
    Array<const double> teleport, Array<const double> contribution, Array<Rank> rank,
    Array<double> next_contribution, Results<double, double> results
) {
    double error = 0, dangling = 0;
    auto finish = [&](u64 v, double pulled) {
        double r = damping * pulled + jump * teleport[teleport.length > 1 ? v : 0];
        double strength = out_strength[v];
        error += fabs(r - (double)rank[v]);
        Rank stored = (Rank)r;
        rank[v] = stored;
        if (strength == 0) dangling += r;
        // Of the stored rank: `begin` gives the same.
        next_contribution[v] = strength == 0 ? 0 : (double)stored / strength;
    };
    for (u64 b = blockIdx.x; b + 1 < blocks.length && blocks[b] < connected; b += gridDim.x) {
        u64 begin = blocks[b], end = least<u64>(blocks[b + 1], connected);
        u64 each = (offsets[end] - offsets[begin]) / (end - begin);
        if (each >= BLOCK_EDGES) {
            for (u64 v = begin; v < end; v++) {
                double sum = pulled_by(
                    contribution, targets, weights, offsets[v], offsets[v + 1], threadIdx.x, blockDim.x
                );
                sum = over_block(sum, Sum());
                if (threadIdx.x == 0) finish(v, sum);
            }
            continue;
        }
        u32 width = 1;
        while (width < WARP && width * LANE_EDGES < each) width *= 2;
        u32 who = threadIdx.x % width, groups = blockDim.x / width;
        // All threads of a warp stay in the loop, because `across` needs them.
        for (u64 row = begin; row < end; row += groups) {
            u64 v = row + threadIdx.x / width;
            bool mine = v < end;
            u64 first = mine ? offsets[v] : 0, last = mine ? offsets[v + 1] : 0;
            double sum = pulled_by(contribution, targets, weights, first, last, who, width);
            sum = across(sum, Sum(), width);
            if (mine && who == 0) finish(v, sum);
        }
    }
    results.sum(error, dangling);
}
