// Read and clear flags.

#pragma once

#include "common.cuh"

// Clear the flags of half `h` in ``begin:end`` and return them.
__device__ inline u32 take_flags(Bits flags, u64 h, u64 begin, u64 end) {
    u32 mask = range_mask(h, begin, end);
    u32 half = flags.half(h) & mask;
    if (half != 0) atomicAnd(&flags.half(h), ~mask);
    return half;
}

// Call ``visit(i)`` for every flag i set in ``begin:end``, and clear the flags.
//
// A warp reads 32 halves at once, then visits the flags of one half after the other, so that its lanes visit
// consecutive numbers. All lanes call it together.
template <typename Visit> __device__ inline void take_each(Bits flags, u64 begin, u64 end, Visit visit) {
    u64 halves = (end + 31) / 32;
    for (u64 first = begin / 32 + warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u32 half = first + lane() < halves ? take_flags(flags, first + lane(), begin, end) : 0;
        for (u32 some = __ballot_sync(ALL, half != 0); some != 0; some &= some - 1) {
            u32 k = __ffs(some) - 1;
            if (__shfl_sync(ALL, half, k) >> lane() & 1) visit((first + k) * 32 + lane());
        }
    }
}

// Halves of flags whose values a warp reads at once, because a value may be in the memory of another GPU.
constexpr u32 HALVES_AT_ONCE = 4;

// Call ``visit(place, value)`` for the bits of each lane's `word`, the flags of half ``first + lane()`` of
// `values`. The place of a value is `base` of its half, plus the number of lower bits in `here` of its half. All
// lanes of a warp call it together and visit consecutive places.
template <typename T, typename Visit>
__device__ inline void over_flagged(u64 first, u32 word, u32 here, u64 base, const T* values, Visit visit) {
    for (u32 some = __ballot_sync(ALL, word != 0); some != 0;) {
        T value[HALVES_AT_ONCE];
        u64 place[HALVES_AT_ONCE];
        bool flagged[HALVES_AT_ONCE];
#pragma unroll
        for (u32 j = 0; j < HALVES_AT_ONCE; j++) {
            u32 k = some != 0 ? __ffs(some) - 1 : 0;
            flagged[j] = some != 0 && (__shfl_sync(ALL, word, k) >> lane() & 1);
            place[j] = __shfl_sync(ALL, base, k) + __popc(__shfl_sync(ALL, here, k) & ((1u << lane()) - 1));
            some &= some - 1;
            value[j] = flagged[j] ? *(volatile const T*)(values + (first + k) * 32 + lane()) : T(0);
        }
#pragma unroll
        for (u32 j = 0; j < HALVES_AT_ONCE; j++)
            if (flagged[j]) visit(place[j], value[j]);
    }
}

// Call ``visit(i, values[i])`` for every flag i set in ``begin:end``, and clear the flags. All lanes call it.
template <typename T, typename Visit>
__device__ inline void take_values_of(Bits flags, Array<T> values, u64 begin, u64 end, Visit visit) {
    u64 halves = (end + 31) / 32;
    for (u64 first = begin / 32 + warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u32 half = first + lane() < halves ? take_flags(flags, first + lane(), begin, end) : 0;
        over_flagged(first, half, ALL, (first + lane()) * 32, values.at, visit);
    }
}

// The number of the owner's vertices with a mirror before half `h`; `before` counts words of two halves.
__device__ inline u64 mirrors_before(const u32* held, const u32* before, u64 h) {
    return before[h / 2] + (h % 2 ? __popc(held[h - 1]) : 0);
}

// Move the bits of `word` at the positions of the bits of `here` to the lowest bits.
__device__ inline u32 compress(u32 word, u32 here) {
    u32 packed = 0;
    for (word &= here; word != 0; word &= word - 1) packed |= 1u << __popc(here & ((word & -word) - 1));
    return packed;
}

// Store the owner's flags `word` of half `h` in the flags of its mirrors, which are the vertices `here`.
//
// `held` is the bitmap of the owner's vertices with a mirror, and `before` counts its bits before each word,
// which has two halves. The mirrors are numbered from `begin` on.
__device__ inline void place_flags(
    const u32* held, const u32* before, u64 h, u32 here, u32 word, u64 begin, Bits mirror_flags
) {
    u64 mirror = begin + mirrors_before(held, before, h);
    u32 count = __popc(here), packed = compress(word, here);
    u32 mask = count == 32 ? ALL : (1u << count) - 1, shift = mirror % 32;
    // Neighbouring threads set other bits of the same halves.
    u32* place = &mirror_flags.half(mirror / 32);
    if (mask << shift != ALL) {
        atomicAnd(place, ~(mask << shift) | packed << shift);
        atomicOr(place, packed << shift);
    } else {
        *place = packed;
    }
    if (shift + count > 32) {
        atomicAnd(place + 1, ~(mask >> (32 - shift)) | packed >> (32 - shift));
        atomicOr(place + 1, packed >> (32 - shift));
    }
}
