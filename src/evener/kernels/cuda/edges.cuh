// The edges of listed vertices, distributed evenly among all threads for any degrees.

#pragma once

#include "common.cuh"

// Edges. A row of more than LONG edges is cut into pieces of PIECE edges; a block processes one piece at a
// time.
constexpr u32 LONG = 512;
constexpr u32 PIECE = 1024;

// A list of pieces of long rows: the vertex in the upper 32 bits, the number of the piece in the lower 32
// bits. The list is a ring with room for twice the pieces of all rows. Launches alternate between two
// counters, and each launch clears the counter of the next launch.
struct Pieces {
    u64* list;
    u64 capacity;
    u64* count;
    u64* count_of_next_launch;
};

// A loop over the edges of listed vertices. A kernel constructs the loop at its start and may use it
// several times, with a grid barrier (`grid.sync`) between uses. A list must not contain a vertex twice.
struct EdgeLoop {
    Pieces pieces;
    Grid grid;
    u64 done;

    __device__ EdgeLoop(Pieces pieces, Grid grid) : pieces(pieces), grid(grid), done(0) {
        if (first_of_grid()) *pieces.count_of_next_launch = 0;
    }

    // Call ``enter(u)`` once and then ``visit(u, e)`` for every edge e of each vertex ``u = list[i]``, ``begin
    // <= i < end``. All blocks of 256 threads call it together. It contains a grid barrier, but does not wait
    // for the visits to the last edges.
    template <typename Enter, typename Visit>
    __device__ void over(Array<const u64> offsets, const u32* list, u64 begin, u64 end, Enter enter, Visit visit) {
        __shared__ u32 vertex[256];
        __shared__ u64 row[256];
        __shared__ u32 before[257];
        u64 rows = most<u64>(1, least<u64>(256, (end - begin) / gridDim.x));
        for (u64 chunk = begin + blockIdx.x * rows; chunk < end; chunk += gridDim.x * rows) {
            u64 i = chunk + threadIdx.x;
            u32 u = NO_VERTEX, degree = 0;
            u64 start = 0;
            if (threadIdx.x < rows && i < end) {
                u = list[i];
                enter(u);
                start = offsets[u];
                u64 edges = offsets[(u64)u + 1] - start;
                if (edges > LONG) defer(u, edges);
                else degree = (u32)edges;
            }
            u32 total;
            u32 first = exclusive_sum(degree, total);
            vertex[threadIdx.x] = u;
            row[threadIdx.x] = start;
            before[threadIdx.x] = first;
            if (threadIdx.x == 0) before[256] = total;
            __syncthreads();
            for (u32 k = threadIdx.x; k < total; k += 256) {
                u32 low = 0, high = 256;  // before[low] <= k < before[high]
                while (high - low > 1) {
                    u32 middle = (low + high) / 2;
                    if (before[middle] <= k) low = middle;
                    else high = middle;
                }
                visit(vertex[low], row[low] + (k - before[low]));
            }
            __syncthreads();
        }
        grid.sync();
        u64 ready = look(*pieces.count);
        for (u64 t = done + blockIdx.x; t < ready; t += gridDim.x) {
            u64 piece = look(pieces.list[t % pieces.capacity]);
            u32 u = (u32)(piece >> 32);
            u64 first = offsets[u] + (piece & 0xFFFFFFFFu) * PIECE;
            u64 last = least(first + PIECE, offsets[(u64)u + 1]);
            for (u64 e = first + threadIdx.x; e < last; e += 256) visit(u, e);
        }
        done = ready;
    }

  private:
    __device__ void defer(u32 u, u64 edges) {
        u64 count = (edges + PIECE - 1) / PIECE;
        u64 first = atomicAdd(pieces.count, count);
        for (u64 p = 0; p < count; p++) pieces.list[(first + p) % pieces.capacity] = (u64)u << 32 | p;
    }
};

struct Nothing {
    __device__ void operator()(u32) const {}
};
