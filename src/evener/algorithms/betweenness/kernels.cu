// Betweenness: count shortest paths away from a source, then add dependencies back towards it.
// algorithms/betweenness/kernels_cpu.py describes the arrays and results.
//
// Push kernels loop over the edges of a level and add values atomically. Pull kernels add up rows: a warp
// holds 32 rows. It processes each wide row with all lanes, and other rows with fewer lanes per row. Warps
// add up the pieces of long rows separately.

#include "betweenness.cuh"
#include "by_warp.cuh"

// Words of 32 flags that a warp processes at a time.
constexpr u32 HALVES = 8;
// Neighbours that a lane reads ahead.
constexpr u32 AHEAD = 4;
// Edges. A whole warp adds up a longer row.
constexpr u32 WIDE = 128;
// Largest number of edges per lane, where several rows share a warp.
constexpr u32 LANE_EDGES = 16;

// Start a search at `source`, which is NO_VERTEX if another partition owns it.
//
// Returns (out-edges, in-edges) of the source.
__global__ void PARALLEL(256) begin(
    Array<const u64> offsets, Array<const u64> in_offsets, u32 source, Array<double> value, Bits visited,
    Bits frontier, Array<u32> order, Array<u64> bounds, Results<u64, u64> results
) {
    bool here = source != NO_VERTEX;
    for (u64 h = thread_of_grid(); h < visited.length(); h += threads_of_grid()) {
        u32 half = here && h == source >> 5 ? 1u << (source & 31) : 0;
        visited.half(h) = half;
        frontier.half(h) = half;
    }
    u64 out_edges = 0, in_edges = 0;
    if (first_of_grid()) {
        bounds[0] = 0;
        bounds[1] = here;
        if (here) {
            value[source] = 1;
            order[0] = source;
            out_edges = offsets[(u64)source + 1] - offsets[source];
            in_edges = in_offsets[(u64)source + 1] - in_offsets[source];
        }
    }
    results.sum(out_edges, in_edges);
}

// ---- forward: count shortest paths --------------------------------------------------------------

// Add the paths of each vertex of the level to its unvisited out-neighbours. `edges` is the number of
// out-edges of the level.
__global__ void PARALLEL(256) push_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, Array<const double> value, Bits visited, Array<double> incoming, Bits reached,
    Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    loop.over(offsets, order.at, bounds[level], bounds[level + 1], Nothing(), [&](u32 u, u64 e) {
        u32 v = read_once(targets, e);
        if (visited.test(v)) return;
        if (atomicAdd(&incoming[v], value[u]) == 0) reached.set(v);
    });
}

// Mark the mirrors that the last step reached as visited. They are in the next level or in a nearer level.
__global__ void PARALLEL(256) visit_mirrors(u64 owned, Bits reached, Bits visited) {
    for (u64 h = owned / 32 + thread_of_grid(); h < reached.length(); h += threads_of_grid()) {
        u32 mirrors = reached.half(h) & range_mask(h, owned, reached.length() * 32);
        if (mirrors != 0) visited.half(h) |= mirrors;
    }
}

// Return the sum, over every `step`-th edge of ``e:end``, of the values of targets in the frontier. A whole
// warp reads a row once, so it bypasses the L1 cache. A part of a warp reads the same cache lines several
// times.
template <bool WHOLE_WARP> __device__ inline double sum_of_edges(
    Tiered<u32> targets, Array<const double> value, Bits frontier, u64 e, u64 end, u32 step
) {
    double sum = 0;
    for (; e < end; e += AHEAD * step) {
        u32 u[AHEAD], half[AHEAD];
        double own[AHEAD];
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            u64 at = e + k * step;
            u[k] = NO_VERTEX;
            if (at < end) u[k] = WHOLE_WARP ? read_once(targets, at) : read(targets, at);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) half[k] = u[k] != NO_VERTEX ? frontier.half(u[k] >> 5) : 0;
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) own[k] = half[k] >> (u[k] & 31) & 1 ? read(value, u[k]) : 0;
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) sum += own[k];
    }
    return sum;
}

// Return the sum of the values of neighbours in the frontier, for each lane's row of the edges ``start:start
// + edges``. All lanes of a warp call it together; a lane without a row passes 0 edges.
__device__ inline double sum_of_row(
    Tiered<u32> targets, Array<const double> value, Bits frontier, u64 start, u32 edges
) {
    __shared__ u32 lanes_with_row[256];
    u32* lane_with_row = lanes_with_row + threadIdx.x / WARP * WARP;
    double total = 0;
    for (u32 wide = __ballot_sync(ALL, edges > WIDE); wide != 0; wide &= wide - 1) {
        u32 from = __ffs(wide) - 1;
        u64 first = __shfl_sync(ALL, start, from);
        u64 end = first + __shfl_sync(ALL, edges, from);
        double sum = across(sum_of_edges<true>(targets, value, frontier, first + lane(), end, WARP), Sum());
        if (lane() == from) total = sum;
    }

    u32 own = edges > WIDE ? 0 : edges;
    u32 narrow = __ballot_sync(ALL, own > 0);
    u32 rows = __popc(narrow);
    if (rows == 0) return total;
    u32 longest = across(own, Max());
    u32 all = across(own, Sum());
    u32 width = 1;
    while (width < WARP && (width * AHEAD * rows < all || width * LANE_EDGES < longest)) width *= 2;
    u32 at_once = WARP / width;

    // Consecutive lanes share row number r. Its sum goes back to the lane that has the row.
    u32 rank = __popc(narrow & ((1u << lane()) - 1));
    if (own > 0) lane_with_row[rank] = lane();
    __syncwarp();
    for (u32 base = 0; base < rows; base += at_once) {
        u32 r = base + lane() / width;
        u32 from = r < rows ? lane_with_row[r] : 0;
        u64 first = __shfl_sync(ALL, start, from);
        u32 count = __shfl_sync(ALL, own, from);
        u64 end = r < rows ? first + count : first;
        double sum = sum_of_edges<false>(targets, value, frontier, first + lane() % width, end, width);
        sum = across(sum, Sum(), width);
        sum = __shfl_sync(ALL, sum, (rank - base) * width % WARP);
        if (own > 0 && rank >= base && rank < base + at_once) total = sum;
    }
    __syncwarp();  // all lanes have read the list
    return total;
}

// Add up, for each unvisited vertex, the paths of its neighbours in the frontier.
//
// `offsets` and `targets` are in-edges; rows from `rows` on are empty.
__global__ void PARALLEL(256) pull_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, u64 rows,
    Array<const double> value, Bits visited, Bits frontier, Array<double> incoming, Bits reached, Grid grid,
    Pieces pieces
) {
    LongRows long_rows(pieces, grid);
    for (u64 batch = 0; first_of_batch(batch) < rows; batch++) {
        u64 v = row_of_batch(batch);
        u64 start = 0, edges = 0;
        if (v < rows && !visited.test(v)) {
            start = offsets[v];
            edges = offsets[v + 1] - start;
        }
        long_rows.defer((u32)v, pieces_of(edges));
        double total = sum_of_row(targets, value, frontier, start, edges > LONG ? 0 : (u32)edges);
        if (total > 0) incoming[v] = total;
        // The flags of an octet are one byte of a half.
        u32 found = __ballot_sync(ALL, total > 0) >> lane() / OCTET * OCTET & 0xFF;
        if (lane() % OCTET == 0 && found != 0) atomicOr(&reached.half(v >> 5), found << (v & 31));
    }
    long_rows.over(offsets, [&](u32 v, u64 begin, u64 end) {
        double sum = across(sum_of_edges<true>(targets, value, frontier, begin + lane(), end, WARP), Sum());
        if (lane() == 0 && sum > 0 && atomicAdd(&incoming[v], sum) == 0) reached.set(v);
    });
}

// Append the newly reached vertices to `order` as level `level`. Their paths are ``incoming * scale``.
//
// Afterwards `reached` flags the level and `frontier` is clear. Returns (vertices, out-edges, in-edges,
// paths) of the level. The result `paths` is infinite if a count is below MIN_COUNT or infinite.
__global__ void PARALLEL(256) build_level(
    Array<const u64> offsets, Array<const u64> in_offsets, u64 owned, u64 level, double scale,
    Array<double> incoming, Bits reached, Bits visited, Bits frontier, Array<double> value, Array<u32> order,
    Array<u64> bounds, Results<u64, u64, u64, double> results, Grid grid
) {
    if (first_of_grid()) bounds[level + 1] = bounds[level];
    for (u64 h = thread_of_grid(); h < frontier.length(); h += threads_of_grid()) frontier.half(h) = 0;
    grid.sync();  // bounds[level + 1] is set

    u64 vertices = 0, out_edges = 0, in_edges = 0;
    double paths = 0;
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 chunk = warp_of_grid() * HALVES; chunk < halves; chunk += warps_of_grid() * HALVES) {
        // Each of the first lanes holds a half of flags: `fresh` flags vertices of this level, `late` of a
        // nearer level.
        u64 h = chunk + lane();
        u32 flags = lane() < HALVES && h < halves ? reached.half(h) : 0;
        if (__ballot_sync(ALL, flags != 0) == 0) continue;
        u32 fresh = 0, late = 0;
        if (flags != 0) {
            u32 seen = visited.half(h);
            u32 own_flags = flags & range_mask(h, 0, owned);  // without mirrors
            late = own_flags & seen;
            fresh = own_flags & ~seen;
            if (fresh != flags) reached.half(h) = fresh;
            if (fresh != 0) visited.half(h) = seen | fresh;
        }
        u32 own = __popc(fresh);
        u32 end = own;
        for (u32 step = 1; step < HALVES; step *= 2) {
            u32 other = __shfl_up_sync(ALL, end, step);
            if (lane() >= step) end += other;
        }
        u32 total = __shfl_sync(ALL, end, HALVES - 1);
        u64 room = 0;
        if (lane() == 0 && total > 0) room = atomicAdd(&bounds[level + 1], (u64)total);
        u64 start = __shfl_sync(ALL, room, 0) + end - own;
        vertices += own;

        double count[HALVES];
#pragma unroll
        for (u32 k = 0; k < HALVES; k++) {
            u64 v = (chunk + k) * 32 + lane();
            bool joins = __shfl_sync(ALL, fresh, k) >> lane() & 1;
            count[k] = joins ? incoming[v] * scale : 0;
            out_edges += joins ? offsets[v + 1] - offsets[v] : 0;
            in_edges += joins ? in_offsets[v + 1] - in_offsets[v] : 0;
        }
#pragma unroll
        for (u32 k = 0; k < HALVES; k++) {
            u64 v = (chunk + k) * 32 + lane();
            u32 join = __shfl_sync(ALL, fresh, k);
            u64 place = __shfl_sync(ALL, start, k) + __popc(join & ((1u << lane()) - 1));
            bool comes_late = __shfl_sync(ALL, late, k) >> lane() & 1;
            bool joins = join >> lane() & 1;
            if (joins || comes_late) incoming[v] = 0;
            if (!joins) continue;
            value[v] = count[k];
            order[place] = (u32)v;
            paths += in_range(count[k]);
        }
    }
    results.sum(vertices, out_edges, in_edges, paths);
}

// ---- backward: dependencies ------------------------------------------------------------------------

// Add the value of each vertex of the level to its in-neighbours one level nearer to the source.
//
// `visited` flags only owned vertices of nearer levels. All mirrors receive a value and are flagged in
// `reached`; their owners drop it if they are not nearer. `edges` is the number of in-edges of the level.
__global__ void PARALLEL(256) push_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, u64 owned, Array<const u32> order,
    Array<const u64> bounds, u64 level, u64 edges, Array<const double> value, Bits visited,
    Array<double> incoming, Bits reached, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    loop.over(offsets, order.at, bounds[level], bounds[level + 1], Nothing(), [&](u32 v, u64 e) {
        u32 u = read_once(targets, e);
        if (u >= owned) {
            if (atomicAdd(&incoming[u], value[v]) == 0) reached.set(u);
        } else if (visited.test(u)) {
            atomicAdd(&incoming[u], value[v]);
        }
    });
}

// Set `incoming` to 0 for vertices that other partitions reached but that are not nearer. Clears `reached`.
__global__ void PARALLEL(256) discard_received(u64 owned, Bits visited, Bits reached, Array<double> incoming) {
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = thread_of_grid(); h < halves; h += threads_of_grid()) {
        u32 flags = reached.half(h);
        if (flags == 0) continue;
        reached.half(h) = 0;
        for (u32 half = flags & ~visited.half(h); half != 0; half &= half - 1)
            incoming[h * 32 + __ffs(half) - 1] = 0;
    }
}

// Set `frontier` to the vertices of the level.
__global__ void PARALLEL(256) flag_level(
    Array<const u32> order, Array<const u64> bounds, u64 level, Bits frontier, Grid grid
) {
    for (u64 h = thread_of_grid(); h < frontier.length(); h += threads_of_grid()) frontier.half(h) = 0;
    grid.sync();
    u64 end = bounds[level + 1];
    for (u64 first = bounds[level] + warp_of_grid() * WARP; first < end; first += threads_of_grid()) {
        u64 i = first + lane();
        by_half(i < end, i < end ? order[i] : 0, [&](u32 h, u32 bits) { atomicOr(&frontier.half(h), bits); });
    }
}

// Add up, for each vertex of the level, the values of its out-neighbours in the frontier.
__global__ void PARALLEL(256) pull_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, Array<const double> value, Bits frontier, Array<double> incoming, Grid grid,
    Pieces pieces
) {
    LongRows long_rows(pieces, grid);
    u64 begin = bounds[level];
    u64 rows = bounds[level + 1] - begin;
    for (u64 batch = 0; first_of_batch(batch) < rows; batch++) {
        u64 i = row_of_batch(batch);
        u64 v = 0, start = 0, count = 0;
        if (i < rows) {
            v = order[begin + i];
            start = offsets[v];
            count = offsets[v + 1] - start;
        }
        long_rows.defer((u32)v, pieces_of(count));
        double total = sum_of_row(targets, value, frontier, start, count > LONG ? 0 : (u32)count);
        if (i < rows) incoming[v] = total;  // the pieces of a long row are added later
    }
    long_rows.over(offsets, [&](u32 v, u64 begin, u64 end) {
        double sum = across(sum_of_edges<true>(targets, value, frontier, begin + lane(), end, WARP), Sum());
        if (lane() == 0 && sum > 0) atomicAdd(&incoming[v], sum);
    });
}

// Compute the dependency of each vertex of the level; remove the level from `visited`.
//
// `scale` is the factor that scaled the paths of the next farther level. `weight` is 0 for the source, whose
// own dependency does not count, and 1 for other vertices. Returns the number of vertices of the level.
__global__ void PARALLEL(256) finish_level(
    Array<const u32> order, Array<const u64> bounds, u64 level, double scale, double weight,
    Array<double> incoming, Bits visited, Array<double> value, Array<double> centrality, Results<u64> results
) {
    u64 begin = bounds[level], end = bounds[level + 1];
    results.sum(finish_chunk(order, begin, end, scale, weight, incoming, visited, value, centrality));
}
