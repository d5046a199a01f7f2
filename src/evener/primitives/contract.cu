// Contraction: vertices grouped by label, and their rows merged into one row for each label.
//
// The arrays are those of contract_cpu.py. The members of a new vertex, and the targets of a row, are in no order.

#include "edge_range.cuh"
#include "merged_rows.cuh"

// ---- labels ------------------------------------------------------------------------------------------------

// Write 1 for each vertex number that is a label.
__global__ void PARALLEL(256) mark_labels(Array<const u32> label, Array<u32> used) {
    for (u64 v = thread_of_grid(); v < label.length; v += threads_of_grid()) used[label[v]] = 1;
}

// Write the new vertex of each owned vertex, given that of each label.
__global__ void PARALLEL(256) new_vertices(Array<const u32> label, Array<const u64> number, Array<u32> vertex) {
    for (u64 v = thread_of_grid(); v < label.length; v += threads_of_grid()) vertex[v] = (u32)number[label[v]];
}

// ---- members -----------------------------------------------------------------------------------------------

// Count the members of each new vertex among the owned vertices; there is one slice.
__global__ void PARALLEL(256) count_members(Array<const u32> vertex, u64 owned, u64 parts, Array<u32> counts) {
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) atomicAdd(counts.at + vertex[v], 1);
}

// Write the number of members, and replace counts by 0.
__global__ void PARALLEL(256) total_members(u64 parts, Array<u32> counts, Array<u32> lengths) {
    for (u64 c = thread_of_grid(); c < lengths.length; c += threads_of_grid()) {
        lengths[c] = counts[c];
        counts[c] = 0;
    }
}

// Write the members of each new vertex, given the counts of `total_members`.
__global__ void PARALLEL(256) place_members(
    Array<const u32> vertex, u64 parts, Array<const u64> bounds, Array<u32> counts, Array<u32> members
) {
    for (u64 v = thread_of_grid(); v < members.length; v += threads_of_grid()) {
        u32 c = vertex[v];
        members[bounds[c] + atomicAdd(counts.at + c, 1)] = (u32)v;
    }
}

// Write the places that each row needs: one for each edge of the members, or twice as many for a long row.
__global__ void PARALLEL(256) count_edges(
    Array<const u64> offsets, Array<const u32> vertex, Array<const u64> bounds, Array<const u32> members,
    Array<u32> lengths, Grid grid
) {
    for (u64 c = thread_of_grid(); c < lengths.length; c += threads_of_grid()) lengths[c] = 0;
    grid.sync();
    for (u64 v = thread_of_grid(); v < members.length; v += threads_of_grid())
        if (offsets[v + 1] > offsets[v]) atomicAdd(lengths.at + vertex[v], (u32)(offsets[v + 1] - offsets[v]));
    grid.sync();
    for (u64 c = thread_of_grid(); c < lengths.length; c += threads_of_grid()) {
        u64 edges = look(lengths[c]);
        // Only a long row has more than MOST_BY_BLOCK places, so that a row shows whether it is long.
        if (edges > MOST_BY_BLOCK)
            lengths[c] = (u32)most<u64>(MOST_BY_BLOCK + 1, least<u64>(2 * edges, 2 * lengths.length));
    }
}

// ---- rows --------------------------------------------------------------------------------------------------

// Write the row of each new vertex, from ``begins[c]`` on, and its length.
//
// A row lists each target once, with the sum of the weights of all edges there. Edges between members become a
// self-loop. If `undirected`, the loop has half the weight of the edges that are stored in both directions.
template <typename Weight>
__global__ void PARALLEL(1024) merge_rows(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u32 undirected, Array<const u32> vertex,
    Array<const u64> bounds, Array<const u32> members, Array<const u64> begins, Array<u32> row_targets,
    Array<double> row_weights, Array<u32> lengths, Array<u32> listed, Array<u64> counts, Grid grid, Shared shared
) {
    __shared__ u32 up_to[TEAM_BLOCK], owners[TEAM_BLOCK], counters[TEAM_BLOCK / WARP];
    __shared__ u64 ends[TEAM_BLOCK];
    Merger<Weight> merger{offsets, targets, weights, undirected != 0, vertex, bounds, members, begins, row_targets,
                          row_weights, lengths, listed, counts, shared_memory<u64>(), shared.bytes, up_to, owners, ends};
    if (thread_of_grid() < MERGED_CLASSES) counts[thread_of_grid()] = 0;
    grid.sync();
    merger.list_rows();
    grid.sync();
    merger.clear_rows();
    merger.template merge_listed<TEAM_BLOCK>(BY_BLOCK, counters);
    __syncthreads();
    merger.template merge_listed<MERGING_GROUP>(BY_GROUP, counters);
    __syncthreads();
    merger.merge_short(counters);
    grid.sync();
    merger.enter_pieces();
    grid.sync();
    merger.close_rows();
}

// Write the lengths of rows in another order.
__global__ void PARALLEL(256) take_lengths(Array<const u32> lengths, Array<const u32> order, Array<u32> taken) {
    for (u64 v = thread_of_grid(); v < order.length; v += threads_of_grid()) taken[v] = lengths[order[v]];
}

// Copy the row of each new vertex to its place in `order`, with the local numbers of its targets.
__global__ void PARALLEL(256) finish_rows(
    Array<const u64> begins, Array<const u32> row_targets, Array<const double> row_weights, Array<const u32> local,
    Array<const u32> order, Array<const u64> offsets, Array<u32> targets, Array<double> weights
) {
    if (targets.length == 0) return;
    over_edges(offsets, 0, order.length, 0, targets.length, [&](u64 v, u64 e) {
        u64 from = begins[order[v]] + (e - offsets[v]);
        targets[e] = local[row_targets[from]];
        weights[e] = row_weights[from];
    });
}

// ---- values ------------------------------------------------------------------------------------------------

// Write the value of the new vertex of each owned vertex.
template <typename Value>
__global__ void PARALLEL(256) expand(
    Array<const u32> vertex, Array<const u32> local, Array<const Value> values, Array<Value> expanded
) {
    for (u64 v = thread_of_grid(); v < expanded.length; v += threads_of_grid())
        expanded[v] = values[local[vertex[v]]];
}

// Write the value of each new vertex, given values of which those of its members are equal.
template <typename Value>
__global__ void PARALLEL(256) collapse(
    Array<const u32> vertex, Array<const u32> local, Array<const Value> values, Array<Value> collapsed
) {
    for (u64 v = thread_of_grid(); v < vertex.length; v += threads_of_grid())
        collapsed[local[vertex[v]]] = values[v];
}
