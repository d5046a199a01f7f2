// Bounds of eccentricities from searches of up to 64 sources at once.

#include "common.cuh"
#include "source_bits.cuh"

// Write the bounds 0 and `highest`, or 0 and 0 for owned vertices without edges. Clear mirrors too.
__global__ void PARALLEL(256) begin_bounds(
    Array<const u64> offsets, u64 highest, Array<u32> lower, Array<u32> upper
) {
    for (u64 v = thread_of_grid(); v < upper.length; v += threads_of_grid()) {
        bool is_owned = v < lower.length;
        upper[v] = is_owned && offsets[v + 1] == offsets[v] ? 0 : (u32)highest;
        if (is_owned) lower[v] = 0;
    }
}

// Write the distance for each search that reached an owned vertex. `last` has 64 numbers.
__global__ void PARALLEL(256) write_last(u64 distance, Bits changed, Array<const u64> reached, Array<u32> last) {
    u64 searches = 0;
    for (u64 h = warp_of_grid(); h < changed.length(); h += warps_of_grid())
        if (changed.half(h) >> lane() & 1) searches |= reached[h * 32 + lane()];
    u32 low = __reduce_or_sync(ALL, (u32)searches), high = __reduce_or_sync(ALL, (u32)(searches >> 32));
    if (low >> lane() & 1) last[lane()] = (u32)distance;
    if (high >> lane() & 1) last[32 + lane()] = (u32)distance;
}

// Tighten the bounds of each changed owned vertex, whose distance to sources of `reached` is known.
//
// `together` has the sources that reach the vertex too. `symmetric` is 1 if distances are the same in both
// directions. `eccentricity` has 64 numbers, those of the sources.
__global__ void PARALLEL(256) tighten(
    u64 distance, u32 symmetric, Bits changed, Array<const u64> reached, Array<const u64> together,
    Array<const u32> eccentricity, Array<u32> lower, Array<u32> upper
) {
    u32 away = (u32)distance;
    for (u64 v = thread_of_grid(); v < lower.length; v += threads_of_grid()) {
        if (!changed.test(v)) continue;
        u32 low = max(lower[v], away), high = upper[v];
        for (u64 searches = reached[v] & together[v]; searches != 0; searches &= searches - 1) {
            u32 of_source = eccentricity[__ffsll(searches) - 1];
            high = min(high, of_source + away);
            if (symmetric && of_source > away) low = max(low, of_source - away);
        }
        lower[v] = low;
        upper[v] = high;
    }
}

// Write the eccentricities of the owned sources. `sources` are ascending numbers.
__global__ void PARALLEL(256) settle_sources(
    Array<const u32> vertices, Array<const u32> sources, Array<const u32> eccentricity, Array<u32> lower,
    Array<u32> upper
) {
    for (u64 v = thread_of_grid(); v < lower.length; v += threads_of_grid())
        if (u64 bit = bit_of(vertices[v], sources)) lower[v] = upper[v] = eccentricity[__ffsll(bit) - 1];
}

// Lower the upper bounds to one more than those of all out-neighbours. Return how many fell.
__global__ void PARALLEL(256) bound_by_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> lower, Array<u32> upper, Results<u64> results
) {
    u64 count = 0;
    for (u64 v = warp_of_grid(); v < lower.length; v += warps_of_grid()) {
        u32 high = upper[v], bound = 0;
        if (lower[v] >= high) continue;
        for (u64 e = offsets[v]; e < offsets[v + 1] && bound < high; e += WARP) {
            u64 at = e + lane();
            u32 target = at < offsets[v + 1] ? read(targets, at) : (u32)v;
            bound = max(bound, __reduce_max_sync(ALL, target == v ? 0 : upper[target] + 1));
        }
        __syncwarp();
        if (lane() == 0 && bound < high) {
            upper[v] = bound;
            count++;
        }
    }
    results.sum(count);
}
