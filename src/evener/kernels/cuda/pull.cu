// Pull: for each row the sums of its neighbours' values in the near blocks of columns, and of its far edges.
// Arrays are those of kernels/cpu/column_blocks.py and kernels/cpu/pull.py.
//
// A value gathered from the L2 cache moves 32 bytes for 4, and a multiprocessor takes about one a cycle. A
// block of columns lies in shared memory, which serves nine a cycle, and its edges take two bytes each. A warp
// takes one tile's edges in one block at a time: a row, or a part of one, to a lane. Two values are added in
// float32, all else in float64; what is written is a row's own and made in a fixed order, whoever makes it.

#include "common.cuh"
#include "tiles.cuh"

// Words of an item that a lane has under way.
constexpr u32 NEAR_AHEAD = 8, FAR_AHEAD = 8;
// What an item costs beside its steps, in steps: 70 ns on an H200, where a step takes 5 ns.
constexpr u32 ITEM_WORK = 14;

__device__ inline u32 pass(const u32* place) { return __ldcs(place); }

__device__ inline float at_place(const float* table, u32 place) {
    return *(const float*)((const char*)table + place);
}

// The items of one kind, and what a warp has to know of one: each lane has its part of that.
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
    // All lanes ask.
    __device__ u32 steps() const { return __shfl_sync(ALL, end, SLICES - 1); }
};

// The sums of a warp's slices as they become known, and where they go. All lanes use it together.
struct Slices {
    double sum;

    // `stage` is the warp's room for the sums of all lanes.
    __device__ Slices(float* stage, const Item& item)
        : sum(0), stage(stage), order(item.order), end(item.end), slice(0) {
        until = __shfl_sync(ALL, end, 0);
    }
    // Before the edges of step `step` are added.
    __device__ void at(u32 step) {
        if (step != until) return;
        put();
        until = __shfl_sync(ALL, end, slice);
    }
    // Add up the lanes of each row.
    __device__ void finish(u32 width, float* out) {
        while (slice < SLICES) put();
        __syncwarp();
        if (width == 1) {
#pragma unroll
            for (u32 s = 0; s < SLICES / 4; s++)
                ((float4*)out)[s * WARP + lane()] = ((const float4*)stage)[s * WARP + lane()];
        } else if (width <= WARP) {
            for (u32 s = 0; s < SLICES; s++) {
                double value = across((double)stage[s * WARP + lane()], Sum(), width);
                if (lane() % width == 0) out[(s * WARP + lane()) / width] = (float)value;
            }
        } else {
            double value = 0;
            for (u32 s = 0; s < SLICES; s++) {
                value += stage[s * WARP + lane()];
                if ((s + 1) * WARP % width != 0) continue;
                value = across(value, Sum());
                if (lane() == 0) out[s * WARP / width] = (float)value;
                value = 0;
            }
        }
        __syncwarp();
    }

  private:
    float* stage;
    u64 order;
    u32 end, until, slice;

    __device__ void put() {
        stage[order & (LANES - 1)] = (float)sum;
        order >>= 8;
        sum = 0;
        slice++;
    }
};

// The block of columns for this block of threads to work at, NOBODY if all that there is has been taken: they
// spread over what is left in proportion to the work. All threads call it.
__device__ inline u32 next_block(Array<const u32> block_items, Array<const u64> starts, Array<u32> taken) {
    __shared__ u32 picked;
    u32 blocks = (u32)block_items.length - 1, each = (blocks + blockDim.x - 1) / blockDim.x;
    u32 first = least(threadIdx.x * each, blocks), last = least(first + each, blocks);
    auto left_in = [&](u32 k) {
        u32 begin = block_items[k], end = block_items[k + 1];
        u32 at = begin + least(look(taken[k]), end - begin);
        return at == end ? 0 : (u32)(starts[end] - starts[at]) + ITEM_WORK * (end - at);
    };
    // Others go on taking, so it is asked once.
    u32 own = 0, all = 0, heaviest = first, most_left = 0;
    for (u32 k = first; k < last; k++) {
        u32 left = left_in(k);
        own += left;
        if (left > most_left) most_left = left, heaviest = k;
    }
    u32 before = sum_before(own, all);
    u32 wanted = (u32)((u64)all * (2 * blockIdx.x + 1) / (2 * gridDim.x));
    if (threadIdx.x == 0) picked = NOBODY;
    __syncthreads();
    if (own != 0 && before <= wanted && wanted - before < own) picked = heaviest;
    __syncthreads();
    return picked;
}

// Leaves `taken` as it was, when no block of threads takes any more. All threads call it, last.
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

// The sums over the edges of each item. Warps take items as they come free, in the block of columns that lies
// in their shared memory.
__global__ void PARALLEL(1024) near(
    Array<const u32> block_items, Array<const u32> width, Array<const u64> starts, Array<const u32> ends,
    Array<const u8> order, Array<const u64> places, Array<const u32> pairs, u32 columns,
    Array<const float> values, Array<float> partial, Array<u32> taken, Shared shared
) {
    float* table = shared_memory<float>();
    // Behind the block's values, a zero stands for edges that are none, and each warp has its stage.
    float* stage = table + columns + WARP + threadIdx.x / WARP * LANES;
    u32 nothing = pair_of(columns, columns);
    if (threadIdx.x < WARP) table[columns + threadIdx.x] = 0;
    Items items{width, starts, ends, order, places};
    for (;;) {
        u32 block = next_block(block_items, starts, taken);
        if (block == NOBODY) break;
        u64 first = (u64)block * columns, count = least<u64>(columns, values.length - first);
        const float4* four = (const float4*)(values.at + first);
#pragma unroll 4
        for (u32 i = threadIdx.x; i < count / 4; i += blockDim.x) ((float4*)table)[i] = __ldg(four + i);
        if (threadIdx.x < count % 4) {
            u64 i = count - 1 - threadIdx.x;
            table[i] = values[first + i];
        }
        // An item is taken while the one before the one before it is at work, so that what has to be known of
        // it, and then its first words, are there in time.
        auto take = [&]() { return lane() == 0 ? atomicAdd(&taken[block], 1u) : 0; };
        u32 begin = block_items[block], there = block_items[block + 1] - begin;
        u32 number = __shfl_sync(ALL, take(), 0), after = take();
        Item item(items, begin + number, number < there);
        u32 steps = item.steps();
        const u32* word = pairs.at + item.start * WARP + lane();
        u32 ahead[NEAR_AHEAD];
#pragma unroll
        for (u32 j = 0; j < NEAR_AHEAD; j++) ahead[j] = j < steps ? pass(word + j * WARP) : nothing;
        __syncthreads();
        while (number < there) {
            number = __shfl_sync(ALL, after, 0);
            Item next(items, begin + number, number < there);
            after = take();
            Slices slices(stage, item);
            auto add = [&](u32 step, const u32* pair) {
#pragma unroll
                for (u32 j = 0; j < NEAR_AHEAD; j++) {
                    slices.at(step + j);
                    float low = at_place(table, place_of_low(pair[j]));
                    slices.sum += low + at_place(table, place_of_high(pair[j]));
                }
            };
            u32 step = 0, here[NEAR_AHEAD];
            for (; step + NEAR_AHEAD < steps; step += NEAR_AHEAD) {
#pragma unroll
                for (u32 j = 0; j < NEAR_AHEAD; j++) {
                    u32 then = step + NEAR_AHEAD + j;
                    here[j] = ahead[j];
                    ahead[j] = then < steps ? pass(word + then * WARP) : nothing;
                }
                add(step, here);
            }
            steps = next.steps();
            word = pairs.at + next.start * WARP + lane();
#pragma unroll
            for (u32 j = 0; j < NEAR_AHEAD; j++) {
                here[j] = ahead[j];
                ahead[j] = j < steps ? pass(word + j * WARP) : nothing;
            }
            add(step, here);
            slices.finish(item.width, partial.at + item.place);
            item = next;
        }
        __syncthreads();
    }
    clear_taken(taken);
}

// The sums over the far edges of each item, whose values are gathered from global memory. The longest items
// come first and are dealt out in turn: counting those taken cost a tenth of the time.
__global__ void PARALLEL(256) far(
    Array<const u32> width, Array<const u64> starts, Array<const u32> ends, Array<const u8> order,
    Array<const u64> places, Array<const u32> singles, Array<const float> values, Array<float> partial
) {
    __shared__ float stages[256 / WARP * LANES];
    float* stage = stages + threadIdx.x / WARP * LANES;
    Items items{width, starts, ends, order, places};
    u64 number = warp_of_grid(), there = width.length;
    Item item(items, number, number < there);
    while (number < there) {
        number += warps_of_grid();
        Item next(items, number, number < there);
        Slices slices(stage, item);
        u32 steps = item.steps(), ahead[FAR_AHEAD];
        const u32* word = singles.at + item.start * WARP + lane();
#pragma unroll
        for (u32 j = 0; j < FAR_AHEAD; j++) ahead[j] = j < steps ? pass(word + j * WARP) : NOBODY;
        for (u32 step = 0; step < steps; step += FAR_AHEAD) {
            float value[FAR_AHEAD];
#pragma unroll
            for (u32 j = 0; j < FAR_AHEAD; j++) {
                value[j] = ahead[j] == NOBODY ? 0 : read(values, ahead[j]);
                u32 then = step + FAR_AHEAD + j;
                ahead[j] = then < steps ? pass(word + then * WARP) : NOBODY;
            }
#pragma unroll
            for (u32 j = 0; j < FAR_AHEAD; j++) {
                slices.at(step + j);
                slices.sum += value[j];
            }
        }
        slices.finish(item.width, partial.at + item.place);
        item = next;
    }
}
