// Combine the values of each row's neighbours, over edges in column blocks. kernels/cpu/column_blocks.py
// describes the layout. ``partial[places[i]:]`` receives the results of item ``i``, one for each row of its
// tile. `taken` (blocks + 1,) counts the items of each block that warps have taken; it is all zero before and
// after.
//
// A gather from the L2 cache moves 32 bytes for a value of 4 bytes. The values of a column block fit in
// shared memory, which is faster, and an edge needs only two bytes. A warp processes one item at a time; a
// lane has a row or a part of a row. Values and results of items are float32; intermediate results are float64.
// The order of each combination is fixed, so the result does not depend on the warp that computes it.
//
// `combine` is a function object of two doubles. It has a function `pair` of two floats, and `nothing`, its
// identity.

#pragma once

#include "common.cuh"
#include "tiles.cuh"

// Words of an item that a lane reads ahead.
constexpr u32 LOCAL_AHEAD = 8, REMAINDER_AHEAD = 8;
// Cost of an item in addition to its steps, in steps.
constexpr u32 ITEM_WORK = 14;

__device__ inline u32 read_streaming(const u32* place) { return __ldcs(place); }

__device__ inline float at_address(const float* table, u32 place) {
    return *(const float*)((const char*)table + place);
}

// All items, and the description of one item, of which each lane holds a part.
struct Items {
    Array<const u32> width;
    Array<const u64> starts;
    Array<const u32> ends;
    Array<const u8> order;
    Array<const u64> places;
};
struct Item {
    u64 start, place, order;
    u32 end, width;

    __device__ Item(const Items& items, u64 i, bool exists) : start(0), place(0), order(0), end(0), width(1) {
        if (!exists) return;
        start = items.starts[i];
        place = items.places[i];
        order = ((const u64*)items.order.at)[i * WARP + lane()];
        end = lane() < SLICES ? items.ends[i * SLICES + lane()] : ALL;
        width = items.width[i];
    }
    // All lanes call it.
    __device__ u32 steps() const { return __shfl_sync(ALL, end, SLICES - 1); }
};

// Addition; a pair is added in float32.
struct FloatSum {
    static constexpr float nothing = 0;
    __device__ double operator()(double x, double y) const { return x + y; }
    __device__ double pair(float x, float y) const { return x + y; }
};

// Combines the values of an item's slices and writes the results of its rows. All lanes use it together.
template <typename Combine> struct Slices {
    double all;

    // `stage` is the warp's buffer for the results of all lanes.
    __device__ Slices(float* stage, const Item& item, Combine combine)
        : all(combine.nothing), stage(stage), order(item.order), end(item.end), slice(0), combine(combine) {
        until = __shfl_sync(ALL, end, 0);
    }
    __device__ void add(double value) { all = combine(all, value); }
    // Call it before adding the edges of step `step`.
    __device__ void at(u32 step) {
        if (step != until) return;
        put();
        until = __shfl_sync(ALL, end, slice);
    }
    // Write the result of the lanes of each row.
    __device__ void finish(u32 width, float* out) {
        while (slice < SLICES) put();
        __syncwarp();
        if (width == 1) {
#pragma unroll
            for (u32 s = 0; s < SLICES / 4; s++)
                ((float4*)out)[s * WARP + lane()] = ((const float4*)stage)[s * WARP + lane()];
        } else if (width <= WARP) {
            for (u32 s = 0; s < SLICES; s++) {
                double value = across((double)stage[s * WARP + lane()], combine, width);
                if (lane() % width == 0) out[(s * WARP + lane()) / width] = (float)value;
            }
        } else {
            double value = combine.nothing;
            for (u32 s = 0; s < SLICES; s++) {
                value = combine(value, (double)stage[s * WARP + lane()]);
                if ((s + 1) * WARP % width != 0) continue;
                value = across(value, combine);
                if (lane() == 0) out[s * WARP / width] = (float)value;
                value = combine.nothing;
            }
        }
        __syncwarp();
    }

  private:
    float* stage;
    u64 order;
    u32 end, until, slice;
    Combine combine;

    __device__ void put() {
        stage[order & (LANES - 1)] = (float)all;
        order >>= 8;
        all = combine.nothing;
        slice++;
    }
};

constexpr u32 NO_BLOCK = 0xFFFFFFFFu;

// Return the next column block for this block of threads, or NO_BLOCK if all items are taken. Blocks of
// threads spread over the column blocks in proportion to the remaining work. All threads call it.
__device__ inline u32 next_block(Array<const u32> block_items, Array<const u64> starts, Array<u32> taken) {
    __shared__ u32 picked;
    u32 blocks = (u32)block_items.length - 1, each = (blocks + blockDim.x - 1) / blockDim.x;
    u32 first = least(threadIdx.x * each, blocks), last = least(first + each, blocks);
    auto left_in = [&](u32 k) {
        u32 begin = block_items[k], end = block_items[k + 1];
        u32 at = begin + least(look(taken[k]), end - begin);
        return at == end ? 0 : (u32)(starts[end] - starts[at]) + ITEM_WORK * (end - at);
    };
    // Other warps take items meanwhile, so each thread reads a counter only once.
    u32 own = 0, all = 0, heaviest = first, most_left = 0;
    for (u32 k = first; k < last; k++) {
        u32 left = left_in(k);
        own += left;
        if (left > most_left) most_left = left, heaviest = k;
    }
    u32 before = exclusive_sum(own, all);
    u32 wanted = (u32)((u64)all * (2 * blockIdx.x + 1) / (2 * gridDim.x));
    if (threadIdx.x == 0) picked = NO_BLOCK;
    __syncthreads();
    if (own != 0 && before <= wanted && wanted - before < own) picked = heaviest;
    __syncthreads();
    return picked;
}

// Clear `taken` when the last block of threads is done. All threads call it last.
__device__ inline void clear_taken(Array<u32> taken) {
    __shared__ bool last;
    __syncthreads();
    u32 done = (u32)taken.length - 1;
    if (threadIdx.x == 0) {
        __threadfence();
        last = atomicAdd(&taken[done], 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last)
        for (u32 k = threadIdx.x; k <= done; k += blockDim.x) taken[k] = 0;
}

// Write the results of each local item. Block ``k`` has the items ``block_items[k]:block_items[k + 1]``. Idle
// warps take the next item of the column block that is in their shared memory. Blocks have 1024 threads.
template <typename Combine>
__device__ inline void combine_local(
    Array<const u32> block_items, const Items& items, Array<const u32> words, u32 columns,
    Array<const float> values, Array<float> partial, Array<u32> taken, Combine combine
) {
    float* table = shared_memory<float>();
    // The table has the identity after the block's values, for "no edge". The stages of the warps follow.
    float* stage = table + columns + WARP + threadIdx.x / WARP * LANES;
    u32 nothing = pair_of(columns, columns);
    if (threadIdx.x < WARP) table[columns + threadIdx.x] = combine.nothing;
    for (;;) {
        u32 block = next_block(block_items, items.starts, taken);
        if (block == NO_BLOCK) break;
        u64 first = (u64)block * columns, count = least<u64>(columns, values.length - first);
        const float4* four = (const float4*)(values.at + first);
#pragma unroll 4
        for (u32 i = threadIdx.x; i < count / 4; i += blockDim.x) ((float4*)table)[i] = __ldg(four + i);
        if (threadIdx.x < count % 4) {
            u64 i = count - 1 - threadIdx.x;
            table[i] = values[first + i];
        }
        // A warp takes an item two items ahead, so that the item's description and first words arrive in
        // time.
        auto take = [&]() { return lane() == 0 ? atomicAdd(&taken[block], 1u) : 0; };
        u32 begin = block_items[block], there = block_items[block + 1] - begin;
        u32 number = __shfl_sync(ALL, take(), 0), after = take();
        Item item(items, begin + number, number < there);
        u32 steps = item.steps();
        const u32* word = words.at + item.start * WARP + lane();
        u32 ahead[LOCAL_AHEAD];
#pragma unroll
        for (u32 j = 0; j < LOCAL_AHEAD; j++) ahead[j] = j < steps ? read_streaming(word + j * WARP) : nothing;
        __syncthreads();
        while (number < there) {
            number = __shfl_sync(ALL, after, 0);
            Item next(items, begin + number, number < there);
            after = take();
            Slices<Combine> slices(stage, item, combine);
            auto add = [&](u32 step, const u32* pair) {
#pragma unroll
                for (u32 j = 0; j < LOCAL_AHEAD; j++) {
                    slices.at(step + j);
                    float low = at_address(table, low_address(pair[j]));
                    slices.add(combine.pair(low, at_address(table, high_address(pair[j]))));
                }
            };
            u32 step = 0, here[LOCAL_AHEAD];
            for (; step + LOCAL_AHEAD < steps; step += LOCAL_AHEAD) {
#pragma unroll
                for (u32 j = 0; j < LOCAL_AHEAD; j++) {
                    u32 then = step + LOCAL_AHEAD + j;
                    here[j] = ahead[j];
                    ahead[j] = then < steps ? read_streaming(word + then * WARP) : nothing;
                }
                add(step, here);
            }
            steps = next.steps();
            word = words.at + next.start * WARP + lane();
#pragma unroll
            for (u32 j = 0; j < LOCAL_AHEAD; j++) {
                here[j] = ahead[j];
                ahead[j] = j < steps ? read_streaming(word + j * WARP) : nothing;
            }
            add(step, here);
            slices.finish(item.width, partial.at + item.place);
            item = next;
        }
        __syncthreads();
    }
    clear_taken(taken);
}

// Write the results of each remainder item, with gathers from global memory. The items are sorted by band, and
// assigned to warps round-robin, so that all warps gather from one band at a time. Blocks have 256 threads.
template <typename Combine>
__device__ inline void combine_remainder(
    const Items& items, Array<const u32> words, Array<const float> values, Array<float> partial, Combine combine
) {
    __shared__ float stages[256 / WARP * LANES];
    float* stage = stages + threadIdx.x / WARP * LANES;
    u64 number = warp_of_grid(), there = items.width.length;
    Item item(items, number, number < there);
    while (number < there) {
        number += warps_of_grid();
        Item next(items, number, number < there);
        Slices<Combine> slices(stage, item, combine);
        u32 steps = item.steps(), ahead[REMAINDER_AHEAD];
        const u32* word = words.at + item.start * WARP + lane();
#pragma unroll
        for (u32 j = 0; j < REMAINDER_AHEAD; j++)
            ahead[j] = j < steps ? read_streaming(word + j * WARP) : NO_TARGET;
        for (u32 step = 0; step < steps; step += REMAINDER_AHEAD) {
            float value[REMAINDER_AHEAD];
#pragma unroll
            for (u32 j = 0; j < REMAINDER_AHEAD; j++) {
                value[j] = ahead[j] == NO_TARGET ? combine.nothing : read(values, ahead[j]);
                u32 then = step + REMAINDER_AHEAD + j;
                ahead[j] = then < steps ? read_streaming(word + then * WARP) : NO_TARGET;
            }
#pragma unroll
            for (u32 j = 0; j < REMAINDER_AHEAD; j++) {
                slices.at(step + j);
                slices.add(value[j]);
            }
        }
        slices.finish(item.width, partial.at + item.place);
        item = next;
    }
}

// Combine the partial results of each row before row `rows`; the results of a tile are contiguous. A lane calls
// ``finish_four(v, combined)`` for four adjacent rows from row ``v`` on, a multiple of four, or
// ``finish_row(v, combined)``.
template <typename Combine, typename FinishFour, typename FinishRow>
__device__ inline void over_tiles(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, u64 rows, Combine combine, FinishFour finish_four, FinishRow finish_row
) {
    for (u64 t = warp_of_grid(); t < tile_row.length; t += warps_of_grid()) {
        u64 first = tile_row[t], place = tile_places[t], end = tile_places[t + 1];
        if (first >= rows) break;
        u32 of_tile = LANES / tile_width[t], there = (u32)least<u64>(of_tile, rows - first);
        if (there == LANES) {
            // Four rows per lane, so that a lane reads 16 bytes at a time. Tiles begin at multiples of four.
            for (u32 part = 0; part < LANES; part += 4 * WARP) {
                double all[4];
#pragma unroll
                for (u32 j = 0; j < 4; j++) all[j] = combine.nothing;
#pragma unroll 4
                for (u64 i = place + part + 4 * lane(); i < end; i += LANES) {
                    float4 some = __ldcs((const float4*)(partial.at + i));
                    all[0] = combine(all[0], some.x), all[1] = combine(all[1], some.y);
                    all[2] = combine(all[2], some.z), all[3] = combine(all[3], some.w);
                }
                finish_four(first + part + 4 * lane(), all);
            }
            continue;
        }
        // One row per lane; if there are few rows, several lanes per row.
        for (u32 row = lane(); row < most(of_tile, WARP); row += WARP) {
            double all = combine.nothing;
#pragma unroll 4
            for (u64 i = place + row; i < end; i += most(of_tile, WARP)) all = combine(all, __ldcs(partial.at + i));
            for (u32 step = of_tile; step < WARP; step *= 2) all = combine(all, __shfl_xor_sync(ALL, all, step));
            if (row < there) finish_row(first + row, all);
        }
    }
}
