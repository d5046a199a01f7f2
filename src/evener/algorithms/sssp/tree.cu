// The tree of shortest paths: find a parent for each vertex that has a distance but no parent.
// algorithms/sssp/tree_cpu.py describes the arrays and results. Distances do not change.
//
// On a zero-weight level, one atomic operation attaches a vertex, and its parent was attached before. So the
// parents have no cycle, whatever the order of the threads.

#include "edges.cuh"
#include "flags.cuh"
#include "lengths.cuh"
#include "rows.cuh"

struct Or {
    template <typename T> __device__ T operator()(T a, T b) const { return a | b; }
};

// Call ``visit(row, row_distance, weight, target)`` for each edge of a lane's batch for which
// ``suits(row_distance, weight)`` is true. The targets of other edges are not read. `row` is the lane that
// has the row, and `own_distance` is the distance of this lane's row. All lanes call it together. Returns the
// mask of the rows for which `visit` returned true.
template <typename Distance, typename Weight, typename Suits, typename Visit>
__device__ inline u32 visit_batch(
    const EdgeBatch& batch, Tiered<u32> targets, Tiered<Weight> weights, Distance own_distance, Suits suits,
    Visit visit
) {
    Weight weight[AHEAD];
    Distance row_distance[AHEAD];
    u32 target[AHEAD];
    bool suited[AHEAD];
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) {
        weight[k] = batch.wanted[k] ? read_streaming(weights, batch.edge[k]) : 0;
        row_distance[k] = __shfl_sync(ALL, own_distance, batch.row[k]);
    }
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) {
        suited[k] = batch.wanted[k] && suits(row_distance[k], weight[k]);
        target[k] = suited[k] ? read_once(targets, batch.edge[k]) : 0;
    }
    u32 rows = 0;
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++)
        if (suited[k] && visit(batch.row[k], row_distance[k], weight[k], target[k])) rows |= 1u << batch.row[k];
    return __any_sync(ALL, rows != 0) ? across(rows, Or()) : 0;
}

// Give each reached vertex without a parent a nearer in-neighbour on a shortest path. Each source becomes its
// own parent.
//
// An unreached vertex temporarily gets any reached in-neighbour, because several warps may process its edges.
// Returns (left, beyond, edges): the reached vertices still without a parent, the unreached vertices with a
// reached in-neighbour, and the out-edges of the reached vertices.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) find_parents(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    Array<const u32> out_degree, Array<const u32> sources, Distance far, Array<const Distance> distance,
    Array<u32> parent, Results<u64, u64, u64> results, Grid grid
) {
    for (u64 i = thread_of_grid(); i < sources.length; i += threads_of_grid()) parent[sources[i]] = sources[i];
    grid.sync();
    over_rows(offsets, [&](Rows& rows) {
        bool searches = rows.some && look(parent[rows.v]) == NO_VERTEX;
        Distance own_distance = searches ? distance[rows.v] : 0;
        u32 searching = __ballot_sync(ALL, searches);
        EdgeBatch batch;
        while (rows.next(searching, batch)) {
            // An edge that is longer than the path cannot be part of the path.
            auto suits = [](Distance row_distance, Weight weight) {
                return longer((Distance)0, weight) <= row_distance;
            };
            searching &= ~visit_batch(batch, targets, weights, own_distance, suits,
                [&](u32 k, Distance row_distance, Weight weight, u32 target) {
                    Distance neighbour_distance = read(distance, target);
                    if (!(neighbour_distance < row_distance)) return false;
                    if (row_distance != far && longer(neighbour_distance, weight) != row_distance) return false;
                    parent[rows.row_of_lane(k)] = target;
                    return true;
                });
        }
    });
    grid.sync();
    u64 left = 0, beyond = 0, edges = 0;
    for (u64 v = thread_of_grid(); v + 1 < offsets.length; v += threads_of_grid()) {
        Distance own_distance = distance[v];
        bool found = look(parent[v]) != NO_VERTEX;
        if (own_distance < far) edges += out_degree[v];
        if (own_distance < far) {
            left += !found;
        } else if (found) {
            beyond++;
            parent[v] = NO_VERTEX;
        }
    }
    results.sum(left, beyond, edges);
}

// ---- zero-weight levels ----------------------------------------------------------------------------

// Flag the vertices with a parent as attached, and the other reached vertices as candidates. One warp writes
// each half.
template <typename Distance>
__global__ void PARALLEL(256) begin_zero_weight_levels(
    u64 owned, Distance far, Array<const Distance> distance, Array<const u32> parent, Bits attached,
    Bits candidates
) {
    for (u64 h = warp_of_grid(); h * 32 < owned; h += warps_of_grid()) {
        u64 v = h * 32 + lane();
        bool has_parent = v < owned && parent[v] != NO_VERTEX;
        u32 with = __ballot_sync(ALL, has_parent);
        u32 without = __ballot_sync(ALL, v < owned && !has_parent && distance[v] != far);
        if (lane() == 0) {
            attached.half(h) |= with;
            candidates.half(h) |= without;
        }
    }
}

// Attach each candidate with an attached neighbour on its level, then all vertices that it leads to.
//
// Sets the parent of each vertex that it attaches. Mirrors that it reaches become candidates. Returns the
// number of vertices that it attached.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) attach_zero_weight(
    Array<const u64> in_offsets, Tiered<u32> in_targets, Tiered<Weight> in_weights,
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned,
    Array<const Distance> distance, Array<u32> parent, Bits attached, Bits candidates, Array<u32> queue,
    Results<u64> results, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    // This counter is unused until the next launch, so it holds the length of the queue.
    Array<u64> length = {pieces.count_of_next_launch, 1};
    grid.sync();
    auto adds_nothing = [](Distance row_distance, Weight weight) {
        return longer(row_distance, weight) == row_distance;
    };
    // A vertex that another block attaches during this launch counts if this block sees the bit.
    auto is_attached = [&](u32 v) { return look(attached.half(v >> 5)) >> (v & 31) & 1; };
    over_rows(in_offsets, [&](Rows& rows) {
        bool waits = rows.some && candidates.test(rows.v) && !is_attached((u32)rows.v);
        Distance own_distance = waits ? distance[rows.v] : 0;
        u32 searching = __ballot_sync(ALL, waits);
        EdgeBatch batch;
        while (rows.next(searching, batch)) {
            searching &= ~visit_batch(batch, in_targets, in_weights, own_distance, adds_nothing,
                [&](u32 k, Distance row_distance, Weight, u32 u) {
                    if (read(distance, u) != row_distance || !is_attached(u)) return false;
                    u32 v = (u32)rows.row_of_lane(k);
                    if (attached.set(v)) return true;
                    parent[v] = u;
                    append(queue, length, v);
                    return true;
                });
        }
    });
    grid.sync();
    take_each(candidates, 0, owned, Nothing());
    u64 done = 0, queued = look(length[0]);
    while (done < queued) {
        grid.sync();  // all blocks have read the length
        edges.over(offsets, queue.at, done, queued, Nothing(), [&](u32 u, u64 e) {
            Distance here = read(distance, u);
            if (!adds_nothing(here, read(weights, e))) return;
            u32 v = read_once(targets, e);
            if (read(distance, v) != here || attached.test(v) || attached.set(v)) return;
            if (v >= owned) {
                candidates.set(v);
                return;
            }
            parent[v] = u;
            append(queue, length, v);
        });
        grid.sync();
        done = queued;
        queued = look(length[0]);
    }
    grid.sync();  // all blocks have read the length
    if (first_of_grid()) length[0] = 0;
    results.sum(first_of_grid() ? done : 0);
}
