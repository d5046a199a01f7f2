// Betweenness: counting shortest paths away from a source, and adding up dependencies back towards it.
// Arrays and votes are those of algorithms/betweenness/kernels_cpu.py.
//
// Steps that push go over the edges of a level, whose values meet by atomic additions. Steps that pull add
// up a row at a time: a warp holds 32 rows, goes over those of many edges with all its lanes, and over the
// others with as many lanes for each as suit them; pieces of long rows are added up by warps of their own.

#include "betweenness.cuh"
#include "by_warp.cuh"

// Halves of 32 vertices that a warp takes at a time: it asks for room in the order of vertices once for all.
constexpr u32 HALVES = 8;
// Neighbours that a lane reads before it needs the first of them.
constexpr u32 AHEAD = 4;
// A row of more edges than this is added up by a whole warp.
constexpr u32 WIDE = 128;
// Where rows are shared by fewer lanes, none of these goes over more edges than this.
constexpr u32 LANE_EDGES = 16;

struct Max {
    template <typename T> __device__ T operator()(T a, T b) const { return most(a, b); }
};

// Start at `source`, `NOBODY` where another partition owns it. Returns its (out-edges, in-edges).
__global__ void PARALLEL(256) begin(
    Array<const u64> offsets, Array<const u64> in_offsets, u32 source, Array<double> value, Bits visited,
    Bits frontier, Array<u32> order, Array<u64> bounds, Votes<u64, u64> votes
) {
    bool here = source != NOBODY;
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
    votes.sum(out_edges, in_edges);
}

// ---- forward: how many shortest paths --------------------------------------------------------------

// Let each vertex of the level, with `edges` in all, add its paths to neighbours not yet visited.
__global__ void PARALLEL(256) step_down(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, Array<const double> value, Bits visited, Array<double> arriving, Bits arrived,
    Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    loop.over(offsets, order.at, bounds[level], bounds[level + 1], Nothing(), [&](u32 u, u64 e) {
        u32 v = read_once(targets, e);
        if (visited.test(v)) return;
        if (atomicAdd(&arriving[v], value[u]) == 0) arrived.set(v);
    });
}

// Count the mirrors that a step reached as visited: they lie in the next level at the latest.
__global__ void PARALLEL(256) tell(u64 owned, Bits arrived, Bits visited) {
    for (u64 h = owned / 32 + thread_of_grid(); h < arrived.length(); h += threads_of_grid()) {
        u32 reached = arrived.half(h) & range_mask(h, owned, arrived.length() * 32);
        if (reached != 0) visited.half(h) |= reached;
    }
}

// The values of the targets in the frontier, added up, of every `step`-th edge of ``e:end``: a lane's share.
// What a whole warp reads of a row, it reads once; parts of a warp come back to the same lines of the cache.
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
            u[k] = NOBODY;
            if (at < end) u[k] = WHOLE_WARP ? read_once(targets, at) : read(targets, at);
        }
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) half[k] = u[k] != NOBODY ? frontier.half(u[k] >> 5) : 0;
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) own[k] = half[k] >> (u[k] & 31) & 1 ? read(value, u[k]) : 0;
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) sum += own[k];
    }
    return sum;
}

// The values of neighbours in the frontier, added up for each lane's row of ``start:start + edges``. All
// lanes of a warp come here together, those without a row with no edges.
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

    // Row number r is shared by lanes that lie side by side, and its sum goes back to the lane that has it.
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
    __syncwarp();  // before the list is written again
    return total;
}

// Let each unvisited vertex add up the paths of its neighbours in the frontier.
//
// `offsets` and `targets` are in-edges, of which rows from `rows` on have none.
__global__ void PARALLEL(256) step_up(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, u64 rows,
    Array<const double> value, Bits visited, Bits frontier, Array<double> arriving, Bits arrived, Grid grid,
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
        long_rows.put_aside((u32)v, pieces_of(edges));
        double total = sum_of_row(targets, value, frontier, start, edges > LONG ? 0 : (u32)edges);
        if (total > 0) arriving[v] = total;
        // The flags of an octet are a byte of half a word.
        u32 found = __ballot_sync(ALL, total > 0) >> lane() / OCTET * OCTET & 0xFF;
        if (lane() % OCTET == 0 && found != 0) atomicOr(&arrived.half(v >> 5), found << (v & 31));
    }
    long_rows.over(offsets, [&](u32 v, u64 begin, u64 end) {
        double sum = across(sum_of_edges<true>(targets, value, frontier, begin + lane(), end, WARP), Sum());
        if (lane() == 0 && sum > 0 && atomicAdd(&arriving[v], sum) == 0) arrived.set(v);
    });
}

// Make level `level` of those reached for the first time; their paths are what arrived, times `scale`.
//
// `arrived` then flags that level, and `frontier` nothing. Returns (awake, out-edges, in-edges, paths) of
// it; paths are infinite where a count has left the range of float64.
__global__ void PARALLEL(256) arrive(
    Array<const u64> offsets, Array<const u64> in_offsets, u64 owned, u64 level, double scale,
    Array<double> arriving, Bits arrived, Bits visited, Bits frontier, Array<double> value, Array<u32> order,
    Array<u64> bounds, Votes<u64, u64, u64, double> votes, Grid grid
) {
    if (first_of_grid()) bounds[level + 1] = bounds[level];
    for (u64 h = thread_of_grid(); h < frontier.length(); h += threads_of_grid()) frontier.half(h) = 0;
    grid.sync();  // the end of the level is where it begins

    u64 awake = 0, out_edges = 0, in_edges = 0;
    double paths = 0;
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 chunk = warp_of_grid() * HALVES; chunk < halves; chunk += warps_of_grid() * HALVES) {
        // Each of the first lanes holds half a word of flags: `fresh` of this level, `late` of a nearer one.
        u64 h = chunk + lane();
        u32 flags = lane() < HALVES && h < halves ? arrived.half(h) : 0;
        if (__ballot_sync(ALL, flags != 0) == 0) continue;
        u32 fresh = 0, late = 0;
        if (flags != 0) {
            u32 seen = visited.half(h);
            u32 mine = flags & range_mask(h, 0, owned);  // the tail belongs to mirrors
            late = mine & seen;
            fresh = mine & ~seen;
            if (fresh != flags) arrived.half(h) = fresh;
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
        awake += own;

        double count[HALVES];
#pragma unroll
        for (u32 k = 0; k < HALVES; k++) {
            u64 v = (chunk + k) * 32 + lane();
            bool joins = __shfl_sync(ALL, fresh, k) >> lane() & 1;
            count[k] = joins ? arriving[v] * scale : 0;
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
            if (joins || comes_late) arriving[v] = 0;
            if (!joins) continue;
            value[v] = count[k];
            order[place] = (u32)v;
            paths += in_range(count[k]);
        }
    }
    votes.sum(awake, out_edges, in_edges, paths);
}

// ---- backward: dependencies ------------------------------------------------------------------------

// Let each vertex of the level add its value to its in-neighbours one level nearer.
//
// `visited` holds the nearer levels alone, of owned vertices. Mirrors all receive, their owners know which
// should, and are flagged in `arrived`.
__global__ void PARALLEL(256) scatter(
    Array<const u64> offsets, Tiered<u32> targets, u64 owned, Array<const u32> order,
    Array<const u64> bounds, u64 level, u64 edges, Array<const double> value, Bits visited,
    Array<double> arriving, Bits arrived, Grid grid, Pieces pieces
) {
    EdgeLoop loop(pieces, grid);
    loop.over(offsets, order.at, bounds[level], bounds[level + 1], Nothing(), [&](u32 v, u64 e) {
        u32 u = read_once(targets, e);
        if (u >= owned) {
            if (atomicAdd(&arriving[u], value[v]) == 0) arrived.set(u);
        } else if (visited.test(u)) {
            atomicAdd(&arriving[u], value[v]);
        }
    });
}

// Drop what other partitions sent to vertices that are no nearer; clears `arrived`.
__global__ void PARALLEL(256) discard(u64 owned, Bits visited, Bits arrived, Array<double> arriving) {
    u64 halves = (owned + 63) / 64 * 2;
    for (u64 h = thread_of_grid(); h < halves; h += threads_of_grid()) {
        u32 flags = arrived.half(h);
        if (flags == 0) continue;
        arrived.half(h) = 0;
        for (u32 half = flags & ~visited.half(h); half != 0; half &= half - 1)
            arriving[h * 32 + __ffs(half) - 1] = 0;
    }
}

// Flag the level's vertices in `frontier`, and nothing else.
__global__ void PARALLEL(256) mark(
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

// Let each vertex of the level add up the values of its out-neighbours in the frontier.
__global__ void PARALLEL(256) gather(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 edges, Array<const double> value, Bits frontier, Array<double> arriving, Grid grid,
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
        long_rows.put_aside((u32)v, pieces_of(count));
        double total = sum_of_row(targets, value, frontier, start, count > LONG ? 0 : (u32)count);
        if (i < rows) arriving[v] = total;  // to which the pieces of a long row are added
    }
    long_rows.over(offsets, [&](u32 v, u64 begin, u64 end) {
        double sum = across(sum_of_edges<true>(targets, value, frontier, begin + lane(), end, WARP), Sum());
        if (lane() == 0 && sum > 0) atomicAdd(&arriving[v], sum);
    });
}

// Turn what arrived at the level's vertices into their dependency, and take them out of `visited`.
//
// `scale` is what the paths of the next farther level were scaled by; `counted` is 0 for the source, whose
// own dependency is not part of its centrality, and 1 for the others. Returns how many were settled.
__global__ void PARALLEL(256) settle(
    Array<const u32> order, Array<const u64> bounds, u64 level, double scale, double counted,
    Array<double> arriving, Bits visited, Array<double> value, Array<double> centrality, Votes<u64> votes
) {
    u64 begin = bounds[level], end = bounds[level + 1];
    votes.sum(settle_run(order, begin, end, scale, counted, arriving, visited, value, centrality));
}
