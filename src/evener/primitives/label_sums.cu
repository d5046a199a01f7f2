// Moves of vertices to their best labels, a step at a time.

#include "label_choice.cuh"

// Edges of the longest row that a warp reads to wake neighbours.
constexpr u32 LONG_ROW = 1024;

// Make all owned vertices active.
__global__ void PARALLEL(256) wake_all(u64 owned, Bits active) {
    for (u64 h = thread_of_grid(); h < (owned + 31) / 32; h += threads_of_grid())
        active.half(h) |= range_mask(h, 0, owned);
}

// Choose the best label of each active vertex of a bucket, and make these vertices inactive.
//
// Returns the number of vertices that will move.
template <typename Weight, typename Sum>
__global__ void PARALLEL(1024) choose_labels(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u64> far_offsets,
    Tiered<u32> far_targets, Tiered<Weight> far_weights, u32 both, Array<const u32> vertices, u64 owned,
    Array<u32> label, Array<const u32> within, Array<const double> strength, Array<const double> far_strength,
    Array<double> total, Array<double> far_total, double rate, u32 single_only, u64 salt, u64 buckets, u64 bucket,
    Bits active, Bits moved, Array<u32> chosen, Array<u32> picked, Array<u64> plan, Array<u32> table_labels,
    Array<Sum> table_sums, Results<u64> results, Grid grid, Shared shared
) {
    __shared__ u64 bounds[CLASSES + 1];
    Choice<Weight, Sum> choice{{
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label.at, within,
        strength, far_strength, total.at, far_total.at, total.length != 0, rate, single_only, active, moved,
        chosen.at, picked.at, plan.at, table_labels.at, table_sums.at, table_labels.length, bounds
    }};
    choice.find_bounds(shared.bytes);
    choice.clear_counts();
    grid.sync();
    results.sum(choice.choose({salt, buckets, bucket}, 0, shared_memory<u64>(), shared.bytes, grid));
}

// Give each vertex that moves its label; if `add`, also correct the totals.
__global__ void PARALLEL(256) apply_moves(
    u64 owned, Bits moved, Array<u32> chosen, Array<const double> strength, Array<const double> far_strength,
    u32 both, u32 add, Array<u32> label, Array<double> total, Array<double> far_total
) {
    Moves<float, u32> moves{};
    moves.chosen = chosen.at;
    moves.strength = strength;
    moves.far_strength = far_strength;
    moves.both = both;
    moves.label = label.at;
    moves.total = total.at;
    moves.far_total = far_total.at;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid())
        if (moved.test(v)) moves.apply_to(v, add);
}

// Make the neighbours of vertices that moved active, except neighbours with the new label.
__global__ void PARALLEL(1024) wake_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> far_offsets, Tiered<u32> far_targets, u32 both,
    u64 owned, Bits moved, Array<u32> label, Bits active
) {
    Moves<float, u32> moves{};
    moves.offsets = offsets;
    moves.targets = targets;
    moves.far_offsets = far_offsets;
    moves.far_targets = far_targets;
    moves.both = both;
    moves.owned = owned;
    moves.label = label.at;
    moves.active = active;
    moves.moved = moved;
    moves.wake_moved(first_shorter(owned, LONG_ROW, [&](u64 v) { return moves.length(v); }));
}
