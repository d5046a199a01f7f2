// Moves of vertices to their best labels, in rounds that one GPU runs without a return to the host.

#include "label_choice.cuh"

// Choose, move and wake in rounds, until at most `enough` vertices move in a round.
//
// Returns the number of rounds, of all moves, and of moves in the last round.
template <typename Weight, typename Sum>
__global__ void PARALLEL(1024) move_in_rounds(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u64> far_offsets,
    Tiered<u32> far_targets, Tiered<Weight> far_weights, u32 both, Array<const u32> vertices, u64 owned,
    Array<u32> label, Array<const u32> within, Array<const double> strength, Array<const double> far_strength,
    Array<double> total, Array<double> far_total, double rate, u32 single_only, u64 salt, u64 buckets, u64 enough,
    u64 rounds, Bits active, Bits moved, Array<u32> chosen, Array<u32> picked, Array<u64> plan,
    Array<u32> table_labels, Array<Sum> table_sums, Results<u64, u64, u64> results, Grid grid, Shared shared
) {
    __shared__ u64 bounds[CLASSES + 1];
    Choice<Weight, Sum> choice{{
        offsets, targets, weights, far_offsets, far_targets, far_weights, both, vertices, owned, label.at, within,
        strength, far_strength, total.at, far_total.at, total.length != 0, rate, single_only, active, moved,
        chosen.at, picked.at, plan.at, table_labels.at, table_sums.at, table_labels.length, bounds
    }};
    choice.find_bounds(shared.bytes);
    choice.clear_counts();
    GridSum sums(grid);
    u64 round = 0, all = 0, last = 0, turn = 0;
    while (round < rounds) {
        u64 count = 0;
        for (u64 bucket = 0; bucket < buckets; bucket++, turn++) {
            count += choice.choose({salt + round, buckets, bucket}, turn, shared_memory<u64>(), shared.bytes, grid);
            grid.sync();
            choice.apply_picked(choice.counts(turn), total.length != 0);
            grid.sync();
            choice.wake_picked(choice.counts(turn));
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
