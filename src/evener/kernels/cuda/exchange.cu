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
        u32 here = held.half(h);
        if (here != 0) place_flags(held.halves, before.at, h, here, flags.half(h) & here, begin, mirror_flags);
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

// ---- flagged values only ---------------------------------------------------------------------------

// As `push_add`, for flagged mirrors only. Moves their flags to the owner's vertices.
//
// Returns the number of flagged mirrors.
template <typename Value>
__global__ void PARALLEL(256) push_add_flagged(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags,
    Results<u64> results
) {
    u64 moved = 0;
    take_values_of(mirror_flags, mirrored, begin, begin + index.length, [&](u64 mirror, Value value) {
        owned[index[mirror - begin]] += value;
        mirrored[mirror] = 0;
        flags.set(index[mirror - begin]);
        moved++;
    });
    results.sum(moved);
}

// As `push_min`, for flagged mirrors only. Flags the lowered vertices, and clears the mirrors' flags.
//
// Returns the number of flagged mirrors.
template <typename Value>
__global__ void PARALLEL(256) push_min_flagged(
    Array<const u32> index, u64 begin, Array<Value> mirrored, Bits mirror_flags, Array<Value> owned, Bits flags,
    Results<u64> results
) {
    u64 moved = 0;
    take_values_of(mirror_flags, mirrored, begin, begin + index.length, [&](u64 mirror, Value value) {
        u32 v = index[mirror - begin];
        moved++;
        if (value < owned[v]) {
            owned[v] = value;
            flags.set(v);
        }
    });
    results.sum(moved);
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
    take_values_of(mirror_flags, mirrored, begin, begin + index.length, [&](u64 mirror, Value value) {
        u32 v = index[mirror - begin];
        owned[v] = value;
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
    for (u64 first = warp_of_grid() * WARP; first < held.length(); first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 here = h < held.length() ? held.half(h) : 0, word = here == 0 ? 0 : flags.half(h) & here;
        u64 mirror = word == 0 ? 0 : begin + mirrors_before(held.halves, before.at, h);
        moved += __popc(word);
        if (word != 0) {
            u32 packed = compress(word, here), shift = mirror % 32;
            atomicOr(&mirror_flags.half(mirror / 32), packed << shift);
            if (shift != 0 && packed >> (32 - shift) != 0)
                atomicOr(&mirror_flags.half(mirror / 32 + 1), packed >> (32 - shift));
        }
        over_flagged(first, word, here, mirror, owned.at, [&](u64 place, Value value) { mirrored[place] = value; });
    }
    results.sum(moved);
}
