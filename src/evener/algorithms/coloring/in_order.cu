// Coloring of a whole graph in one pass over its vertices in the order of their priorities. in_order_cpu.py describes
// the arrays.
//
// A vertex waits for the neighbours of higher priority that other warps color at the same time. All blocks run at
// once and take the vertices in order, so the first vertex without a color never waits for long. Blocks color the
// vertices of high degree, because these wait for each other in a long chain. Warps color the others.

#include "common.cuh"

// Edges. A block colors a vertex of at least this degree.
constexpr u64 HUB = 256;
static_assert(2 * HUB <= WARP * 32, "a warp holds the colors of the neighbours of a vertex below HUB");

// The first vertex of ``low:high`` whose degree is below `degree`.
__device__ inline u64 end_of_degree(Array<const u64> priority, u64 low, u64 high, u64 degree) {
    while (low < high) {
        u64 middle = (low + high) >> 1;
        if (read(priority, middle) >> 32 >= degree) low = middle + 1;
        else high = middle;
    }
    return low;
}

// The bucket of a vertex in its class, which ends before `end`.
__device__ inline u64 bucket_of(Array<const u64> priority, u64 v, u64 end) {
    u64 own = read(priority, v), begin = end_of_degree(priority, 0, v, (own >> 32) + 1);
    return begin + ((ALL - (own & ALL)) * (end - begin) >> 32);
}

// Count the vertices of each bucket, in `ends`.
__global__ void PARALLEL(256) count_buckets(Array<const u64> priority, Array<u32> ends) {
    for (u64 v = thread_of_grid(); v < ends.length; v += threads_of_grid()) {
        u64 end = end_of_degree(priority, v, ends.length, read(priority, v) >> 32);
        atomicAdd(ends.at + bucket_of(priority, v, end), 1);
    }
}

// List the vertices of each bucket in `order`, and write the end of each class.
__global__ void PARALLEL(256) fill_buckets(
    Array<const u64> priority, Array<u32> ends, Array<u64> places, Array<u32> order
) {
    for (u64 v = thread_of_grid(); v < ends.length; v += threads_of_grid()) {
        u64 end = end_of_degree(priority, v, ends.length, read(priority, v) >> 32);
        ends[v] = (u32)end;
        order[atomicAdd(places.at + bucket_of(priority, v, end), 1)] = (u32)v;
    }
}

// Sort the vertices of each bucket by descending priority.
__global__ void PARALLEL(256) sort_buckets(Array<const u64> priority, Array<const u64> places, Array<u32> order) {
    for (u64 bucket = thread_of_grid(); bucket < order.length; bucket += threads_of_grid()) {
        u64 begin = bucket > 0 ? places[bucket - 1] : 0, end = places[bucket];
        for (u64 i = begin + 1; i < end; i++) {
            u32 v = order[i];
            u64 j = i;
            for (; j > begin && priority[order[j - 1]] < priority[v]; j--) order[j] = order[j - 1];
            order[j] = v;
        }
    }
}

// A vertex that a warp or a block colors.
struct Waiting {
    u64 own, end;
    u32 who, width;
    Array<const u64> priority;
    Array<i32> color;

    // Set the bits of the colors from `lowest` on that neighbours of higher priority have, as soon as they have.
    // `used` has a bit for each of 32 colors per thread.
    __device__ void mark(Tiered<u32> targets, u64 begin, u64 stop, i32 lowest, u32* used) const {
        for (u64 e = begin + who; e < stop; e += width) {
            u32 t = read_once(targets, e);
            if (t >= end) break;
            i32 one = look(color[t]);
            if (one < 0) {
                if (read(priority, t) <= own) continue;
                while (one < 0) one = look(color[t]);
            }
            u32 place = (u32)(one - lowest);
            if (one >= lowest && place < width * 32) atomicOr(used + place / 32, 1u << place % 32);
        }
    }
};

// The place of the first bit of the warp's words that is not set, or -1.
__device__ inline i32 first_unset(u32 word) {
    u32 unset = __ballot_sync(ALL, word != ALL);
    if (unset == 0) return -1;
    u32 from = __ffs(unset) - 1;
    return (i32)(from * 32) + __ffs(~__shfl_sync(ALL, word, from)) - 1;
}

// Color all vertices in order.
__global__ void PARALLEL(256) color_in_order(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets, u32 both,
    Array<const u64> priority, Array<const u32> ends, Array<const u32> order, Array<i32> color, Grid grid
) {
    __shared__ u32 words[256];
    __shared__ i32 of_block;
    u64 hubs = end_of_degree(priority, 0, order.length, HUB);
    words[threadIdx.x] = 0;
    __syncthreads();
    for (u64 i = blockIdx.x; i < hubs; i += gridDim.x) {
        u32 v = read(order, i);
        Waiting vertex{read(priority, v), read(ends, v), threadIdx.x, 256, priority, color};
        i32 free = -1;
        for (i32 lowest = 0; free < 0; lowest += 256 * 32) {
            vertex.mark(targets, offsets[v], offsets[(u64)v + 1], lowest, words);
            if (both) vertex.mark(in_targets, in_offsets[v], in_offsets[(u64)v + 1], lowest, words);
            __syncthreads();
            if (threadIdx.x < WARP) {
                i32 place = -1;
                for (u32 w = 0; w < 256 && place < 0; w += WARP) {
                    place = first_unset(words[w + lane()]);
                    if (place >= 0) place += (i32)(w * 32);
                }
                if (place >= 0) place += lowest;
                if (lane() == 0) {
                    if (place >= 0) *(volatile i32*)(color.at + v) = place;
                    of_block = place;
                }
                __syncwarp();
                for (u32 w = 0; w < 256; w += WARP) words[w + lane()] = 0;
            }
            __syncthreads();
            free = of_block;
        }
    }
    __syncthreads();
    u32* used = words + threadIdx.x / WARP * WARP;
    for (u64 i = hubs + warp_of_grid(); i < order.length; i += warps_of_grid()) {
        u32 v = read(order, i);
        Waiting vertex{read(priority, v), read(ends, v), lane(), WARP, priority, color};
        used[lane()] = 0;
        __syncwarp();
        vertex.mark(targets, offsets[v], offsets[(u64)v + 1], 0, used);
        if (both) vertex.mark(in_targets, in_offsets[v], in_offsets[(u64)v + 1], 0, used);
        __syncwarp();
        i32 free = first_unset(used[lane()]);
        if (lane() == 0) *(volatile i32*)(color.at + v) = free;
    }
}
