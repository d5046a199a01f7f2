// Shortest paths: sweeps over the in-edges of all vertices.

#pragma once

#include "lengths.cuh"
#include "rows.cuh"

// Make all owned vertices not pending. The threads need a grid barrier before a sweep.
__device__ inline void clear_owned(u64 owned, Bits pending) {
    for (u64 h = thread_of_grid(); h < (owned + 31) / 32; h += threads_of_grid())
        pending.half(h) &= ~range_mask(h, 0, owned);
}

// Lower the distance of each vertex by its in-edges; see `sweep`. ``lowered(v, distance)`` is called for each
// lower distance of a vertex. Returns the in-edges of the vertices that this thread made pending.
template <typename Distance, typename Weight, typename Lowered>
__device__ inline u64 sweep_rows(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Distance floor,
    Array<Distance> distance, Array<u32> parent, Bits pending, Lowered lowered
) {
    __shared__ Distance best_of_rows[256];
    __shared__ u32 parent_of_rows[256];
    Distance* best = best_of_rows + threadIdx.x / WARP * WARP;
    u32* parents = parent_of_rows + threadIdx.x / WARP * WARP;

    u64 lowered_edges = 0;
    over_rows(offsets, [&](Rows& rows) {
        Distance old = rows.some ? distance[rows.v] : 0;
        u32 farther = __ballot_sync(ALL, old > floor);
        if (farther == 0) return;
        best[lane()] = old;
        __syncwarp();
        EdgeBatch batch;
        while (rows.next(farther, batch)) {
            Weight weight[AHEAD];
            u32 target[AHEAD];
            Distance bound[AHEAD], neighbour_distance[AHEAD], candidate[AHEAD];
            bool matters[AHEAD];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                weight[k] = batch.wanted[k] ? read_streaming(weights, batch.edge[k]) : 0;
                bound[k] = best[batch.row[k]];
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                matters[k] = batch.wanted[k] && longer(floor, weight[k]) < bound[k];
                target[k] = matters[k] ? read_once(targets, batch.edge[k]) : 0;
            }
            bool lowers = false;
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                neighbour_distance[k] = matters[k] ? distance[target[k]] : bound[k];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                candidate[k] = longer(neighbour_distance[k], weight[k]);
                matters[k] = matters[k] && candidate[k] < bound[k];
                lowers = lowers || matters[k];
            }
            if (!__any_sync(ALL, lowers)) continue;
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                if (matters[k]) fetch_min(best[batch.row[k]], candidate[k]);
            __syncwarp();
            // If several edges give the same distance, the last write decides the parent.
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                if (matters[k] && best[batch.row[k]] == candidate[k]) {
                    u32 by = neighbour_distance[k] < candidate[k] ? target[k] : NO_VERTEX;
                    atomicExch(parents + batch.row[k], by);
                }
            __syncwarp();
        }
        Distance found = best[lane()];
        if (found < old && rows.whole) {
            distance[rows.v] = found;
            lowered(rows.v, found);
            parent[rows.v] = parents[lane()];
            pending.set(rows.v);
            lowered_edges += rows.degree;
        } else if (found < old && found < fetch_min(distance[rows.v], found)) {
            lowered(rows.v, found);
            parent[rows.v] = NO_VERTEX;
            if (!pending.set(rows.v)) lowered_edges += rows.degree;
        }
        __syncwarp();
    });
    return lowered_edges;
}
