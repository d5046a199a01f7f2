// Sums over labels: strengths, totals of labels, lists of moves, weight inside labels, smallest vertices.

#include "label_table.cuh"

// Edges of the longest row that a warp adds up.
constexpr u32 LONG_ROW = 1024;
// The sum of all squared shares of labels, as an integer.
constexpr double WHOLE = 4611686018427387904.0;

// Call ``visit(v, who, width)`` for each row, with a warp or, for a long row, with a block. Rows come by descending
// length.
template <typename Visit> __device__ inline void over_rows(Array<const u64> offsets, Visit visit) {
    u64 rows = offsets.length - 1;
    u64 end = first_shorter(rows, LONG_ROW, [&](u64 v) { return offsets[v + 1] - offsets[v]; });
    for (u64 v = blockIdx.x; v < end; v += gridDim.x) visit(v, threadIdx.x, blockDim.x);
    for (u64 v = end + warp_of_grid(); v < rows; v += warps_of_grid()) visit(v, lane(), WARP);
}

template <typename Weight> __device__ inline double weight_of(Tiered<Weight> weights, u64 e) {
    return weights.length == 0 ? 1.0 : (double)read(weights, e);
}

// Give each vertex and mirror its own number as label.
__global__ void PARALLEL(256) begin_labels(Array<const u32> vertices, Array<u32> label) {
    for (u64 v = thread_of_grid(); v < label.length; v += threads_of_grid()) label[v] = vertices[v];
}

// Write the sum of the weights of each row. If `twice`, loops count twice.
//
// Returns the whole sum, and the number of weights that are no integers.
template <typename Weight>
__global__ void PARALLEL(256) sum_weights(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u32 twice, Array<double> strength,
    Results<double, u64> results
) {
    double whole = 0;
    u64 fractions = 0;
    for (u64 v = thread_of_grid(); v + 1 < offsets.length && weights.length == 0 && !twice; v += threads_of_grid()) {
        strength[v] = (double)(offsets[v + 1] - offsets[v]);
        whole += strength[v];
    }
    if (weights.length != 0 || twice)
        over_rows(offsets, [&](u64 v, u32 who, u32 width) {
            double own = 0;
            for (u64 e = offsets[v] + who; e < offsets[v + 1]; e += width) {
                double weight = weight_of(weights, e);
                fractions += weight != floor(weight);
                own += twice && read(targets, e) == v ? weight + weight : weight;
            }
            own = width == WARP ? across(own, Sum()) : over_block(own, Sum());
            if (who == 0) {
                strength[v] = own;
                whole += own;
            }
        });
    results.sum(whole, fractions);
}

// Return the weight of the edges between vertices with equal labels; if `twice`, a loop counts twice.
template <typename Weight>
__global__ void PARALLEL(256) inside_weight(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, u32 twice, Array<const u32> label,
    Results<double> results
) {
    double inside = 0;
    over_rows(offsets, [&](u64 v, u32 who, u32 width) {
        u32 own = label[v];
        for (u64 e = offsets[v] + who; e < offsets[v + 1]; e += width) {
            u32 u = read(targets, e);
            if (label[u] != own) continue;
            double weight = weight_of(weights, e);
            inside += twice && u == v ? weight + weight : weight;
        }
    });
    results.sum(inside);
}

// Set all totals to zero.
__global__ void PARALLEL(256) clear_totals(Array<double> total) {
    for (u64 i = thread_of_grid(); i < total.length; i += threads_of_grid()) total[i] = 0;
}

// Add each strength to the total of its label; `label` may be longer than `strength`. Lanes combine the strengths of
// equal labels, because many additions to a large label are slow.
__global__ void PARALLEL(256) add_totals(Array<const u32> label, Array<const double> strength, Array<double> total) {
    for (u64 first = warp_of_grid() * WARP; first < strength.length; first += warps_of_grid() * WARP) {
        u64 v = first + lane();
        u32 own = v < strength.length ? label[v] : EMPTY;
        u32 equal = __match_any_sync(ALL, own);
        double sum = sum_of_lanes(own != EMPTY ? equal : 0, v < strength.length ? strength[v] : 0);
        if (own != EMPTY && lane() == __ffs(equal) - 1) atomicAdd(total.at + own, sum);
    }
}

// Return the sum of the products of two shares of each label, in units of 2^-62.
__global__ void PARALLEL(256) total_spread(
    Array<const double> total, Array<const double> far_total, double share, Results<u64> results
) {
    u64 spread = 0;
    for (u64 i = thread_of_grid(); i < total.length; i += threads_of_grid())
        spread += (u64)rint((total[i] * share) * (far_total[i] * share) * WHOLE);
    results.sum(spread);
}

// Lower the smallest vertex number of each label to those of the owned vertices.
__global__ void PARALLEL(256) smallest_of_label(
    Array<const u32> label, Array<const u32> vertices, u64 owned, Array<u32> smallest
) {
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid())
        if (vertices[v] < look(smallest[label[v]])) atomicMin(smallest.at + label[v], vertices[v]);
}

// Write the smallest vertex number with the label of each owned vertex.
__global__ void PARALLEL(256) take_smallest(
    Array<const u32> label, Array<const u32> smallest, Array<u32> found
) {
    for (u64 v = thread_of_grid(); v < found.length; v += threads_of_grid()) found[v] = smallest[label[v]];
}

// Count the owned vertices whose label is their own number.
__global__ void PARALLEL(256) count_own(
    Array<const u32> label, Array<const u32> vertices, u64 owned, Results<u64> results
) {
    u64 count = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) count += label[v] == vertices[v];
    results.sum(count);
}

// List the old label, the new label and the strengths of each vertex that moves, in any order.
__global__ void PARALLEL(256) list_moves(
    u64 owned, Bits moved, Array<const u32> label, Array<const u32> chosen, Array<const double> strength,
    Array<const double> far_strength, u32 both, Array<u32> labels, Array<double> strengths, Array<u64> length
) {
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
        if (!moved.test(v)) continue;
        u64 place = room_for_one(length);
        labels[2 * place] = label[v];
        labels[2 * place + 1] = chosen[v];
        strengths[2 * place] = strength[v];
        strengths[2 * place + 1] = both ? far_strength[v] : 0;
    }
}

// Correct the totals by listed moves of all partitions.
__global__ void PARALLEL(256) add_moves(
    Array<const u32> labels, Array<const double> strengths, u32 both, Array<double> total, Array<double> far_total
) {
    for (u64 i = thread_of_grid(); i < labels.length / 2; i += threads_of_grid()) {
        u32 from = labels[2 * i], to = labels[2 * i + 1];
        atomicAdd(total.at + from, -strengths[2 * i]);
        atomicAdd(total.at + to, strengths[2 * i]);
        if (both) {
            atomicAdd(far_total.at + from, -strengths[2 * i + 1]);
            atomicAdd(far_total.at + to, strengths[2 * i + 1]);
        }
    }
}
