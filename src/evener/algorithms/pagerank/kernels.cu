// PageRank: one iteration, in which every vertex pulls the contributions of its in-neighbours. Arrays and
// results are as in algorithms/pagerank/kernels_cpu.py.

#include "column_sums.cuh"
#include "gather.cuh"

// Smallest number of edges of a row that a thread block shares, and edges for each lane of a shorter row.
constexpr u64 BLOCK_EDGES = 8192, LANE_EDGES = 16;

// Set the first rank of each vertex to ``start[v]`` or ``start[0]``; return the dangling rank.
template <typename Rank>
__global__ void PARALLEL(256) begin(
    Array<const u32> out_degree, Array<const u32> blocks, Array<const double> start, Array<Rank> rank,
    Array<Rank> contribution, Results<double> results
) {
    double dangling = 0;
    for (u64 v = thread_of_grid(); v < rank.length; v += threads_of_grid()) {
        double r = start[start.length > 1 ? v : 0];
        Rank stored = (Rank)r;
        rank[v] = stored;
        if (out_degree[v] == 0) {
            dangling += r;
            contribution[v] = 0;
        } else {
            contribution[v] = (Rank)((double)stored / out_degree[v]);
        }
    }
    results.sum(dangling);
}

// Set ``rank = damping A^T contribution + jump teleport``, over in-edges.
//
// `jump` is the rank that `teleport` distributes: the part that damping takes, and the rank of dangling
// vertices. Returns (L1 change, rank of dangling vertices). Each row is added in a fixed order, so equal
// arguments give equal results.
template <typename Rank>
__global__ void PARALLEL(1024) iterate(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, u64 connected,
    Array<const u32> out_degree, double damping, double jump, Array<const double> teleport,
    Array<const Rank> contribution, Array<Rank> rank, Array<Rank> next_contribution,
    Results<double, double> results, Shared shared
) {
    struct Own {
        Rank rank;
        u32 degree;
    };
    double error = 0, dangling = 0;
    CachedValues<Rank> cached(contribution, rank.length, shared);
    over_rows<BLOCK_EDGES, LANE_EDGES>(
        offsets, blocks, connected,
        [&](u64, u64 first, u64 last, u32 who, u32 width) {
            return gathered_by(cached, targets, first, last, who, width, Sum(), 0.0);
        },
        Sum(), [&](u64 v) { return Own{rank[v], out_degree[v]}; },
        [&](u64 v, double pulled, Own own) {
            double r = damping * pulled + jump * teleport[teleport.length > 1 ? v : 0];
            error += fabs(r - (double)own.rank);
            Rank stored = (Rank)r;
            rank[v] = stored;
            if (own.degree == 0) dangling += r;
            // The contribution follows from the stored rank, as in `begin`.
            next_contribution[v] = own.degree == 0 ? (Rank)0 : (Rank)((double)stored / own.degree);
        }
    );
    results.sum(error, dangling);
}

// Finish an iteration from the sums of pull.cu; return the values of `iterate`. `partial` holds a sum for each
// row of a tile and each column block.
__global__ void PARALLEL(256) finish(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, u64 connected, Array<const u32> out_degree, double damping, double jump,
    Array<const double> teleport, Array<float> rank, Array<float> next_contribution,
    Results<double, double> results
) {
    double error = 0, dangling = 0, everywhere = teleport[0];
    auto finish_row = [&](u64 v, double pulled, float& ranked, u32 degree, float& next) {
        double r = damping * pulled + jump * (teleport.length > 1 ? teleport[v] : everywhere);
        error += fabs(r - (double)ranked);
        ranked = (float)r;
        if (degree == 0) dangling += r;
        next = degree == 0 ? 0.0f : (float)((double)ranked / degree);
    };
    over_tiles(
        tile_row, tile_width, tile_places, partial, connected, FloatSum(),
        [&](u64 v, const double* pulled) {
            uint4 degree = *(const uint4*)(out_degree.at + v);
            float4 ranked = *(const float4*)(rank.at + v), next;
            finish_row(v, pulled[0], ranked.x, degree.x, next.x);
            finish_row(v + 1, pulled[1], ranked.y, degree.y, next.y);
            finish_row(v + 2, pulled[2], ranked.z, degree.z, next.z);
            finish_row(v + 3, pulled[3], ranked.w, degree.w, next.w);
            *(float4*)(rank.at + v) = ranked;
            *(float4*)(next_contribution.at + v) = next;
        },
        [&](u64 v, double pulled) { finish_row(v, pulled, rank[v], out_degree[v], next_contribution[v]); }
    );
    results.sum(error, dangling);
}

// Set ``rank[connected:] = value``.
template <typename Rank>
__global__ void PARALLEL(256) rank_others(u64 connected, double value, Array<Rank> rank) {
    for (u64 v = connected + thread_of_grid(); v < rank.length; v += threads_of_grid()) rank[v] = (Rank)value;
}
