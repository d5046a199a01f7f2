// What steps of a breadth-first search do, for a kernel of one step, and for one of many levels.

#pragma once

#include "edges.cuh"
#include "frontier.cuh"

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
