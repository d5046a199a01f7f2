// Triangles of oriented rows, by a table of one row in which the rows of its targets are looked up.
//
// A warp has the triangles of a short row, and a block has those of a long row. The vertices are in ascending order
// of degree: `u`, `v`, `w`. A common neighbour `w` of `u` and of a target `v` of its row completes a triangle.

#pragma once

#include "common_neighbours.cuh"
#include "team.cuh"

// The rows of the owned vertices, and those of vertices from `first` on, of which `v` is one.
struct TriangleRows {
    Array<const u64> offsets;
    Array<const u32> targets;
    u32 first;
    Array<const u64> other_offsets;
    Array<const u32> other_targets;
};

// Targets that a thread reads before it looks them up.
constexpr u32 AHEAD = 4;

// Find the triangles of `u` for which `w` is one of the targets from `part` to `part_end` of its row.
template <typename Work>
__device__ inline void over_part(
    const TriangleRows& rows, u32 u, u64 part, u64 part_end, NeighbourTable table, Team team, Work& work
) {
    table.mask = NeighbourTable::places(part_end - part) - 1;
    table.clear(team.who, team.width);
    team.sync();
    for (u64 e = part + team.who; e < part_end; e += team.width) table.enter(rows.targets[e], work.value(e));
    team.sync();
    for (u64 e = rows.offsets[u] + team.who / WARP; e < rows.offsets[u + 1ull]; e += team.width / WARP) {
        u64 row = (u64)rows.targets[e] - rows.first;
        if (row >= rows.other_offsets.length - 1) continue; // `v` may come before these rows
        u64 last = rows.other_offsets[row + 1];
        for (u64 from = rows.other_offsets[row] + lane(); from < last; from += AHEAD * WARP) {
            u32 ahead[AHEAD];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++)
                ahead[k] = from + k * WARP < last ? read(rows.other_targets, from + k * WARP) : NO_VERTEX;
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                u32 place = table.find(ahead[k]);
                if (place != EMPTY) work.triangle(u, e, from + k * WARP, table, place);
            }
        }
        work.end_target(rows.targets[e]);
    }
    work.end_part(u);
    team.sync();
    for (u32 place = team.who; place <= table.mask; place += team.width) work.end_place(table, place);
    team.sync();
}

// Find the triangles of `u`. A row that is too long for the table is entered in parts.
template <typename Work>
__device__ inline void over_row(
    const TriangleRows& rows, u32 u, NeighbourTable table, u32 longest, Team team, Work& work
) {
    u64 end = rows.offsets[u + 1ull];
    for (u64 part = rows.offsets[u]; part < end; part += longest)
        over_part(rows, u, part, least(part + longest, end), table, team, work);
}

// Call the functions of `work` for all triangles. All threads of a PARALLEL(1024) kernel call it.
//
// - `value(e)`: the number that the table has for the target at position `e` of a row.
// - `triangle(u, e, f, table, place)`: `e` and `f` are the positions of `v` in the row of `u`, and of `w` in the other
//   row; `place` is that of `w` in the table.
// - `end_target(v)`, `end_part(u)`: called by a warp after its triangles of `v`, and of some targets of `u`.
// - `end_place(table, place)`: called by a thread for each place of a table.
template <typename Work>
__device__ inline void over_triangles(const TriangleRows& rows, Shared shared, Work& work) {
    u32* memory = shared_memory<u32>();
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u32 of_warp = NeighbourTable::fits(shared.bytes / warps), of_block = NeighbourTable::fits(shared.bytes);
    u32 longest_of_warp = NeighbourTable::longest(of_warp), longest_of_block = NeighbourTable::longest(of_block);
    NeighbourTable own{memory + warp * 2 * of_warp, memory + (warp * 2 + 1) * of_warp, 0};
    NeighbourTable common{memory, memory + of_block, 0};
    u64 owned = rows.offsets.length - 1;
    for (u64 u = warp_of_grid(); u < owned; u += warps_of_grid()) {
        u64 length = rows.offsets[u + 1] - rows.offsets[u];
        if (length >= 2 && length <= longest_of_warp) over_row(rows, u, own, longest_of_warp, Team::warp(), work);
    }
    __syncthreads();
    auto is_long = [&](u32 u) { return rows.offsets[u + 1ull] - rows.offsets[u] > longest_of_warp; };
    over_wanted(owned, is_long, [&](u32 u) { over_row(rows, u, common, longest_of_block, Team::block(), work); });
}

// Calls a function of (u, v, w) for each triangle, with local numbers.
template <typename Visit> struct VisitEach {
    const TriangleRows& rows;
    Visit visit;

    __device__ u32 value(u64) const { return 0; }
    __device__ void triangle(u32 u, u64 e, u64, NeighbourTable table, u32 place) const {
        visit(u, rows.targets[e], table.keys[place]);
    }
    __device__ void end_target(u32) const {}
    __device__ void end_part(u32) const {}
    __device__ void end_place(NeighbourTable, u32) const {}
};

// Call ``visit(u, v, w)`` for each triangle. All threads of a PARALLEL(1024) kernel call it.
template <typename Visit> __device__ inline void visit_triangles(TriangleRows rows, Shared shared, Visit visit) {
    VisitEach<Visit> work{rows, visit};
    over_triangles(rows, shared, work);
}
