// The tree of shortest paths: a parent for each vertex whose distance is known and whose parent is not.
// Arrays and votes are those of algorithms/sssp/tree_cpu.py; distances stand still.
//
// On a plateau a vertex is rooted by one atomic operation, and takes for its parent one that was rooted
// before. So parents never go round in a circle, whatever the order in which threads come.

#include "edges.cuh"
#include "flags.cuh"
#include "lengths.cuh"
#include "rows.cuh"

struct Or {
    template <typename T> __device__ T operator()(T a, T b) const { return a | b; }
};

// Calls ``visit(row, distance of the row, weight, target)`` for each of a lane's few edges that
// ``suits(distance of the row, weight)``: of the others not even the target is read. `row` is the lane that
// has the row, and its `mine` the distance. All lanes come together; returns the bits of the rows for which
// `visit` said yes.
template <typename Distance, typename Weight, typename Suits, typename Visit>
__device__ inline u32 visit_few(
    const Few& few, Tiered<u32> targets, Tiered<Weight> weights, Distance mine, Suits suits,
    Visit visit
) {
    Weight weight[AHEAD];
    Distance whole[AHEAD];
    u32 target[AHEAD];
    bool suited[AHEAD];
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) {
        weight[k] = few.wanted[k] ? pass(weights, few.edge[k]) : 0;
        whole[k] = __shfl_sync(ALL, mine, few.row[k]);
    }
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++) {
        suited[k] = few.wanted[k] && suits(whole[k], weight[k]);
        target[k] = suited[k] ? read_once(targets, few.edge[k]) : 0;
    }
    u32 rows = 0;
#pragma unroll
    for (u32 k = 0; k < AHEAD; k++)
        if (suited[k] && visit(few.row[k], whole[k], weight[k], target[k])) rows |= 1u << few.row[k];
    return __any_sync(ALL, rows != 0) ? across(rows, Or()) : 0;
}

// Give each reached vertex without a parent an in-neighbour that is nearer, if one is as tight.
//
// An unreached vertex gets any reached in-neighbour, until it has been counted: several warps may look over
// its edges. Returns how many found none (an edge of no length leads to them), how many unreached vertices
// have a reached in-neighbour (they are too far, or their edge is infinite), and the edges out of reached
// vertices.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) find_parents(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    Array<const u32> out_degree, u32 source, Distance far, Array<const Distance> distance, Array<u32> parent,
    Votes<u64, u64, u64> votes, Grid grid
) {
    over_rows(offsets, [&](Rows& rows) {
        bool searches = rows.some && rows.v != source && look(parent[rows.v]) == NOBODY;
        Distance mine = searches ? distance[rows.v] : 0;
        u32 searching = __ballot_sync(ALL, searches);
        Few few;
        while (rows.next(searching, few)) {
            // An edge that is longer than the whole way is not the last of it.
            auto suits = [](Distance whole, Weight weight) { return longer((Distance)0, weight) <= whole; };
            searching &= ~visit_few(few, targets, weights, mine, suits,
                [&](u32 k, Distance whole, Weight weight, u32 target) {
                    Distance near = read(distance, target);
                    if (!(near < whole) || (whole != far && longer(near, weight) != whole)) return false;
                    parent[rows.row_of_lane(k)] = target;
                    return true;
                });
        }
    });
    grid.sync();
    u64 left = 0, beyond = 0, edges = 0;
    for (u64 v = thread_of_grid(); v + 1 < offsets.length; v += threads_of_grid()) {
        Distance mine = distance[v];
        bool found = look(parent[v]) != NOBODY;
        if (mine < far) edges += out_degree[v];
        if (v == source) {
            parent[v] = source;
        } else if (mine < far) {
            left += !found;
        } else if (found) {
            beyond++;
            parent[v] = NOBODY;
        }
    }
    votes.sum(left, beyond, edges);
}

// ---- plateaus: edges of no length ------------------------------------------------------------------

// Mark the reached vertices that have a parent as rooted, the others as waiting. Half a word is one warp's.
template <typename Distance>
__global__ void PARALLEL(256) begin_plateaus(
    u64 owned, Distance far, Array<const Distance> distance, Array<const u32> parent, Bits rooted,
    Bits waiting
) {
    for (u64 h = warp_of_grid(); h * 32 < owned; h += warps_of_grid()) {
        u64 v = h * 32 + lane();
        bool has_parent = v < owned && parent[v] != NOBODY;
        u32 with = __ballot_sync(ALL, has_parent);
        u32 without = __ballot_sync(ALL, v < owned && !has_parent && distance[v] != far);
        if (lane() == 0) {
            rooted.half(h) |= with;
            waiting.half(h) |= without;
        }
    }
}

// Root the waiting vertices that have a rooted neighbour on their plateau, and all they lead to.
//
// First over the in-edges of those that wait, then from the rooted ones on, a level at a time. Returns how
// many became rooted; mirrors that should become so are waiting.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) adopt(
    Array<const u64> in_offsets, Tiered<u32> in_targets, Tiered<Weight> in_weights,
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned,
    Array<const Distance> distance, Array<u32> parent, Bits rooted, Bits waiting, Array<u32> queue,
    Votes<u64> votes, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    // The next launch counts its pieces there: until then it is this queue's length.
    Array<u64> length = {pieces.count_of_next_launch, 1};
    grid.sync();
    auto of_no_length = [](Distance whole, Weight weight) { return longer(whole, weight) == whole; };
    // What blocks find to be rooted in this launch already counts, if they see it.
    auto is_rooted = [&](u32 v) { return look(rooted.half(v >> 5)) >> (v & 31) & 1; };
    over_rows(in_offsets, [&](Rows& rows) {
        bool waits = rows.some && waiting.test(rows.v) && !is_rooted((u32)rows.v);
        Distance mine = waits ? distance[rows.v] : 0;
        u32 searching = __ballot_sync(ALL, waits);
        Few few;
        while (rows.next(searching, few)) {
            searching &= ~visit_few(few, in_targets, in_weights, mine, of_no_length,
                [&](u32 k, Distance whole, Weight, u32 u) {
                    if (read(distance, u) != whole || !is_rooted(u)) return false;
                    u32 v = (u32)rows.row_of_lane(k);
                    if (rooted.set(v)) return true;
                    parent[v] = u;
                    append(queue, length, v);
                    return true;
                });
        }
    });
    grid.sync();
    take_each(waiting, 0, owned, Nothing());
    u64 done = 0, queued = look(length[0]);
    while (done < queued) {
        grid.sync();  // until all have read the length
        edges.over(offsets, queue.at, done, queued, Nothing(), [&](u32 u, u64 e) {
            Distance here = read(distance, u);
            if (!of_no_length(here, read(weights, e))) return;
            u32 v = read_once(targets, e);
            if (read(distance, v) != here || rooted.test(v) || rooted.set(v)) return;
            if (v >= owned) {
                waiting.set(v);
                return;
            }
            parent[v] = u;
            append(queue, length, v);
        });
        grid.sync();
        done = queued;
        queued = look(length[0]);
    }
    grid.sync();  // until all have read the length
    if (first_of_grid()) length[0] = 0;
    votes.sum(first_of_grid() ? done : 0);
}
