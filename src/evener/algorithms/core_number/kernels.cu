// Core numbers: remove vertices level by level. kernels_cpu.py describes the arrays.

#include "by_warp.cuh"

// Count the edges of each vertex, and list all vertices.
__global__ void PARALLEL(256) begin(
    Array<const u64> offsets, Array<const u64> in_offsets, u32 both, Array<u32> degree, Array<u32> remaining,
    Array<u64> count
) {
    if (first_of_grid()) count[0] = degree.length;
    for (u64 v = thread_of_grid(); v < degree.length; v += threads_of_grid()) {
        u64 edges = offsets[v + 1] - offsets[v];
        if (both) edges += in_offsets[v + 1] - in_offsets[v];
        degree[v] = (u32)edges;
        remaining[v] = (u32)v;
    }
}

// Edges of a row that each lane reads before it waits for the first of them.
constexpr u32 AHEAD = 8;

struct Removal {
    u32 level;
    Array<u32> degree, lost;
    Bits changed;
    Array<u32> queue;
    Array<u64> state;

    // Remove some edges of a vertex with a warp, and queue the vertices that now leave too. Return their number.
    __device__ u32 remove(Tiered<u32> targets, u64 begin, u64 end) const {
        u32 queued = 0;
        for (u64 first = begin + lane(); first < end; first += WARP * AHEAD) {
            u32 target[AHEAD], before[AHEAD];
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                u64 e = first + k * WARP;
                target[k] = e < end ? read_once(targets, e) : NO_VERTEX;
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) before[k] = target[k] < degree.length ? look(degree[target[k]]) : 0;
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                u32 t = target[k];
                if (before[k] > level) {
                    before[k] = atomicSub(degree.at + t, 1);
                    continue;
                }
                before[k] = NO_VERTEX;
                if (t < degree.length || t == NO_VERTEX) continue;
                atomicAdd(lost.at + t, 1);
                if (!look(changed, t)) changed.set(t);
            }
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                if (before[k] <= level) atomicAdd(degree.at + target[k], 1);
                if (before[k] != level + 1) continue;
                append(queue, state, target[k]);
                queued++;
            }
        }
        return queued;
    }
};

// Distribute the vertices between the queue, and the rest from its place `begin` in ``rest_count`` on. Return how many
// this thread added to each. Lower ``lowest[0]`` to the lowest degree of the rest.
__device__ inline Sums scan(
    Removal removal, u32 fresh, Array<u32> remaining, u64 listed, Array<u32> rest, Array<u64> rest_count, u64 begin,
    u64* lowest
) {
    u64 least_degree = NO_VERTEX;
    Sums added = {0, 0};
    for (u64 i = thread_of_grid(); i < listed; i += threads_of_grid()) {
        u32 v = look(remaining[i]), own = look(removal.degree[v]);
        if (own > removal.level) {
            u32 lost = look(removal.lost[v]);
            own = own > removal.level + lost ? own - lost : removal.level;
            if (lost > 0) {
                removal.lost[v] = 0;
                removal.degree[v] = own;
            }
        } else if (own < removal.level || !fresh) {
            continue;
        }
        if (own > removal.level) {
            least_degree = least(least_degree, (u64)own);
            rest[room_for_one(rest_count) - begin] = v;
            added.second++;
        } else {
            append(removal.queue, removal.state, v);
            added.first++;
        }
    }
    least_degree = over_block(least_degree, Min());
    if (threadIdx.x == 0 && least_degree < NO_VERTEX) atomicMin(lowest, least_degree);
    return added;
}

// Remove the vertices of a level, until no more of this partition leave. List the others in `rest`.
//
// `fresh` is false if the level has been begun. With `all_levels`, continue until no vertex remains. Return the number
// of vertices removed, and a bound on the degrees of `rest`, exact if no vertex was removed. With `all_levels`, the
// second value is the last level at which vertices were removed.
//
// A round has one grid barrier, which sums what the threads have listed. Pieces of long rows wait for the next round.
// `queue` and `rest_count` continue from level to level. Three levels in turn have a place for the lowest degree.
__global__ void PARALLEL(256) peel(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets, u32 both,
    u32 level, u32 fresh, u32 all_levels, Array<u32> degree, Array<u32> lost, Bits changed, Array<u32> remaining,
    Array<u64> count, Array<u32> rest, Array<u64> rest_count, Array<u32> queue, Array<u64> state,
    Results<u64, u64> results, Pieces pieces, Grid grid
) {
    LongRows long_rows(pieces, grid);
    if (first_of_grid()) {
        rest_count[0] = state[0] = 0;
        state[1] = state[2] = state[3] = NO_VERTEX;
    }
    GridSum sums(grid);
    u64 listed = look(count[0]), rest_begin = 0, begun = 0, ready = 0, value = 0;
    for (u32 turn = 0;; turn = (turn + 1) % 3) {
        Removal removal{level, degree, lost, changed, queue, state};
        u64* lowest_degree = state.at + 1 + turn;
        if (first_of_grid()) state[1 + (turn + 1) % 3] = NO_VERTEX;
        Sums added = scan(removal, fresh, remaining, listed, rest, rest_count, rest_begin, lowest_degree);
        added = sums.sum(added.first, added.second);
        u64 level_begin = begun, end = begun + added.first, lowest = look(*lowest_degree);
        listed = added.second;
        while (begun < end || long_rows.done < ready) {
            added = {0, 0};
            for (u64 i = begun + warp_of_grid(); i < end; i += warps_of_grid()) {
                u32 u = look(queue[i]);
                u64 first = offsets[u], stop = offsets[(u64)u + 1];
                u32 parts = stop - first > LONG ? (u32)((stop - first + LONG - 1) / LONG) : 0;
                long_rows.defer(u, lane() == 0 ? parts : 0);
                if (lane() == 0) added.second += parts;
                if (parts == 0) added.first += removal.remove(targets, first, stop);
                if (both) added.first += removal.remove(in_targets, in_offsets[u], in_offsets[(u64)u + 1]);
            }
            for (u64 i = long_rows.done + warp_of_grid(); i < ready; i += warps_of_grid()) {
                u64 piece = look(pieces.list[i]), u = piece >> 32, first = offsets[u] + (piece & ALL) * LONG;
                added.first += removal.remove(targets, first, least(first + LONG, offsets[u + 1]));
            }
            added = sums.sum(added.first, added.second);
            begun = end;
            end += added.first;
            long_rows.done = ready;
            ready += added.second;
        }
        if (!all_levels) {
            value = lowest;
            break;
        }
        if (end > level_begin) {
            value = level++;
        } else if (lowest == NO_VERTEX) {
            break;
        } else {
            level = (u32)lowest;
        }
        rest_begin += listed;
        swap(remaining, rest);
    }
    results.sum(first_of_grid() ? begun : 0, first_of_grid() ? value : 0);
}
