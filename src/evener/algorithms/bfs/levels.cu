// Breadth-first search, many levels in one launch. Arrays and votes are those of algorithms/bfs/levels_cpu.py.

#include "bfs.cuh"
#include "single_block.cuh"

// What several levels in a row have left, and how many they were; see the votes of `narrow_steps`.
struct Steps {
    u64 awake;
    u64 scout;
    u64 levels;
    u64 edges;
};

// Steps down by this block from `queued` vertices while the frontier is narrow; see `narrow_steps`.
__device__ inline Steps steps_of_block(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u32 queued, u64 scout,
    u64 most_edges, u64 most_levels, i32 level, Array<u32> queue, Array<u64> length, Array<i32> distance,
    Array<u32> parent, Bits visited, Array<u32> next_queue, Array<u64> next_length
) {
    __shared__ u32 reached;
    __shared__ u64 led_out;
    u64 levels = 0, edges = 0;
    while (queued > 0 && scout <= most_edges && levels < most_levels) {
        __syncthreads();  // all have read what the level before has left
        if (threadIdx.x == 0) {
            reached = 0;
            led_out = 0;
        }
        level++;
        levels++;
        edges += scout;
        u64 own = 0;
        over_narrow(offsets, queue.at, 0, queued, scout, [&](u32 u, u64 e) {
            u64 v = read(targets, e);
            if (look(visited, v) || visited.set(v)) return;
            parent[v] = vertices[u];
            distance[v] = level;
            own += offsets[v + 1] - offsets[v];
            next_queue[atomicAdd(&reached, 1)] = (u32)v;
        });
        if (own > 0) atomicAdd(&led_out, own);
        __syncthreads();
        queued = reached;
        scout = led_out;
        swap(queue, next_queue);
    }
    if (threadIdx.x == 0) {
        length[0] = levels % 2 == 0 ? queued : 0;
        next_length[0] = levels % 2 == 0 ? 0 : queued;
    }
    return {queued, scout, levels, edges};
}

// Steps down by one block while the frontier is narrow: nobody is launched, and nobody asked, between levels.
//
// Returns (awake, scout, levels, edges).
__global__ void BLOCK(1024) narrow_steps(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 first_scout, u64 most_edges,
    u64 most_levels, i32 level, Array<u32> queue, Array<u64> length, Array<i32> distance, Array<u32> parent,
    Bits visited, Array<u32> next_queue, Array<u64> next_length, Votes<u64, u64, u64, u64> votes
) {
    u32 queued = length[0];
    Steps all = steps_of_block(
        offsets, targets, vertices, queued, first_scout, most_edges, most_levels, level, queue, length,
        distance, parent, visited, next_queue, next_length
    );
    bool first = threadIdx.x == 0;
    votes.sum(first ? all.awake : 0, first ? all.scout : 0, first ? all.levels : 0, first ? all.edges : 0);
}

// Steps of all kinds, from the source or from a queue: nobody is launched, and nobody asked, between levels.
//
// Which step is next all blocks decide alike, by the counts that they agree on; narrow ones are the first
// block's. A frontier is a queue before a step down and a bitmap before steps up, which leave both bitmaps clear.
// With six blocks on a multiprocessor R-MAT 26 took 1.33 ms; with four, whose registers suffice, 1.5 ms, though
// R-MAT 22 0.32 ms, not 0.41, and R-MAT 24 0.62, not 0.70. Returns (awake, scout, levels, edges).
__global__ void PARALLEL(256, 6) all_steps(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    Array<const u32> vertices, u64 in_rows, u64 owned, u32 source, u64 first_awake, u64 first_scout,
    u64 unexplored, u64 narrow, u64 most_narrow, u64 most_levels, u64 upward, u64 turn_up, u64 turn_down,
    u64 broad, i32 level, Array<u32> queue, Array<u64> length, Array<i32> distance, Array<u32> parent,
    Bits visited, Bits before, Bits frontier, Bits next_frontier, Array<u32> next_queue,
    Array<u64> next_length, Votes<u64, u64, u64, u64> votes, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    u64 awake = first_awake, scout = first_scout, left = unexplored;
    u32 levels = 0;
    if (source != NOBODY) {
        if (first_of_grid()) start(vertices, source, distance, parent, visited, queue, length);
        awake = 1;
        scout = degree_of(offsets, source);
    }
    Agreement agreement(grid);
    while (awake > 0 && levels < most_levels) {
        // After an odd number of levels, what came as the next queue is the queue.
        bool odd = levels % 2 != 0;
        if (most(awake, scout) <= narrow) {
            Steps own = {0, 0, 0, 0};
            if (blockIdx.x == 0) {
                own = steps_of_block(
                    offsets, targets, vertices, (u32)awake, scout, narrow,
                    least(most_narrow, most_levels - levels), level + (i32)levels,
                    odd ? next_queue : queue, odd ? next_length : length, distance, parent, visited,
                    odd ? queue : next_queue, odd ? length : next_length
                );
                if (threadIdx.x != 0) own = {0, 0, 0, 0};
            }
            Sums done = agreement.sum(own.levels, own.edges);
            levels += (u32)done.first;
            left -= done.second;
            Sums next = agreement.sum(own.awake, own.scout);
            awake = next.first;
            scout = next.second;
            if (most(awake, scout) <= narrow) break;
            continue;
        }
        if (upward && scout * turn_up > left) {
            flag_queued(odd ? next_queue : queue, awake, frontier);
            grid.sync();
            if (first_of_grid()) length[0] = next_length[0] = 0;
            bool turned = false;
            for (u64 smallest = 0; awake > 0 && (awake >= smallest || awake > turn_down); turned = !turned) {
                smallest = awake;
                levels++;
                u64 own = step_up(
                    in_offsets, in_targets, vertices, in_rows, level + (i32)levels, distance, parent, visited,
                    turned ? next_frontier : frontier, turned ? frontier : next_frontier
                );
                awake = agreement.sum(own, 0).first;
            }
            odd = levels % 2 != 0;
            u64 own = queue_flagged(
                offsets, owned, turned ? next_frontier : frontier, odd ? next_queue : queue,
                odd ? next_length : length
            );
            clear_all(turned ? frontier : next_frontier);
            scout = agreement.sum(own, 0).first;
            continue;
        }
        levels++;
        left -= scout;
        Array<u32> from = odd ? next_queue : queue, to = odd ? queue : next_queue;
        Array<u64> to_length = odd ? length : next_length;
        Found own;
        if (scout < broad) {
            own = step_down(
                loop, offsets, targets, vertices, owned, from, awake, level + (i32)levels, distance, parent,
                visited, next_frontier, parent, to, to_length
            );
        } else {
            copy_all(visited, before);
            grid.sync();
            flood(loop, offsets, targets, vertices, owned, from, awake, parent, visited, parent);
            grid.sync();
            own = settle_visited(
                offsets, owned, before, visited, level + (i32)levels, distance, next_frontier, to, to_length
            );
        }
        if (first_of_grid()) (odd ? next_length : length)[0] = 0;
        Sums all = agreement.sum(own.awake, own.scout);
        awake = all.first;
        scout = all.second;
    }
    bool first = first_of_grid();
    votes.sum(first ? awake : 0, first ? scout : 0, first ? levels : 0, first ? unexplored - left : 0);
}
