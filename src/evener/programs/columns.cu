// Combined messages in float32, over edges in column blocks: see kernels/cuda/column_sums.cuh. GIM-V and vertex
// programs use these kernels.

#include "column_sums.cuh"
#include "combine_all.cuh"

// Writes the combined messages of each local item.
__global__ void PARALLEL(1024) combine_local_items(
    Array<const u32> block_items, Array<const u32> width, Array<const u64> starts, Array<const u32> ends,
    Array<const u8> order, Array<const u64> places, Array<const u32> words, u32 columns,
    Array<const double> identity, Array<const float> message, Array<float> partial, Array<u32> taken, Shared shared
) {
    Items items{width, starts, ends, order, places};
    combine_local(block_items, items, words, columns, message, partial, taken, CombineAll<double>{identity[0]});
}

// Writes the combined messages of each remainder.
__global__ void PARALLEL(256) combine_remainders(
    Array<const u32> width, Array<const u64> starts, Array<const u32> ends, Array<const u8> order,
    Array<const u64> places, Array<const u32> words, Array<const double> identity, Array<const float> message,
    Array<float> partial
) {
    Items items{width, starts, ends, order, places};
    combine_remainder(items, words, message, partial, CombineAll<double>{identity[0]});
}

// Writes the combined messages of each row, given those of each tile and column block. With `again`, `combined`
// holds messages of other rows, and they are combined too.
__global__ void PARALLEL(256) combine_tiles(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, Array<const double> identity, u32 again, Array<double> combined
) {
    CombineAll<double> combine{identity[0]};
    over_tiles(
        tile_row, tile_width, tile_places, partial, combined.length, combine,
        [&](u64 v, const double* all) {
            double2* place = (double2*)(combined.at + v);
#pragma unroll
            for (u32 j = 0; j < 2; j++) {
                double2 before = again ? place[j] : make_double2(combine.nothing, combine.nothing);
                place[j] = make_double2(combine(before.x, all[2 * j]), combine(before.y, all[2 * j + 1]));
            }
        },
        [&](u64 v, double all) { combined[v] = again ? combine(combined[v], all) : all; }
    );
}
