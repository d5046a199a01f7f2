// Exchange kernels: push (mirrors to owners, with a reduction) and pull (owners to mirrors).
// kernels/cpu/exchange.py describes the arrays and results.

#include "flags.cuh"

// ---- flags -----------------------------------------------------------------------------------------

// ``flags[index] |= mirror_flags[begin:]``, bit by bit. Clears the mirrors' flags.
__global__ void PARALLEL(256) push_or_bits(
    Array<const u32> index, u64 begin, Bits mirror_flags, Bits flags, Results<u64> results
) {
    u64 moved = 0;
    take_each(mirror_flags, begin, begin + index.length, [&](u64 mirror) {
        flags.set(index[mirror - begin]);
        moved++;
    });
    results.sum(moved);
}

// ``mirror_flags[begin:] = flags[index]``, bit by bit. Each half of the owner's flags is packed, and then placed.
__global__ void PARALLEL(256) pull_bits(
    u64 begin, Bits held, Array<const u32> before, Bits flags, Bits mirror_flags
) {
    for (u64 h = thread_of_grid(); h < held.length(); h += threads_of_grid()) {
        u32 here = held.half(h), word = flags.half(h) & here;
        if (here == 0) continue;
        // `before` counts the bits before the word, which has two halves.
        u64 mirror = begin + before[h / 2] + (h % 2 ? __popc(held.half(h - 1)) : 0);
        u32 count = __popc(here), packed = 0;
        for (; word != 0; word &= word - 1)
            packed |= 1u << __popc(here & ((word & -word) - 1));
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
}

// ---- all values ------------------------------------------------------------------------------------

// ``owned[index] += mirrored[begin:]``. Sets the mirrors to 0.
template <typename Value>
__global__ void PARALLEL(256) push_add(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Array<Value> owned
) {
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid()) {
        owned[index[i]] += mirrored[begin + i];
        mirrored[begin + i] = 0;
    }
}

// ``owned[index] = min(owned[index], mirrored[begin:])``.
template <typename Value>
__global__ void PARALLEL(256) push_min(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Array<Value> owned
) {
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid())
        owned[index[i]] = least(owned[index[i]], mirrored[begin + i]);
}

// ``mirrored[begin:] = owned[index]``.
template <typename Value>
__global__ void PARALLEL(256) pull(
    Array<const u32> index, u64 begin, Array<Value> owned, Array<Value> mirrored
) {
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid())
        mirrored[begin + i] = owned[index[i]];
}

// ---- all values and their flags --------------------------------------------------------------------

// As `push_add`. Moves the mirrors' flags to the owner's vertices.
template <typename Value>
__global__ void PARALLEL(256) push_add_all(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags
) {
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid()) {
        owned[index[i]] += mirrored[begin + i];
        mirrored[begin + i] = 0;
    }
    take_each(mirror_flags, begin, begin + index.length, [&](u64 mirror) { flags.set(index[mirror - begin]); });
}

// As `push_min`. Flags and counts the lowered vertices, and clears the mirrors' flags.
template <typename Value>
__global__ void PARALLEL(256) push_min_all(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags,
    Results<u64> results
) {
    u64 lowered = 0;
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid()) {
        u32 v = index[i];
        if (mirrored[begin + i] < owned[v]) {
            owned[v] = mirrored[begin + i];
            flags.set(v);
            lowered++;
        }
    }
    take_each(mirror_flags, begin, begin + index.length, [](u64) {});
    results.sum(lowered);
}

// ---- flagged values only ---------------------------------------------------------------------------

// As `push_add`, for flagged mirrors only. Moves their flags to the owner's vertices.
template <typename Value>
__global__ void PARALLEL(256) push_add_flagged(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags
) {
    take_each(mirror_flags, begin, begin + index.length, [&](u64 mirror) {
        owned[index[mirror - begin]] += mirrored[mirror];
        mirrored[mirror] = 0;
        flags.set(index[mirror - begin]);
    });
}

// As `push_min_all`, for flagged mirrors only.
template <typename Value>
__global__ void PARALLEL(256) push_min_flagged(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags,
    Results<u64> results
) {
    u64 lowered = 0;
    take_each(mirror_flags, begin, begin + index.length, [&](u64 mirror) {
        u32 v = index[mirror - begin];
        if (mirrored[mirror] < owned[v]) {
            owned[v] = mirrored[mirror];
            flags.set(v);
            lowered++;
        }
    });
    results.sum(lowered);
}

// ``owned[index] = mirrored[begin:]`` for flagged mirrors. Moves their flags to the owner.
//
// Returns the number of flagged mirrors.
template <typename Value>
__global__ void PARALLEL(256) push_set_flagged(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags,
    Results<u64> results
) {
    u64 moved = 0;
    take_each(mirror_flags, begin, begin + index.length, [&](u64 mirror) {
        u32 v = index[mirror - begin];
        owned[v] = mirrored[mirror];
        flags.set(v);
        moved++;
    });
    results.sum(moved);
}

// As `pull`, for the owner's flagged vertices only. Flags and counts the mirrors.
template <typename Value>
__global__ void PARALLEL(256) pull_flagged(
    u64 begin, Bits held, Array<const u32> before, Array<Value> owned, Bits flags, Array<Value> mirrored,
    Bits mirror_flags, Results<u64> results
) {
    u64 moved = 0;
    for (u64 h = thread_of_grid(); h < held.length(); h += threads_of_grid()) {
        u32 here = held.half(h), word = flags.half(h) & here;
        if (word == 0) continue;
        u64 first = begin + before[h / 2] + (h % 2 ? __popc(held.half(h - 1)) : 0);
        for (; word != 0; word &= word - 1) {
            u64 mirror = first + __popc(here & ((word & -word) - 1));
            mirrored[mirror] = owned[h * 32 + __ffs(word) - 1];
            mirror_flags.set(mirror);
            moved++;
        }
    }
    results.sum(moved);
}
