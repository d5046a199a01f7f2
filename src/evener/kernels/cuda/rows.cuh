// All rows in order, with their edges distributed evenly among warps for any degrees.
//
// The edges of all rows form a line, with a gap after each row for the row's own work. A warp takes a stretch
// of the line and finds the stretch's first row by a search. Then it processes 32 rows at a time, one row per
// lane. The edges of consecutive rows are consecutive in memory, so the lanes read consecutive edges,
// whatever row an edge belongs to. Several warps share a long row.

#pragma once

#include "common.cuh"

// The gap after a row, in edges: 32 short rows cost a warp about as much as 128 edges.
constexpr u64 ROW_WORK = 4;
// Length of a stretch, in edges, and stretches per warp. Long stretches amortise the search; several balance
// the load.
constexpr u64 SHORTEST_STRETCH = 256, LONGEST_STRETCH = 2048, STRETCHES = 8;
// Edges that a lane reads ahead.
constexpr u32 AHEAD = 4;

// A batch of edges of a warp's rows, AHEAD edges per lane. ``edge[k]`` belongs to the row of lane ``row[k]``.
// An entry counts only if ``wanted[k]``.
struct EdgeBatch {
    u64 edge[AHEAD];
    u32 row[AHEAD];
    bool wanted[AHEAD];
};

// The place on the line where row `v` begins.
__device__ inline u64 place_of(Array<const u64> offsets, u64 v) { return offsets[v] + v * ROW_WORK; }

// The row that contains `place`. All lanes pass the same place.
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

// 32 rows, one per lane, and the part of their edges that is in a stretch. All lanes use it together.
struct Rows {
    u64 v;       // this lane's row
    u64 degree;  // all edges of the row
    bool some;   // the row has edges in the stretch
    bool whole;  // the row has no edges outside the stretch
    bool more;   // more rows follow in the stretch

    // The rows from `row` on, in the stretch ``from:to``.
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
        // The existing rows are a nonempty prefix of the 32 rows.
        u32 count = __popc(__ballot_sync(ALL, exists));
        u64 place_after = next + (v + 1) * ROW_WORK;
        more = count == WARP && __shfl_sync(ALL, place_after, WARP - 1) < to;
        // Align the warp's reads to memory lines.
        base = __shfl_sync(ALL, mine, 0) & ~(u64)(WARP - 1);
        begin = (u32)(mine - base);
        end = (u32)(beyond - base);
        stop = __shfl_sync(ALL, end, count - 1);
        if (!exists) begin = end = stop;
    }

    // The row of lane `k`.
    __device__ u64 row_of_lane(u32 k) const { return v - lane() + k; }

    // Fill `batch` with the next edges of the rows whose bits are set in `rows`. Return false if none is left.
    __device__ bool next(u32 rows, EdgeBatch& batch) {
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
            batch.edge[k] = base + place;
            batch.row[k] = of;
            batch.wanted[k] = place >= from && place < stop && (rows >> of & 1);
        }
        at += AHEAD * WARP;
        return true;
    }

  private:
    u64 base;        // the edge from which the next four members count
    u32 begin, end;  // this lane's edges
    u32 stop;        // the end of all lanes' edges
    u32 at;          // the first edge of the next batch

    // The number of rows, among the first 31, that end at or before `place`.
    __device__ u32 ended_before(u32 place) const {
        u32 count = 0;
#pragma unroll
        for (u32 step = WARP / 2; step > 0; step /= 2)
            if (__shfl_sync(ALL, end, count + step - 1) <= place) count += step;
        return count;
    }
};

// Call ``visit(rows)`` with `Rows` for all rows. A row with edges in several stretches is visited several
// times. All threads of the grid call it; the threads of a warp call `visit` together.
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

// Read a value of an edge that is needed once, with a streaming load.
template <typename T> __device__ inline T read_streaming(Tiered<T> edges, u64 e) { return __ldcs(edges.at(e)); }
