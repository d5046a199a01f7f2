// Common neighbours of two rows: a hash table of one row in shared memory, or in global memory for the longest
// rows, in which the targets of other rows are looked up. The threads of a warp or of a block share a table.

#pragma once

#include "common.cuh"

// Place in a table that holds no target.
constexpr u32 EMPTY = NO_VERTEX;

// Targets of one row, and a number for each of them.
struct NeighbourTable {
    u32* keys;
    u32* numbers;
    u32 mask;

    // The number of places for a row of `length` targets: a power of two, more than twice the length.
    __device__ static u32 places(u64 length) { return 2u << (32 - __clz((u32)length | 15)); }
    // The number of places of a table in `bytes` of memory, and the longest row that fits so many places.
    __device__ static u32 fits(u32 bytes) { return 1u << (31 - __clz(bytes / (2 * sizeof(u32)))); }
    __device__ static u32 longest(u32 places) { return places / 2 - 1; }

    // Clear the table, with `width` threads of which this is number `who`.
    __device__ void clear(u32 who, u32 width) const {
        for (u32 h = who; h <= mask; h += width) {
            keys[h] = EMPTY;
            numbers[h] = 0;
        }
    }
    __device__ u32 hash(u32 target) const { return (target * 0x9E3779B1u >> 9) & mask; }
    // Enter a target that is not in the table, with its number.
    __device__ void enter(u32 target, u32 number) const {
        u32 h = hash(target);
        while (atomicCAS(keys + h, EMPTY, target) != EMPTY) h = (h + 1) & mask;
        numbers[h] = number;
    }
    // Return the place of a target, or EMPTY.
    __device__ u32 find(u32 target) const {
        for (u32 h = hash(target);; h = (h + 1) & mask) {
            u32 key = keys[h];
            if (key == target) return target == EMPTY ? EMPTY : h;
            if (key == EMPTY) return EMPTY;
        }
    }
};
