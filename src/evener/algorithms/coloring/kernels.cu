// Coloring: color vertices in the order of their priorities. kernels_cpu.py describes the arrays.

#include "common.cuh"

// A permutation of the 32-bit words: the finalizer of MurmurHash3 (Appleby).
__device__ inline u32 mix(u32 word) {
    word = (word ^ (word >> 16)) * 0x85EBCA6Bu;
    word = (word ^ (word >> 13)) * 0xC2B2AE35u;
    return word ^ (word >> 16);
}

// Set the priority of each owned vertex; 0 if it has a color.
__global__ void PARALLEL(256) prioritize(
    Array<const u64> offsets, Array<const u64> in_offsets, u32 both, Array<const u32> vertices, u64 owned, u32 key,
    Array<const i32> color, Array<u64> priority
) {
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
        u64 degree = offsets[v + 1] - offsets[v];
        if (both) degree += in_offsets[v + 1] - in_offsets[v];
        priority[v] = color[v] < 0 ? degree << 32 | mix(vertices[v] ^ key) : 0;
    }
}

// The edges ``begin:end`` to vertices of higher priority, counted by a warp.
__device__ inline u32 higher_of(Tiered<u32> targets, u64 begin, u64 end, Array<const u64> priority, u64 own) {
    u32 higher = 0;
    for (u64 e = begin + lane(); e < end; e += WARP) higher += read(priority, read_once(targets, e)) > own;
    return higher;
}

// Count the edges of vertices without a color to higher priorities, and queue vertices without any.
__global__ void PARALLEL(256) count_higher(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets, u32 both,
    Array<const u64> priority, Array<const i32> color, Array<i32> waits, Array<u32> queue, Array<u64> length
) {
    for (u64 v = warp_of_grid(); v < queue.length; v += warps_of_grid()) {
        if (color[v] >= 0) continue;
        u64 own = priority[v];
        u32 higher = higher_of(targets, offsets[v], offsets[v + 1], priority, own);
        if (both) higher += higher_of(in_targets, in_offsets[v], in_offsets[v + 1], priority, own);
        higher = across(higher, Sum());
        if (lane() == 0) {
            waits[v] = (i32)higher;
            if (higher == 0) append(queue, length, (u32)v);
        }
    }
}

// A vertex that a warp colors.
struct Colored {
    u64 own;
    Array<const u64> priority;
    Array<i32> color, waits;
    Array<u32> queue;
    Array<u64> length;
    Bits lowered;

    // Set the bits of this lane's word of the colors from `lowest` on that neighbours have. A warp has 1,024
    // colors, in a word of shared memory for each lane.
    __device__ void mark(Tiered<u32> targets, u64 begin, u64 end, i32 lowest, u32* used) const {
        for (u64 e = begin + lane(); e < end; e += WARP) {
            i32 one = look(color[read_once(targets, e)]);
            u32 place = (u32)(one - lowest);
            if (one >= lowest && place < WARP * 32) atomicOr(used + place / 32, 1u << place % 32);
        }
    }

    // Count down the edges that neighbours of lower priority wait for, and queue those that wait no more.
    __device__ void lower(Tiered<u32> targets, u64 begin, u64 end) const {
        for (u64 e = begin + lane(); e < end; e += WARP) {
            u32 u = read_once(targets, e);
            if (read(priority, u) >= own) continue;
            i32 before = atomicSub(waits.at + u, 1);
            if (u >= queue.length) {
                if (!look(lowered, u)) lowered.set(u);
            } else if (before == 1) {
                append(queue, length, u);
            }
        }
    }
};

// Color vertices until the others wait for vertices of other partitions. Return the number of vertices that
// were colored.
__global__ void PARALLEL(256) color_ready(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets, u32 both,
    Array<const u64> priority, Array<i32> color, Array<i32> waits, Array<u32> queue, Array<u64> begun,
    Array<u64> length, Bits lowered, Bits colored, Results<u64> results, Grid grid
) {
    __shared__ u32 words[256];
    u32* used = words + threadIdx.x / WARP * WARP;
    u64 before = look(begun[0]), first = before, end = look(length[0]);
    while (first < end) {
        grid.sync();  // all blocks have read the length of the queue
        for (u64 i = first + warp_of_grid(); i < end; i += warps_of_grid()) {
            u32 v = look(queue[i]);
            Colored vertex{priority[v], priority, color, waits, queue, length, lowered};
            i32 free = -1;
            for (i32 lowest = 0; free < 0; lowest += WARP * 32) {
                used[lane()] = 0;
                __syncwarp();
                vertex.mark(targets, offsets[v], offsets[(u64)v + 1], lowest, used);
                if (both) vertex.mark(in_targets, in_offsets[v], in_offsets[(u64)v + 1], lowest, used);
                __syncwarp();
                u32 own = used[lane()];
                u32 words_free = __ballot_sync(ALL, own != ALL);
                if (words_free == 0) continue;
                u32 word = __ffs(words_free) - 1;
                free = lowest + (i32)(word * 32 + __ffs(~__shfl_sync(ALL, own, word)) - 1);
            }
            if (lane() == 0) {
                color[v] = free;
                colored.set(v);
                __threadfence();  // vertices that wait no more read the color
            }
            __syncwarp();
            vertex.lower(targets, offsets[v], offsets[(u64)v + 1]);
            if (both) vertex.lower(in_targets, in_offsets[v], in_offsets[(u64)v + 1]);
        }
        grid.sync();
        first = end;
        end = look(length[0]);
    }
    if (first_of_grid()) begun[0] = end;
    results.sum(first_of_grid() ? end - before : 0);
}

// Queue vertices that wait no more because of other partitions, and clear the bitmaps.
__global__ void PARALLEL(256) queue_lowered(
    Array<const i32> color, Array<const i32> waits, Array<u32> queue, Array<u64> length, Bits lowered, Bits colored
) {
    for (u64 h = thread_of_grid(); h < lowered.length(); h += threads_of_grid()) {
        u32 half = lowered.half(h) & range_mask(h, 0, queue.length);
        lowered.half(h) = colored.half(h) = 0;
        for (; half != 0; half &= half - 1) {
            u64 v = h * 32 + __ffs(half) - 1;
            if (waits[v] == 0 && color[v] < 0) append(queue, length, (u32)v);
        }
    }
}

// Return 2^31 minus the number of colors.
__global__ void PARALLEL(256) unused_colors(Array<const i32> color, u64 owned, Results<u64> results) {
    u64 unused = 1u << 31;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
        unused = least(unused, (1ull << 31) - 1 - (u64)color[v]);
    }
    results.minimum(unused);
}
