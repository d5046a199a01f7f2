// Breadth-first search: steps down from a queue of vertices, a step up from a bitmap, and between them.
// Arrays and votes are those of algorithms/bfs/kernels_cpu.py.

#include "bfs.cuh"

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

// As `top_down_step` for a broad frontier: only marks and parents are written, `settle` does the rest.
__global__ void PARALLEL(256) flood_step(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned, Array<u32> queue,
    Array<u64> length, Array<u32> parent, Bits visited, Array<u32> offered, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    flood(edges, offsets, targets, vertices, owned, queue, look(length[0]), parent, visited, offered);
    if (first_of_grid()) length[0] = 0;
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

// The edges that lead out of reached vertices.
__global__ void PARALLEL(256) edges_reached(
    Array<const u64> offsets, u64 owned, Array<const i32> distance, Votes<u64> votes
) {
    u64 edges = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid())
        if (distance[v] >= 0) edges += offsets[v + 1] - offsets[v];
    votes.sum(edges);
}
