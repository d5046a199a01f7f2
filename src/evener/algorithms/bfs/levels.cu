// Breadth-first search on a single element, many levels in one launch. algorithms/bfs/kernels_cpu.py
// describes the arrays and results.

#include "bfs.cuh"
#include "single_block.cuh"

// The results of several levels; see `narrow_steps`.
struct Steps {
    u64 vertices;
    u64 frontier_vertices;
    u64 frontier_edges;
    u64 levels;
    u64 edges;
};

// Run top-down steps on this block, from `queued` vertices, while the frontier is narrow; see `narrow_steps`.
__device__ inline Steps steps_of_block(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u32 queued, u64 frontier_edges,
    u64 max_edges, u64 max_levels, i32 level, Array<u32> queue, Array<u64> length, Array<i32> distance,
    Array<u32> parent, Bits visited, Array<u32> next_queue, Array<u64> next_length
) {
    __shared__ u32 reached;
    __shared__ u64 next_edges;
    u64 read_vertices = 0, levels = 0, edges = 0;
    while (queued > 0 && frontier_edges <= max_edges && levels < max_levels) {
        __syncthreads();  // all threads have read the counts of the last level
        if (threadIdx.x == 0) {
            reached = 0;
            next_edges = 0;
        }
        level++;
        levels++;
        read_vertices += queued;
        edges += frontier_edges;
        u64 own = 0;
        over_narrow(offsets, queue.at, 0, queued, frontier_edges, [&](u32 u, u64 e) {
            u64 v = read(targets, e);
            if (look(visited, v) || visited.set(v)) return;
            parent[v] = vertices[u];
            distance[v] = level;
            own += offsets[v + 1] - offsets[v];
            next_queue[atomicAdd(&reached, 1)] = (u32)v;
        });
        if (own > 0) atomicAdd(&next_edges, own);
        __syncthreads();
        queued = reached;
        frontier_edges = next_edges;
        swap(queue, next_queue);
    }
    if (threadIdx.x == 0) {
        length[0] = levels % 2 == 0 ? queued : 0;
        next_length[0] = levels % 2 == 0 ? 0 : queued;
    }
    return {read_vertices, queued, frontier_edges, levels, edges};
}

// Run top-down steps on one block while the frontier is narrow.
//
// `first_edges` is the number of out-edges of the queue. The kernel stops when a frontier has more than
// `max_edges` out-edges, after `max_levels` levels, or when the queue is empty. After an odd number of levels
// the frontier is in `next_queue`, otherwise in `queue`. Returns (vertices, frontier_vertices, frontier_edges,
// levels, edges), where `vertices` and `edges` are those that the steps read.
__global__ void BLOCK(1024) narrow_steps(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 first_edges, u64 max_edges,
    u64 max_levels, i32 level, Array<u32> queue, Array<u64> length, Array<i32> distance, Array<u32> parent,
    Bits visited, Array<u32> next_queue, Array<u64> next_length, Results<u64, u64, u64, u64, u64> results
) {
    u32 queued = length[0];
    Steps all = steps_of_block(
        offsets, targets, vertices, queued, first_edges, max_edges, max_levels, level, queue, length,
        distance, parent, visited, next_queue, next_length
    );
    if (threadIdx.x != 0) all = {0, 0, 0, 0, 0};
    results.sum(all.vertices, all.frontier_vertices, all.frontier_edges, all.levels, all.edges);
}

// Append the vertices visited since `visited_before` to the queue. Returns vertices and out-edges.
__device__ inline StepResult collect_visited(
    Array<const u64> offsets, Bits visited_before, Bits visited, i32 level, Array<i32> distance,
    Array<u32> next_queue, Array<u64> next_length
) {
    StepResult own = {0, 0, 0};
    for (u64 h = warp_of_grid(); h < visited.length(); h += warps_of_grid()) {
        u64 v = h * 32 + lane();
        if ((visited.half(h) & ~visited_before.half(h)) >> lane() & 1) {
            distance[v] = level;
            own.frontier_edges += degree_of(offsets, v);
            append(next_queue, next_length, (u32)v);
            own.frontier_vertices++;
        }
    }
    return own;
}

// Run steps of all kinds in one launch, from `source`, or from the queue if `source` is NO_VERTEX.
//
// A queue has `first_vertices` vertices and `first_edges` out-edges. A frontier is narrow if it has at most
// `narrow_limit` vertices and at most as many out-edges. The first block runs the narrow levels. The kernel
// stops after `max_narrow_levels` narrow levels in a row, and starts no top-down step after `max_levels`
// levels. If `bottom_up` is not 0, bottom-up steps start when `alpha` times the frontier's edges exceed the
// `unexplored` edges. They stop when the frontier shrinks to at most `min_bottom_up` vertices. A top-down
// step over at least `min_scatter` edges uses `scatter`. All blocks choose the next step alike, from counts
// that they agree on. The bitmaps of frontiers are clear before and after. After an odd number of levels the
// frontier is in `next_queue`. Returns (vertices, frontier_vertices, frontier_edges, levels, edges), where
// `vertices` counts those of the frontiers of all steps, and `edges` the edges of top-down steps.
__global__ void PARALLEL(256, 6) all_steps(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    Array<const u32> vertices, u64 in_rows, u64 owned, u32 source, u64 first_vertices, u64 first_edges,
    u64 unexplored, u64 narrow_limit, u64 max_narrow_levels, u64 max_levels, u64 bottom_up, u64 alpha,
    u64 min_bottom_up, u64 min_scatter, i32 level, Array<u32> queue, Array<u64> length, Array<i32> distance,
    Array<u32> parent, Bits visited, Bits visited_before, Bits frontier, Bits next_frontier,
    Array<u32> next_queue, Array<u64> next_length, Results<u64, u64, u64, u64, u64> results, Grid grid,
    Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    u64 frontier_vertices = first_vertices, frontier_edges = first_edges, left = unexplored, read_vertices = 0;
    u32 levels = 0;
    if (source != NO_VERTEX) {
        if (first_of_grid()) start(vertices, source, 0, distance, parent, visited, queue, length);
        frontier_vertices = 1;
        frontier_edges = degree_of(offsets, source);
    }
    GridSum grid_sum(grid);
    while (frontier_vertices > 0 && levels < max_levels) {
        // After an odd number of levels, `queue` and `next_queue` have swapped roles.
        bool odd = levels % 2 != 0;
        if (most(frontier_vertices, frontier_edges) <= narrow_limit) {
            Steps own = {0, 0, 0, 0, 0};
            if (blockIdx.x == 0) {
                own = steps_of_block(
                    offsets, targets, vertices, (u32)frontier_vertices, frontier_edges, narrow_limit,
                    least(max_narrow_levels, max_levels - levels), level + (i32)levels,
                    odd ? next_queue : queue, odd ? next_length : length, distance, parent, visited,
                    odd ? queue : next_queue, odd ? length : next_length
                );
                if (threadIdx.x != 0) own = {0, 0, 0, 0, 0};
            }
            read_vertices += own.vertices;  // of the first thread, which returns the sum
            Sums done = grid_sum.sum(own.levels, own.edges);
            levels += (u32)done.first;
            left -= done.second;
            Sums next = grid_sum.sum(own.frontier_vertices, own.frontier_edges);
            frontier_vertices = next.first;
            frontier_edges = next.second;
            if (most(frontier_vertices, frontier_edges) <= narrow_limit) break;
            continue;
        }
        if (bottom_up && frontier_edges * alpha > left) {
            flag_queued(odd ? next_queue : queue, frontier_vertices, frontier);
            grid.sync();
            if (first_of_grid()) length[0] = next_length[0] = 0;
            bool turned = false;
            u64 last = 0;  // vertices of the frontier before
            while (frontier_vertices > 0 && (frontier_vertices >= last || frontier_vertices > min_bottom_up)) {
                last = frontier_vertices;
                read_vertices += frontier_vertices;
                levels++;
                u64 own = step_up(
                    in_offsets, in_targets, vertices, in_rows, level + (i32)levels, distance, parent, visited,
                    turned ? next_frontier : frontier, StoreHalf{turned ? frontier : next_frontier}
                );
                frontier_vertices = grid_sum.sum(own, 0).first;
                turned = !turned;
            }
            odd = levels % 2 != 0;
            u64 own = queue_flagged(
                offsets, owned, turned ? next_frontier : frontier, odd ? next_queue : queue,
                odd ? next_length : length
            );
            clear_all(turned ? frontier : next_frontier);
            frontier_edges = grid_sum.sum(own, 0).first;
            continue;
        }
        levels++;
        read_vertices += frontier_vertices;
        left -= frontier_edges;
        Array<u32> from = odd ? next_queue : queue, to = odd ? queue : next_queue;
        Array<u64> to_length = odd ? length : next_length;
        StepResult own;
        if (frontier_edges < min_scatter) {
            own = step_down(
                loop, offsets, targets, vertices, owned, from, frontier_vertices, level + (i32)levels,
                distance, parent, visited, FlagOffer{next_frontier, parent}, to, to_length
            );
        } else {
            copy_all(visited, visited_before);
            grid.sync();
            scatter(
                loop, offsets, targets, vertices, owned, from, frontier_vertices, parent, visited, parent
            );
            grid.sync();
            own = collect_visited(
                offsets, visited_before, visited, level + (i32)levels, distance, to, to_length
            );
        }
        if (first_of_grid()) (odd ? next_length : length)[0] = 0;
        Sums all = grid_sum.sum(own.frontier_vertices, own.frontier_edges);
        frontier_vertices = all.first;
        frontier_edges = all.second;
    }
    Steps all = {0, 0, 0, 0, 0};
    if (first_of_grid()) all = {read_vertices, frontier_vertices, frontier_edges, levels, unexplored - left};
    results.sum(all.vertices, all.frontier_vertices, all.frontier_edges, all.levels, all.edges);
}
