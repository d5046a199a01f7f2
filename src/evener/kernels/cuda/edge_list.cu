// Build a graph from edges in two arrays on a GPU: vertex numbers, lengths and sums of rows, sorting keys.

#include "common.cuh"

// Returns 2^64 - 1 minus the largest value; only the bits of `mask` count.
template <typename Word>
__global__ void PARALLEL(256) largest(Array<const Word> values, u64 mask, Results<u64> results) {
    u64 found = 0;
    for (u64 i = thread_of_grid(); i < values.length; i += threads_of_grid())
        found = most(found, (u64)values[i] & mask);
    results.minimum(~found);
}

// Sets the flag of each id to 1.
template <typename Word>
__global__ void PARALLEL(256) mark_ids(Array<const Word> ids, Array<u32> flags) {
    for (u64 i = thread_of_grid(); i < ids.length; i += threads_of_grid())
        // Test before the write, because many edges lead to a hub.
        if (flags[ids[i]] == 0) flags[ids[i]] = 1;
}

// Writes the number of the vertex with each id, given how many vertices have an id up to each number.
template <typename Word>
__global__ void PARALLEL(256) number_ids(Array<const Word> ids, Array<const u32> up_to, Array<u32> numbers) {
    for (u64 i = thread_of_grid(); i < ids.length; i += threads_of_grid()) numbers[i] = up_to[ids[i]] - 1;
}

// Returns the number of self-loops.
__global__ void PARALLEL(256) count_loops(
    Array<const u32> tails, Array<const u32> heads, Results<u64> results
) {
    u64 loops = 0;
    for (u64 e = thread_of_grid(); e < tails.length; e += threads_of_grid()) loops += tails[e] == heads[e];
    results.sum(loops);
}

// Exchanges the ends of edges so that no tail is larger than its head.
__global__ void PARALLEL(256) order_ends(Array<u32> tails, Array<u32> heads) {
    for (u64 e = thread_of_grid(); e < tails.length; e += threads_of_grid())
        if (tails[e] > heads[e]) swap(tails[e], heads[e]);
}

// Sets the flags of the edges that are no self-loops to 1, and others to 0.
__global__ void PARALLEL(256) mark_other_ends(
    Array<const u32> tails, Array<const u32> heads, Array<u8> flags
) {
    for (u64 e = thread_of_grid(); e < tails.length; e += threads_of_grid()) flags[e] = tails[e] != heads[e];
}

// Sets the flag of the first of equal sorted keys to 1, and the flags of others to 0.
__global__ void PARALLEL(256) mark_first(Array<const u64> keys, Array<u8> flags) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid())
        flags[i] = i == 0 || keys[i] != keys[i - 1];
}

// Writes the number of sorted keys of each row.
__global__ void PARALLEL(256) lengths_of_keys(Array<const u64> keys, Array<u32> lengths) {
    auto keys_below = [&](u64 row) {
        u64 begin = 0, end = keys.length;
        while (begin < end) {
            u64 middle = (begin + end) / 2;
            if (keys[middle] < row << 32) begin = middle + 1;
            else end = middle;
        }
        return begin;
    };
    for (u64 v = thread_of_grid(); v < lengths.length; v += threads_of_grid())
        lengths[v] = (u32)(keys_below(v + 1) - keys_below(v));
}

// Writes the halves of keys.
__global__ void PARALLEL(256) split_keys(Array<const u64> keys, Array<u32> tails, Array<u32> heads) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid()) {
        tails[i] = (u32)(keys[i] >> 32);
        heads[i] = (u32)keys[i];
    }
}

// The rows of an edge: with `both` of 0, that of its tail; with 1, also that of its head, and a self-loop is in
// one row; with 2, as with 1, but a self-loop is in no row.
__device__ inline bool in_tail_row(u64 both, u32 tail, u32 head) { return both < 2 || head != tail; }
__device__ inline bool in_head_row(u64 both, u32 tail, u32 head) { return both && head != tail; }

// Adds the number of edges of each row.
__global__ void PARALLEL(256) count_rows(
    Array<const u32> tails, Array<const u32> heads, u64 both, Array<u32> lengths
) {
    for (u64 e = thread_of_grid(); e < tails.length; e += threads_of_grid()) {
        u32 tail = tails[e], head = heads[e];
        if (in_tail_row(both, tail, head)) atomicAdd(lengths.at + tail, 1);
        if (in_head_row(both, tail, head)) atomicAdd(lengths.at + head, 1);
    }
}

// Adds the number of edges of each ``1 << shift`` rows.
__global__ void PARALLEL(256) count_groups(
    Array<const u32> tails, Array<const u32> heads, u64 both, u64 shift, Array<u64> counts
) {
    for (u64 e = thread_of_grid(); e < tails.length; e += threads_of_grid()) {
        u32 tail = tails[e], head = heads[e];
        if (in_tail_row(both, tail, head)) atomicAdd(counts.at + (tail >> shift), 1ull);
        if (in_head_row(both, tail, head)) atomicAdd(counts.at + (head >> shift), 1ull);
    }
}

// Call ``put(place, e, row, column)`` for each edge in the rows ``first:last``, with places from ``length[0]``
// on. Rows and columns are local numbers, or vertices if `local` is empty. All threads of the grid call it.
template <typename Put>
__device__ inline void over_rows(
    Array<const u32> tails, Array<const u32> heads, u64 both, Array<const u32> local, u64 first, u64 last,
    Array<u64> length, Put put
) {
    __shared__ u64 begin;
    for (u64 from = (u64)blockIdx.x * blockDim.x; from < tails.length; from += threads_of_grid()) {
        u64 e = from + threadIdx.x;
        u32 row = 0, column = 0;
        bool there = false, back = false;
        if (e < tails.length) {
            u32 tail = tails[e], head = heads[e];
            row = local.length ? local[tail] : tail, column = local.length ? local[head] : head;
            there = in_tail_row(both, tail, head) && first <= row && row < last;
            back = in_head_row(both, tail, head) && first <= column && column < last;
        }
        u32 total, before = exclusive_sum((u32)there + (u32)back, total);
        if (threadIdx.x == 0) begin = atomicAdd(length.at, (u64)total);
        __syncthreads();
        u64 place = begin + before;
        if (there) put(place++, e, row, column);
        if (back) put(place, e, column, row);
    }
}

// Appends keys that sort the edges of the rows ``first:last`` by row, and by local number of the target.
__global__ void PARALLEL(1024) append_keys(
    Array<const u32> tails, Array<const u32> heads, u64 both, Array<const u32> local, u64 first, u64 last,
    Array<u64> length, Array<u64> keys
) {
    over_rows(tails, heads, both, local, first, last, length, [&](u64 place, u64 e, u32 row, u32 column) {
        keys[place] = (row - first) << 32 | column;
    });
}

// Appends the same keys, and the weights of their edges.
template <typename Word>
__global__ void PARALLEL(1024) append_weighted(
    Array<const u32> tails, Array<const u32> heads, Array<const Word> weights, u64 both, Array<const u32> local,
    u64 first, u64 last, Array<u64> length, Array<u64> keys, Array<Word> given
) {
    over_rows(tails, heads, both, local, first, last, length, [&](u64 place, u64 e, u32 row, u32 column) {
        keys[place] = (row - first) << 32 | column;
        given[place] = weights[e];
    });
}

// Writes integers in the order of the weights. `clear` and `set` are the bits to flip in weights with a clear
// and with a set highest bit.
template <typename Word>
__global__ void PARALLEL(256) weight_keys(Array<const Word> weights, u64 clear, u64 set, Array<Word> keys) {
    constexpr u32 TOP = 8 * sizeof(Word) - 1;
    for (u64 i = thread_of_grid(); i < weights.length; i += threads_of_grid())
        keys[i] = weights[i] ^ (Word)(weights[i] >> TOP & 1 ? set : clear);
}

// Writes the values in an order.
template <typename Word>
__global__ void PARALLEL(256) take(Array<const Word> values, Array<const u64> order, Array<Word> taken) {
    for (u64 i = thread_of_grid(); i < order.length; i += threads_of_grid()) taken[i] = values[order[i]];
}

// Writes the sum of the weights in each row. A warp adds a row in a fixed order.
template <typename Weight>
__global__ void PARALLEL(256) sum_rows(Array<const u64> offsets, Array<const Weight> weights, Array<double> sums) {
    for (u64 v = warp_of_grid(); v < sums.length; v += warps_of_grid()) {
        double sum = 0;
        for (u64 e = offsets[v] + lane(); e < offsets[v + 1]; e += WARP) sum += (double)weights[e];
        sum = across(sum, Sum());
        if (lane() == 0) sums[v] = sum;
    }
}
