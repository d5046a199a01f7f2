// Searches from up to 64 sources at once: the first level, the next level, and sums of distances.
//
// `frontier` and `arriving` have the bits of the searches that reached a vertex or a mirror in the last and in the next
// level; `changed` and `next_changed` flag the words that are not 0. `seen` has all searches that reached a vertex.
// `candidates` flags the vertices with an in-neighbour in `frontier`.

#include "common.cuh"
#include "source_bits.cuh"

// Clear all words and flags, and write the bits of the sources. `sources` are ascending numbers.
__global__ void PARALLEL(256) begin_searches(
    Array<const u32> vertices, Array<const u32> sources, Array<u64> frontier, Array<u64> arriving, Array<u64> seen,
    Bits changed, Bits next_changed, Bits candidates
) {
    clear_all(changed);
    clear_all(next_changed);
    clear_all(candidates);
    for (u64 v = thread_of_grid(); v < frontier.length; v += threads_of_grid()) {
        u64 bit = v < seen.length ? bit_of(vertices[v], sources) : 0;
        frontier[v] = bit;
        arriving[v] = 0;
        if (v < seen.length) seen[v] = bit;
    }
}

// Flag the owned vertices whose word is not 0. Return their out-edges.
__global__ void PARALLEL(256) mark_sources(
    Array<const u64> offsets, Bits changed, Array<const u64> frontier, Results<u64> results
) {
    u64 edges = 0;
    for (u64 v = thread_of_grid(); v + 1 < offsets.length; v += threads_of_grid()) {
        if (frontier[v] == 0) continue;
        changed.set(v);
        edges += offsets[v + 1] - offsets[v];
    }
    results.sum(edges);
}

// Flag the out-neighbours of all changed owned vertices, also mirrors.
__global__ void PARALLEL(256) mark_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Bits changed, Bits candidates
) {
    u64 owned = offsets.length - 1;
    for (u64 h = warp_of_grid(); h * 32 < owned; h += warps_of_grid()) {
        for (u32 half = changed.half(h) & range_mask(h, 0, owned); half != 0; half &= half - 1) {
            u64 v = h * 32 + __ffs(half) - 1;
            for (u64 e = offsets[v] + lane(); e < offsets[v + 1]; e += WARP) {
                u32 target = read(targets, e);
                if (!look(candidates, target)) candidates.set(target);
            }
        }
    }
}

__device__ inline u64 either(u64 word) {
    u32 low = __reduce_or_sync(ALL, (u32)word), high = __reduce_or_sync(ALL, (u32)(word >> 32));
    return (u64)high << 32 | low;
}

// Rows of more edges are read by a warp.
constexpr u64 SHORT = 16;
// Edges that a lane reads at once.
constexpr u32 AT_ONCE = 4;

struct Taking {
    Array<const u64> offsets;
    Tiered<u32> targets;
    Array<const u64> frontier;
    Array<u64> seen, arriving;

    // Which of the missing searches have reached an in-neighbour in the last level. The row is read by all lanes, or
    // by one.
    template <u32 LANES> __device__ u64 taken(u64 v, u64 missing, u32 who) const {
        u64 word = 0, last = offsets[v + 1];
        for (u64 e = offsets[v]; e < last; e += LANES * AT_ONCE) {
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u64 at = e + k * LANES + who;
                if (at < last) word |= read(frontier, read(targets, at));
            }
            u64 all = LANES == WARP ? either(word) : word;
            if ((all & missing) == missing) break;
        }
        return (LANES == WARP ? either(word) : word) & missing;
    }
};

// Take the bits of in-neighbours at the candidates, or at everyone, and clear the candidates.
//
// `going` has the bits of the searches in the frontier. Return how many vertices changed, their out-edges, and the bits
// that they got.
__global__ void PARALLEL(256) take_bits(
    u32 everyone, u64 going, Array<const u64> out_offsets, Array<const u64> offsets, Tiered<u32> targets,
    Bits candidates, Array<const u64> frontier, Array<u64> seen, Array<u64> arriving, Bits next_changed,
    Results<u64, u64, u64> results
) {
    Taking taking{offsets, targets, frontier, seen, arriving};
    u64 active = 0, edges = 0, arrived = 0, owned = seen.length;
    for (u64 h = warp_of_grid(); h * 32 < owned; h += warps_of_grid()) {
        u32 half = (everyone ? ALL : candidates.half(h)) & range_mask(h, 0, owned);
        __syncwarp();
        if (lane() == 0) candidates.half(h) = 0;
        if (half == 0) continue;
        u64 v = h * 32 + lane();
        bool mine = half >> lane() & 1;
        u64 missing = mine ? going & ~seen[v] : 0, word = 0;
        u64 length = missing != 0 ? offsets[v + 1] - offsets[v] : 0;
        if (length > 0 && length <= SHORT) word = taking.taken<1>(v, missing, 0);
        for (u32 long_rows = __ballot_sync(ALL, length > SHORT); long_rows != 0; long_rows &= long_rows - 1) {
            u32 k = __ffs(long_rows) - 1;
            u64 taken = taking.taken<WARP>(h * 32 + k, __shfl_sync(ALL, missing, k), lane());
            if (lane() == k) word = taken;
        }
        if (word != 0) {
            arriving[v] = word;
            seen[v] |= word;
            arrived |= word;
            active++;
            edges += out_offsets[v + 1] - out_offsets[v];
        }
        u32 flags = __ballot_sync(ALL, word != 0);
        if (lane() == 0 && flags != 0) next_changed.half(h) |= flags;
    }
    results.sum_and_unite(active, edges, arrived);
}

// Write 0 where a vertex or a mirror is flagged, and clear the flags.
__global__ void PARALLEL(256) clear_words(Bits changed, Array<u64> frontier) {
    for (u64 h = warp_of_grid(); h < changed.length(); h += warps_of_grid()) {
        u32 half = changed.half(h);
        if (half >> lane() & 1) frontier[h * 32 + lane()] = 0;
        __syncwarp();
        if (lane() == 0 && half != 0) changed.half(h) = 0;
    }
}

// Add the searches that reached each changed owned vertex, and their distances.
__global__ void PARALLEL(256) add_distances(
    u64 distance, Bits changed, Array<const u64> reached, Array<u64> counts, Array<u64> sums
) {
    for (u64 v = thread_of_grid(); v < counts.length; v += threads_of_grid()) {
        if (!changed.test(v)) continue;
        u64 count = __popcll(reached[v]);
        counts[v] += count;
        sums[v] += count * distance;
    }
}

// Add the reciprocal distances of the searches that reached each changed owned vertex.
__global__ void PARALLEL(256) add_reciprocals(
    u64 distance, Bits changed, Array<const u64> reached, Array<double> sums
) {
    for (u64 v = thread_of_grid(); v < sums.length; v += threads_of_grid())
        if (changed.test(v)) sums[v] += (double)__popcll(reached[v]) / (double)distance;
}
