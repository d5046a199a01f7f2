// Partition a graph on a GPU: degree order, bounds of rows, sorted rows in local numbers, and gathered values.

#include "edge_range.cuh"

// States of a vertex for a partition, as in kernels/cpu/partition.py.
constexpr u8 NOT_NEEDED = 0, NEEDED = 1, OWN = 2;

// Adds the length of each row to `degree`. Returns 2^64 - 1 minus the highest degree.
__global__ void PARALLEL(256) add_degrees(Array<const u64> offsets, Array<u32> degree, Results<u64> results) {
    u64 highest = 0;
    for (u64 v = thread_of_grid(); v < degree.length; v += threads_of_grid()) {
        u64 sum = degree[v] + (offsets[v + 1] - offsets[v]);
        degree[v] = (u32)sum;
        highest = most(highest, sum);
    }
    results.minimum(~highest);
}

// Writes keys that sort by descending degree, and by ascending number among equal degrees.
__global__ void PARALLEL(256) degree_keys(Array<const u32> degree, Array<u64> keys) {
    for (u64 v = thread_of_grid(); v < keys.length; v += threads_of_grid()) keys[v] = (u64)~degree[v] << 32 | v;
}

// Numbers the vertices in the order of their sorted keys.
__global__ void PARALLEL(256) number_by_keys(Array<const u64> keys, Array<u32> vertices, Array<u32> local) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid()) {
        u32 v = (u32)keys[i];
        vertices[i] = v;
        local[v] = (u32)i;
    }
}

// Writes the degree of each owned vertex.
__global__ void PARALLEL(256) take_degrees(Array<const u32> degree, Array<const u32> owned, Array<u32> own) {
    for (u64 i = thread_of_grid(); i < owned.length; i += threads_of_grid()) own[i] = degree[owned[i]];
}

// Marks the owned vertices.
__global__ void PARALLEL(256) mark_owned(Array<const u32> owned, Array<u8> needed) {
    for (u64 i = thread_of_grid(); i < owned.length; i += threads_of_grid()) needed[owned[i]] = OWN;
}

// Writes the bounds of the rows of owned vertices. Returns 2^64 - 1 minus the length of the longest row.
__global__ void PARALLEL(256) row_bounds(
    Array<const u64> offsets, Array<const u32> owned, Array<u64> bounds, Results<u64> results, Grid grid
) {
    auto length = [&](u64 i) { return offsets[(u64)owned[i] + 1] - offsets[owned[i]]; };
    u64 rows = owned.length, each = (rows + warps_of_grid() - 1) / warps_of_grid();
    u64 begin = least(warp_of_grid() * each, rows), end = least(begin + each, rows);
    u64 sum = 0, longest = 0;
    for (u64 i = begin + lane(); i < end; i += WARP) {
        sum += length(i);
        longest = most(longest, length(i));
    }
    sum = across(sum, Sum());
    // The sum of each warp's rows is kept at the end of the rows until all warps have read it.
    if (lane() == 0 && begin < end) bounds[end] = sum;
    grid.sync();
    u64 before = 0;
    if (begin < end)
        for (u64 w = lane(); w < warp_of_grid(); w += WARP) before += look(bounds[(w + 1) * each]);
    before = across(before, Sum());
    grid.sync();
    if (first_of_grid()) bounds[0] = 0;
    for (u64 i = begin; i < end; i += WARP) {
        u64 up_to = i + lane() < end ? length(i + lane()) : 0;
        for (u32 step = 1; step < WARP; step *= 2) {
            u64 other = __shfl_up_sync(ALL, up_to, step);
            if (lane() >= step) up_to += other;
        }
        if (i + lane() < end) bounds[i + lane() + 1] = before + up_to;
        before += __shfl_sync(ALL, up_to, WARP - 1);
    }
    results.minimum(~longest);
}

// Writes the first row at which edges and rows so far reach each multiple of `step`, and where it begins.
// Returns the number of rows up to the last one with an edge.
__global__ void PARALLEL(256) block_rows(
    Array<const u64> bounds, u64 step, Array<u32> rows, Array<u64> ends, Results<u64> results
) {
    u64 last = bounds.length - 1;
    for (u64 k = thread_of_grid(); k < rows.length; k += threads_of_grid()) {
        u64 low = 0, high = last;
        while (low < high) {
            u64 middle = (low + high) / 2;
            if (bounds[middle] + middle < k * step) low = middle + 1;
            else high = middle;
        }
        rows[k] = (u32)low;
        ends[k] = bounds[low];
    }
    u64 low = 0, high = last;
    while (low < high) {
        u64 middle = (low + high) / 2;
        if (bounds[middle] < bounds[last]) low = middle + 1;
        else high = middle;
    }
    results.minimum(low);
}

// Copies the edges ``begin:end`` of the graph, which are in `piece`, to the rows of a partition. The partition owns
// the vertices with the numbers from `first` on, and `bounds` has the bounds of their rows.
template <typename Word>
__global__ void PARALLEL(256) scatter_rows(
    Array<const u64> offsets, Array<const u32> number, Array<const u64> bounds, u64 first, u64 begin, u64 end,
    Array<const Word> piece, Array<Word> out
) {
    over_edges(offsets, 0, offsets.length - 1, begin, end, [&](u64 v, u64 e) {
        u64 row = (u64)number[v] - first;
        if (row < bounds.length - 1) out[bounds[row] + (e - offsets[v])] = piece[e - begin];
    });
}

// Marks the remote targets of a partition's edges. Returns the number of edges to them.
__global__ void PARALLEL(256) mark_targets(Array<const u32> targets, Array<u8> needed, Results<u64> results) {
    u64 boundary = 0;
    for (u64 e = thread_of_grid(); e < targets.length; e += threads_of_grid()) {
        u8 known = needed[targets[e]];
        boundary += known != OWN;
        // Test before the write, because many edges lead to a hub.
        if (known == NOT_NEEDED) needed[targets[e]] = NEEDED;
    }
    results.sum(boundary);
}

// Writes keys that sort the edges of the rows ``first:last`` by row, and by local number of the target.
__global__ void PARALLEL(256) edge_keys(
    Array<const u64> bounds, Array<const u32> position, Array<const u32> targets, u64 first, u64 last,
    Array<u64> keys
) {
    u64 begin = bounds[first];
    over_edges(bounds, first, last, begin, bounds[last], [&](u64 row, u64 e) {
        keys[e - begin] = (row - first) << 32 | position[targets[e]];
    });
}

// Writes the targets of sorted keys, from edge `begin` on.
__global__ void PARALLEL(256) put_targets(Array<const u64> keys, u64 begin, Array<u32> targets) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid()) targets[begin + i] = (u32)keys[i];
}

// Writes targets and weights in the order of sorted keys, from edge `begin` on. `given` holds the weights in
// the order of the keys.
template <typename Word>
__global__ void PARALLEL(256) put_weighted(
    Array<const u64> keys, Array<const u64> order, Array<const Word> given, u64 begin, Array<u32> targets,
    Array<Word> weights
) {
    for (u64 i = thread_of_grid(); i < order.length; i += threads_of_grid()) {
        targets[begin + i] = (u32)keys[order[i]];
        weights[begin + i] = given[order[i]];
    }
}

// Sets ``gathered[vertices[i]] = values[i]`` for the owned vertices.
template <typename Word>
__global__ void PARALLEL(256) scatter_values(
    Array<const u32> vertices, Array<const Word> values, u64 owned, Array<Word> gathered
) {
    for (u64 i = thread_of_grid(); i < owned; i += threads_of_grid()) gathered[vertices[i]] = values[i];
}

// Sets ``gathered[vertices[i]] = ids[to_global[numbers[i]]]``. Without `to_global`, the numbers are global.
// Without `ids`, global numbers replace the ids. No vertex gives -1. Returns how many numbers are too large.
__global__ void PARALLEL(256) scatter_ids(
    Array<const u32> vertices, Array<const u32> numbers, Array<const u32> to_global, Array<const i64> ids,
    u64 owned, Array<i64> gathered, Results<u64> results
) {
    u64 beyond = 0, limit = to_global.length ? to_global.length : gathered.length;
    for (u64 i = thread_of_grid(); i < owned; i += threads_of_grid()) {
        u64 number = numbers[i];
        i64 id = -1;
        if (number != NO_VERTEX) {
            beyond += number >= limit;
            if (number >= limit) continue;
            if (to_global.length) number = to_global[number];
            id = ids.length ? ids[number] : (i64)number;
        }
        gathered[vertices[i]] = id;
    }
    results.sum(beyond);
}
