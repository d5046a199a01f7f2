// Rows shared among warps: eight neighbouring ones at a time, and long ones in pieces.

#pragma once

#include "common.cuh"
#include "edges.cuh"

// Rows that a warp takes side by side. Rows lie in descending degree, or nearly: the fewer are taken
// together, the more evenly the long ones at the front are dealt out. Eight fill a sector of a list of
// vertices.
constexpr u32 OCTET = 8;

// A warp's batch is one row for each lane, in four octets that lie far apart. This is the first row of it;
// the batches of a warp are at an end where this is.
__device__ inline u64 first_of_batch(u64 batch) {
    return (batch * (WARP / OCTET) * warps_of_grid() + warp_of_grid()) * OCTET;
}

// This lane's row of the warp's batch, which may lie behind the last row.
__device__ inline u64 row_of_batch(u64 batch) {
    return first_of_batch(batch) + lane() / OCTET * warps_of_grid() * OCTET + lane() % OCTET;
}

// Rows of more than LONG edges, which warps put aside at first and share piece by piece in the end. Make one
// at the start of a kernel. A row is put aside once in a launch, so the list never comes round to its start.
struct LongRows {
    Pieces pieces;
    Grid grid;

    __device__ LongRows(Pieces pieces, Grid grid) : pieces(pieces), grid(grid) {
        if (first_of_grid()) *pieces.count_of_next_launch = 0;
    }

    // Put aside the first `count` pieces of row `v`, of PIECE edges each. All lanes come here together, those
    // without a long row with no pieces.
    __device__ void put_aside(u32 v, u32 count) const {
        u32 waiting = __ballot_sync(ALL, count > 0);
        if (waiting == 0) return;
        u64 end = count;
        for (u32 step = 1; step < WARP; step *= 2) {
            u64 other = __shfl_up_sync(ALL, end, step);
            if (lane() >= step) end += other;
        }
        u64 start = 0;
        if (lane() == WARP - 1) start = atomicAdd(pieces.count, end);
        start = __shfl_sync(ALL, start, WARP - 1) + end - count;
        for (; waiting != 0; waiting &= waiting - 1) {
            u32 from = __ffs(waiting) - 1;
            u64 place = __shfl_sync(ALL, start, from);
            u64 row = __shfl_sync(ALL, v, from);
            u32 room = __shfl_sync(ALL, count, from);
            for (u32 p = lane(); p < room; p += WARP) pieces.list[place + p] = row << 32 | p;
        }
    }

    // Calls ``visit(v, begin, end)`` for the edges ``begin:end`` of each piece, with all lanes of a warp.
    // All blocks come here, and meet once: what was written before, all see.
    template <typename Visit> __device__ void over(Array<const u64> offsets, Visit visit) const {
        grid.sync();
        u64 ready = look(*pieces.count);
        for (u64 t = warp_of_grid(); t < ready; t += warps_of_grid()) {
            u64 piece = look(pieces.list[t]);
            u32 v = (u32)(piece >> 32);
            u64 begin = offsets[v] + (piece & 0xFFFFFFFFu) * PIECE;
            visit(v, begin, least(begin + PIECE, offsets[(u64)v + 1]));
        }
    }
};

// How many pieces a row of so many edges has, if it is long.
__device__ inline u32 pieces_of(u64 edges) { return edges > LONG ? (u32)((edges + PIECE - 1) / PIECE) : 0; }
