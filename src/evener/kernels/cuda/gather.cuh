// A combined value for each row, gathered from the row's neighbours. Edges are divided among threads by the
// lengths of rows: a thread block, a warp or a part of a warp shares a row.

#pragma once

#include "common.cuh"

// Four consecutive targets; the position of the first target is divisible by four.
struct Four {
    u32 of[4];
};

__device__ inline Four read_four(Tiered<u32> targets, u64 e) {
    Four t;
    if (e + 4 <= targets.length) {
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(t.of[0]), "=r"(t.of[1]), "=r"(t.of[2]), "=r"(t.of[3])
            : "l"(targets.at(e)));
    } else {
        for (u32 j = 0; j < 4; j++) t.of[j] = e + j < targets.length ? targets[e + j] : 0;
    }
    return t;
}

// Load from shared or global memory. A predicate instead of a branch lets a thread issue many loads before it
// waits.
__device__ inline float load_either(u32 v, u32 cached, u32 shared_place, const float* global_place) {
    float value;
    asm("{.reg .pred n; setp.lt.u32 n, %1, %2; @n ld.shared.f32 %0, [%3]; @!n ld.global.nc.f32 %0, [%4];}"
        : "=f"(value)
        : "r"(v), "r"(cached), "r"(shared_place), "l"(global_place));
    return value;
}
__device__ inline double load_either(u32 v, u32 cached, u32 shared_place, const double* global_place) {
    double value;
    asm("{.reg .pred n; setp.lt.u32 n, %1, %2; @n ld.shared.f64 %0, [%3]; @!n ld.global.nc.f64 %0, [%4];}"
        : "=d"(value)
        : "r"(v), "r"(cached), "r"(shared_place), "l"(global_place));
    return value;
}
__device__ inline i64 load_either(u32 v, u32 cached, u32 shared_place, const i64* global_place) {
    i64 value;
    asm("{.reg .pred n; setp.lt.u32 n, %1, %2; @n ld.shared.s64 %0, [%3]; @!n ld.global.nc.s64 %0, [%4];}"
        : "=l"(value)
        : "r"(v), "r"(cached), "r"(shared_place), "l"(global_place));
    return value;
}

// The values that rows gather, with a copy of the first owned vertices and the first mirrors in shared memory.
//
// A value of 4 bytes that is gathered from the L2 cache moves 32 bytes. Shared memory therefore holds the
// values of the owned vertices and the mirrors of highest degree, which are read most.
template <typename Value> struct CachedValues {
    const Value* value;
    u32 base, owned, from_owned, from_mirrors;

    __device__ CachedValues(Array<const Value> all, u64 owned, Shared shared) : value(all.at), owned((u32)owned) {
        Value* place = shared_memory<Value>();
        base = (u32)__cvta_generic_to_shared(place);
        u64 room = shared.bytes / sizeof(Value), mirrors = all.length - owned;
        from_mirrors = (u32)least(mirrors, most(room / 2, room - least(room, owned)));
        from_owned = (u32)least(owned, room - from_mirrors);
        for (u32 i = threadIdx.x; i < from_owned; i += blockDim.x) place[i] = all[i];
        for (u32 i = threadIdx.x; i < from_mirrors; i += blockDim.x) place[from_owned + i] = all[owned + i];
        __syncthreads();
    }
    __device__ Value operator[](u32 v) const {
        u32 place = v;
        if (from_mirrors != 0) place = v < from_owned ? v : v - owned < from_mirrors ? v - owned + from_owned : ALL;
        return load_either(place, from_owned + from_mirrors, base + place * (u32)sizeof(Value), value + v);
    }
};

// The values of a row's neighbours that thread `who` of `width` adjacent threads combines. `nothing` is the
// identity of `combine`.
template <typename Wide, typename Value, typename Combine>
__device__ inline Wide gathered_by(
    const CachedValues<Value>& cached, Tiered<u32> targets, u64 first, u64 last, u32 who, u32 width,
    Combine combine, Wide nothing
) {
    Wide all = nothing;
    u64 begin = (first & ~3ull) + 4 * who;
    if (begin >= last) return all;
    i32 edges = (i32)(last - first), e = (i32)(begin - first);
    Four next = read_four(targets, begin);
    while (e < edges) {
        Four t = next;
        i32 here = e;
        e += 4 * width;
        if (e < edges) next = read_four(targets, first + e);
#pragma unroll
        for (i32 j = 0; j < 4; j++) {
            // Values of adjacent rows are loaded at either end, but they do not count.
            Wide value = cached[t.of[j]];
            all = combine(all, here + j >= 0 && here + j < edges ? value : nothing);
        }
    }
    return all;
}

// Gather the rows of the runs ``blocks[b]:blocks[b + 1]`` that begin before row `rows`. Thread blocks take
// runs in turn.
//
// ``gather(v, first, last, who, width)`` combines a thread's share of the edges ``first:last`` of row v; a
// thread without a row passes no edges. Then one thread calls ``finish(v, combined, own)``, where
// ``own = read_own(v)`` was read before the edges. A block shares each row of a run if its rows have at least
// BLOCK_EDGES edges on average; else a row has a thread for every LANE_EDGES edges, and at most a warp. Each row
// is combined in a fixed order.
template <u64 BLOCK_EDGES, u64 LANE_EDGES, typename Gather, typename Combine, typename ReadOwn, typename Finish>
__device__ inline void over_rows(
    Array<const u64> offsets, Array<const u32> blocks, u64 rows, Gather gather, Combine combine,
    ReadOwn read_own, Finish finish
) {
    for (u64 b = blockIdx.x; b + 1 < blocks.length && blocks[b] < rows; b += gridDim.x) {
        u64 begin = blocks[b], end = least<u64>(blocks[b + 1], rows);
        u64 each = (offsets[end] - offsets[begin]) / (end - begin);
        if (each >= BLOCK_EDGES) {
            for (u64 v = begin; v < end; v++) {
                auto all = gather(v, offsets[v], offsets[v + 1], threadIdx.x, blockDim.x);
                all = over_block(all, combine);
                if (threadIdx.x == 0) finish(v, all, read_own(v));
            }
            continue;
        }
        u32 width = 1;
        while (width < WARP && width * LANE_EDGES < each) width *= 2;
        u32 who = threadIdx.x % width, groups = blockDim.x / width;
        // Row v belongs to group v % groups, so that runs of few rows do not all go to the first warps. All
        // threads of a warp stay in the loop, because `across` needs them.
        u64 group = threadIdx.x / width;
        for (u64 row = begin / groups * groups; row < end; row += groups) {
            u64 v = row + group;
            bool mine = v >= begin && v < end;
            u64 first = mine ? offsets[v] : 0, last = mine ? offsets[v + 1] : 0;
            decltype(read_own(v)) own{};
            if (mine && who == 0) own = read_own(v);
            auto all = across(gather(v, first, last, who, width), combine, width);
            if (mine && who == 0) finish(v, all, own);
        }
    }
}
