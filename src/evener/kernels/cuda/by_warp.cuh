// Rows distributed among warps: eight consecutive rows at a time, and long rows in pieces.

#pragma once

#include "common.cuh"
#include "edges.cuh"

// Consecutive rows of a warp. Long rows come first, so few consecutive rows balance the load; eight fill a
// sector.
constexpr u32 OCTET = 8;

// The first row of a warp's batch, which has one row per lane in four distant octets. The warp is done when
// the first row is past the last row.
__device__ inline u64 first_of_batch(u64 batch) {
    return (batch * (WARP / OCTET) * warps_of_grid() + warp_of_grid()) * OCTET;
}

// This lane's row of the warp's batch. The row may be past the last row.
__device__ inline u64 row_of_batch(u64 batch) {
    return first_of_batch(batch) + lane() / OCTET * warps_of_grid() * OCTET + lane() % OCTET;
}

// Rows of more than LONG edges. Warps defer them and process them in pieces at the end. A kernel constructs
// the object at its start, and defers each row at most once for each direction of edges, so the list does not
// wrap around.
struct LongRows {
    Pieces pieces;
    Grid grid;
    u64 done;

    __device__ LongRows(Pieces pieces, Grid grid) : pieces(pieces), grid(grid), done(0) {
        if (first_of_grid()) *pieces.count_of_next_launch = 0;
    }

    // Defer the first `count` pieces of row `v`, which the caller cuts. All lanes call it together; a lane
    // without a long row passes 0.
    __device__ void defer(u32 v, u32 count) const {
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

    // Call ``visit(v, begin, end)`` for the edges ``begin:end`` of each piece, with all lanes of a warp. All
    // blocks call it. It contains one grid barrier, so earlier writes are visible to all threads.
    template <typename Visit> __device__ void over(Array<const u64> offsets, Visit visit) {
        grid.sync();
        u64 ready = look(*pieces.count);
        for (u64 t = done + warp_of_grid(); t < ready; t += warps_of_grid()) {
            u64 piece = look(pieces.list[t]);
            u32 v = (u32)(piece >> 32);
            u64 begin = offsets[v] + (piece & 0xFFFFFFFFu) * PIECE;
            visit(v, begin, least(begin + PIECE, offsets[(u64)v + 1]));
        }
        done = ready;
    }
};

// The number of pieces of a row of `edges` edges, 0 if the row is not long.
__device__ inline u32 pieces_of(u64 edges) { return edges > LONG ? (u32)((edges + PIECE - 1) / PIECE) : 0; }
