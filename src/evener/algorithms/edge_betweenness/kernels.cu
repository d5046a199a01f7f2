// Betweenness of edges: add the dependencies of a level to its edges.
// algorithms/edge_betweenness/kernels_cpu.py describes the arrays.

#include "edges.cuh"

// Add the dependency of each out-edge of the level whose head is in the frontier.
//
// The level has path counts as values, and the frontier is the next level, which is finished. `scale` is the
// factor that scaled the paths of the next level.
__global__ void PARALLEL(256) add_to_edges(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, double scale, Array<const double> value, Bits frontier,
    Array<double> edge_centrality, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    loop.over(offsets, order.at, bounds[level], bounds[level + 1], Nothing(), [&](u32 u, u64 e) {
        u32 v = read_once(targets, e);
        if (frontier.test(v)) edge_centrality[e] += value[u] * scale * value[v];
    });
}
