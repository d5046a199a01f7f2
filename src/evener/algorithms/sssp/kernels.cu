// Shortest paths: relax the out-edges of a bucket, or sweep over the in-edges of all vertices.
// algorithms/sssp/kernels_cpu.py describes the arrays and results.

#include "buckets.cuh"
#include "sweep.cuh"

// Set the distance of `sources`, distinct vertices of this partition, to 0 and flag them as pending.
//
// Returns the number of pending vertices.
template <typename Distance>
__global__ void SERIAL begin(
    Array<const u32> sources, Array<Distance> distance, Bits pending, Results<u64> results
) {
    for (u64 i = 0; i < sources.length; i++) {
        distance[sources[i]] = 0;
        pending.set(sources[i]);
    }
    results.sum(sources.length);
}

// ---- buckets ---------------------------------------------------------------------------------------

// Returns the smallest distance of a pending owned vertex, infinity if there is none.
template <typename Distance>
__global__ void PARALLEL(256) min_pending(
    u64 owned, Array<const Distance> distance, Bits pending, Results<double> results
) {
    results.minimum(min_pending_of_thread(owned, distance, pending));
}

// Move the pending vertices with a distance below `limit` to the queue.
//
// Adds their out-edges to ``bucket_edges[0]``. Returns (vertices, edges): the moved vertices and their
// out-edges.
template <typename Distance>
__global__ void PARALLEL(256) fill_bucket(
    Array<const u64> offsets, u64 owned, Distance limit, Array<const Distance> distance, Bits pending,
    Bits in_bucket, Array<u32> queue, Array<u64> length, Array<u64> bucket_edges, Results<u64, u64> results
) {
    BucketSize own = fill_bucket_of_thread(
        offsets, owned, limit, distance, pending, in_bucket, queue, length, bucket_edges
    );
    results.sum(own.vertices, own.edges);
}

// Relax the queued vertices and all vertices whose distance falls below `limit`.
//
// ``bucket_edges[0]`` is the number of out-edges of the queue. The kernel stops when more than `budget` edges
// are to be relaxed in total. The remaining vertices become pending again.
//
// Returns (vertices, left): the relaxed vertices, each as often as it was relaxed, and the remaining ones.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) relax_bucket(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned, Distance limit,
    u64 budget, Array<Distance> distance, Array<u32> parent, Bits pending, Bits in_bucket, Array<u32> queue,
    Array<u64> length, Array<u32> next_queue, Array<u64> next_length, Array<u64> bucket_edges,
    Results<u64, u64> results, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    if (first_of_grid()) next_length[0] = 0;
    grid.sync();
    u64 new_mirrors = 0, vertices = 0;
    u64 left = relax_queue(
        edges, grid, offsets, targets, weights, owned, limit, budget, distance, parent, pending, in_bucket,
        queue, length, next_queue, next_length, bucket_edges, new_mirrors, vertices, Nothing()
    );
    results.sum(vertices, first_of_grid() ? left : 0);
}

// Relax up to `max_buckets` buckets of width `delta`, in the order of their distances.
//
// The kernel stops when a bucket leaves vertices over. `nearest` and `next_nearest` are zero before and
// after. In them the blocks compute the smallest distance, as the maximum of the complements of its bits.
//
// Returns (vertices, edges, left, waiting): the relaxed vertices, the out-edges of those that began the buckets,
// and the vertices that the last bucket left over. `waiting` is 1 if a vertex is still pending, else 0.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) relax_buckets(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u64 owned, double delta,
    Distance far, u64 budget, u64 max_buckets, Array<Distance> distance, Array<u32> parent, Bits pending,
    Bits in_bucket, Array<u32> queue, Array<u64> length, Array<u32> next_queue, Array<u64> next_length,
    Array<u64> bucket_edges, Array<u64> nearest, Array<u64> next_nearest, Results<u64, u64, u64, u64> results,
    Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    Array<const Distance> known = {distance.at, distance.length};
    u64 vertices = 0, edges = 0, left = 0, waiting = 1, new_mirrors = 0;
    for (u64 bucket = 0; left == 0; bucket++) {
        double lowest = over_block(min_pending_of_thread(owned, known, pending), Min());
        if (threadIdx.x == 0 && lowest < infinite())
            atomicMax(nearest.at, ~(u64)__double_as_longlong(lowest));
        grid.sync();
        u64 agreed = look(nearest[0]);
        if (agreed == 0) {
            waiting = 0;
            break;
        }
        if (bucket == max_buckets) {
            grid.sync();  // all blocks have read it
            if (first_of_grid()) nearest[0] = 0;
            break;
        }
        Distance limit = bucket_end(__longlong_as_double((long long)~agreed), delta, far);
        BucketSize own = fill_bucket_of_thread(
            offsets, owned, limit, known, pending, in_bucket, queue, length, bucket_edges
        );
        edges += own.edges;
        grid.sync();
        if (first_of_grid()) nearest[0] = 0;  // all blocks have read it
        swap(nearest, next_nearest);
        left = relax_queue(
            loop, grid, offsets, targets, weights, owned, limit, budget, distance, parent, pending, in_bucket,
            queue, length, next_queue, next_length, bucket_edges, new_mirrors, vertices, Nothing()
        );
    }
    bool first = first_of_grid();
    results.sum(vertices, edges, first ? left : 0, first ? waiting : 0);
}

// ---- sweeps ----------------------------------------------------------------------------------------

// Lower the distance of each vertex by its in-edges.
//
// `floor` is a lower bound of the distances of pending vertices. An edge can lower a distance only if ``floor
// + weight`` is below the distance; the target of another edge is not read. The best distance of a row is in
// shared memory. If several warps process a row, its parent becomes NO_VERTEX and is found later. Afterwards,
// the vertices with a lowered distance are pending. `blocks` is unused. Returns the number of in-edges of
// these vertices.
template <typename Distance, typename Weight>
__global__ void PARALLEL(256) sweep(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    Distance floor, Array<Distance> distance, Array<u32> parent, Bits pending, Results<u64> results, Grid grid
) {
    clear_owned(offsets.length - 1, pending);
    grid.sync();
    results.sum(sweep_rows(
        offsets, targets, weights, floor, distance, parent, pending, [](u64, Distance) {}
    ));
}
