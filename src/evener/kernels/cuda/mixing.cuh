// Mixes the bits of a word: the finalizer of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).

#pragma once

#include "common.cuh"

__device__ inline u64 mix(u64 word) {
    word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9ull;
    word = (word ^ (word >> 27)) * 0x94D049BB133111EBull;
    return word ^ (word >> 31);
}
