// Shortest paths: settle a bucket along out-edges, or sweep over in-edges. Arrays and votes are those of
// algorithms/sssp/kernels_cpu.py.
//
// Distances only fall while a kernel runs. So one that is read too early, or from a cache that does not hear
// of other blocks, is one that was true: it may cost another look, and no path is lost by it, because whoever
// lowers a vertex sees to it that its edges are looked at once more.

#include "edges.cuh"
#include "lengths.cuh"
#include "rows.cuh"

// Start at `source`, `NOBODY` where another partition owns it. Returns awake.
template <typename Distance>
__global__ void SERIAL begin(u32 source, Array<Distance> distance, Bits pending, Votes<u64> votes) {
    u64 awake = 0;
    if (source != NOBODY) {
        distance[source] = 0;
        pending.set(source);
        awake = 1;
    }
    votes.sum(awake);
}

// ---- buckets ---------------------------------------------------------------------------------------

// The least distance of the pending vertices that this thread looks at; infinite if there is none.
template <typename Distance>
__device__ inline double lowest_of_thread(u64 owned, Array<const Distance> distance, Bits pending) {
    double lowest = infinite();
    u64 halves = (owned + 31) / 32;
    // A warp reads 32 halves at once, and then a half's distances, a vertex to a lane.
    for (u64 first = warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 half = h < halves ? look(pending.half(h)) & range_mask(h, 0, owned) : 0;  // without mirrors
        for (u32 some = __ballot_sync(ALL, half != 0); some != 0; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            if (__shfl_sync(ALL, half, k) >> lane() & 1)
                lowest = least(lowest, (double)look(distance[(first + k) * 32 + lane()]));
        }
    }
    return lowest;
}

// The least distance of a pending vertex; infinite if there is none.
template <typename Distance>
__global__ void PARALLEL(256) lowest(
    u64 owned, Array<const Distance> distance, Bits pending, Votes<double> votes
) {
    votes.minimum(lowest_of_thread(owned, distance, pending));
}

// One thread's part of what was collected: the sums over all threads are the vertices, and the edges out of them.
struct Collected {
    u64 awake;
    u64 edges;
};

// Move the pending vertices nearer than `limit` to the queue, adding their edges to ``scout[0]``.
//
// Half a word is one warp's, so its bits move without atomic operations.
template <typename Distance>
__device__ inline Collected collect_nearer(
    Array<const u64> offsets, u64 owned, Distance limit, Array<const Distance> distance, Bits pending,
    Bits near, Array<u32> queue, Array<u64> length, Array<u64> scout
) {
    u64 awake = 0, edges = 0;
    u64 halves = (owned + 31) / 32;
    for (u64 first = warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 half = h < halves ? look(pending.half(h)) & range_mask(h, 0, owned) : 0;  // without mirrors
        u32 taken = 0;
        for (u32 some = __ballot_sync(ALL, half != 0); some != 0; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            u64 v = (first + k) * 32 + lane();
            bool takes = (__shfl_sync(ALL, half, k) >> lane() & 1) && look(distance[v]) < limit;
            if (takes) edges += offsets[v + 1] - offsets[v];
            u32 all = __ballot_sync(ALL, takes);
            if (lane() == k) taken = all;
        }
        u32 full = __ballot_sync(ALL, taken != 0);
        if (full == 0) continue;
        if (taken != 0) {
            pending.half(h) = look(pending.half(h)) & ~taken;
            near.half(h) = look(near.half(h)) | taken;
        }
        // Room for all that the warp takes, asked for once.
        u32 count = __popc(taken), upto = count;
        for (u32 step = 1; step < WARP; step *= 2) {
            u32 other = __shfl_up_sync(ALL, upto, step);
            if (lane() >= step) upto += other;
        }
        u64 room = 0;
        if (lane() == WARP - 1) room = atomicAdd(length.at, (u64)upto);
        room = __shfl_sync(ALL, room, WARP - 1);
        for (; full != 0; full &= full - 1) {
            u32 k = __ffs(full) - 1;
            u32 all = __shfl_sync(ALL, taken, k);
            u32 before = __shfl_sync(ALL, upto - count, k) + __popc(all & ((1u << lane()) - 1));
            if (all >> lane() & 1) queue[room + before] = (u32)((first + k) * 32 + lane());
        }
        awake += count;
    }
    u64 of_block = over_block(edges, Sum());
    if (threadIdx.x == 0 && of_block > 0) atomicAdd(scout.at, of_block);
    return {awake, edges};
}

// Move the pending vertices nearer than `limit` to the queue, adding their edges to ``scout[0]``. Returns
// (awake, scout).
template <typename Distance>
__global__ void PARALLEL(256) collect(
    Array<const u64> offsets, u64 owned, Distance limit, Array<const Distance> distance, Bits pending,
    Bits near, Array<u32> queue, Array<u64> length, Array<u64> scout, Votes<u64, u64> votes
) {
    Collected own = collect_nearer(offsets, owned, limit, distance, pending, near, queue, length, scout);
    votes.sum(own.awake, own.edges);
}

// Relax the queued vertices, and those that come nearer than `limit` by it, until there are none; see
// `settle`. All threads come here together, when `next_length` is 0, and receive how many vertices are left.
template <typename Distance, typename Weight>
__device__ inline u64 settle_queue(
    EdgeLoop& edges, Grid grid, Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned,
    Distance limit, u64 budget, Array<Distance> distance, Array<u32> parent, Bits pending, Bits near,
    Array<u32> queue, Array<u64> length, Array<u32> next_queue, Array<u64> next_length, Array<u64> scout
) {
    u64 queued = look(length[0]), relaxed = look(scout[0]);
    while (queued > 0 && relaxed <= budget) {
        u64 found = 0;
        // Whoever lowers a vertex asks for its `near` bit afterwards, and here it is cleared before its
        // distance is read: so either that is the lowered one, or the vertex comes to the next queue.
        auto meet = [&](u32 u) {
            near.clear(u);
            parent[u] = NOBODY;
            __threadfence();
        };
        auto visit = [&](u32 u, u64 e) {
            u64 v = read_once(targets, e);
            Distance through = longer(look(distance[u]), read(weights, e));
            // Most edges lead to no shorter way, and what the cache holds of the target is enough to see it.
            if (!(through < distance[v])) return;
            // Each of the following operations decides on the next, so they take place in this order.
            if (!(through < fetch_min(distance[v], through))) return;
            bool is_pending = look(pending.half(v >> 5)) >> (v & 31) & 1;
            if (through >= limit || v >= owned) {
                if (is_pending || pending.set(v) || v >= owned) return;
                // Where it has come nearer meanwhile, its bit was not there to be cleared yet.
                if (look(distance[v]) < limit) pending.clear(v);
                return;
            }
            if (is_pending) pending.clear(v);
            if (near.set(v)) return;
            found += offsets[v + 1] - offsets[v];
            append(next_queue, next_length, (u32)v);
        };
        edges.over(offsets, queue.at, 0, queued, meet, visit);
        // All blocks have met since they read it.
        if (first_of_grid()) length[0] = 0;
        found = over_block(found, Sum());
        if (threadIdx.x == 0 && found > 0) atomicAdd(scout.at, found);
        grid.sync();
        swap(queue, next_queue);
        swap(length, next_length);
        queued = look(length[0]);
        relaxed = look(scout[0]);
    }
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) {
        near.clear(queue[i]);
        pending.set(queue[i]);
    }
    grid.sync();  // until all have read what is left
    if (first_of_grid()) {
        length[0] = 0;
        next_length[0] = 0;
        scout[0] = 0;
    }
    return queued;
}

// Relax the queued vertices, and those that come nearer than `limit` by it, until there are none.
//
// ``scout[0]`` edges lead out of the queue; it goes on counting those of the queues that follow. Gives up
// before it has relaxed more than `budget`; what is left is pending again. Returns how many vertices that is.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) settle(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned,
    Distance limit, u64 budget, Array<Distance> distance, Array<u32> parent, Bits pending, Bits near,
    Array<u32> queue, Array<u64> length, Array<u32> next_queue, Array<u64> next_length, Array<u64> scout,
    Votes<u64> votes, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    if (first_of_grid()) next_length[0] = 0;
    grid.sync();
    u64 left = settle_queue(
        edges, grid, offsets, targets, weights, owned, limit, budget, distance, parent, pending, near, queue,
        length, next_queue, next_length, scout
    );
    votes.sum(first_of_grid() ? left : 0);
}

// Where the bucket that holds `nearest` ends: above it, whatever is lost in rounding.
template <typename Distance> __device__ inline Distance bucket_end(double nearest, double delta, Distance far) {
    double end = most((floor(nearest / delta) + 1) * delta, nextafter(nearest, infinite()));
    if (!(end < (double)far)) return far;
    Distance limit = (Distance)end;
    return limit < end ? limit + 1 : limit;  // whole numbers are rounded up
}

// Settle one bucket after the other, as many as `most_buckets`, and launch nothing and ask nobody in between.
//
// `nearest` and `next_nearest` hold zero before and after: here the blocks agree on the least distance, by the
// greatest of the complements of its bits. Returns (awake, edges, left, waiting); see algorithms/sssp/kernels_cpu.py.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) settle_buckets(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned, double delta,
    Distance far, u64 budget, u64 most_buckets, Array<Distance> distance, Array<u32> parent, Bits pending,
    Bits near, Array<u32> queue, Array<u64> length, Array<u32> next_queue, Array<u64> next_length,
    Array<u64> scout, Array<u64> nearest, Array<u64> next_nearest, Votes<u64, u64, u64, u64> votes, Grid grid,
    Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    Array<const Distance> known = {distance.at, distance.length};
    u64 awake = 0, edges = 0, left = 0, waiting = 1;
    for (u64 bucket = 0; left == 0; bucket++) {
        double lowest = over_block(lowest_of_thread(owned, known, pending), Min());
        if (threadIdx.x == 0 && lowest < infinite())
            atomicMax(nearest.at, ~(u64)__double_as_longlong(lowest));
        grid.sync();
        u64 agreed = look(nearest[0]);
        if (agreed == 0) {
            waiting = 0;
            break;
        }
        if (bucket == most_buckets) {
            grid.sync();  // until all have read it
            if (first_of_grid()) nearest[0] = 0;
            break;
        }
        Distance limit = bucket_end(__longlong_as_double((long long)~agreed), delta, far);
        Collected own = collect_nearer(offsets, owned, limit, known, pending, near, queue, length, scout);
        awake += own.awake;
        edges += own.edges;
        grid.sync();
        if (first_of_grid()) nearest[0] = 0;  // all have read it
        swap(nearest, next_nearest);
        left = settle_queue(
            loop, grid, offsets, targets, weights, owned, limit, budget, distance, parent, pending, near, queue,
            length, next_queue, next_length, scout
        );
    }
    bool first = first_of_grid();
    votes.sum(awake, edges, first ? left : 0, first ? waiting : 0);
}

// ---- sweeps ----------------------------------------------------------------------------------------

// Let each vertex look for a shorter way to it over its in-edges.
//
// No pending vertex is nearer than `floor`, so an edge matters only if it leads from there to a lower
// distance: of the others not even the target is read. A row's best so far is in shared memory. Rows that
// are shared by several warps leave their parent to be found later, for the warps cannot agree on one.
// Afterwards those are pending that were lowered. Warps share the rows in their own way, without `blocks`.
// Returns scout.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) sweep(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    Distance floor, Array<Distance> distance, Array<u32> parent, Bits pending, Votes<u64> votes, Grid grid
) {
    __shared__ Distance best_of_rows[256];
    __shared__ u32 parent_of_rows[256];
    Distance* best = best_of_rows + threadIdx.x / WARP * WARP;
    u32* through_whom = parent_of_rows + threadIdx.x / WARP * WARP;

    u64 owned = offsets.length - 1;
    for (u64 h = thread_of_grid(); h < (owned + 31) / 32; h += threads_of_grid())
        pending.half(h) &= ~range_mask(h, 0, owned);
    grid.sync();

    u64 scout = 0;
    over_rows(offsets, [&](Rows& rows) {
        Distance had = rows.some ? distance[rows.v] : 0;
        u32 farther = __ballot_sync(ALL, had > floor);
        if (farther == 0) return;
        best[lane()] = had;
        __syncwarp();
        Few few;
        while (rows.next(farther, few)) {
            Weight weight[AHEAD];
            u32 target[AHEAD];
            Distance bound[AHEAD], near[AHEAD], through[AHEAD];
            bool matters[AHEAD];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                weight[k] = few.wanted[k] ? pass(weights, few.edge[k]) : 0;
                bound[k] = best[few.row[k]];
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                matters[k] = few.wanted[k] && longer(floor, weight[k]) < bound[k];
                target[k] = matters[k] ? read_once(targets, few.edge[k]) : 0;
            }
            bool lowers = false;
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) near[k] = matters[k] ? distance[target[k]] : bound[k];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                through[k] = longer(near[k], weight[k]);
                matters[k] = matters[k] && through[k] < bound[k];
                lowers = lowers || matters[k];
            }
            if (!__any_sync(ALL, lowers)) continue;
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                if (matters[k]) fetch_min(best[few.row[k]], through[k]);
            __syncwarp();
            // Where several edges are as good, any of them will do; the last to come is it.
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                if (matters[k] && best[few.row[k]] == through[k])
                    atomicExch(through_whom + few.row[k], near[k] < through[k] ? target[k] : NOBODY);
            __syncwarp();
        }
        Distance found = best[lane()];
        if (found < had && rows.whole) {
            distance[rows.v] = found;
            parent[rows.v] = through_whom[lane()];
            pending.set(rows.v);
            scout += rows.degree;
        } else if (found < had && found < fetch_min(distance[rows.v], found)) {
            parent[rows.v] = NOBODY;
            if (!pending.set(rows.v)) scout += rows.degree;
        }
        __syncwarp();
    });
    votes.sum(scout);
}
