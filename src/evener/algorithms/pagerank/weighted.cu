// Weighted PageRank: one iteration, in which every vertex pulls the weighted contributions of its in-neighbours.
// Arrays and results are as in algorithms/pagerank/weighted_cpu.py.

#include "gather.cuh"

// Smallest number of edges of a row that a thread block shares, and edges for each lane of a shorter row.
constexpr u64 BLOCK_EDGES = 4096, LANE_EDGES = 8;

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
    struct Own {
        Rank rank;
        double strength;
    };
    double error = 0, dangling = 0;
    over_rows<BLOCK_EDGES, LANE_EDGES>(
        offsets, blocks, connected,
        [&](u64, u64 first, u64 last, u32 who, u32 width) {
            return pulled_by(contribution, targets, weights, first, last, who, width);
        },
        Sum(), [&](u64 v) { return Own{rank[v], out_strength[v]}; },
        [&](u64 v, double pulled, Own own) {
            double r = damping * pulled + jump * teleport[teleport.length > 1 ? v : 0];
            error += fabs(r - (double)own.rank);
            Rank stored = (Rank)r;
            rank[v] = stored;
            if (own.strength == 0) dangling += r;
            // The contribution follows from the stored rank, as in `begin`.
            next_contribution[v] = own.strength == 0 ? 0 : (double)stored / own.strength;
        }
    );
    results.sum(error, dangling);
}
