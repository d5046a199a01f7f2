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

// The vertices to remove. A phase appends vertices, and the next phase removes them: a barrier is between the two.
// Phases rotate through three counters: while one counts, the next one is cleared.
struct Removal {
    u32 level;
    Array<u32> degree, lost;
    Bits changed;
    Array<u32> queue;
    Array<u64> state;
    u64 begin, end;  // the vertices of the last phase
    u32 phase;

    __device__ void leave(u32 v) const { queue[end + room_for_one({state.at + 2 + phase, 1})] = v; }

    // Begin the next phase, after a barrier.
    __device__ void next() {
        begin = end;
        end += look(state[2 + phase]);
        phase = (phase + 1) % 3;
        if (first_of_grid()) state[2 + (phase + 1) % 3] = 0;
    }

    // Remove some edges of a vertex with a warp, and queue the vertices that now leave too.
    __device__ void remove(Tiered<u32> targets, u64 first, u64 stop) const {
        for (u64 e = first + lane(); e < stop; e += WARP) {
            u32 t = read_once(targets, e);
            if (t >= degree.length) {
                atomicAdd(lost.at + t, 1);
                if (!look(changed, t)) changed.set(t);
            } else if (look(degree[t]) > level) {
                u32 before = atomicSub(degree.at + t, 1);
                if (before <= level) atomicAdd(degree.at + t, 1);
                if (before == level + 1) leave(t);
            }
        }
    }
};

// Distribute the vertices between the queue and the rest.
__device__ inline void scan(
    const Removal& removal, u32 fresh, Array<u32> remaining, u64 listed, Array<u32> rest, Array<u64> rest_count,
    u64* lowest_of_all
) {
    u64 lowest = NO_VERTEX;
    for (u64 i = thread_of_grid(); i < listed; i += threads_of_grid()) {
        u32 v = look(remaining[i]), own = look(removal.degree[v]);
        if (own > removal.level) {
            u32 lost = look(removal.lost[v]);
            if (lost > 0) {
                own = own > removal.level + lost ? own - lost : removal.level;
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
            removal.leave(v);
        }
    }
    lowest = over_block(lowest, Min());
    if (threadIdx.x == 0 && lowest < NO_VERTEX) atomicMin(lowest_of_all, lowest);
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
    if (first_of_grid()) {
        rest_count[0] = 0;
        state[0] = state[1] = NO_VERTEX;
        state[2] = state[3] = state[4] = 0;
    }
    grid.sync();
    Removal removal{level, degree, lost, changed, queue, state, 0, 0, 0};
    u64 value = 0;
    for (u32 turn = 0;; turn = 1 - turn) {
        scan(removal, fresh, remaining, look(count[0]), rest, rest_count, state.at + turn);
        grid.sync();
        removal.next();
        u64 lowest = look(state[turn]), before = removal.begin;
        if (first_of_grid()) {
            if (all_levels) count[0] = 0;  // the next level lists its rest there
            state[1 - turn] = NO_VERTEX;
        }
        if (removal.begin == removal.end) grid.sync();
        while (removal.begin < removal.end) {
            for (u64 i = removal.begin + warp_of_grid(); i < removal.end; i += warps_of_grid()) {
                u32 u = look(queue[i]);
                u64 first = offsets[u], stop = offsets[(u64)u + 1];
                u32 parts = pieces_of(stop - first);
                long_rows.defer(u, lane() == 0 ? parts : 0);
                if (parts == 0) removal.remove(targets, first, stop);
                if (both) removal.remove(in_targets, in_offsets[u], in_offsets[(u64)u + 1]);
            }
            long_rows.over(offsets, [&](u32, u64 first, u64 stop) { removal.remove(targets, first, stop); });
            grid.sync();
            removal.next();
        }
        if (!all_levels) {
            value = lowest;
            break;
        }
        if (removal.end > before) {
            value = removal.level++;
        } else if (lowest == NO_VERTEX) {
            break;
        } else {
            removal.level = (u32)lowest;
        }
        swap(remaining, rest);
        swap(count, rest_count);
    }
    results.sum(first_of_grid() ? removal.end : 0, first_of_grid() ? value : 0);
}
