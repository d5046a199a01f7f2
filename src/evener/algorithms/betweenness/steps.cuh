// Betweenness: steps over whole levels, shared by the kernels of one GPU and of a group.
//
// Push steps loop over the edges of a level and add values atomically. Pull steps add up rows: a warp holds 32
// rows. It processes each wide row with all lanes, and other rows with fewer lanes per row. Warps add up the
// pieces of long rows separately.

#pragma once

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

// Read a value that other threads write between the steps of a kernel.
__device__ inline double read(Array<double> values, u64 i) { return values[i]; }

// Set the source's level, its values and its flags. All threads of the grid call it; `source` is NO_VERTEX if
// another partition owns it.
__device__ inline void start(
    u32 source, Array<double> value, Bits visited, Bits frontier, Array<u32> order, Array<u64> bounds
) {
    bool here = source != NO_VERTEX;
    for (u64 h = thread_of_grid(); h < visited.length(); h += threads_of_grid()) {
        u32 half = here && h == source >> 5 ? 1u << (source & 31) : 0;
        visited.half(h) = half;
        frontier.half(h) = half;
    }
    if (!first_of_grid()) return;
    bounds[0] = 0;
    bounds[1] = here;
    if (!here) return;
    value[source] = 1;
    order[0] = source;
}

// ---- forward: count shortest paths --------------------------------------------------------------

// Add the paths of each vertex of the level to its unvisited out-neighbours; see `push_paths`. ``reach(v)`` is
// called for the first path that this GPU adds to v.
template <typename Values, typename Reach> __device__ inline void push_counts(
    EdgeLoop& loop, Array<const u64> offsets, Tiered<u32> targets, const u32* order, u64 begin, u64 end,
    Values value, Bits visited, Array<double> incoming, Reach reach
) {
    loop.over(offsets, order, begin, end, Nothing(), [&](u32 u, u64 e) {
        u32 v = read_once(targets, e);
        if (visited.test(v)) return;
        if (atomicAdd(&incoming[v], value[u]) == 0) reach(v);
    });
}

// Return the sum, over every `step`-th edge of ``e:end``, of the values of targets in the frontier. A whole
// warp reads a row once, so it bypasses the L1 cache. A part of a warp reads the same cache lines several
// times.
template <bool WHOLE_WARP, typename Values> __device__ inline double sum_of_edges(
    Tiered<u32> targets, Values value, Bits frontier, u64 e, u64 end, u32 step
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
template <typename Values>
__device__ inline double sum_of_row(Tiered<u32> targets, Values value, Bits frontier, u64 start, u32 edges) {
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

// Add up, for each unvisited vertex, the paths of its neighbours in the frontier; see `pull_paths`.
template <typename Values> __device__ inline void pull_counts(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, Values value, Bits visited, Bits frontier,
    Array<double> incoming, Bits reached, Grid grid, Pieces pieces
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

// One thread's part of a level.
struct LevelPart {
    u64 vertices;
    u64 out_edges;
    u64 in_edges;
    double paths;
};

// Append the newly reached vertices to `order` from `end_of_order` on; see `build_level`. Mark the mirrors in
// the words of owned vertices as visited.
__device__ inline LevelPart append_level(
    Array<const u64> offsets, Array<const u64> in_offsets, u64 owned, double scale, Array<double> incoming,
    Bits reached, Bits visited, Array<double> value, Array<u32> order, u64* end_of_order
) {
    LevelPart part = {0, 0, 0, 0};
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 chunk = warp_of_grid() * HALVES; chunk < halves; chunk += warps_of_grid() * HALVES) {
        // Each of the first lanes holds a half of flags: `fresh` flags vertices of this level, `late` of a
        // nearer level. Other flags of the half belong to mirrors.
        u64 h = chunk + lane();
        u32 flags = lane() < HALVES && h < halves ? reached.half(h) : 0;
        if (__ballot_sync(ALL, flags != 0) == 0) continue;
        u32 fresh = 0, late = 0;
        if (flags != 0) {
            u32 seen = visited.half(h);
            u32 own_flags = flags & range_mask(h, 0, owned);
            late = own_flags & seen;
            fresh = own_flags & ~seen;
            u32 kept = flags & ~late;
            if (kept != flags) reached.half(h) = kept;
            if (kept != 0) visited.half(h) = seen | kept;
        }
        u32 own = __popc(fresh);
        u32 end = own;
        for (u32 step = 1; step < HALVES; step *= 2) {
            u32 other = __shfl_up_sync(ALL, end, step);
            if (lane() >= step) end += other;
        }
        u32 total = __shfl_sync(ALL, end, HALVES - 1);
        u64 room = 0;
        if (lane() == 0 && total > 0) room = atomicAdd(end_of_order, (u64)total);
        u64 start = __shfl_sync(ALL, room, 0) + end - own;
        part.vertices += own;

        double count[HALVES];
#pragma unroll
        for (u32 k = 0; k < HALVES; k++) {
            u64 v = (chunk + k) * 32 + lane();
            bool joins = __shfl_sync(ALL, fresh, k) >> lane() & 1;
            count[k] = joins ? incoming[v] * scale : 0;
            part.out_edges += joins ? offsets[v + 1] - offsets[v] : 0;
            part.in_edges += joins ? in_offsets[v + 1] - in_offsets[v] : 0;
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
            part.paths += in_range(count[k]);
        }
    }
    return part;
}

// ---- backward: dependencies ------------------------------------------------------------------------

// Add the value of each vertex of the level to its in-neighbours one level nearer to the source; see
// `push_dependencies`. ``reach(u)`` is called for the first value that mirror u receives.
template <typename Values, typename Reach> __device__ inline void push_values(
    EdgeLoop& loop, Array<const u64> offsets, Tiered<u32> targets, u64 owned, const u32* order, u64 begin,
    u64 end, Values value, Bits visited, Array<double> incoming, Reach reach
) {
    loop.over(offsets, order, begin, end, Nothing(), [&](u32 v, u64 e) {
        u32 u = read_once(targets, e);
        if (u >= owned) {
            if (atomicAdd(&incoming[u], value[v]) == 0) reach(u);
        } else if (visited.test(u)) {
            atomicAdd(&incoming[u], value[v]);
        }
    });
}

// Set the flags of the vertices ``order[begin:end]``.
__device__ inline void flag_vertices(Array<const u32> order, u64 begin, u64 end, Bits flags) {
    for (u64 first = begin + warp_of_grid() * WARP; first < end; first += threads_of_grid()) {
        u64 i = first + lane();
        by_half(i < end, i < end ? order[i] : 0, [&](u32 h, u32 bits) { atomicOr(&flags.half(h), bits); });
    }
}

// Add up, for each vertex ``order[begin:end]``, the values of its out-neighbours in the frontier; see
// `pull_dependencies`.
template <typename Values> __device__ inline void pull_values(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, u64 begin, u64 end, Values value,
    Bits frontier, Array<double> incoming, Grid grid, Pieces pieces
) {
    LongRows long_rows(pieces, grid);
    u64 rows = end - begin;
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
