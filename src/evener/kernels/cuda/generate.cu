// Generators of edges and weights: Philox, Kronecker powers and uniform edges.
//
// A thread computes an edge from its number only. Random words are Philox4x32-10 (Salmon et al., SC'11) with
// the seed as key. The counter is (edge low, edge high, block, stream).

#include "common.cuh"

constexpr u32 EDGES = 0, WEIGHTS = 1;
// A random word has 10 bits for an outcome, and 22 bits to choose the outcome or its alias.
constexpr u32 OUTCOME_BITS = 10, OUTCOMES = 1 << OUTCOME_BITS;

struct Words {
    u32 a, b, c, d;
    __device__ u32 word(u32 i) const { return i == 0 ? a : i == 1 ? b : i == 2 ? c : d; }
};

// Returns the four words of Philox4x32-10 at a counter; `key` holds two words.
__device__ inline Words philox(u64 edge, u32 block, u32 stream, u64 key) {
    Words w{(u32)edge, (u32)(edge >> 32), block, stream};
    u32 key_a = (u32)key, key_b = (u32)(key >> 32);
    for (int round = 0; round < 10; round++) {
        u64 first = (u64)0xD2511F53u * w.a, second = (u64)0xCD9E8D57u * w.c;
        w = {(u32)(second >> 32) ^ w.b ^ key_a, (u32)second, (u32)(first >> 32) ^ w.d ^ key_b, (u32)first};
        key_a += 0x9E3779B9u;
        key_b += 0xBB67AE85u;
    }
    return w;
}

// Returns a keyed permutation of ``0..mask``, where `mask` is a power of two minus one.
__device__ inline u32 permute(u64 vertex, u64 mask, u64 half, Array<const u64> keys) {
    vertex = (vertex + keys[0]) & mask;
    vertex = ((vertex ^ (vertex >> half)) * keys[1]) & mask;
    vertex = ((vertex ^ (vertex >> half)) * keys[2]) & mask;
    vertex = ((vertex ^ (vertex >> half)) * keys[3]) & mask;
    return (u32)(vertex ^ (vertex >> half));
}

// Draws edges from a Kronecker power of a probability matrix, several levels per random word; see the CPU
// kernel. `parts` is the number of parts of a CPU.
__global__ void PARALLEL(256) sampled_kronecker(
    u64 start, u64 key, u64 draws, Array<const u32> radices, Array<const u32> cut, Array<const u32> alias,
    Array<const u32> rows, Array<const u32> columns, u64 mask, u64 half, Array<const u64> keys, Array<u32> src,
    Array<u32> dst, u64 parts
) {
    for (u64 i = thread_of_grid(); i < src.length; i += threads_of_grid()) {
        Words words{};
        u32 tail = 0, head = 0;
        for (u32 draw = 0; draw < draws; draw++) {
            if (draw % 4 == 0) words = philox(start + i, draw / 4, EDGES, key);
            u32 word = words.word(draw % 4), last = draw + 1 == draws;
            u32 name = word % OUTCOMES + last * OUTCOMES;
            u32 outcome = (word >> OUTCOME_BITS) < read(cut, name) ? name : read(alias, name);
            tail = tail * read(radices, last) + read(rows, outcome);
            head = head * read(radices, last) + read(columns, outcome);
        }
        src[i] = mask ? permute(tail, mask, half, keys) : tail;
        dst[i] = mask ? permute(head, mask, half, keys) : head;
    }
}

// Draws tail and head of each edge uniformly from `n` vertices.
__global__ void PARALLEL(256) uniform(u64 start, u64 key, u64 n, Array<u32> src, Array<u32> dst) {
    for (u64 i = thread_of_grid(); i < src.length; i += threads_of_grid()) {
        Words words = philox(start + i, 0, EDGES, key);
        src[i] = (u32)(words.a * n >> 32);
        dst[i] = (u32)(words.b * n >> 32);
    }
}

// Draws integer weights uniformly from ``low .. low + span - 1``.
__global__ void PARALLEL(256) integer_weights(u64 start, u64 key, i64 low, u64 span, Array<i32> out) {
    for (u64 i = thread_of_grid(); i < out.length; i += threads_of_grid())
        out[i] = (i32)(low + (i64)(philox(start + i, 0, WEIGHTS, key).a * span >> 32));
}

// Draws float32 weights uniformly from the multiples of ``2**-24`` in (0, 1].
__global__ void PARALLEL(256) real_weights(u64 start, u64 key, Array<float> out) {
    for (u64 i = thread_of_grid(); i < out.length; i += threads_of_grid())
        out[i] = (float)((philox(start + i, 0, WEIGHTS, key).a >> 8) + 1) * 0x1p-24f;
}
