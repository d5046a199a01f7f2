// Rows of distinct neighbours: written, packed for other elements, and searched for triangles.
//
// `degree` and `vertices` give the order of vertices: by descending degree, then by ascending number. The rows of
// the graph are `offsets` and `targets`, and if `both` also `more_offsets` and `more_targets`. Equal targets of a
// row follow each other.

#include "common_neighbours.cuh"

struct Order {
    u32 oriented;
    Array<const u32> degree, vertices;

    // Whether the row of `v` has a target: another vertex and, if `oriented`, one that comes before `v`.
    __device__ bool has(u32 v, u32 target) const {
        if (target == v) return false;
        if (!oriented) return true;
        u32 own = degree[v], other = read(degree, target);
        return other > own || (other == own && vertices[target] < vertices[v]);
    }
};

// Write the length of the row of each owned vertex, or if `both` the sum of the lengths of two rows.
__global__ void PARALLEL(256) row_lengths(
    Array<const u64> offsets, Array<const u64> more_offsets, u32 both, Array<u32> lengths
) {
    for (u64 v = thread_of_grid(); v + 1 < offsets.length; v += threads_of_grid()) {
        u64 length = offsets[v + 1] - offsets[v];
        lengths[v] = (u32)(both ? length + more_offsets[v + 1] - more_offsets[v] : length);
    }
}

// Call ``keep(target, place)`` for each target of the row of `v` that is kept, where `place` counts the kept
// targets from `count` on. Return the new count. The threads of a warp call it together.
template <typename Keep>
__device__ inline u32 over_kept(
    Array<const u64> offsets, Tiered<u32> targets, u32 v, const Order& order, u32 count, Keep keep
) {
    u64 first = offsets[v], last = offsets[v + 1];
    for (u64 from = first; from < last; from += WARP) {
        u64 e = from + lane();
        u32 target = e < last ? read(targets, e) : v;
        bool kept = e < last && order.has(v, target) && (e == first || read(targets, e - 1) != target);
        u32 all = __ballot_sync(ALL, kept);
        if (kept) keep(target, count + __popc(all & ((1u << lane()) - 1)));
        count += __popc(all);
    }
    return count;
}

// Write an upper bound of the number of targets of each row.
__global__ void PARALLEL(256) count_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> more_offsets, Tiered<u32> more_targets,
    u32 both, u32 oriented, Array<const u32> degree, Array<const u32> vertices, Array<u32> lengths
) {
    Order order{oriented, degree, vertices};
    auto ignore = [](u32, u32) {};
    for (u64 v = warp_of_grid(); v < lengths.length; v += warps_of_grid()) {
        u32 count = over_kept(offsets, targets, v, order, 0, ignore);
        if (both) count = over_kept(more_offsets, more_targets, v, order, count, ignore);
        if (lane() == 0) lengths[v] = count;
    }
}

// Write each row from ``row_offsets[v]`` on, and its length. A neighbour in both directions leaves a gap after it.
__global__ void PARALLEL(256) write_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> more_offsets, Tiered<u32> more_targets,
    u32 both, u32 oriented, Array<const u32> degree, Array<const u32> vertices, Array<const u64> row_offsets,
    Array<u32> row_targets, Array<u32> lengths
) {
    Order order{oriented, degree, vertices};
    for (u64 v = warp_of_grid(); v < lengths.length; v += warps_of_grid()) {
        u32* row = row_targets.at + row_offsets[v];
        u32 count = over_kept(offsets, targets, v, order, 0, [&](u32 target, u32 place) { row[place] = target; });
        if (both) {
            __syncwarp();
            // A neighbour in both directions is kept once: targets of the first row are searched one by one.
            u32 end = over_kept(
                more_offsets, more_targets, v, order, count, [&](u32 target, u32 place) { row[place] = target; }
            );
            __syncwarp();
            u32 kept = count;
            for (u32 from = count; from < end; from += WARP) {
                u32 target = from + lane() < end ? row[from + lane()] : NO_VERTEX;
                bool fresh = target != NO_VERTEX;
                for (u32 i = 0; i < count && fresh; i++) fresh = row[i] != target;
                u32 all = __ballot_sync(ALL, fresh);
                if (fresh) row[kept + __popc(all & ((1u << lane()) - 1))] = target;
                kept += __popc(all);
                __syncwarp();
            }
            count = kept;
        }
        if (lane() == 0) lengths[v] = count;
    }
}

// Copy rows that begin at ``begins[v]`` to rows without gaps.
__global__ void PARALLEL(256) close_gaps(
    Array<const u64> begins, Array<const u32> from_targets, Array<const u64> row_offsets, Array<u32> row_targets
) {
    for (u64 v = warp_of_grid(); v + 1 < row_offsets.length; v += warps_of_grid())
        for (u64 i = lane(); i < row_offsets[v + 1] - row_offsets[v]; i += WARP)
            row_targets[row_offsets[v] + i] = from_targets[begins[v] + i];
}

// Write the rows of the listed vertices one after the other, as numbers of the graph.
__global__ void PARALLEL(256) pack_rows(
    Array<const u64> row_offsets, Array<const u32> row_targets, Array<const u32> vertices, Array<const u32> listed,
    Array<const u64> begins, Array<u32> packed
) {
    for (u64 i = warp_of_grid(); i < listed.length; i += warps_of_grid()) {
        u64 v = listed[i];
        for (u64 k = lane(); k < row_offsets[v + 1] - row_offsets[v]; k += WARP)
            packed[begins[i] + k] = vertices[row_targets[row_offsets[v] + k]];
    }
}

// Replace numbers of the graph by local numbers, given all numbers, ascending, with their local numbers.
__global__ void PARALLEL(256) to_local(
    Array<const u32> ascending, Array<const u32> local, Array<u32> numbers, u64 parts
) {
    for (u64 i = thread_of_grid(); i < numbers.length; i += threads_of_grid()) {
        u64 low = 0, high = ascending.length;
        u32 number = numbers[i];
        while (low < high) {
            u64 middle = (low + high) / 2;
            if (read(ascending, middle) < number) low = middle + 1;
            else high = middle;
        }
        numbers[i] = low < ascending.length && ascending[low] == number ? local[low] : NO_VERTEX;
    }
}

// ---- triangles -----------------------------------------------------------------------------------------

// Targets that a thread reads before it looks them up.
constexpr u32 AHEAD = 4;

// Threads of one table: a warp or a block.
struct Team {
    u32 who, width;

    __device__ void sync() const {
        if (width == WARP) __syncwarp();
        else __syncthreads();
    }
};

struct OrientedRows {
    Array<const u64> offsets;
    Array<const u32> targets;
    u32 first;
    Array<const u64> other_offsets;
    Array<const u32> other_targets;
    Array<u64> triangles;

    // Count the triangles of `u` and two vertices of its row, of which the middle vertex has one of the other
    // rows. A row that is too long for the table is entered in parts of `most` targets.
    __device__ void count(u64 u, NeighbourTable table, u32 most_targets, Team team) const {
        u64 begin = offsets[u], end = offsets[u + 1];
        for (u64 part = begin; part < end; part += most_targets) count_part(u, part, least(part + most_targets, end), table, team);
    }

  private:
    __device__ void count_part(u64 u, u64 part, u64 part_end, NeighbourTable table, Team team) const {
        table.mask = NeighbourTable::places(part_end - part) - 1;
        table.clear(team.who, team.width);
        team.sync();
        for (u64 e = part + team.who; e < part_end; e += team.width) table.enter(targets[e]);
        team.sync();
        u64 total = 0;
        for (u64 e = offsets[u] + team.who / WARP; e < offsets[u + 1]; e += team.width / WARP) {
            u32 v = targets[e];
            u64 row = (u64)v - first;
            if (row + 1 >= other_offsets.length) continue;
            u64 last = other_offsets[row + 1];
            u32 times = 0;
            for (u64 f = other_offsets[row] + lane(); f < last; f += AHEAD * WARP) {
                u32 other[AHEAD];
#pragma unroll
                for (u32 k = 0; k < AHEAD; k++) other[k] = f + k * WARP < last ? read(other_targets, f + k * WARP) : NO_VERTEX;
#pragma unroll
                for (u32 k = 0; k < AHEAD; k++) {
                    u32 place = table.find(other[k]);
                    if (place == EMPTY) continue;
                    times++;
                    atomicAdd(table.times + place, 1);
                }
            }
            times = across(times, Sum());
            if (lane() == 0 && times > 0) atomicAdd(triangles.at + v, (u64)times);
            total += times;
        }
        if (lane() == 0 && total > 0) atomicAdd(triangles.at + u, total);
        team.sync();
        for (u32 place = team.who; place <= table.mask; place += team.width)
            if (table.times[place] > 0) atomicAdd(triangles.at + table.keys[place], (u64)table.times[place]);
        team.sync();
    }
};

// Vertices that a thread block takes at a time.
constexpr u32 CHUNK = 128;

// Add the triangles of each vertex and mirror, for oriented rows.
//
// The vertices from `first_row` on have the rows of `other_offsets`. A triangle counts if its last vertex is owned
// and its middle vertex has one of these rows. A warp counts those of a short row, and a block those of a long row.
__global__ void PARALLEL(1024) count_triangles(
    Array<const u64> row_offsets, Array<const u32> row_targets, u32 first_row, Array<const u64> other_offsets,
    Array<const u32> other_targets, Array<u64> triangles, Shared shared
) {
    OrientedRows rows{row_offsets, row_targets, first_row, other_offsets, other_targets, triangles};
    u32* memory = shared_memory<u32>();
    u32 warps = blockDim.x / WARP, warp = threadIdx.x / WARP;
    u32 of_warp = NeighbourTable::fits(shared.bytes / warps), of_block = NeighbourTable::fits(shared.bytes);
    u32 most_of_warp = NeighbourTable::longest(of_warp), most_of_block = NeighbourTable::longest(of_block);
    NeighbourTable own{memory + warp * 2 * of_warp, memory + (warp * 2 + 1) * of_warp, 0};
    NeighbourTable common{memory, memory + of_block, 0};
    u64 owned = row_offsets.length - 1;
    for (u64 u = warp_of_grid(); u < owned; u += warps_of_grid()) {
        u64 length = row_offsets[u + 1] - row_offsets[u];
        if (length >= 2 && length <= most_of_warp) rows.count(u, own, most_of_warp, {lane(), WARP});
    }
    __syncthreads();
    for (u64 u = blockIdx.x; u < owned; u += gridDim.x)
        if (row_offsets[u + 1] - row_offsets[u] > most_of_warp)
            rows.count(u, common, most_of_block, {threadIdx.x, blockDim.x});
}
