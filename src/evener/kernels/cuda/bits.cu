// Bitmaps: counting and copying.

#include "common.cuh"

// Returns the number of set bits in ``begin:end``.
__global__ void PARALLEL(256) count_range(Bits words, u64 begin, u64 end, Results<u64> results) {
    u64 count = 0;
    for (u64 h = begin / 32 + thread_of_grid(); h < (end + 31) / 32; h += threads_of_grid())
        count += __popc(words.half(h) & range_mask(h, begin, end));
    results.sum(count);
}

// Copy `words` to `out`.
__global__ void PARALLEL(256) copy(Bits words, Bits out) {
    copy_all(words, out);
}
