// Vertex programs whose messages are tuples of numbers: a superstep, as in vertex_combine.cu and vertex_apply.cu.
//
// Fields and messages in memory have tables of the addresses of their arrays. The functions read and write the
// numbers of a tuple as doubles or as integers, through two pointers to the same words.

#include "gather.cuh"
#include "vertex_functions.cuh"

// Most numbers of a message; as in vertex_kernels_gpu.py.
constexpr u32 MAX_NUMBERS = 8;
// Smallest number of edges of a row that a thread block shares, and edges for each lane of a shorter row.
constexpr u64 BLOCK_TUPLES = 4096, LANE_TUPLES = 8;

extern "C" __device__ i64 numbers_of_message();
extern "C" __device__ i64 read_message(FIELDS, TUPLE(message));
extern "C" __device__ i64 write_message(FIELDS, TUPLE(message));
extern "C" __device__ i64 send_tuple(TUPLE(state), double real_weight, i64 weight, PLACE, TUPLE(message));
extern "C" __device__ i64 combine_tuple(TUPLE(a), TUPLE(b));
extern "C" __device__ i64 apply_tuple(TUPLE(state), TUPLE(message), PLACE, double total, double* change);

// Call ``step(k)`` for each number of a message. The linker knows how many there are and removes the others.
template <typename Step> __device__ inline void for_numbers(Step step) {
#pragma unroll
    for (u32 k = 0; k < MAX_NUMBERS; k++)
        if (k < numbers_of_message()) step(k);
}

struct Tuple {
    i64 words[MAX_NUMBERS];
};

// Shuffles of tuples, for `across` and `over_block`.
__device__ inline Tuple __shfl_xor_sync(u32 lanes, Tuple own, u32 step) {
    for_numbers([&](u32 k) { own.words[k] = __shfl_xor_sync(lanes, own.words[k], step); });
    return own;
}
__device__ inline Tuple __shfl_down_sync(u32 lanes, Tuple own, u32 step) {
    for_numbers([&](u32 k) { own.words[k] = __shfl_down_sync(lanes, own.words[k], step); });
    return own;
}

struct CombineTuples {
    __device__ Tuple operator()(Tuple a, Tuple b) const {
        combine_tuple(WORDS(a), WORDS(b));
        return a;
    }
};

// The combined message of each owned vertex: for each number of a message, an array of words.
struct Combined {
    Array<i64> words;
    u64 owned;

    __device__ Combined(Array<i64> words) : words(words), owned(words.length / numbers_of_message()) {}
    __device__ Tuple operator[](u64 v) const {
        Tuple own;
        for_numbers([&](u32 k) { own.words[k] = words[k * owned + v]; });
        return own;
    }
    __device__ void write(u64 v, Tuple own) const {
        for_numbers([&](u32 k) { words[k * owned + v] = own.words[k]; });
    }
};

// Combine the messages of the scheduled vertices, or of all vertices if `everyone`. With `again`, `words` has
// messages of other rows, and they are combined too. `sent` has messages, or states if `per_edge`.
template <typename Weight>
__global__ void PARALLEL(256) combine_tuples(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> blocks,
    Array<const u64> nothing, u32 everyone, Bits scheduled, u32 again, u32 per_edge, Array<const u64> sent,
    Array<const u32> degree, Array<const u32> vertices, u64 n, u64 iteration, Array<i64> words
) {
    CombineTuples combine;
    Combined combined(words);
    States<i64> states{sent, degree, vertices, n, iteration};
    Tuple unit;
    for_numbers([&](u32 k) { unit.words[k] = *(const i64*)nothing[k]; });
    over_rows<BLOCK_TUPLES, LANE_TUPLES>(
        offsets, blocks, combined.owned,
        [&](u64 v, u64 first, u64 last, u32 who, u32 width) {
            Tuple all = unit;
            if (first == last || !(everyone || scheduled.test(v))) return all;
            for (u64 e = first + who; e < last; e += width) {
                u32 u = read(targets, e);
                Tuple message;
                if (per_edge) {
                    Weight weight = read(weights, e);
                    State own = states.read(u, false);
                    send_tuple(
                        WORDS(own), (double)weight, (i64)weight, own.degree, own.vertex, n, iteration, WORDS(message)
                    );
                } else {
                    read_message(ARRAYS(sent), u, WORDS(message));
                }
                all = combine(all, message);
            }
            return all;
        },
        combine, [&](u64 v) { return again ? combined[v] : unit; },
        [&](u64 v, Tuple all, Tuple before) {
            if (everyone || scheduled.test(v)) combined.write(v, combine(before, all));
        }
    );
}

// Apply the combined messages, and write the next messages, as `apply_messages` does.
__global__ void PARALLEL(256) apply_tuples(
    u32 first, u32 everyone, u32 per_edge, u32 timed, Bits scheduled, Array<const u64> near_offsets,
    Array<const u64> far_offsets, u32 both, Array<i64> words, Array<const u64> fields, Array<const u32> degree,
    Array<const u32> vertices, u64 n, u64 iteration, double total, Array<const u64> sent,
    Array<const u64> next_sent, Bits active, Results<u64, double, double, u64> results
) {
    Combined combined(words);
    States<i64> states{fields, degree, vertices, n, iteration};
    u64 count = 0, edges = 0;
    double change = 0, size = 0;
    for (u64 begin = warp_of_grid() * WARP; begin < combined.owned; begin += warps_of_grid() * WARP) {
        u64 v = begin + lane();
        bool is_active = false;
        if (v < combined.owned) {
            bool works = !first && (everyone || scheduled.test(v));
            Tuple message;
            State own = states.read(v);
            if (works) {
                double moved;
                message = combined[v];
                is_active = apply_tuple(
                                WORDS(own), WORDS(message), own.degree, own.vertex, n, iteration, total, &moved
                            ) != 0;
                change += moved;
                states.write(v, own);
                if (!everyone) edges += near_offsets[v + 1] - near_offsets[v];
                if (!everyone && both) edges += far_offsets[v + 1] - far_offsets[v];
            }
            size += states.size(own);
            if (!per_edge) {
                if (works || first || timed)
                    send_tuple(WORDS(own), 1, 1, own.degree, own.vertex, n, iteration + 1, WORDS(message));
                else
                    read_message(ARRAYS(sent), v, WORDS(message));
                write_message(ARRAYS(next_sent), v, WORDS(message));
            }
        }
        u32 half = __ballot_sync(ALL, is_active);
        if (half != 0 && lane() == 0) {
            active.half(begin / 32) = half;
            count += __popc(half);
        }
    }
    results.sum(count, change, size, edges);
}
