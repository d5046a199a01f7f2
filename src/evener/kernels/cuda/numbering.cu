// Number the vertices of several partitions: places in the order of a policy, owners, and numbers.

#include "mixing.cuh"

// Writes the place of each position after a shuffle of `n` positions: see kernels/cpu/permutation.py.
__global__ void PARALLEL(256) shuffled_places(
    Array<const u32> positions, u64 n, Array<const u64> keys, Array<u32> places
) {
    u32 half = 1;
    while ((1ull << 2 * half) < n) half++;
    u64 low = (1ull << half) - 1;
    for (u64 i = thread_of_grid(); i < places.length; i += threads_of_grid()) {
        u64 place = positions[i];
        do {
            u64 left = place >> half, right = place & low;
            for (u64 round = keys.length; round > 0; round--) {
                u64 before = right ^ (mix(left + read(keys, round - 1)) & low);
                right = left;
                left = before;
            }
            place = left << half | right;
        } while (place >= n);
        places[i] = (u32)place;
    }
}

// Writes the places of positions in reverse order.
__global__ void PARALLEL(256) reversed_places(Array<const u32> positions, u64 n, Array<u32> places) {
    for (u64 i = thread_of_grid(); i < places.length; i += threads_of_grid()) places[i] = (u32)(n - 1 - positions[i]);
}

// Adds the degree of each vertex to the sum of the `piece` places around its own.
__global__ void PARALLEL(256) sum_pieces(
    Array<const u32> degree, Array<const u32> places, u64 piece, Array<u64> sums
) {
    for (u64 v = thread_of_grid(); v < degree.length; v += threads_of_grid())
        atomicAdd(&sums[places[v] / piece], (u64)degree[v]);
}

// Writes the degrees of the vertices from place `first` on.
__global__ void PARALLEL(256) degrees_from(
    Array<const u32> degree, Array<const u32> places, u64 first, Array<u32> found
) {
    for (u64 v = thread_of_grid(); v < degree.length; v += threads_of_grid()) {
        u64 i = (u64)places[v] - first;
        if (i < found.length) found[i] = degree[v];
    }
}

// Writes the owner of each vertex: the number of cuts up to its place.
template <typename Owner>
__global__ void PARALLEL(256) owners_of_places(
    Array<const u32> places, Array<const u64> cuts, Array<Owner> owner
) {
    for (u64 v = thread_of_grid(); v < owner.length; v += threads_of_grid()) {
        u64 p = 0;
        while (p < cuts.length && read(cuts, p) <= places[v]) p++;
        owner[v] = (Owner)p;
    }
}

// Writes keys that sort by owner, and by position in descending degree.
template <typename Owner>
__global__ void PARALLEL(256) owner_keys(
    Array<const u32> by_degree, Array<const Owner> owner, Array<u64> keys
) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid())
        keys[i] = (u64)owner[by_degree[i]] << 32 | i;
}

// Writes the number of keys of the owners before each owner.
__global__ void PARALLEL(256) owner_bounds(Array<const u64> keys, Array<u64> bounds) {
    for (u64 p = thread_of_grid(); p < bounds.length; p += threads_of_grid()) {
        u64 begin = 0, end = keys.length;
        while (begin < end) {
            u64 middle = (begin + end) / 2;
            if (keys[middle] < p << 32) begin = middle + 1;
            else end = middle;
        }
        bounds[p] = begin;
    }
}

// Writes the vertices in the order of their sorted keys.
__global__ void PARALLEL(256) vertices_of_keys(
    Array<const u64> keys, Array<const u32> by_degree, Array<u32> vertices
) {
    for (u64 i = thread_of_grid(); i < keys.length; i += threads_of_grid()) vertices[i] = by_degree[(u32)keys[i]];
}

// Writes the number of each vertex: its place among the vertices of all partitions.
__global__ void PARALLEL(256) number_all(Array<const u32> vertices, Array<u32> number) {
    for (u64 i = thread_of_grid(); i < vertices.length; i += threads_of_grid()) number[vertices[i]] = (u32)i;
}

// Writes which of the vertices need mirrors, in the order of their numbers.
__global__ void PARALLEL(256) needed_in_order(
    Array<const u32> vertices, Array<const u8> needed, u8 state, Array<u32> flags
) {
    for (u64 i = thread_of_grid(); i < vertices.length; i += threads_of_grid())
        flags[i] = needed[vertices[i]] == state;
}

// Returns the first flag in a range, and 2^64 - 1 minus the last one.
__global__ void PARALLEL(256) flagged_range(
    Array<const u32> flags, u64 begin, u64 end, Results<u64, u64> results
) {
    u64 first = ~0ull, last = ~0ull;
    for (u64 i = begin + thread_of_grid(); i < end; i += threads_of_grid())
        if (flags[i]) {
            first = least(first, i);
            last = least(last, ~i);
        }
    results.minimum(first, last);
}

// Numbers the vertices of a partition: the owned ones are ``first:first + owned`` of all vertices, and the flagged
// ones get mirrors. `ends` has the number of flags up to each vertex.
__global__ void PARALLEL(256) number_partition(
    Array<const u32> vertices, Array<const u32> flags, Array<const u32> ends, u64 first, u64 owned,
    Array<u32> own, Array<u32> position
) {
    for (u64 i = thread_of_grid(); i < vertices.length; i += threads_of_grid()) {
        u64 place = i - first;
        if (place >= owned) {
            if (!flags[i]) continue;
            place = owned + ends[i] - 1;
        }
        own[place] = vertices[i];
        position[vertices[i]] = (u32)place;
    }
}

// Writes the local numbers of mirrored vertices on their owner, whose first vertex has the number `first`.
__global__ void PARALLEL(256) numbers_on_owner(
    Array<const u32> mirrors, Array<const u32> number, u64 first, Array<u32> index
) {
    for (u64 i = thread_of_grid(); i < mirrors.length; i += threads_of_grid())
        index[i] = (u32)(number[mirrors[i]] - first);
}

// Sets the bits of a bitmap.
__global__ void PARALLEL(256) set_bits(Array<const u32> index, Array<u64> bitmap) {
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid())
        atomicOr(&bitmap[index[i] / 64], 1ull << index[i] % 64);
}

// Writes the number of bits of each word after the place of the word.
__global__ void PARALLEL(256) count_bits(Array<const u64> bitmap, Array<u32> counts) {
    for (u64 w = thread_of_grid(); w < bitmap.length; w += threads_of_grid()) counts[w + 1] = __popcll(bitmap[w]);
}
