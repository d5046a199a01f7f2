// Sum the values of each row's neighbours, over edges in column blocks: see column_sums.cuh.

#include "column_sums.cuh"

// Writes the sums of each local item.
__global__ void PARALLEL(1024) local_sums(
    Array<const u32> block_items, Array<const u32> width, Array<const u64> starts, Array<const u32> ends,
    Array<const u8> order, Array<const u64> places, Array<const u32> pairs, u32 columns,
    Array<const float> values, Array<float> partial, Array<u32> taken, Shared shared
) {
    Items items{width, starts, ends, order, places};
    combine_local(block_items, items, pairs, columns, values, partial, taken, FloatSum());
}

// Writes the sums of each remainder item.
__global__ void PARALLEL(256) remainder_sums(
    Array<const u32> width, Array<const u64> starts, Array<const u32> ends, Array<const u8> order,
    Array<const u64> places, Array<const u32> singles, Array<const float> values, Array<float> partial
) {
    combine_remainder(Items{width, starts, ends, order, places}, singles, values, partial, FloatSum());
}
