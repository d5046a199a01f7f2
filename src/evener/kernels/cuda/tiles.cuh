// Tiles: rows whose edges lie in blocks of columns, as kernels/cpu/column_blocks.py lays them out.

#pragma once

#include "common.cuh"

// A tile has LANES lanes; sorted by how many edges they have, a warp of them is a slice.
constexpr u32 LANES = 256;
constexpr u32 SLICES = LANES / WARP;

// Two columns of a block in one word, each where it is four times itself in the low 18 bits: `low` as the word
// is, `high` when its halves are exchanged.
__device__ inline u32 pair_of(u32 low, u32 high) {
    u32 both = low | high << 16;
    return both << 2 | both >> 30;
}
constexpr u32 PLACE_IN_PAIR = 0x3FFFC;
__device__ inline u32 place_of_low(u32 pair) { return pair & PLACE_IN_PAIR; }
__device__ inline u32 place_of_high(u32 pair) { return (pair << 16 | pair >> 16) & PLACE_IN_PAIR; }
