// Random walks: sums of weights, draws by a counter-based generator, and the steps of each walk.
//
// The arrays are as in walks_cpu.py. A thread makes a walk, so the random reads of many walks overlap. A walk whose
// draw is rejected draws again together with the next draws of the other walks of its warp.

#include "mixing.cuh"

// The increment of SplitMix64 (Steele, Lea and Flood, OOPSLA 2014).
constexpr u64 INCREMENT = 0x9E3779B97F4A7C15ull;
// Rejections of a step after which it is drawn from its distribution.
constexpr u32 MOST_REJECTIONS = 64;
// Bits of the largest chance of a group of edges.
constexpr u32 CHANCE_BITS = 61;
// Bits of a word that a double does not hold.
constexpr u32 SPARE_BITS = 11;

// The upper 64 bits of the product of a word and a limit: a number below the limit.
__device__ inline u64 below(u64 word, u64 limit) { return __umul64hi(word, limit); }

// A number from 0 to below 1.
__device__ inline double fraction(u64 word) { return (double)(i64)(word >> SPARE_BITS) * 0x1p-53; }

// Write the sums of the weights of the first rows, times `scale` and rounded up to integers. A warp reads a row.
__global__ void PARALLEL(256) sum_weights(
    Array<const u64> offsets, Array<const double> weights, double scale, u64 rows, Array<u64> sums
) {
    for (u64 v = warp_of_grid(); v < rows; v += warps_of_grid()) {
        u64 total = 0;
        for (u64 first = offsets[v], last = offsets[v + 1]; first < last; first += WARP) {
            u64 e = first + lane();
            u64 sum = e < last ? (u64)(i64)ceil(weights[e] * scale) : 0;
            for (u32 step = 1; step < WARP; step *= 2) {
                u64 other = __shfl_up_sync(ALL, sum, step);
                if (lane() >= step) sum += other;
            }
            if (e < last) sums[e] = total + sum;
            total += __shfl_sync(ALL, sum, WARP - 1);
        }
    }
}

// An edge of a row. Without weights, each edge of the row is equally likely.
__device__ inline u64 draw_edge(Array<const u64> sums, u64 begin, u64 end, u64 word) {
    if (sums.length == 0) return begin + below(word, end - begin);
    u64 wanted = below(word, read(sums, end - 1)), low = begin, high = end - 1;
    while (low < high) {
        u64 middle = (low + high) >> 1;
        if (read(sums, middle) > wanted) high = middle;
        else low = middle + 1;
    }
    return low;
}

__device__ inline bool has_edge(Array<const u64> offsets, Array<const u32> targets, u32 v, u32 target) {
    u64 low = read(offsets, v), end = read(offsets, (u64)v + 1), high = end;
    while (low < high) {
        u64 middle = (low + high) >> 1;
        if (read(targets, middle) < target) low = middle + 1;
        else high = middle;
    }
    return low < end && read(targets, low) == target;
}

// Whether a walk accepts a target, given a number from 0 to below 1.
__device__ inline bool accepts(
    Array<const u64> offsets, Array<const u32> targets, u32 previous, u32 target, double chance, double back,
    double near, double far
) {
    if (target == previous) return chance < back;
    if (chance < least(near, far)) return true;
    if (chance >= most(near, far)) return false;
    return chance < (has_edge(offsets, targets, previous, target) ? near : far);
}

// The group of a target: 0 for the previous vertex, 1 for its neighbours, 2 for other vertices.
__device__ inline u32 group_of(
    Array<const u64> offsets, Array<const u32> targets, u32 previous, u32 target, double near, double far
) {
    if (target == previous) return 0;
    return near == far || has_edge(offsets, targets, previous, target) ? 1 : 2;
}

__device__ inline u64 weight_of(Array<const u64> sums, u64 begin, u64 e) {
    if (sums.length == 0) return 1;
    return e == begin ? read(sums, e) : read(sums, e) - read(sums, e - 1);
}

// The chance of a group of edges as an integer. `unit` is a power of two, so it rounds nothing.
__device__ inline u64 chance_of(u64 weight, double chance, double unit) {
    return (u64)(i64)((double)(i64)weight * chance * unit);
}

// A target of a row with the exact chances, given two words: one for its group, one for its edge.
__device__ inline u32 draw_biased(
    Array<const u64> offsets, Array<const u32> targets, Array<const u64> sums, u64 begin, u64 end, u32 previous,
    double back, double near, double far, u64 word, u64 other
) {
    u64 weight_back = 0, weight_near = 0, weight_far = 0;
    for (u64 e = begin; e < end; e++) {
        u32 group = group_of(offsets, targets, previous, read(targets, e), near, far);
        u64 weight = weight_of(sums, begin, e);
        if (group == 0) weight_back += weight;
        else if (group == 1) weight_near += weight;
        else weight_far += weight;
    }
    double unit = 1;
    u64 total = weight_back + weight_near + weight_far;
    u32 shift = 0;
    while (total >> (1 + shift) != 0) shift++;
    for (; shift < CHANCE_BITS; shift++) unit *= 2;
    u64 chance_back = chance_of(weight_back, back, unit), chance_near = chance_of(weight_near, near, unit);
    u64 drawn = below(word, chance_back + chance_near + chance_of(weight_far, far, unit));
    u32 chosen = 2;
    u64 rest = below(other, weight_far);
    if (drawn < chance_back) chosen = 0, rest = below(other, weight_back);
    else if (drawn < chance_back + chance_near) chosen = 1, rest = below(other, weight_near);
    for (u64 e = begin; e < end; e++) {
        u32 target = read(targets, e);
        if (group_of(offsets, targets, previous, target, near, far) != chosen) continue;
        u64 weight = weight_of(sums, begin, e);
        if (rest < weight) return target;
        rest -= weight;
    }
    return previous;
}

// Write walks from number `begin` on, each with `places` vertices. Return the number of their steps.
__global__ void PARALLEL(256) walk(
    Array<const u64> offsets, Array<const u32> targets, Array<const u64> sums, Array<const u32> sources,
    u64 walks_per_vertex, u64 seed, u64 begin, double back, double near, double far, double restart, u64 places,
    Array<u32> walks, Results<u64> results
) {
    bool biased = back != near || near != far;
    u64 made = 0;
    for (u64 w = thread_of_grid(); w * places < walks.length; w += threads_of_grid()) {
        u64 number = begin + w, key = mix(mix(seed) + (number + 1) * INCREMENT);
        u32 source = read(sources, number / walks_per_vertex), v = source, previous = NO_VERTEX;
        u32* row = walks.at + w * places;
        row[0] = source;
        u64 i = 1, first = 0, last = 0;
        u32 rejections = 0;
        while (i < places) {
            if (rejections == 0) {
                first = read(offsets, v), last = read(offsets, (u64)v + 1);
                if (first == last || (sums.length > 0 && read(sums, last - 1) == 0)) break;
                if (restart > 0) {
                    key += INCREMENT;
                    if (fraction(mix(key)) < restart) {
                        v = source, previous = NO_VERTEX;
                        row[i++] = v;
                        continue;
                    }
                }
            }
            key += INCREMENT;
            u32 target = read(targets, draw_edge(sums, first, last, mix(key)));
            if (biased && previous != NO_VERTEX && last - first > 1) {
                key += INCREMENT;
                if (!accepts(offsets, targets, previous, target, fraction(mix(key)), back, near, far)) {
                    if (++rejections < MOST_REJECTIONS) continue;
                    u64 word = mix(key + INCREMENT);
                    key += 2 * INCREMENT;
                    target = draw_biased(
                        offsets, targets, sums, first, last, previous, back, near, far, word, mix(key)
                    );
                }
            }
            rejections = 0;
            previous = v, v = target;
            row[i++] = v;
        }
        made += i - 1;
        for (; i < places; i++) row[i] = NO_VERTEX;
    }
    results.sum(made);
}
