// Breadth-first search: top-down steps from a queue of vertices and bottom-up steps from a bitmap.
// algorithms/bfs/kernels_cpu.py describes the arrays and results.

#include "bfs.cuh"

// Visit and queue `sources`, distinct vertices of this partition.
//
// Returns (frontier_vertices, frontier_edges).
__global__ void SERIAL begin(
    Array<const u64> offsets, Array<const u32> vertices, Array<const u32> sources, Array<i32> distance,
    Array<u32> parent, Bits visited, Array<u32> queue, Array<u64> length, Results<u64, u64> results
) {
    u64 frontier_edges = 0;
    for (u64 i = 0; i < sources.length; i++) {
        start(vertices, sources[i], i, distance, parent, visited, queue, length);
        frontier_edges += degree_of(offsets, sources[i]);
    }
    results.sum(sources.length, frontier_edges);
}

// Visit the unvisited neighbours of the queued vertices.
//
// An atomic update of `visited` ensures that each vertex is reached once. The kernel appends owned vertices
// to `next_queue` and flags mirrors in `updates`. Returns (frontier_vertices, frontier_edges, new_mirrors).
__global__ void PARALLEL(256) top_down_step(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned, Array<u32> queue,
    Array<u64> length, i32 level, Array<i32> distance, Array<u32> parent, Bits visited, Bits updates,
    Array<u32> candidate, Array<u32> next_queue, Array<u64> next_length, Results<u64, u64, u64> results, Grid
    grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    StepResult own = step_down(
        edges, offsets, targets, vertices, owned, queue, look(length[0]), level, distance, parent, visited,
        FlagOffer{updates, candidate}, next_queue, next_length
    );
    // The barrier in `step_down` comes after every block's read of the length.
    if (first_of_grid()) length[0] = 0;
    results.sum(own.frontier_vertices, own.frontier_edges, own.new_mirrors);
}

// Set `parent` or `candidate` of the unvisited neighbours of the queued vertices.
//
// For a frontier with many edges, `scatter_parents` and `collect_new` together replace `top_down_step`.
// Threads may write a parent at the same time, because all their values are of one level.
__global__ void PARALLEL(256) scatter_parents(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned, Array<u32> queue,
    Array<u64> length, Array<u32> parent, Bits visited, Array<u32> candidate, Grid grid, Pieces pieces
) {
    EdgeLoop edges(pieces, grid);
    edges.over(offsets, queue.at, 0, look(length[0]), Nothing(), [&](u32 u, u64 e) {
        u64 v = read_once(targets, e);
        if (visited.test(v)) return;
        u32& named = v < owned ? parent[v] : candidate[v];
        if (named == NO_VERTEX) named = vertices[u];
    });
    if (first_of_grid()) length[0] = 0;
}

// Visit the vertices that `scatter_parents` reached: queue owned vertices, flag mirrors in `updates`.
//
// Returns (frontier_vertices, frontier_edges, new_mirrors).
__global__ void PARALLEL(256) collect_new(
    Array<const u64> offsets, u64 owned, Array<const u32> parent, Array<const u32> candidate, Bits visited,
    i32 level, Array<i32> distance, Bits updates, Array<u32> next_queue, Array<u64> next_length,
    Results<u64, u64, u64> results
) {
    StepResult own = {0, 0, 0};
    for (u64 h = warp_of_grid(); h < visited.length(); h += warps_of_grid()) {
        u32 seen = visited.half(h);
        if (seen == ALL) {
            if (lane() == 0 && h * 32 + 32 > owned) updates.half(h) = 0;
            continue;
        }
        u64 v = h * 32 + lane();
        bool named = v < candidate.length && (v < owned ? parent[v] : candidate[v]) != NO_VERTEX;
        u32 fresh = __ballot_sync(ALL, named) & ~seen;
        u32 mine = fresh & range_mask(h, 0, owned);
        if (lane() == 0) {
            if (fresh != 0) visited.half(h) = seen | fresh;
            if (h * 32 + 32 > owned) updates.half(h) = fresh & ~mine;
            own.new_mirrors += __popc(fresh & ~mine);
        }
        if (mine >> lane() & 1) {
            distance[v] = level;
            own.frontier_edges += degree_of(offsets, v);
            append(next_queue, next_length, (u32)v);
            own.frontier_vertices++;
        }
    }
    results.sum(own.frontier_vertices, own.frontier_edges, own.new_mirrors);
}

// Visit the unvisited vertices that other partitions reached and append them to the queue.
//
// Clears `updates`. Returns (frontier_vertices, frontier_edges).
__global__ void PARALLEL(256) receive_parents(
    Array<const u64> offsets, u64 owned, Bits updates, Array<const u32> candidate, Bits visited,
    Array<i32> distance, Array<u32> parent, i32 level, Array<u32> next_queue, Array<u64> next_length,
    Results<u64, u64> results
) {
    u64 frontier_vertices = 0, frontier_edges = 0;
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = warp_of_grid(); h < halves; h += warps_of_grid()) {
        u32 seen = visited.half(h);
        u32 half = updates.half(h);
        __syncwarp();  // all lanes have read both words
        u32 fresh = half & range_mask(h, 0, owned) & ~seen;
        if (lane() == 0 && half != 0) {
            updates.half(h) = 0;
            visited.half(h) = seen | fresh;
        }
        u64 v = h * 32 + lane();
        if (fresh >> lane() & 1) {
            distance[v] = level;
            parent[v] = candidate[v];
            frontier_edges += offsets[v + 1] - offsets[v];
            append(next_queue, next_length, (u32)v);
            frontier_vertices++;
        }
    }
    results.sum(frontier_vertices, frontier_edges);
}

// Search the row of each unvisited vertex for a neighbour in the frontier.
//
// `offsets` and `targets` are in-edges; rows from `rows` on are empty. The kernel marks mirrors in the
// frontier as visited, so that no later step sends them to their owners. One warp writes each half of 32
// vertices, so no write is atomic. Returns the number of vertices that found a parent.
__global__ void PARALLEL(256) bottom_up_step(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 rows, i32 level,
    Array<i32> distance, Array<u32> parent, Bits visited, Bits frontier, Bits next_frontier, Results<u64> results
) {
    results.sum(step_up(
        offsets, targets, vertices, rows, level, distance, parent, visited, frontier,
        StoreHalf{next_frontier}
    ));
}

// Returns the number of out-edges of the reached vertices.
__global__ void PARALLEL(256) edges_reached(
    Array<const u64> offsets, u64 owned, Array<const i32> distance, Results<u64> results
) {
    u64 edges = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid())
        if (distance[v] >= 0) edges += offsets[v + 1] - offsets[v];
    results.sum(edges);
}
