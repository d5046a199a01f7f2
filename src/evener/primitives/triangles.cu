// Triangles of oriented rows: counted for each vertex, or weighted by directions.

#include "triangles.cuh"

struct CountEach {
    Array<u64> triangles;
    u32 of_v;
    u64 of_u, total;

    __device__ u32 value(u64) const { return 0; }
    __device__ void triangle(u32, u64, u64, NeighbourTable table, u32 place) {
        of_v++;
        atomicAdd(table.numbers + place, 1);
    }
    __device__ void end_target(u32 v) {
        u32 counted = across(of_v, Sum());
        if (lane() == 0 && counted > 0) atomicAdd(triangles.at + v, (u64)counted);
        of_v = 0;
        of_u += counted;
    }
    __device__ void end_part(u32 u) {
        if (lane() == 0 && of_u > 0) {
            atomicAdd(triangles.at + u, of_u);
            total += of_u;
        }
        of_u = 0;
    }
    __device__ void end_place(NeighbourTable table, u32 place) const {
        if (table.numbers[place] > 0) atomicAdd(triangles.at + table.keys[place], (u64)table.numbers[place]);
    }
};

// Add the triangles of each vertex and mirror. Return the number of triangles.
__global__ void PARALLEL(1024) count_triangles(
    Array<const u64> row_offsets, Array<const u32> row_targets, u32 first_row, Array<const u64> other_offsets,
    Array<const u32> other_targets, Array<u64> triangles, Results<u64> results, Shared shared
) {
    CountEach work{triangles, 0, 0, 0};
    over_triangles({row_offsets, row_targets, first_row, other_offsets, other_targets}, shared, work);
    __syncthreads();
    results.sum(work.total);
}

// The number of a place is what is counted there, and in its highest bit whether `u` and `w` are mutual neighbours.
struct CountDirected {
    static constexpr u32 MUTUAL = 0x80000000u;

    Array<const u8> mutual, other_mutual;
    u32 opposite;
    Array<u64> triangles;
    u64 of_v, of_u;

    __device__ u32 value(u64 e) const { return mutual[e] ? MUTUAL : 0; }
    __device__ void triangle(u32, u64 e, u64 f, NeighbourTable table, u32 place) {
        u32 to_v = 1 + mutual[e], to_w = 1 + (table.numbers[place] >> 31), between = 1 + other_mutual[f];
        u32 product = to_v * to_w * between;
        atomicAdd(table.numbers + place, opposite ? to_v : product);
        of_v += opposite ? to_w : product;
        of_u += opposite ? between : product;
    }
    __device__ void end_target(u32 v) {
        u64 counted = across(of_v, Sum());
        if (lane() == 0 && counted > 0) atomicAdd(triangles.at + v, counted);
        of_v = 0;
    }
    __device__ void end_part(u32 u) {
        u64 counted = across(of_u, Sum());
        if (lane() == 0 && counted > 0) atomicAdd(triangles.at + u, counted);
        of_u = 0;
    }
    __device__ void end_place(NeighbourTable table, u32 place) const {
        u64 counted = table.numbers[place] & ~MUTUAL;
        if (counted > 0) atomicAdd(triangles.at + table.keys[place], counted);
    }
};

// Add the directed triangles of each vertex and mirror.
//
// A triangle counts for a vertex once for each choice of a direction of its three edges. If `opposite`, it counts once
// for each direction of the edge between the other two vertices.
__global__ void PARALLEL(1024) count_directed(
    Array<const u64> row_offsets, Array<const u32> row_targets, Array<const u8> mutual, u32 first_row,
    Array<const u64> other_offsets, Array<const u32> other_targets, Array<const u8> other_mutual, u32 opposite,
    Array<u64> triangles, Shared shared
) {
    CountDirected work{mutual, other_mutual, opposite, triangles, 0, 0};
    over_triangles({row_offsets, row_targets, first_row, other_offsets, other_targets}, shared, work);
}

// Add the mutual neighbours of each vertex and mirror.
__global__ void PARALLEL(256) count_mutual(
    Array<const u64> row_offsets, Array<const u32> row_targets, Array<const u8> mutual, Array<u32> counts
) {
    for (u64 v = warp_of_grid(); v + 1 < row_offsets.length; v += warps_of_grid()) {
        u32 own = 0;
        for (u64 e = row_offsets[v] + lane(); e < row_offsets[v + 1]; e += WARP) {
            if (!mutual[e]) continue;
            own++;
            atomicAdd(counts.at + row_targets[e], 1);
        }
        own = across(own, Sum());
        if (lane() == 0 && own > 0) atomicAdd(counts.at + v, own);
    }
}

// Write the clustering coefficient of each owned vertex. Return the sums of it and of its denominator.
//
// The denominator is the pairs of neighbours or, if `directed`, of links to them. A mutual neighbour has two links. The
// numerator is `factor` times the triangles.
__global__ void PARALLEL(256) coefficients(
    Array<const u32> links, Array<const u32> mutual, Array<const u64> triangles, u32 factor, u32 directed,
    Array<double> coefficient, Results<double, u64> results
) {
    double total = 0;
    i64 all_pairs = 0;
    for (u64 v = thread_of_grid(); v < coefficient.length; v += threads_of_grid()) {
        i64 l = links[v], m = mutual[v];
        i64 pairs = directed ? l * (l - 1) - 2 * m : (l - m) * (l - m - 1);
        double value = pairs > 0 ? (double)factor * (double)triangles[v] / (double)pairs : 0;
        coefficient[v] = value;
        total += value;
        all_pairs += pairs;
    }
    results.sum(total, (u64)all_pairs);
}
