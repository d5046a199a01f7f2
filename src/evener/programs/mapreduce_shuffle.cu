// MapReduce: choose the element of each record, group records, and find the runs of equal keys.

#include "mixing.cuh"

// Choose elements by a hash of the key. Positions without a record get the number after the last element.
__global__ void PARALLEL(256) choose_by_hash(
    Array<const i64> keys, Array<const u8> found, u64 elements, Array<u16> chosen
) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid())
        chosen[i] = found[i] ? mix((u64)keys[i]) % elements : elements;
}

// Choose the element `e` with ``bounds[e] <= key < bounds[e + 1]``. Returns the number of keys in no block.
__global__ void PARALLEL(256) choose_by_block(
    Array<const i64> keys, Array<const u8> found, Array<const u64> bounds, Array<u16> chosen, Results<u64> results
) {
    u64 outside = 0, elements = bounds.length - 1, n = bounds[elements];
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid()) {
        u64 key = (u64)keys[i], element = elements;
        if (found[i] && key >= n) outside++;
        else if (found[i])
            for (element = 0; key >= bounds[element + 1]; element++) {
            }
        chosen[i] = element;
    }
    results.sum(outside);
}

// Write where the records of each element begin in the sorted order.
__global__ void PARALLEL(256) find_bounds(Array<const u64> order, Array<const u16> chosen, Array<u64> bounds) {
    for (u64 i = thread_of_grid(); i <= order.length; i += threads_of_grid()) {
        u64 first = i == 0 ? 0 : chosen[order[i - 1]] + 1;
        u64 end = i == order.length ? bounds.length : chosen[order[i]] + 1;
        for (u64 element = first; element < end; element++) bounds[element] = i;
    }
}

// Write ``words[order]`` to `out`; `order` may be longer than `out`.
__global__ void PARALLEL(256) gather_words(Array<const u64> words, Array<const u64> order, Array<u64> out) {
    for (u64 i = thread_of_grid(); i < out.length; i += threads_of_grid()) out[i] = words[order[i]];
}

// Flag the first record of each key, and the end of all records.
__global__ void PARALLEL(256) mark_heads(Array<const i64> keys, Array<u8> heads) {
    for (u64 i = thread_of_grid(); i < heads.length; i += threads_of_grid())
        heads[i] = i == 0 || i == keys.length || keys[i] != keys[i - 1];
}

// Write the number of segments of at most `length` records of each key `k` to ``segments[k + 1]``.
__global__ void PARALLEL(256) count_segments(Array<const u64> bounds, u64 length, Array<u64> segments) {
    for (u64 i = thread_of_grid(); i < segments.length; i += threads_of_grid())
        segments[i] = i == 0 ? 0 : (bounds[i] - bounds[i - 1] + length - 1) / length;
}
