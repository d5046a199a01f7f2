// Breadth-first search: device functions shared by the kernels of one step and of many levels.

#pragma once

#include "edges.cuh"
#include "frontier.cuh"

// Words of 32 flags that a warp reads at a time in a bottom-up step.
constexpr u32 HALVES = 8;
// Edges that one lane reads before its whole warp reads the rest of the row.
constexpr u32 SOLO_EDGES = 32;

// Visit a source, and queue it as vertex `place` of the queue. One thread calls it.
__device__ inline void start(
    Array<const u32> vertices, u32 source, u64 place, Array<i32> distance, Array<u32> parent, Bits visited,
    Array<u32> queue, Array<u64> length
) {
    distance[source] = 0;
    parent[source] = vertices[source];
    visited.set(source);
    queue[place] = source;
    length[0] = place + 1;
}

__device__ inline u64 degree_of(Array<const u64> offsets, u64 v) { return offsets[v + 1] - offsets[v]; }

// One thread's part of the results of a step.
struct StepResult {
    u64 frontier_vertices;
    u64 frontier_edges;
    u64 new_mirrors;
};

// Offer a parent to a mirror: store the parent, and flag the mirror.
struct FlagOffer {
    Bits updates;
    Array<u32> candidate;
    __device__ void operator()(u64 mirror, u32 by) const {
        candidate[mirror] = by;
        updates.set(mirror);
    }
};

// Visit the unvisited neighbours of `queued` vertices; see `top_down_step`. ``offer(mirror, parent)`` is called
// for the mirrors.
template <typename Offer>
__device__ inline StepResult step_down(
    EdgeLoop& edges, Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned,
    Array<u32> queue, u64 queued, i32 level, Array<i32> distance, Array<u32> parent, Bits visited,
    Offer offer, Array<u32> next_queue, Array<u64> next_length
) {
    StepResult own = {0, 0, 0};
    edges.over(offsets, queue.at, 0, queued, Nothing(), [&](u32 u, u64 e) {
        u64 v = read_once(targets, e);
        if (visited.test(v) || visited.set(v)) return;
        if (v >= owned) {
            offer(v, vertices[u]);
            own.new_mirrors++;
            return;
        }
        parent[v] = vertices[u];
        distance[v] = level;
        own.frontier_vertices++;
        own.frontier_edges += offsets[v + 1] - offsets[v];
        append(next_queue, next_length, (u32)v);
    });
    return own;
}

// Set `visited`, and `parent` or `candidate`, of the unvisited neighbours of `queued` vertices.
__device__ inline void scatter(
    EdgeLoop& edges, Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 owned,
    Array<u32> queue, u64 queued, Array<u32> parent, Bits visited, Array<u32> candidate
) {
    edges.over(offsets, queue.at, 0, queued, Nothing(), [&](u32 u, u64 e) {
        u64 v = read_once(targets, e);
        if (visited.test(v) || visited.set(v)) return;
        if (v >= owned) candidate[v] = vertices[u];
        else parent[v] = vertices[u];
    });
}

// Store the halves of a bitmap.
struct StoreHalf {
    Bits bits;
    __device__ void operator()(u64 h, u32 half) const { bits.half(h) = half; }
};

// Search the row of each unvisited vertex for a neighbour in the frontier; see `bottom_up_step`. ``put(h, half)``
// is called for each half of the next frontier. Returns the number of this thread's vertices that found a parent.
template <typename Put>
__device__ inline u64 step_up(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> vertices, u64 rows, i32 level,
    Array<i32> distance, Array<u32> parent, Bits visited, Bits frontier, Put put
) {
    u64 frontier_vertices = 0;
    for (u64 chunk = warp_of_grid() * HALVES; chunk < visited.length(); chunk += warps_of_grid() * HALVES) {
        u64 mine = chunk + lane();
        bool reads = lane() < HALVES && mine < visited.length();
        u32 seen = reads ? visited.half(mine) : 0;
        u32 known = reads ? seen | frontier.half(mine) : 0;
        u32 search = reads ? ~known & range_mask(mine, 0, rows) : 0;
        u32 reached = 0;
        for (u32 busy = __ballot_sync(ALL, search != 0); busy != 0; busy &= busy - 1) {
            u32 k = __ffs(busy) - 1;
            bool searching = __shfl_sync(ALL, search, k) >> lane() & 1;
            u64 v = (chunk + k) * 32 + lane();
            u64 begin = searching ? offsets[v] : 0, e = begin;
            u64 end = searching ? offsets[v + 1] : 0;
            u32 found = NO_VERTEX;
            for (u64 stop = least(end, e + SOLO_EDGES); e < stop; e++) {
                u32 u = read_first(targets, v, begin, e);
                if (frontier.test(u)) {
                    found = u;
                    break;
                }
            }
            for (u32 rest = __ballot_sync(ALL, found == NO_VERTEX && e < end); rest != 0; rest &= rest - 1) {
                u32 who = __ffs(rest) - 1;
                u64 stop = __shfl_sync(ALL, end, who);
                for (u64 first = __shfl_sync(ALL, e, who); first < stop; first += WARP) {
                    u64 at = first + lane();
                    u32 u = at < stop ? read(targets, at) : NO_VERTEX;
                    u32 hits = __ballot_sync(ALL, at < stop && frontier.test(u));
                    if (hits == 0) continue;
                    u32 hit = __shfl_sync(ALL, u, __ffs(hits) - 1);
                    if (lane() == who) found = hit;
                    break;
                }
            }
            if (found != NO_VERTEX) {
                distance[v] = level;
                parent[v] = vertices[found];
                frontier_vertices++;
            }
            u32 hits = __ballot_sync(ALL, found != NO_VERTEX);
            if (lane() == k) reached = hits;
        }
        if (reads) {
            put(mine, reached);
            if ((known | reached) != seen) visited.half(mine) = known | reached;
        }
    }
    return frontier_vertices;
}
