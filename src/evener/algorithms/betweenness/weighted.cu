// Betweenness with weights: count shortest paths along tight edges, then add dependencies back.
// algorithms/betweenness/weighted_cpu.py describes the arrays and results.

#include "edges.cuh"
#include "flags.cuh"
#include "lengths.cuh"
#include "rows.cuh"

// Largest number of paths to a vertex. Its inverse keeps full precision.
constexpr double MAX_PATHS = 0x1p960;

// ---- forward: count shortest paths --------------------------------------------------------------

// Count the tight in-edges of each owned vertex, and let level 0 be `source`.
//
// `source` is NO_VERTEX if another partition owns it. Distances must be below `limit`. `blocks` is unused.
// Several warps may count the edges of a row.
//
// Returns (beyond, absorbed): the distances of `limit` or more and the edges from reached to unreached
// vertices; and the tight edges whose weight does not change a distance.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) begin_paths(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks, u32 source,
    Distance far, double limit, Array<const Distance> distance, Array<double> value, Array<u32> waiting,
    Bits reached, Bits counted, Array<u32> order, Array<u64> bounds, Results<u64, u64> results, Grid grid
) {
    __shared__ u32 tight_of_rows[256];
    u32* tight = tight_of_rows + threadIdx.x / WARP * WARP;

    for (u64 v = thread_of_grid(); v < value.length; v += threads_of_grid()) {
        value[v] = 0;
        waiting[v] = 0;
    }
    clear_all(reached);
    clear_all(counted);
    grid.sync();
    if (first_of_grid()) {
        bounds[0] = 0;
        bounds[1] = source != NO_VERTEX;
        if (source != NO_VERTEX) {
            value[source] = 1;
            order[0] = source;
        }
    }
    u64 beyond = 0, absorbed = 0;
    over_rows(offsets, [&](Rows& rows) {
        Distance own = rows.some ? distance[rows.v] : far;
        if (rows.some && own != far && (double)own >= limit) beyond++;
        u32 some = __ballot_sync(ALL, rows.some);
        tight[lane()] = 0;
        __syncwarp();
        EdgeBatch batch;
        while (rows.next(some, batch)) {
            Weight weight[AHEAD];
            Distance near[AHEAD];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                weight[k] = batch.wanted[k] ? read_streaming(weights, batch.edge[k]) : 0;
                near[k] = batch.wanted[k] ? read(distance, read_once(targets, batch.edge[k])) : far;
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                Distance row_distance = __shfl_sync(ALL, own, batch.row[k]);
                if (near[k] == far) continue;
                if (row_distance == far) {
                    beyond++;
                } else if (longer(near[k], weight[k]) == row_distance) {
                    atomicAdd(tight + batch.row[k], 1);
                    absorbed += near[k] == row_distance;
                }
            }
        }
        __syncwarp();
        if (tight[lane()] > 0) atomicAdd(&waiting[rows.v], tight[lane()]);
        __syncwarp();
    });
    results.sum(beyond, absorbed);
}

// Count the paths along the tight edges of `level` and, up to `most_levels` levels, of those after it.
//
// Appends the owned vertices that become ready to `order`. Returns (vertices, levels, edges, many,
// following): the vertices of the levels, the levels that have vertices, their out-edges, the vertices with
// more than MAX_PATHS paths, and the vertices of the next level.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) count_paths(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned,
    Array<const Distance> distance, u64 level, u64 most_levels, Array<double> value, Array<u32> waiting,
    Bits reached, Bits counted, Array<u32> order, Array<u64> bounds, Results<u64, u64, u64, u64, u64> results,
    Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    u64 begin = look(bounds[level]), end = look(bounds[level + 1]);
    u64 vertices = 0, levels = 0, edges = 0, many = 0;
    if (first_of_grid()) bounds[level + 2] = end;
    while (begin < end && levels < most_levels) {
        grid.sync();  // the end of the next level is set
        Array<u64> length = {&bounds[level + 2], 1};
        auto enter = [&](u32 u) {
            vertices++;
            edges += offsets[(u64)u + 1] - offsets[u];
            many += !(look(value[u]) <= MAX_PATHS);
        };
        auto visit = [&](u32 u, u64 e) {
            u32 v = read_once(targets, e);
            if (longer(read(distance, u), read(weights, e)) != read(distance, v)) return;
            atomicAdd(&value[v], look(value[u]));
            u32 before = atomicAdd(&waiting[v], ALL);  // minus one
            if (v < owned) {
                if (before == 1) append(order, length, v);
            } else if (before == 0) {
                reached.set(v);
                counted.set(v);
            }
        };
        loop.over(offsets, order.at, begin, end, enter, visit);
        grid.sync();
        levels++;
        level++;
        begin = end;
        end = look(bounds[level + 1]);
        if (first_of_grid() && begin < end && levels < most_levels) bounds[level + 2] = end;
    }
    bool first = first_of_grid();
    results.sum(vertices, first ? levels : 0, edges, many, first ? end - begin : 0);
}

// Append the vertices that became ready by messages of mirrors to `order`, as a part of level `level`.
//
// Clears `reached` and `counted`. Returns the vertices of the level.
__global__ void PARALLEL(256) append_ready(
    u64 owned, u64 level, Array<const u32> waiting, Bits reached, Bits counted, Array<u32> order,
    Array<u64> bounds, Results<u64> results, Grid grid
) {
    Array<u64> length = {&bounds[level + 1], 1};
    take_each(reached, 0, owned, [&](u64 v) {
        if (waiting[v] == 0) append(order, length, (u32)v);
    });
    clear_all(counted);
    grid.sync();
    results.sum(first_of_grid() ? look(bounds[level + 1]) - bounds[level] : 0);
}

// ---- backward: dependencies ---------------------------------------------------------------------

// Finish the levels `level`, `level` - 1, ..., `last`. ``visit(u, e, paths, share)`` is called for each tight
// edge, and ``finish(u, dependency)`` for each vertex. Returns the vertices that this thread finished.
template <typename Distance, typename Weight, typename Visit, typename Finish>
__device__ inline u64 add_levels(
    EdgeLoop& loop, Grid grid, Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights,
    Array<const Distance> distance, u64 level, u64 last, Array<u32> order, Array<const u64> bounds,
    Array<double> arriving, Array<double> value, Visit visit, Finish finish
) {
    u64 vertices = 0;
    for (u64 left = level + 1; left > last; left--) {
        u64 begin = bounds[left - 1], end = bounds[left];
        loop.over(offsets, order.at, begin, end, Nothing(), [&](u32 u, u64 e) {
            u32 v = read_once(targets, e);
            if (longer(read(distance, u), read(weights, e)) != read(distance, v)) return;
            double share = look(value[v]);
            atomicAdd(&arriving[u], share);
            visit(e, look(value[u]), share);
        });
        grid.sync();
        for (u64 i = begin + thread_of_grid(); i < end; i += threads_of_grid()) {
            u32 u = order[i];
            double paths = look(value[u]);
            double dependency = paths * look(arriving[u]);
            value[u] = (1 + dependency) / paths;
            arriving[u] = 0;
            if (left > 1) finish(u, dependency);
            vertices++;
        }
        grid.sync();
    }
    return vertices;
}

// Add the dependencies of the vertices of levels `level`, `level` - 1, ..., `last` to `centrality`.
//
// All levels after `level` are finished, and mirrors have the values of their owners. The dependency of level
// 0, the source, does not count. Returns the vertices of the levels.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) add_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const Distance> distance,
    u64 level, u64 last, Array<u32> order, Array<const u64> bounds, Array<double> arriving,
    Array<double> value, Array<double> centrality, Results<u64> results, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    auto add = [&](u32 u, double dependency) { centrality[u] += dependency; };
    results.sum(add_levels(
        loop, grid, offsets, targets, weights, distance, level, last, order, bounds, arriving, value,
        [](u64, double, double) {}, add
    ));
}

// Add the dependencies of the out-edges of levels `level`, `level` - 1, ..., `last` to `edge_centrality`.
//
// `edge_centrality` has a value for each stored out-edge. See `add_dependencies`.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) add_edge_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const Distance> distance,
    u64 level, u64 last, Array<u32> order, Array<const u64> bounds, Array<double> arriving,
    Array<double> value, Array<double> edge_centrality, Results<u64> results, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    auto add = [&](u64 e, double paths, double share) { edge_centrality[e] += paths * share; };
    results.sum(add_levels(
        loop, grid, offsets, targets, weights, distance, level, last, order, bounds, arriving, value, add,
        [](u32, double) {}
    ));
}
