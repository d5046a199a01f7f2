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

struct Removal {
    u32 level;
    Array<u32> degree, lost;
    Bits changed;
    Array<u32> queue;
    Array<u64> state;

    // Remove some edges of a vertex with a warp, and queue the vertices that now leave too.
    __device__ void remove(Tiered<u32> targets, u64 begin, u64 end) const {
        for (u64 e = begin + lane(); e < end; e += WARP) {
            u32 t = read_once(targets, e);
            if (t >= degree.length) {
                atomicAdd(lost.at + t, 1);
                if (!look(changed, t)) changed.set(t);
            } else if (look(degree[t]) > level) {
                u32 before = atomicSub(degree.at + t, 1);
                if (before <= level) atomicAdd(degree.at + t, 1);
                if (before == level + 1) append(queue, state, t);
            }
        }
    }
};

// Distribute the vertices between the queue and the rest.
__device__ inline void scan(
    Removal removal, u32 fresh, Array<u32> remaining, u64 listed, Array<u32> rest, Array<u64> rest_count
) {
    u64 lowest = NO_VERTEX;
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
            lowest = least(lowest, (u64)own);
            append(rest, rest_count, v);
        } else {
            append(removal.queue, removal.state, v);
        }
    }
    lowest = over_block(lowest, Min());
    if (threadIdx.x == 0 && lowest < NO_VERTEX) atomicMin(removal.state.at + 1, lowest);
}

// Remove the vertices of a level, until no more of this partition leave. List the others in `rest`.
//
// `fresh` is false if the level has been begun. With `all_levels`, continue until no vertex remains. Return the number
// of vertices removed, and a bound on the degrees of `rest`, exact if no vertex was removed. With `all_levels`, the
// second value is the last level at which vertices were removed.
__global__ void PARALLEL(256) peel(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets, u32 both,
    u32 level, u32 fresh, u32 all_levels, Array<u32> degree, Array<u32> lost, Bits changed, Array<u32> remaining,
    Array<u64> count, Array<u32> rest, Array<u64> rest_count, Array<u32> queue, Array<u64> state,
    Results<u64, u64> results, Pieces pieces, Grid grid
) {
    LongRows long_rows(pieces, grid);
    u64 all_removed = 0, value = 0;
    for (;;) {
        if (first_of_grid()) {
            rest_count[0] = state[0] = 0;
            state[1] = NO_VERTEX;
        }
        grid.sync();
        Removal removal{level, degree, lost, changed, queue, state};
        scan(removal, fresh, remaining, look(count[0]), rest, rest_count);
        grid.sync();
        u64 begun = 0, end = look(state[0]), lowest = look(state[1]);
        while (begun < end) {
            grid.sync();  // all blocks have read the length of the queue
            for (u64 i = begun + warp_of_grid(); i < end; i += warps_of_grid()) {
                u32 u = look(queue[i]);
                u64 first = offsets[u], stop = offsets[(u64)u + 1];
                u32 parts = pieces_of(stop - first);
                long_rows.defer(u, lane() == 0 ? parts : 0);
                if (parts == 0) removal.remove(targets, first, stop);
                if (both) removal.remove(in_targets, in_offsets[u], in_offsets[(u64)u + 1]);
            }
            long_rows.over(offsets, [&](u32, u64 first, u64 stop) { removal.remove(targets, first, stop); });
            grid.sync();
            begun = end;
            end = look(state[0]);
        }
        all_removed += end;
        if (!all_levels) {
            value = lowest;
            break;
        }
        if (end > 0) {
            value = level++;
        } else if (lowest == NO_VERTEX) {
            break;
        } else {
            level = (u32)lowest;
        }
        grid.sync();  // all blocks have read the length of the queue
        swap(remaining, rest);
        swap(count, rest_count);
    }
    results.sum(first_of_grid() ? all_removed : 0, first_of_grid() ? value : 0);
}
