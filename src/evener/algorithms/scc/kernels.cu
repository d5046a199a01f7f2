// Strongly connected components: trim vertices, seed searches, and assign components. kernels_cpu.py describes the
// arrays.

#include "common.cuh"

// List all vertices.
__global__ void PARALLEL(256) begin(Array<u32> remaining, Array<u64> count) {
    if (first_of_grid()) count[0] = remaining.length;
    for (u64 v = thread_of_grid(); v < remaining.length; v += threads_of_grid()) remaining[v] = (u32)v;
}

// True if a row of `v` has another vertex that remains. All lanes of a warp call it together.
__device__ inline bool has_remaining(Tiered<u32> targets, u64 begin, u64 end, u32 v, Array<u32> group) {
    for (u64 first = begin; first < end; first += WARP) {
        bool remains = false;
        if (first + lane() < end) {
            u32 t = read(targets, first + lane());
            remains = t != v && look(group[t]) == NO_VERTEX;
        }
        if (__any_sync(ALL, remains)) return true;
    }
    return false;
}

// Remove vertices without a remaining neighbour in one of the directions, and list the others in `rest`. Returns the
// number of vertices that remain, and of those that left the list.
__global__ void PARALLEL(256) trim(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    Array<const u32> vertices, Array<u32> group, Array<u32> forward, Array<u32> remaining, Array<u64> count,
    Array<u32> rest, Array<u64> rest_count, Results<u64, u64> results, Grid grid
) {
    if (first_of_grid()) rest_count[0] = 0;
    grid.sync();
    u64 listed = count[0], left = 0;
    for (u64 i = warp_of_grid(); i < listed; i += warps_of_grid()) {
        u32 v = remaining[i];
        bool done = look(group[v]) != NO_VERTEX;
        bool stays = !done && has_remaining(targets, offsets[v], offsets[(u64)v + 1], v, group) &&
                     has_remaining(in_targets, in_offsets[v], in_offsets[(u64)v + 1], v, group);
        if (lane() > 0) continue;
        if (stays) {
            append(rest, rest_count, v);
            left++;
        } else {
            forward[v] = vertices[v];
            if (!done) group[v] = vertices[v];
        }
    }
    results.sum(left, (first_of_grid() ? listed : 0) - left);
}

// Return a number with the best vertex to search from in its lower 32 bits.
//
// A vertex is better if the smaller of its numbers of out-edges and in-edges is larger. The smallest number of all
// elements has the best vertex.
__global__ void PARALLEL(256) pivot(
    Array<const u64> offsets, Array<const u64> in_offsets, Array<const u32> vertices, Array<u32> remaining,
    Array<u64> count, Results<u64> results
) {
    u64 best = ~0ull;
    for (u64 i = thread_of_grid(); i < count[0]; i += threads_of_grid()) {
        u64 v = remaining[i];
        u64 edges = least(offsets[v + 1] - offsets[v], in_offsets[v + 1] - in_offsets[v]);
        best = least(best, ((u64)NO_VERTEX - edges) << 32 | vertices[v]);
    }
    results.minimum(best);
}

__device__ inline void clear_mirrors(Array<u32> values, u64 owned) {
    for (u64 v = owned + thread_of_grid(); v < values.length; v += threads_of_grid()) values[v] = NO_VERTEX;
}

// Make each remaining vertex the seed of a forward search, or the vertex number `only` alone.
__global__ void PARALLEL(256) seed(
    Array<const u32> vertices, Array<u32> remaining, Array<u64> count, u32 only, Array<u32> forward, Bits members
) {
    for (u64 i = thread_of_grid(); i < count[0]; i += threads_of_grid()) {
        u32 v = remaining[i], number = vertices[v];
        bool chosen = only == NO_VERTEX || number == only;
        forward[v] = chosen ? number : NO_VERTEX;
        if (chosen) members.set(v);
    }
    clear_mirrors(forward, remaining.length);
}

// Make each vertex that no smaller seed reached the seed of a backward search.
__global__ void PARALLEL(256) seed_back(
    Array<const u32> vertices, Array<u32> remaining, Array<u64> count, Array<u32> forward, Array<u32> backward,
    Bits members
) {
    for (u64 i = thread_of_grid(); i < count[0]; i += threads_of_grid()) {
        u32 v = remaining[i], number = vertices[v];
        bool chosen = forward[v] == number;
        backward[v] = chosen ? number : NO_VERTEX;
        if (chosen) members.set(v);
    }
    clear_mirrors(backward, remaining.length);
}

// Return the smallest number of a vertex that both searches of a seed reached.
__global__ void PARALLEL(256) first_member(
    Array<const u32> vertices, Array<u32> remaining, Array<u64> count, Array<u32> forward, Array<u32> backward,
    Results<u64> results
) {
    u64 smallest = NO_VERTEX;
    for (u64 i = thread_of_grid(); i < count[0]; i += threads_of_grid()) {
        u32 v = remaining[i];
        if (forward[v] == backward[v] && forward[v] != NO_VERTEX) smallest = least(smallest, (u64)vertices[v]);
    }
    results.minimum(smallest);
}

// Give vertices that both searches of a seed reached the component `label`, or that of the seed.
__global__ void PARALLEL(256) assign(
    Array<u32> remaining, Array<u64> count, u32 label, Array<u32> forward, Array<u32> backward, Array<u32> group
) {
    for (u64 i = thread_of_grid(); i < count[0]; i += threads_of_grid()) {
        u32 v = remaining[i];
        if (forward[v] == backward[v] && forward[v] != NO_VERTEX) group[v] = label == NO_VERTEX ? forward[v] : label;
    }
}
