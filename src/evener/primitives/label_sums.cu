// Moves of vertices to their best labels.

#include "label_moves.cuh"

// Make all owned vertices active.
__global__ void PARALLEL(256) wake_all(u64 owned, Bits active) {
    for (u64 h = thread_of_grid(); h < (owned + 31) / 32; h += threads_of_grid())
        active.half(h) |= range_mask(h, 0, owned);
}

// Choose the best label of each active vertex of a bucket, and make these vertices inactive.
//
// Returns the number of vertices that will move.
template <typename Weight>
__global__ void PARALLEL(1024) choose_labels(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u64> far_offsets,
    Tiered<u32> far_targets, Tiered<Weight> far_weights, u32 both, Array<const u32> vertices, u64 owned,
    Array<u32> label, Array<const u32> within, Array<const double> strength, Array<const double> far_strength,
    Array<double> total, Array<double> far_total, u32 integral, double rate, u32 single_only, u64 salt,
    u64 buckets, u64 bucket, Bits active, Bits moved, Array<u32> chosen, Array<u32> table_labels,
    Array<double> table_sums, u64 places, Results<u64> results, Grid grid, Shared shared
) {
    Moves<Weight> moves{
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label.at, within,
        strength, far_strength, total.at, far_total.at, total.length != 0, rate, single_only, active, moved, chosen,
        table_labels, table_sums, places
    };
    moves.find_bounds(shared.bytes);
    u64* memory = shared_memory<u64>();
    results.sum(
        integral ? moves.template choose<u32>(salt, buckets, bucket, memory, shared.bytes, grid)
                 : moves.template choose<double>(salt, buckets, bucket, memory, shared.bytes, grid)
    );
}

// Give each vertex that moves its label; if `add`, also correct the totals.
__global__ void PARALLEL(256) apply_moves(
    u64 owned, Bits moved, Array<u32> chosen, Array<const double> strength, Array<const double> far_strength,
    u32 both, u32 add, Array<u32> label, Array<double> total, Array<double> far_total
) {
    Moves<float> moves{};
    moves.owned = owned;
    moves.moved = moved;
    moves.chosen = chosen;
    moves.strength = strength;
    moves.far_strength = far_strength;
    moves.both = both;
    moves.label = label.at;
    moves.total = total.at;
    moves.far_total = far_total.at;
    moves.apply(add);
}

// Make the neighbours of vertices that moved active, except neighbours with the new label.
__global__ void PARALLEL(512) wake_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> far_offsets, Tiered<u32> far_targets, u32 both,
    u64 owned, Bits moved, Array<u32> label, Bits active
) {
    Moves<float> moves{};
    moves.offsets = offsets;
    moves.targets = targets;
    moves.far_offsets = far_offsets;
    moves.far_targets = far_targets;
    moves.both = both;
    moves.owned = owned;
    moves.label = label.at;
    moves.active = active;
    moves.moved = moved;
    moves.bounds.to_wake = moves.shorter(LONG_ROW);
    moves.wake();
}

// Choose, move and wake in rounds, until at most `enough` vertices move in a round.
//
// Returns the number of rounds, of all moves, and of moves in the last round.
template <typename Weight>
__global__ void PARALLEL(1024) move_in_rounds(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u64> far_offsets,
    Tiered<u32> far_targets, Tiered<Weight> far_weights, u32 both, Array<const u32> vertices, u64 owned,
    Array<u32> label, Array<const u32> within, Array<const double> strength, Array<const double> far_strength,
    Array<double> total, Array<double> far_total, u32 integral, double rate, u32 single_only, u64 salt,
    u64 buckets, u64 enough, u64 rounds, Bits active, Bits moved, Array<u32> chosen, Array<u32> table_labels,
    Array<double> table_sums, u64 places, Results<u64, u64, u64> results, Grid grid, Shared shared
) {
    Moves<Weight> moves{
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label.at, within,
        strength, far_strength, total.at, far_total.at, total.length != 0, rate, single_only, active, moved, chosen,
        table_labels, table_sums, places
    };
    moves.find_bounds(shared.bytes);
    u64* memory = shared_memory<u64>();
    GridSum sums(grid);
    u64 round = 0, all = 0, last = 0;
    while (round < rounds) {
        u64 count = 0;
        for (u64 bucket = 0; bucket < buckets; bucket++) {
            count += integral
                ? moves.template choose<u32>(salt + round, buckets, bucket, memory, shared.bytes, grid)
                : moves.template choose<double>(salt + round, buckets, bucket, memory, shared.bytes, grid);
            grid.sync();
            moves.apply(total.length != 0);
            grid.sync();
            moves.wake();
            grid.sync();
        }
        round++;
        last = sums.sum(count, 0).first;
        all += last;
        if (last <= enough) break;
    }
    bool first = first_of_grid();
    results.sum(first ? round : 0, first ? all : 0, first ? last : 0);
}
