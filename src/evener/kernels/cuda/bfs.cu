// Breadth-first search: steps down from a queue of vertices, a step up from a bitmap, and between them.
// Arrays and votes are those of kernels/cpu/bfs.py.

#include "edges.cuh"
#include "frontier.cuh"
#include "narrow.cuh"

// Halves of 32 vertices whose flags a warp reads at once in a step up: enough that words without work cost
// little, few enough that a small graph keeps all warps busy.
constexpr u32 HALVES = 8;
// Neighbours that an unvisited vertex looks at alone, before its whole warp helps.
constexpr u32 ALONE = 32;

// The source is reached, and all there is in the queue; one thread comes here.
__device__ inline void start(
    Array<const u32> vertices, u32 source, Array<i32> distance, Array<u32> parent, Bits visited,
    Array<u32> queue, Array<u64> length
) {
    distance[source] = 0;
    parent[source] = vertices[source];
    visited.set(source);
    queue[0] = source;
    length[0] = 1;
}

__device__ inline u64 degree_of(Array<const u64> offsets, u64 v) { return offsets[v + 1] - offsets[v]; }

// Start at `source`, `NOBODY` where another partition owns it. Returns (awake, scout).
__global__ void SERIAL begin(
    Array<const u64> offsets, Array<const u32> vertices, u32 source, Array<i32> distance, Array<u32> parent,
    Bits visited, Array<u32> queue, Array<u64> length, Votes<u64, u64> votes
) {
    u64 awake = 0, scout = 0;
    if (source != NOBODY) {
        start(vertices, source, distance, parent, visited, queue, length);
        awake = 1;
        scout = degree_of(offsets, source);
    }
    votes.sum(awake, scout);
}

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

// One thread's part of what a step has found; see the votes.
struct Found {
    u64 awake;
    u64 scout;
    u64 offers;
};

// Visit the neighbours of `queued` vertices; see `top_down_step`.
__device__ inline Found step_down(
    EdgeLoop& edges, Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned,
    Array<u32> queue, u64 queued, i32 level, Array<i32> distance, Array<u32> parent, Bits visited, Bits arrived,
    Array<u32> offered, Array<u32> next_queue, Array<u64> next_length
) {
    Found own = {0, 0, 0};
    edges.over(offsets, queue.at, 0, queued, Nothing(), [&](u32 u, u64 e) {
        u64 v = read_once(targets, e);
        if (visited.test(v) || visited.set(v)) return;
        if (v >= owned) {
            offered[v] = vertices[u];
            arrived.set(v);
            own.offers++;
            return;
        }
        parent[v] = vertices[u];
        distance[v] = level;
        own.awake++;
        own.scout += offsets[v + 1] - offsets[v];
        append(next_queue, next_length, (u32)v);
    });
    return own;
}

// Visit the neighbours of the queued vertices; `visited` sees to it that each is reached once.
//
// New owned vertices go to `next_queue`, new mirrors are flagged in `arrived`. Returns (awake, scout, offers).
__global__ void PARALLEL(256) top_down_step(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned, Array<u32> queue,
    Array<u64> length, i32 level, Array<i32> distance, Array<u32> parent, Bits visited, Bits arrived,
    Array<u32> offered, Array<u32> next_queue, Array<u64> next_length, Votes<u64, u64, u64> votes, Grid grid,
    Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    Found own = step_down(
        edges, offsets, targets, vertices, owned, queue, look(length[0]), level, distance, parent, visited,
        arrived, offered, next_queue, next_length
    );
    // All blocks have read the length: they have met in between.
    if (first_of_grid()) length[0] = 0;
    votes.sum(own.awake, own.scout, own.offers);
}

// Mark the neighbours of `queued` vertices, and their parents; see `flood_step`.
__device__ inline void flood(
    EdgeLoop& edges, Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned,
    Array<u32> queue, u64 queued, Array<u32> parent, Bits visited, Array<u32> offered
) {
    edges.over(offsets, queue.at, 0, queued, Nothing(), [&](u32 u, u64 e) {
        u64 v = read_once(targets, e);
        if (visited.test(v) || visited.set(v)) return;
        if (v >= owned) offered[v] = vertices[u];
        else parent[v] = vertices[u];
    });
}

// As `top_down_step` for a broad frontier: only marks and parents are written, `settle` does the rest.
__global__ void PARALLEL(256) flood_step(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned, Array<u32> queue,
    Array<u64> length, Array<u32> parent, Bits visited, Array<u32> offered, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    flood(edges, offsets, targets, vertices, owned, queue, look(length[0]), parent, visited, offered);
    if (first_of_grid()) length[0] = 0;
}

// Let owned vertices visited since `before` join the next frontier; see `settle`.
__device__ inline Found settle_visited(
    Array<const u64> offsets, u64 owned, Bits before, Bits visited, i32 level, Array<i32> distance, Bits arrived,
    Array<u32> next_queue, Array<u64> next_length
) {
    Found own = {0, 0, 0};
    for (u64 h = warp_of_grid(); h < visited.length(); h += warps_of_grid()) {
        u32 fresh = visited.half(h) & ~before.half(h);
        u32 mine = fresh & range_mask(h, 0, owned);
        if (lane() == 0 && h * 32 + 32 > owned) {
            arrived.half(h) = fresh & ~mine;
            own.offers += __popc(fresh & ~mine);
        }
        u64 v = h * 32 + lane();
        if (mine >> lane() & 1) {
            distance[v] = level;
            own.scout += offsets[v + 1] - offsets[v];
            append(next_queue, next_length, (u32)v);
            own.awake++;
        }
    }
    return own;
}

// Let owned vertices visited since `before` join the next frontier, and flag mirrors in `arrived`.
//
// Returns (awake, scout, offers).
__global__ void PARALLEL(256) settle(
    Array<const u64> offsets, u64 owned, Bits before, Bits visited, i32 level, Array<i32> distance, Bits arrived,
    Array<u32> next_queue, Array<u64> next_length, Votes<u64, u64, u64> votes
) {
    Found own = settle_visited(
        offsets, owned, before, visited, level, distance, arrived, next_queue, next_length
    );
    votes.sum(own.awake, own.scout, own.offers);
}

// Take in the vertices that other partitions reached: those not yet visited join the next frontier.
//
// Returns (awake, scout); clears `arrived`.
__global__ void PARALLEL(256) arrive(
    Array<const u64> offsets, u64 owned, Bits arrived, Array<const u32> offered, Bits visited,
    Array<i32> distance, Array<u32> parent, i32 level, Array<u32> next_queue, Array<u64> next_length,
    Votes<u64, u64> votes
) {
    u64 awake = 0, scout = 0;
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = warp_of_grid(); h < halves; h += warps_of_grid()) {
        u32 seen = visited.half(h);
        u32 half = arrived.half(h);
        __syncwarp();  // all have read them
        u32 fresh = half & range_mask(h, 0, owned) & ~seen;
        if (lane() == 0 && half != 0) {
            arrived.half(h) = 0;
            visited.half(h) = seen | fresh;
        }
        u64 v = h * 32 + lane();
        if (fresh >> lane() & 1) {
            distance[v] = level;
            parent[v] = offered[v];
            scout += offsets[v + 1] - offsets[v];
            append(next_queue, next_length, (u32)v);
            awake++;
        }
    }
    votes.sum(awake, scout);
}

// Let each unvisited vertex look for a neighbour in the frontier; how many of this thread's found one. See
// `bottom_up_step`.
__device__ inline u64 step_up(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 rows, i32 level,
    Array<i32> distance, Array<u32> parent, Bits visited, Bits frontier, Bits next_frontier
) {
    u64 awake = 0;
    for (u64 chunk = warp_of_grid() * HALVES; chunk < visited.length(); chunk += warps_of_grid() * HALVES) {
        u64 mine = chunk + lane();
        bool reads = lane() < HALVES && mine < visited.length();
        u32 seen = reads ? visited.half(mine) : 0;
        u32 before = reads ? seen | frontier.half(mine) : 0;
        u32 search = reads ? ~before & range_mask(mine, 0, rows) : 0;
        u32 reached = 0;
        for (u32 busy = __ballot_sync(ALL, search != 0); busy != 0; busy &= busy - 1) {
            u32 k = __ffs(busy) - 1;
            bool searching = __shfl_sync(ALL, search, k) >> lane() & 1;
            u64 v = (chunk + k) * 32 + lane();
            u64 begin = searching ? offsets[v] : 0, e = begin;
            u64 end = searching ? offsets[v + 1] : 0;
            u32 found = NOBODY;
            for (u64 stop = least(end, e + ALONE); e < stop; e++) {
                u32 u = read_first(targets, v, begin, e);
                if (frontier.test(u)) {
                    found = u;
                    break;
                }
            }
            for (u32 rest = __ballot_sync(ALL, found == NOBODY && e < end); rest != 0; rest &= rest - 1) {
                u32 who = __ffs(rest) - 1;
                u64 stop = __shfl_sync(ALL, end, who);
                for (u64 first = __shfl_sync(ALL, e, who); first < stop; first += WARP) {
                    u64 at = first + lane();
                    u32 u = at < stop ? read(targets, at) : NOBODY;
                    u32 hits = __ballot_sync(ALL, at < stop && frontier.test(u));
                    if (hits == 0) continue;
                    u32 hit = __shfl_sync(ALL, u, __ffs(hits) - 1);
                    if (lane() == who) found = hit;
                    break;
                }
            }
            if (found != NOBODY) {
                distance[v] = level;
                parent[v] = vertices[found];
                awake++;
            }
            u32 hits = __ballot_sync(ALL, found != NOBODY);
            if (lane() == k) reached = hits;
        }
        if (reads) {
            next_frontier.half(mine) = reached;
            if ((before | reached) != seen) visited.half(mine) = before | reached;
        }
    }
    return awake;
}

// Let each unvisited vertex look for a neighbour in the frontier, those of highest degree first.
//
// `offsets` and `targets` are in-edges, of which rows from `rows` on have none. Mirrors in the frontier count
// as visited: no later step need offer them to their owners. Half a word is one warp's, so nothing is atomic.
// Returns how many found one.
__global__ void PARALLEL(256) bottom_up_step(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 rows, i32 level,
    Array<i32> distance, Array<u32> parent, Bits visited, Bits frontier, Bits next_frontier, Votes<u64> votes
) {
    votes.sum(step_up(
        offsets, targets, vertices, rows, level, distance, parent, visited, frontier, next_frontier
    ));
}

// Steps of all kinds, from the source or from a queue: nobody is launched, and nobody asked, between levels.
//
// Which step is next all blocks decide alike, by the counts that they agree on; narrow ones are the first
// block's. A frontier is a queue before a step down and a bitmap before steps up, which leave both bitmaps clear.
// With six blocks on a multiprocessor R-MAT 26 took 1.33 ms; with four, whose registers suffice, 1.5 ms, though
// R-MAT 22 0.32 ms, not 0.41, and R-MAT 24 0.62, not 0.70. Returns (awake, scout, levels, edges); see
// kernels/cpu/bfs.py.
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

// The edges that lead out of reached vertices.
__global__ void PARALLEL(256) edges_reached(
    Array<const u64> offsets, u64 owned, Array<const i32> distance, Votes<u64> votes
) {
    u64 edges = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid())
        if (distance[v] >= 0) edges += offsets[v + 1] - offsets[v];
    votes.sum(edges);
}
