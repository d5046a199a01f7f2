// Shortest paths on several GPUs that read each other's memory: several buckets in one launch.
// algorithms/sssp/kernels_cpu.py describes the arrays.

#include "buckets.cuh"
#include "group.cuh"
#include "sweep.cuh"

// One thread's part of the out-edges of the vertices that were moved to the queue.
template <typename Distance>
__device__ inline u64 receive_distances(
    Array<const u64> incoming, Peers<u32> pending_of, Peers<Distance> distance_of, Array<const u64> offsets,
    Distance limit, Array<Distance> distance, Bits pending, Bits in_bucket, Array<u32> queue, Array<u64> length
) {
    u64 edges = 0;
    const Incoming* routes = (const Incoming*)incoming.at;
    for (u64 r = 0; r < incoming.length * sizeof(u64) / sizeof(Incoming); r++) {
        Incoming route = routes[r];
        u32* flags = pending_of.on(route.partition);
        over_incoming(route, flags, distance_of.on(route.partition), [&](u32 v, Distance candidate) {
            if (!(candidate < fetch_min(distance[v], candidate))) return;
            if (!(candidate < limit)) {
                pending.set(v);
                return;
            }
            pending.clear(v);
            if (in_bucket.set(v)) return;
            edges += offsets[v + 1] - offsets[v];
            append(queue, length, v);
        });
    }
    return edges;
}

// Relax up to `max_buckets` buckets of width `delta`, in the order of their distances, on all GPUs of a group.
//
// Each GPU relaxes its part of a bucket. Then the owners of the mirrors with lower distances put their vertices
// into the bucket or flag them as pending, until no mirror has a lower distance. A GPU may still receive when
// another one already relaxes its queue: a mirror's flag is set after its distance, and cleared before the
// distance is read. `peers` is a table of the addresses of `pending` and `distance` on each GPU. The kernel
// stops when a bucket leaves vertices over on a GPU.
//
// A GPU writes the distance of each vertex that it relaxes to the mirrors on other GPUs. So afterwards, only the
// mirrors of pending vertices may have larger distances than their owners.
//
// Returns (vertices, edges, left, waiting) of this GPU, as `relax_buckets`. The number of vertices is
// GROUP_FAILED if a GPU did not answer.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256, 5) relax_together(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned, double delta,
    Distance far, u64 budget, u64 max_buckets, Array<Distance> distance, Array<u32> parent, Bits pending,
    Bits in_bucket, Array<u32> queue, Array<u64> length, Array<u32> next_queue, Array<u64> next_length,
    Array<u64> bucket_edges, Array<const u64> peers, Array<const u64> incoming,
    Results<u64, u64, u64, u64> results, Grid grid, Pieces pieces, Group group
) {
    EdgeLoop loop(pieces, grid);
    GroupSum group_sum(grid, group);
    Array<const Distance> known = {distance.at, distance.length};
    Peers<u32> pending_of = {peers.at};
    Peers<Distance> distance_of = {peers.at + group.size};
    auto entered = [&](u32 u) {
        Distance own = look(distance[u]);
        over_mirrors(incoming, distance_of, u, [&](Distance& mirror) { lower_on_peer(mirror, own); });
    };
    u64 vertices = 0, edges = 0, left = 0, waiting = 1;
    for (u64 bucket = 0; left == 0; bucket++) {
        double lowest = min_pending_of_thread(owned, known, pending);
        // The minimum, as the maximum of the complements of its bits. 0 if no vertex is pending.
        u64 agreed = group_sum.maximum(lowest < infinite() ? ~(u64)__double_as_longlong(lowest) : 0);
        if (agreed == 0) waiting = 0;
        if (agreed == 0 || bucket == max_buckets || group_sum.failed) break;
        Distance limit = bucket_end(__longlong_as_double((long long)~agreed), delta, far);
        BucketSize filled = fill_bucket_of_thread(
            offsets, owned, limit, known, pending, in_bucket, queue, length, bucket_edges
        );
        u64 own = filled.edges;
        grid.sync();
        while (true) {
            edges += own;
            u64 new_mirrors = 0;
            left = relax_queue(
                loop, grid, offsets, targets, weights, owned, limit, budget, distance, parent, pending,
                in_bucket, queue, length, next_queue, next_length, bucket_edges, new_mirrors, vertices, entered
            );
            Totals all = group_sum.sum(new_mirrors, first_of_grid() ? left : 0).all;
            left = all.second;
            if (all.first == 0 || group_sum.failed) break;
            own = receive_distances(
                incoming, pending_of, distance_of, offsets, left > 0 ? (Distance)0 : limit, distance, pending,
                in_bucket, queue, length
            );
            u64 of_block = over_block(own, Sum());
            if (threadIdx.x == 0 && of_block > 0) atomicAdd(bucket_edges.at, of_block);
            if (left > 0) break;
            grid.sync();
        }
        if (group_sum.failed) break;
    }
    if (group_sum.failed) vertices = first_of_grid() ? GROUP_FAILED : 0;
    bool first = first_of_grid();
    results.sum(vertices, edges, first ? left : 0, first ? waiting : 0);
}

// Sweep over the in-edges of all vertices, on all GPUs of a group, until at most `few` edges lead into the
// vertices with a lowered distance.
//
// A GPU writes each lower distance of its vertices to their mirrors at once. So the other GPUs may use it in the
// same sweep, and all mirrors have the distances of their owners after a sweep. `peers` is a table of the
// addresses of `pending` and `distance` on each GPU. Returns the sweeps, or GROUP_FAILED if a GPU did not answer.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) sweep_together(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 few, Array<Distance> distance,
    Array<u32> parent, Bits pending, Array<const u64> peers, Array<const u64> incoming, Results<u64> results,
    Grid grid, Group group
) {
    GroupSum group_sum(grid, group);
    Array<const Distance> known = {distance.at, distance.length};
    Peers<Distance> distance_of = {peers.at + group.size};
    u64 owned = offsets.length - 1, sweeps = 0, edges = few + 1;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
        if (!pending.test(v)) continue;
        Distance own = distance[v];
        over_mirrors(incoming, distance_of, v, [&](Distance& mirror) { mirror = own; });
    }
    while (edges > few) {
        fence_system();  // of this thread's writes to mirrors
        double lowest = min_pending_of_thread(owned, known, pending);
        u64 agreed = group_sum.maximum(lowest < infinite() ? ~(u64)__double_as_longlong(lowest) : 0);
        if (agreed == 0 || group_sum.failed) break;
        Distance floor = (Distance)__longlong_as_double((long long)~agreed);
        clear_owned(owned, pending);
        grid.sync();
        u64 own = sweep_rows(
            offsets, targets, weights, floor, distance, parent, pending, [&](u64 v, Distance found) {
                over_mirrors(incoming, distance_of, v, [&](Distance& mirror) { lower_on_peer(mirror, found); });
            }
        );
        sweeps++;
        edges = group_sum.sum(own).all.first;
        if (group_sum.failed) break;
    }
    results.sum(!first_of_grid() ? 0 : group_sum.failed ? GROUP_FAILED : sweeps);
}
