// Contraction: vertices grouped by label, and their rows merged into one row for each label.
//
// The arrays are those of contract_cpu.py. The members of a new vertex, and the targets of a row, are in no order.
// A warp merges a short row in a table in shared memory. The part of `row_targets` of a long row is itself a hash
// table while the edges of all long rows are entered, evenly distributed among all threads.

#include "edge_range.cuh"

// Edges of the longest row that a warp merges, and places in its table.
constexpr u32 SHORT = 128, PLACES = 2 * SHORT;
constexpr u32 BLOCK_WARPS = 8;
// Place in a table that holds no target.
constexpr u32 EMPTY = NO_VERTEX;

// A place below `places` for a target: the upper bits of a product (Fibonacci hashing), scaled.
__device__ inline u64 hash(u32 target, u64 places) { return (u64)(target * 0x9E3779B1u) * places >> 32; }

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
        // A short row stays below 2 * SHORT places, so that a row shows whether it is long.
        if (edges > SHORT) lengths[c] = (u32)most<u64>(2 * SHORT + 1, least<u64>(2 * edges, 2 * lengths.length));
    }
}

// ---- rows --------------------------------------------------------------------------------------------------

struct Row {
    u32* keys;
    double* sums;
    u64 places;

    __device__ void add(u32 target, double weight) const {
        u64 h = hash(target, places);
        while (true) {
            u32 key = look(keys[h]);
            if (key == target || (key == EMPTY && ((key = atomicCAS(keys + h, EMPTY, target)) == EMPTY || key == target)))
                break;
            if (++h == places) h = 0;
        }
        atomicAdd(sums + h, weight);
    }
};

template <typename Weight> struct Merger {
    Array<const u64> offsets;
    Tiered<u32> targets;
    Tiered<Weight> weights;
    bool undirected;
    Array<const u32> vertex;
    Array<const u64> bounds;
    Array<const u32> members;
    Array<const u64> begins;
    Array<u32> row_targets;
    Array<double> row_weights;
    Array<u32> lengths;

    __device__ bool is_long(u32 c) const { return begins[c + 1] - begins[c] > SHORT; }
    // An undirected edge inside a new vertex is stored twice, and a self-loop once: see `finished`.
    __device__ double weight_of(u64 u, u32 v, u64 e, bool inside) const {
        double weight = weights.length == 0 ? 1.0 : (double)read(weights, e);
        return inside && !(undirected && u != v) ? weight + weight : weight;
    }
    __device__ static double finished(double sum, bool inside) { return inside ? 0.5 * sum : sum; }

    // Merge a short row, with all lanes of a warp and a table in shared memory.
    __device__ void merge_short(u32 c, u32* keys, double* sums) const {
        Row row{keys, sums, PLACES};
        for (u32 h = lane(); h < PLACES; h += WARP) {
            keys[h] = EMPTY;
            sums[h] = 0;
        }
        __syncwarp();
        for (u64 first = bounds[c]; first < bounds[c + 1]; first += WARP) {
            u64 i = first + lane();
            u32 u = i < bounds[c + 1] ? members[i] : 0;
            u64 begin = i < bounds[c + 1] ? offsets[u] : 0, end = i < bounds[c + 1] ? offsets[(u64)u + 1] : 0;
            u32 up_to = (u32)(end - begin);
            for (u32 step = 1; step < WARP; step *= 2) {
                u32 other = __shfl_up_sync(ALL, up_to, step);
                if (lane() >= step) up_to += other;
            }
            u32 total = __shfl_sync(ALL, up_to, WARP - 1);
            for (u32 at = 0; at < total; at += WARP) {
                u32 place = at + lane(), from = 0;
#pragma unroll
                for (u32 step = WARP / 2; step > 0; step /= 2)
                    if (__shfl_sync(ALL, up_to, from + step - 1) <= place) from += step;
                u32 of = __shfl_sync(ALL, u, from);
                u64 e = __shfl_sync(ALL, end, from) - (__shfl_sync(ALL, up_to, from) - place);
                if (place >= total) continue;
                u32 v = read(targets, e), d = read(vertex, v);
                row.add(d, weight_of(of, v, e, d == c));
            }
        }
        __syncwarp();
        u64 to = begins[c];
        u32 count = 0;
        for (u32 h = lane(); h < PLACES; h += WARP) {
            bool kept = keys[h] != EMPTY;
            u32 all = __ballot_sync(ALL, kept);
            if (kept) {
                u64 place = to + count + __popc(all & ((1u << lane()) - 1));
                row_targets[place] = keys[h];
                row_weights[place] = finished(sums[h], keys[h] == c);
            }
            count += __popc(all);
        }
        if (lane() == 0) lengths[c] = count;
        __syncwarp();
    }

    __device__ Row row(u32 c) const {
        return {row_targets.at + begins[c], row_weights.at + begins[c], begins[c + 1] - begins[c]};
    }

    // Enter all edges of long rows. Atomic additions to few places are slow. So a thread first adds up the inside of
    // a new vertex, and a warp first adds up the weights of equal pairs of new vertices.
    __device__ void enter_long() const {
        __shared__ u64 low, high;
        u32 current = EMPTY;
        double inside = 0;
        u64 rows = offsets.length - 1, edges = targets.length;
        for (u64 from = blockIdx.x * TILE; from < edges; from += gridDim.x * TILE) {
            u64 to = least(from + TILE, edges);
            __syncthreads();
            if (threadIdx.x == 0) low = row_of(offsets, 0, rows, from);
            if (threadIdx.x == WARP) high = row_of(offsets, 0, rows, to - 1) + 1;
            __syncthreads();
            for (u64 first = from; first < to; first += blockDim.x) {
                u64 e = first + threadIdx.x, u = e < to ? row_of(offsets, low, high, e) : 0;
                u32 c = e < to ? read(vertex, u) : 0, v = 0, d = 0;
                bool counts = e < to && is_long(c);
                double weight = 0;
                if (counts) {
                    v = read(targets, e);
                    d = read(vertex, v);
                    weight = weight_of(u, v, e, c == d);
                }
                if (counts && c == d) {
                    if (c != current) {
                        if (current != EMPTY) row(current).add(current, inside);
                        current = c;
                        inside = 0;
                    }
                    inside += weight;
                    counts = false;
                }
                u32 equal = __match_any_sync(ALL, counts ? (u64)c << 32 | d : ~(u64)lane());
                double sum = sum_of_lanes(counts ? equal : 0, weight);
                if (counts && lane() == __ffs(equal) - 1) row(c).add(d, sum);
            }
        }
        if (current != EMPTY) row(current).add(current, inside);
    }
    // The sum of the weights of the lanes in `equal`. All lanes call it together.
    __device__ double sum_of_lanes(u32 equal, double weight) const {
        if (weights.length == 0) return __popc(equal);
        double sum = 0;
        for (u32 times = across((u32)__popc(equal), Max()); times > 0; times--) {
            double other = __shfl_sync(ALL, weight, equal != 0 ? __ffs(equal) - 1 : 0);
            if (equal != 0) sum += other;
            equal &= equal - 1;
        }
        return sum;
    }

    // Move the targets of a long row to its begin, with all threads of a block.
    __device__ void close(u32 c) const {
        Row own = row(c);
        u32 count = 0;
        for (u64 first = 0; first < own.places; first += blockDim.x) {
            u64 h = first + threadIdx.x;
            u32 key = h < own.places ? look(own.keys[h]) : EMPTY;
            double sum = key != EMPTY ? look(own.sums[h]) : 0;
            u32 total, before = exclusive_sum(key != EMPTY, total);
            if (key != EMPTY) {
                own.keys[count + before] = key;
                own.sums[count + before] = finished(sum, key == c);
            }
            count += total;
            __syncthreads();
        }
        if (threadIdx.x == 0) lengths[c] = count;
    }
};

// Write the row of each new vertex, from ``begins[c]`` on, and its length. `row_targets` and `row_weights` hold
// 2^32 - 1 and 0 before.
//
// A row lists each target once, with the sum of the weights of all edges there. Edges between members become a
// self-loop. If `undirected`, the loop has half the weight of the edges that are stored in both directions.
template <typename Weight>
__global__ void PARALLEL(256) merge_rows(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u32 undirected, Array<const u32> vertex,
    Array<const u64> bounds, Array<const u32> members, Array<const u64> begins, Array<u32> row_targets,
    Array<double> row_weights, Array<u32> lengths, Grid grid
) {
    __shared__ u32 keys[BLOCK_WARPS][PLACES];
    __shared__ double sums[BLOCK_WARPS][PLACES];
    Merger<Weight> merger{offsets, targets, weights, undirected != 0, vertex, bounds, members, begins, row_targets,
                          row_weights, lengths};
    merger.enter_long();
    for (u64 c = warp_of_grid(); c < lengths.length; c += warps_of_grid())
        if (!merger.is_long((u32)c)) merger.merge_short((u32)c, keys[threadIdx.x / WARP], sums[threadIdx.x / WARP]);
    grid.sync();
    for (u64 c = blockIdx.x; c < lengths.length; c += gridDim.x)
        if (merger.is_long((u32)c)) merger.close((u32)c);
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
