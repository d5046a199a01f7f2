// Tiles of edges in column blocks. kernels/cpu/column_blocks.py describes the layout.

#pragma once

#include "common.cuh"

// Lanes of a tile, and slices of an item.
constexpr u32 LANES = 256;
constexpr u32 SLICES = LANES / WARP;

// Stands in a remainder for "no edge".
constexpr u32 NO_TARGET = 0xFFFFFFFFu;

// Pack two columns of a block into one word. The low 18 bits of the word are 4 * `low`, a byte address in a
// table of float32. After the halves of the word are swapped, the low 18 bits are 4 * `high`.
__device__ inline u32 pair_of(u32 low, u32 high) {
    u32 both = low | high << 16;
    return both << 2 | both >> 30;
}
constexpr u32 ADDRESS_IN_PAIR = 0x3FFFC;
__device__ inline u32 low_address(u32 pair) { return pair & ADDRESS_IN_PAIR; }
__device__ inline u32 high_address(u32 pair) { return (pair << 16 | pair >> 16) & ADDRESS_IN_PAIR; }
