// Moves of vertices to labels that they have chosen: apply and wake. The arrays are those of label_sums_cpu.py.
//
// Owned vertices come by descending length of their rows, so each class of similar rows is a range of vertices.

#pragma once

#include "label_table.cuh"
#include "mixing.cuh"

// Classes of rows, by the threads that sum a row up: the grid, a block, a group of warps, or a warp. The registers
// of a warp hold a short row.
enum RowClass : u32 { OF_GRID, OF_BLOCK, OF_GROUP, OF_WARP, SHORT, CLASSES };
constexpr u32 GROUP = 128;
template <u32 CLASS> constexpr u32 WIDTH_OF = CLASS <= OF_BLOCK ? TEAM_BLOCK : CLASS == OF_GROUP ? GROUP : WARP;
// Edges of the longest row of a warp and of a group, if their shared memory has a table for it.
constexpr u32 MOST_OF_WARP = 256, MOST_OF_GROUP = 2048;
// Edges or places of a table that a thread reads at once.
constexpr u32 AT_ONCE = 4;
// Edges of a part of the longest rows, which a block sums up.
constexpr u32 CHUNK = AT_ONCE * TEAM_BLOCK;
// Words of two sets of counts of picked rows, before the plan of tables.
constexpr u32 COUNTS = 8, PLAN = 2 * COUNTS;

template <typename Weight, typename Sum> struct Moves {
    Array<const u64> offsets;
    Tiered<u32> targets;
    Tiered<Weight> weights;
    Array<const u64> far_offsets;
    Tiered<u32> far_targets;
    Tiered<Weight> far_weights;
    u32 both;
    Array<const u32> vertices;
    u64 owned;
    u32* label;
    Array<const u32> within;
    Array<const double> strength, far_strength;
    double *total, *far_total;
    bool scored;
    double rate;
    u32 single_only;
    Bits active, moved;
    u32* chosen;
    // The picked vertices of each class, from its first vertex on.
    u32* picked;
    // Two sets of counts of picked vertices, which take turns; then the plan of tables in global memory.
    u64* plan;
    // Tables in global memory, of the longest rows.
    u32* table_labels;
    Sum* table_sums;
    u64 table_places;
    // The first vertex of each class, and that of rows without edges; in shared memory.
    u64* bounds;

    struct Row {
        u64 near, far;
        u32 from_near, count;
    };
    __device__ Row row(u64 v) const {
        u64 near = offsets[v], far = both ? far_offsets[v] : 0;
        u32 from_near = (u32)(offsets[v + 1] - near);
        return {near, far, from_near, from_near + (both ? (u32)(far_offsets[v + 1] - far) : 0)};
    }
    __device__ u32 length(u64 v) const { return row(v).count; }
    // The number of the neighbour at edge `i` of a row.
    __device__ u32 target(const Row& row, u32 i) const {
        return i < row.from_near ? read(targets, row.near + i) : read(far_targets, row.far + (i - row.from_near));
    }

    // Bytes of shared memory for a table of one of `teams` teams, and its places.
    __device__ static u32 bytes_of(u32 bytes, u32 teams) { return bytes / teams / 8 * 8; }
    __device__ static u32 places_in(u32 bytes, u32 teams) {
        return bytes_of(bytes, teams) / (u32)(sizeof(u32) + sizeof(Sum));
    }
    // Find the bounds of the classes. Each is found by one warp.
    __device__ void find_bounds(u32 bytes) const {
        u32 warp = threadIdx.x / WARP;
        u32 of_block = places_in(bytes, 1) / 3 * 2;
        u32 of_group = least(MOST_OF_GROUP, places_in(bytes, Team<GROUP>::TEAMS) / 2);
        u32 of_warp = least(MOST_OF_WARP, places_in(bytes, Team<WARP>::TEAMS) / 2);
        u32 limit = warp == OF_GRID    ? of_block
                    : warp == OF_BLOCK ? of_group
                    : warp == OF_GROUP ? of_warp
                    : warp == OF_WARP  ? WARP
                                       : 0;
        if (warp < CLASSES) {
            u64 first = first_shorter(owned, limit, [&](u64 v) { return length(v); });
            if (lane() == 0) bounds[warp + 1] = first;
        }
        if (threadIdx.x == 0) bounds[0] = 0;
        __syncthreads();
    }
    __device__ u64* counts(u64 turn) const { return plan + turn % 2 * COUNTS; }

    // ---- apply -----------------------------------------------------------------------------------------

    // Give a vertex the label that it has chosen. Return false if it is its own label.
    __device__ bool apply_to(u64 v, bool add) const {
        u32 from = label[v], to = chosen[v];
        if (from == to) return false;
        if (add) {
            atomicAdd(total + from, -strength[v]);
            atomicAdd(total + to, strength[v]);
            if (both) {
                atomicAdd(far_total + from, -far_strength[v]);
                atomicAdd(far_total + to, far_strength[v]);
            }
        }
        label[v] = to;
        return true;
    }
    // Apply the choices of all picked vertices, and keep only those that move.
    __device__ void apply_picked(const u64* counts, bool add) const {
        for (u32 k = 0; k < CLASSES; k++) {
            u32* list = picked + bounds[k];
            u64 count = look(counts[k]);
            for (u64 i = thread_of_grid(); i < count; i += threads_of_grid())
                if (!apply_to(list[i], add)) list[i] = NO_VERTEX;
        }
    }

    // ---- wake ------------------------------------------------------------------------------------------

    // Make the neighbours of `v` active, except those with its label. A team calls it.
    template <u32 WIDTH> __device__ void wake_row(u64 v) const {
        Row row = this->row(v);
        u32 own = label[v];
        for (u32 first = Team<WIDTH>::who(); first < row.count; first += AT_ONCE * WIDTH) {
            u32 u[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 i = first + k * WIDTH;
                u[k] = i < row.count ? target(row, i) : NO_VERTEX;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++)
                // An old value of a bit shows at worst that it is not set.
                if (u[k] != NO_VERTEX && !active.test(u[k]) && label[u[k]] != own) active.set(u[k]);
        }
    }
    template <u32 CLASS> __device__ void wake_class(const u64* counts) const {
        constexpr u32 WIDTH = WIDTH_OF<CLASS>;
        u64 count = look(counts[CLASS]), stride = (u64)gridDim.x * Team<WIDTH>::TEAMS;
        const u32* list = picked + bounds[CLASS];
        for (u64 first = (u64)Team<WIDTH>::number() * gridDim.x + blockIdx.x; first < count; first += WARP * stride) {
            u64 at = first + lane() * stride;
            u32 v = at < count ? list[at] : NO_VERTEX;
            for (u32 rest = __ballot_sync(ALL, v != NO_VERTEX); rest != 0; rest &= rest - 1)
                wake_row<WIDTH>(__shfl_sync(ALL, v, __ffs(rest) - 1));
        }
    }
    // Wake the neighbours of the vertices that `apply_picked` has kept.
    __device__ void wake_picked(const u64* counts) const {
        wake_class<OF_GRID>(counts);
        wake_class<OF_BLOCK>(counts);
        wake_class<OF_GROUP>(counts);
        wake_class<OF_WARP>(counts);
        wake_class<SHORT>(counts);
    }
    // Wake the neighbours of all vertices that moved: a block those of a long row, from vertex 0 to `end`.
    __device__ void wake_moved(u64 end) const {
        u64 halves = (owned + 31) / 32;
        for (u64 h = warp_of_grid(); h < halves; h += warps_of_grid())
            for (u32 rest = moved.half(h) & range_mask(h, end, owned); rest != 0; rest &= rest - 1)
                wake_row<WARP>(h * 32 + __ffs(rest) - 1);
        for (u64 first = blockIdx.x; first < end; first += WARP * gridDim.x) {
            u64 v = first + lane() * gridDim.x;
            for (u32 rest = __ballot_sync(ALL, v < end && moved.test(v)); rest != 0; rest &= rest - 1)
                wake_row<TEAM_BLOCK>(first + (__ffs(rest) - 1) * gridDim.x);
        }
    }
};
