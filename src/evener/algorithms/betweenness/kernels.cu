// Betweenness: count shortest paths away from a source, then add dependencies back towards it.
// algorithms/betweenness/kernels_cpu.py describes the arrays and results.

#include "steps.cuh"

// Start a search at `source`, which is NO_VERTEX if another partition owns it.
//
// Returns (out-edges, in-edges) of the source.
__global__ void PARALLEL(256) begin(
    Array<const u64> offsets, Array<const u64> in_offsets, u32 source, Array<double> value, Bits visited,
    Bits frontier, Array<u32> order, Array<u64> bounds, Results<u64, u64> results
) {
    start(source, value, visited, frontier, order, bounds);
    u64 out_edges = 0, in_edges = 0;
    if (first_of_grid() && source != NO_VERTEX) {
        out_edges = offsets[(u64)source + 1] - offsets[source];
        in_edges = in_offsets[(u64)source + 1] - in_offsets[source];
    }
    results.sum(out_edges, in_edges);
}

// ---- forward: count shortest paths --------------------------------------------------------------

// Add the paths of each vertex of the level to its unvisited out-neighbours. `edges` is the number of
// out-edges of the level.
__global__ void PARALLEL(256) push_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, Array<const double> value, Bits visited, Array<double> incoming, Bits reached,
    Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    push_counts(
        loop, offsets, targets, order.at, bounds[level], bounds[level + 1], value, visited, incoming,
        [&](u32 v) { reached.set(v); }
    );
}

// Mark the mirrors that the last step reached as visited. They are in the next level or in a nearer level.
__global__ void PARALLEL(256) visit_mirrors(u64 owned, Bits reached, Bits visited) {
    for (u64 h = owned / 32 + thread_of_grid(); h < reached.length(); h += threads_of_grid()) {
        u32 mirrors = reached.half(h) & range_mask(h, owned, reached.length() * 32);
        if (mirrors != 0) visited.half(h) |= mirrors;
    }
}

// Add up, for each unvisited vertex, the paths of its neighbours in the frontier.
//
// `offsets` and `targets` are in-edges; rows from `rows` on are empty.
__global__ void PARALLEL(256) pull_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, u64 rows,
    Array<const double> value, Bits visited, Bits frontier, Array<double> incoming, Bits reached, Grid grid,
    Pieces pieces
) {
    pull_counts(offsets, targets, rows, value, visited, frontier, incoming, reached, grid, pieces);
}

// Append the newly reached vertices to `order` as level `level`. Their paths are ``incoming * scale``.
//
// Afterwards `reached` flags the level and `frontier` is clear. Returns (vertices, out-edges, in-edges,
// paths) of the level. The result `paths` is infinite if a count is below MIN_COUNT or infinite.
__global__ void PARALLEL(256) build_level(
    Array<const u64> offsets, Array<const u64> in_offsets, u64 owned, u64 level, double scale,
    Array<double> incoming, Bits reached, Bits visited, Bits frontier, Array<double> value, Array<u32> order,
    Array<u64> bounds, Results<u64, u64, u64, double> results, Grid grid
) {
    if (first_of_grid()) bounds[level + 1] = bounds[level];
    for (u64 h = thread_of_grid(); h < frontier.length(); h += threads_of_grid()) frontier.half(h) = 0;
    grid.sync();  // bounds[level + 1] is set

    LevelPart part = append_level(
        offsets, in_offsets, owned, scale, incoming, reached, visited, value, order, &bounds[level + 1]
    );
    results.sum(part.vertices, part.out_edges, part.in_edges, part.paths);
}

// ---- backward: dependencies ------------------------------------------------------------------------

// Add the value of each vertex of the level to its in-neighbours one level nearer to the source.
//
// `visited` flags only owned vertices of nearer levels. All mirrors receive a value and are flagged in
// `reached`; their owners drop it if they are not nearer. `edges` is the number of in-edges of the level.
__global__ void PARALLEL(256) push_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, u64 owned, Array<const u32> order,
    Array<const u64> bounds, u64 level, u64 edges, Array<const double> value, Bits visited,
    Array<double> incoming, Bits reached, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    push_values(
        loop, offsets, targets, owned, order.at, bounds[level], bounds[level + 1], value, visited, incoming,
        [&](u32 u) { reached.set(u); }
    );
}

// Set `incoming` to 0 for vertices that other partitions reached but that are not nearer. Clears `reached`.
__global__ void PARALLEL(256) discard_received(u64 owned, Bits visited, Bits reached, Array<double> incoming) {
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = thread_of_grid(); h < halves; h += threads_of_grid()) {
        u32 flags = reached.half(h);
        if (flags == 0) continue;
        reached.half(h) = 0;
        for (u32 half = flags & ~visited.half(h); half != 0; half &= half - 1)
            incoming[h * 32 + __ffs(half) - 1] = 0;
    }
}

// Set `frontier` to the vertices of the level.
__global__ void PARALLEL(256) flag_level(
    Array<const u32> order, Array<const u64> bounds, u64 level, Bits frontier, Grid grid
) {
    for (u64 h = thread_of_grid(); h < frontier.length(); h += threads_of_grid()) frontier.half(h) = 0;
    grid.sync();
    flag_vertices(order, bounds[level], bounds[level + 1], frontier);
}

// Add up, for each vertex of the level, the values of its out-neighbours in the frontier.
__global__ void PARALLEL(256) pull_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, Array<const double> value, Bits frontier, Array<double> incoming, Grid grid,
    Pieces pieces
) {
    pull_values(
        offsets, targets, order, bounds[level], bounds[level + 1], value, frontier, incoming, grid, pieces
    );
}

// Compute the dependency of each vertex of the level; remove the level from `visited`.
//
// `scale` is the factor that scaled the paths of the next farther level. `weight` is 0 for the source, whose
// own dependency does not count, and 1 for other vertices. Returns the number of vertices of the level.
__global__ void PARALLEL(256) finish_level(
    Array<const u32> order, Array<const u64> bounds, u64 level, double scale, double weight,
    Array<double> incoming, Bits visited, Array<double> value, Array<double> centrality, Results<u64> results
) {
    u64 begin = bounds[level], end = bounds[level + 1];
    results.sum(finish_chunk(order, begin, end, scale, weight, incoming, visited, value, centrality));
}
