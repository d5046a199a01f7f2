// All rows in order, with their edges shared evenly among warps whatever the rows' degrees.
//
// All edges lie on one line, with a gap behind those of each row for the row's own work. A warp takes a
// stretch of the line, finds by a search which row it begins in, and goes over its rows 32 at a time, a row
// to a lane. The edges of neighbouring rows are neighbours in memory, so the lanes read them side by side,
// whichever row they are of: one edge takes one lane, and a row of millions is many warps' to share.

#pragma once

#include "common.cuh"

// The gap behind a row: 32 short rows cost a warp about what 128 edges do, four reads one after another.
constexpr u64 ROW_WORK = 4;
// How long a stretch is: the search for its first row, five reads one after another, should cost little
// beside it, and a warp have several, for they are not equally hard. On a small graph it has one.
constexpr u64 SHORTEST_STRETCH = 256, LONGEST_STRETCH = 2048, STRETCHES = 8;
// Edges that a lane reads at a time.
constexpr u32 AHEAD = 4;

// Some edges of a warp's rows, AHEAD for each lane: edge ``edge[k]`` of lane ``row[k]``'s row, if `wanted`.
struct Few {
    u64 edge[AHEAD];
    u32 row[AHEAD];
    bool wanted[AHEAD];
};

// Where row `v` begins on the line.
__device__ inline u64 place_of(Array<const u64> offsets, u64 v) { return offsets[v] + v * ROW_WORK; }

// The row in which `place` lies; `place` is the same for all lanes.
__device__ inline u64 row_at(Array<const u64> offsets, u64 place) {
    u64 low = 0, high = offsets.length - 1;  // place_of(low) <= place < place_of(high)
    while (high - low > 1) {
        u64 step = (high - low + WARP) / (WARP + 1);
        u64 probe = low + (lane() + 1) * step;
        u32 before = __popc(__ballot_sync(ALL, probe < high && place_of(offsets, probe) <= place));
        low += before * step;
        high = least(high, low + step);
    }
    return low;
}

// 32 rows, one for each lane, and those of their edges that lie in a stretch. All lanes use it together.
struct Rows {
    u64 v;       // this lane's row
    u64 degree;  // its edges, whether in the stretch or not
    bool some;   // whether it has edges in the stretch
    bool whole;  // whether it has no edges elsewhere
    bool more;   // whether rows follow in the stretch

    // Row `row` and those after it, in the stretch ``from:to``.
    __device__ Rows(Array<const u64> offsets, u64 row, u64 from, u64 to) : v(row + lane()), at(0) {
        u64 rows = offsets.length - 1;
        u64 first = offsets[least(v, rows)], next = offsets[least(v + 1, rows)];
        u64 place = first + v * ROW_WORK;
        bool exists = v < rows && place < to;
        u64 mine = from > place ? least(first + (from - place), next) : first;
        u64 beyond = exists ? least(first + (to - place), next) : mine;
        degree = next - first;
        some = exists && mine < beyond;
        whole = exists && mine == first && beyond == next;
        // The rows that exist are the first of the 32, and among them is the first.
        u32 count = __popc(__ballot_sync(ALL, exists));
        u64 place_after = next + (v + 1) * ROW_WORK;
        more = count == WARP && __shfl_sync(ALL, place_after, WARP - 1) < to;
        // A warp's reads should begin where a line of memory does.
        base = __shfl_sync(ALL, mine, 0) & ~(u64)(WARP - 1);
        begin = (u32)(mine - base);
        end = (u32)(beyond - base);
        stop = __shfl_sync(ALL, end, count - 1);
        if (!exists) begin = end = stop;
    }

    // The row of lane `k`.
    __device__ u64 row_of_lane(u32 k) const { return v - lane() + k; }

    // Goes on to the next edges of the rows whose bits are set in `rows`; false if there are none.
    __device__ bool next(u32 rows, Few& few) {
        u32 left = rows & __ballot_sync(ALL, some && at < end);
        if (left == 0) return false;
        u32 row = __ffs(left) - 1;
        u32 from = __shfl_sync(ALL, begin, row);
        at = most(at, from & ~(WARP - 1));
        bool all_of_one = __shfl_sync(ALL, end, row) >= least(at + AHEAD * WARP, stop);
#pragma unroll
        for (u32 k = 0; k < AHEAD; k++) {
            u32 place = at + k * WARP + lane();
            u32 of = row;
            if (!all_of_one) of = ended_before(place);
            few.edge[k] = base + place;
            few.row[k] = of;
            few.wanted[k] = place >= from && place < stop && (rows >> of & 1);
        }
        at += AHEAD * WARP;
        return true;
    }

  private:
    u64 base;        // edges are counted from this one on:
    u32 begin, end;  // this lane's,
    u32 stop;        // the end of all lanes',
    u32 at;          // and where `next` goes on

    // How many of the first 31 rows end at `place` or before it.
    __device__ u32 ended_before(u32 place) const {
        u32 count = 0;
#pragma unroll
        for (u32 step = WARP / 2; step > 0; step /= 2)
            if (__shfl_sync(ALL, end, count + step - 1) <= place) count += step;
        return count;
    }
};

// Calls ``visit(rows)`` with `Rows` for all rows; one whose edges lie in several stretches comes several
// times. All threads of the grid call it, and those of a warp call `visit` together.
template <typename Visit> __device__ inline void over_rows(Array<const u64> offsets, Visit visit) {
    u64 all = place_of(offsets, offsets.length - 1);
    u64 length = least(LONGEST_STRETCH, most(SHORTEST_STRETCH, all / (warps_of_grid() * STRETCHES)));
    for (u64 from = warp_of_grid() * length; from < all; from += warps_of_grid() * length) {
        u64 to = least(from + length, all);
        for (u64 row = row_at(offsets, from);; row += WARP) {
            Rows rows(offsets, row, from, to);
            visit(rows);
            if (!rows.more) break;
        }
    }
}

// Read an edge's weight, which is needed once, and let it not stay in the caches.
template <typename T> __device__ inline T pass(Tiered<T> edges, u64 e) { return __ldcs(edges.at(e)); }
