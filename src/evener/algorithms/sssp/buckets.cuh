// Shortest paths: device functions shared by the kernels of one GPU and of a group.
//
// Distances only decrease while a kernel runs. A stale distance, read early or from an incoherent cache, is
// an earlier distance of the vertex. It can cause extra work but no wrong result: a thread that lowers a
// distance ensures that the vertex's edges are relaxed again.

#pragma once

#include "edges.cuh"
#include "lengths.cuh"

// The smallest distance of the pending vertices that this thread reads, infinity if there is none.
template <typename Distance>
__device__ inline double min_pending_of_thread(u64 owned, Array<const Distance> distance, Bits pending) {
    double lowest = infinite();
    u64 halves = (owned + 31) / 32;
    // A warp reads 32 halves at once, then the distances of each half, one vertex per lane.
    for (u64 first = warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 half = h < halves ? look(pending.half(h)) & range_mask(h, 0, owned) : 0;  // excludes mirrors
        for (u32 some = __ballot_sync(ALL, half != 0); some != 0; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            if (__shfl_sync(ALL, half, k) >> lane() & 1)
                lowest = least(lowest, (double)look(distance[(first + k) * 32 + lane()]));
        }
    }
    return lowest;
}

// One thread's part of the vertices that were moved to a bucket and of their out-edges.
struct BucketSize {
    u64 vertices;
    u64 edges;
};

// Move the pending vertices with a distance below `limit` to the queue; see `fill_bucket`.
//
// One warp writes each half, so the writes are not atomic.
template <typename Distance>
__device__ inline BucketSize fill_bucket_of_thread(
    Array<const u64> offsets, u64 owned, Distance limit, Array<const Distance> distance, Bits pending,
    Bits in_bucket, Array<u32> queue, Array<u64> length, Array<u64> bucket_edges
) {
    u64 vertices = 0, edges = 0;
    u64 halves = (owned + 31) / 32;
    for (u64 first = warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 half = h < halves ? look(pending.half(h)) & range_mask(h, 0, owned) : 0;  // excludes mirrors
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
            in_bucket.half(h) = look(in_bucket.half(h)) | taken;
        }
        // The warp reserves places for all its vertices with one atomic add.
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
        vertices += count;
    }
    u64 of_block = over_block(edges, Sum());
    if (threadIdx.x == 0 && of_block > 0) atomicAdd(bucket_edges.at, of_block);
    return {vertices, edges};
}

// Relax the queue until the bucket is empty; see `relax_bucket`. All threads call it together, with a
// `next_length` of 0. Returns the number of vertices left over to all threads. `new_mirrors` increases by the
// mirrors that this thread flags as pending. On the first thread, `vertices` increases by the relaxed vertices.
// ``entered(u)`` is called before the edges of vertex u are relaxed.
template <typename Distance, typename Weight, typename Entered>
__device__ inline u64 relax_queue(
    EdgeLoop& edges, Grid grid, Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights,
    u64 owned, Distance limit, u64 budget, Array<Distance> distance, Array<u32> parent, Bits pending,
    Bits in_bucket, Array<u32> queue, Array<u64> length, Array<u32> next_queue, Array<u64> next_length,
    Array<u64> bucket_edges, u64& new_mirrors, u64& vertices, Entered entered
) {
    u64 queued = look(length[0]), relaxed = look(bucket_edges[0]);
    while (queued > 0 && relaxed <= budget) {
        u64 found = 0;
        if (first_of_grid()) vertices += queued;
        // Clear the bit before reading the distance. A thread that lowers the distance tests the bit
        // afterwards. So this thread reads the new distance, or the other thread queues the vertex again.
        auto enter = [&](u32 u) {
            in_bucket.clear(u);
            parent[u] = NO_VERTEX;
            __threadfence();
            entered(u);
        };
        auto visit = [&](u32 u, u64 e) {
            u64 v = read_once(targets, e);
            Distance candidate = longer(look(distance[u]), read(weights, e));
            // Most edges lower no distance, and a cached distance is enough to detect this.
            if (!(candidate < distance[v])) return;
            // Each of the following operations depends on the result of the previous one, so their order is
            // fixed.
            if (!(candidate < fetch_min(distance[v], candidate))) return;
            bool is_pending = look(pending.half(v >> 5)) >> (v & 31) & 1;
            if (candidate >= limit || v >= owned) {
                if (is_pending || pending.set(v)) return;
                if (v >= owned) {
                    new_mirrors++;
                    return;
                }
                // Another thread may have moved the vertex to the bucket before the bit was set.
                if (look(distance[v]) < limit) pending.clear(v);
                return;
            }
            if (is_pending) pending.clear(v);
            if (in_bucket.set(v)) return;
            found += offsets[v + 1] - offsets[v];
            append(next_queue, next_length, (u32)v);
        };
        edges.over(offsets, queue.at, 0, queued, enter, visit);
        // The barrier in `over` comes after every block's read of the length.
        if (first_of_grid()) length[0] = 0;
        found = over_block(found, Sum());
        if (threadIdx.x == 0 && found > 0) atomicAdd(bucket_edges.at, found);
        grid.sync();
        swap(queue, next_queue);
        swap(length, next_length);
        queued = look(length[0]);
        relaxed = look(bucket_edges[0]);
    }
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) {
        in_bucket.clear(queue[i]);
        pending.set(queue[i]);
    }
    grid.sync();  // all blocks have read the queue
    if (first_of_grid()) {
        length[0] = 0;
        next_length[0] = 0;
        bucket_edges[0] = 0;
    }
    return queued;
}

// The end of the bucket that contains `nearest`. The end is above `nearest` in spite of rounding.
template <typename Distance> __device__ inline Distance bucket_end(double nearest, double delta, Distance far) {
    double end = most((floor(nearest / delta) + 1) * delta, nextafter(nearest, infinite()));
    if (!(end < (double)far)) return far;
    Distance limit = (Distance)end;
    return limit < end ? limit + 1 : limit;  // round up integers
}
