// Scores of pairs of vertices, from the common neighbours of their rows.
//
// Rows ascend. The targets of the shorter row are searched in the longer row. `weights` has the weight of each common
// neighbour, or is empty if each has weight 1. `measure` is 0 for the sum of the weights, 1 for Jaccard's coefficient
// and 2 for the overlap coefficient.

#include "team.cuh"

// Pairs whose shorter row is longer than this have a block, and other pairs have a warp.
constexpr u64 LONG_PAIR = 2048;

// Write one over the length of each row, or over its logarithm; 0 if the divisor is 0.
__global__ void PARALLEL(256) weigh_neighbours(Array<const u32> lengths, u32 logarithm, Array<double> weights) {
    for (u64 v = thread_of_grid(); v < weights.length; v += threads_of_grid()) {
        double divisor = logarithm && lengths[v] > 0 ? log((double)lengths[v]) : (double)lengths[v];
        weights[v] = divisor > 0 ? 1 / divisor : 0;
    }
}

struct Row {
    const u32* at;
    u64 length;

    __device__ static Row of(Array<const u64> offsets, Array<const u32> targets, u32 v) {
        return {targets.at + offsets[v], offsets[v + 1ull] - offsets[v]};
    }
    __device__ bool has(u32 target) const {
        u64 low = 0, high = length;
        while (low < high) {
            u64 middle = (low + high) / 2;
            if (__ldg(at + middle) < target) low = middle + 1;
            else high = middle;
        }
        return low < length && __ldg(at + low) == target;
    }
    // This thread's part of the sum of the weights of targets that are also in a longer row.
    __device__ double common(Row longer, Array<const double> weights, Team team) const {
        double total = 0;
        for (u64 i = team.who; i < length; i += team.width) {
            u32 target = __ldg(at + i);
            if (longer.has(target)) total += weights.length ? weights[target] : 1;
        }
        return total;
    }
};

// Write the score of each pair of an owned vertex and of a vertex with one of the other rows.
__global__ void PARALLEL(256) score_pairs(
    Array<const u64> row_offsets, Array<const u32> row_targets, Array<const u32> first, Array<const u64> other_offsets,
    Array<const u32> other_targets, Array<const u32> second, Array<const double> weights, u32 measure,
    Array<double> scores
) {
    auto row = [&](u32 i) { return Row::of(row_offsets, row_targets, first[i]); };
    auto other = [&](u32 i) { return Row::of(other_offsets, other_targets, second[i]); };
    auto is_long = [&](u32 i) { return least(row(i).length, other(i).length) > LONG_PAIR; };
    auto score = [&](u32 i, Team team) {
        Row a = row(i), b = other(i);
        double common = a.length < b.length ? a.common(b, weights, team) : b.common(a, weights, team);
        common = team.width == WARP ? across(common, Sum()) : over_block(common, Sum());
        if (team.who) return;
        double total = measure == 1 ? a.length + b.length - common : (double)least(a.length, b.length);
        scores[i] = !measure ? common : total > 0 ? common / total : 0;
    };
    for (u64 i = warp_of_grid(); i < scores.length; i += warps_of_grid())
        if (!is_long(i)) score(i, Team::warp());
    over_wanted(scores.length, is_long, [&](u32 i) { score(i, Team::block()); });
}
