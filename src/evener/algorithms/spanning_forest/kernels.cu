// Spanning forests: each component chooses its lightest edge to another component, and joins that one.
//
// The arrays are those of kernels_cpu.py. A warp reads a short row, and a block reads a long row.

#include "edge_range.cuh"

constexpr u64 NONE = ~0ull, SIGN = 1ull << 63, UNIT = 0xBFF0000000000000ull;
// Edges of the longest row that a warp reads.
constexpr u64 SHORT = 1024;
// Edges that a thread reads ahead.
constexpr u32 READ_AHEAD = 4;

template <typename Weight> __device__ inline u64 weight_bits(Weight weight) {
    u64 bits = (u64)__double_as_longlong((double)weight + 0.0);
    return bits ^ (bits >> 63 ? NONE : SIGN);
}
template <typename Weight> __device__ inline u64 bits_at(Tiered<Weight> weights, u64 e) {
    return weights.length == 0 ? UNIT : weight_bits(read(weights, e));
}
__device__ inline u64 ends_of(u32 a, u32 b) { return (u64)least(a, b) << 32 | most(a, b); }

__device__ inline void clear_choices(Array<u64> best_weight, Array<u64> best_ends, Array<u64> own_weight, u64 v) {
    best_weight[v] = best_ends[v] = NONE;
    if (v < own_weight.length) own_weight[v] = NONE;
}

// Make each vertex and mirror a component of its own, which has chosen no edge.
__global__ void PARALLEL(256) begin(
    Array<u32> component, Array<u32> parent, Array<u64> best_weight, Array<u64> best_ends, Array<u64> own_weight
) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        component[v] = parent[v] = (u32)v;
        clear_choices(best_weight, best_ends, own_weight, v);
    }
}

// The lightest edge of some edges of one vertex.
struct Choice {
    u64 weight, ends;
    u32 target;

    __device__ bool before(u64 other_weight, u64 other_ends) const {
        return weight < other_weight || (weight == other_weight && ends < other_ends);
    }
    // The lightest choice of all lanes.
    __device__ Choice of_warp() const {
        Choice all;
        all.weight = across(weight, Min());
        all.ends = across(weight == all.weight ? ends : NONE, Min());
        u32 winners = __ballot_sync(ALL, weight == all.weight && ends == all.ends);
        all.target = __shfl_sync(ALL, target, __ffs(winners) - 1);
        return all;
    }
};

template <typename Weight> struct Chooser {
    Array<const u64> offsets;
    Tiered<u32> targets;
    Tiered<Weight> weights;
    Array<const u32> vertices, component;
    Array<u64> best_weight, own_weight, own_ends;
    Array<u32> own_target;

    // The lightest edge of `u` to another component, among every `width`-th edge.
    __device__ Choice search(u64 u, u32 who, u32 width) const {
        u32 c = read(component, u), number = read(vertices, u);
        u64 owned = own_weight.length, last = offsets[u + 1];
        Choice best{NONE, NONE, 0};
        for (u64 from = offsets[u] + who; from < last; from += (u64)width * READ_AHEAD) {
            u32 v[READ_AHEAD];
            u64 bits[READ_AHEAD];
#pragma unroll
            for (u32 k = 0; k < READ_AHEAD; k++) {
                u64 e = from + (u64)k * width;
                v[k] = e < last ? read(targets, e) : NO_VERTEX;
                bits[k] = e < last ? bits_at(weights, e) : NONE;
            }
#pragma unroll
            for (u32 k = 0; k < READ_AHEAD; k++) {
                if (v[k] == NO_VERTEX) continue;
                if (v[k] >= owned) {
                    u32 d = read(component, v[k]);
                    if (d != c && bits[k] < look(best_weight[d])) atomicMin(best_weight.at + d, bits[k]);
                }
                // Few edges pass this test, so few components are read.
                if (bits[k] > best.weight) continue;
                u64 ends = ends_of(number, read(vertices, v[k]));
                if (bits[k] == best.weight && ends >= best.ends) continue;
                if (read(component, v[k]) != c) best = {bits[k], ends, v[k]};
            }
        }
        return best;
    }
    // Keep the lightest edge of `u`. One thread calls it.
    __device__ void keep(u64 u, Choice found) const {
        if (!found.before(own_weight[u], own_weight[u] == NONE ? NONE : own_ends[u])) return;
        own_weight[u] = found.weight;
        own_ends[u] = found.ends;
        own_target[u] = found.target;
        u32 c = read(component, u);
        if (found.weight < look(best_weight[c])) atomicMin(best_weight.at + c, found.weight);
    }
};

// Find the lightest edge of each vertex to another component, and its weight for each component.
//
// The component `skipped` chooses none: each of its edges is chosen from the other end, if at all. Mirrors have no
// rows, so an edge to a mirror is also a choice of the mirror's component.
template <typename Weight>
__global__ void PARALLEL(1024) choose(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> vertices,
    Array<const u32> component, u32 skipped, u64 rows, Array<u64> best_weight, Array<u64> own_weight,
    Array<u64> own_ends, Array<u32> own_target
) {
    __shared__ u32 list[1024], count;
    __shared__ Choice of_warp[WARP];
    Chooser<Weight> chooser{offsets, targets, weights, vertices, component, best_weight, own_weight, own_ends, own_target};
    // A block has every n-th row, because long rows come first.
    for (u64 first = blockIdx.x; first < rows; first += threads_of_grid()) {
        if (threadIdx.x == 0) count = 0;
        __syncthreads();
        u64 row = first + (u64)threadIdx.x * gridDim.x;
        if (row < rows && offsets[row + 1] - offsets[row] > SHORT && read(component, row) != skipped)
            list[atomicAdd(&count, 1)] = (u32)row;
        __syncthreads();
        for (u32 i = 0; i < count; i++) {
            Choice found = chooser.search(list[i], threadIdx.x, blockDim.x).of_warp();
            if (lane() == 0) of_warp[threadIdx.x / WARP] = found;
            __syncthreads();
            if (threadIdx.x < WARP) {
                found = of_warp[threadIdx.x].of_warp();
                if (threadIdx.x == 0) chooser.keep(list[i], found);
            }
            __syncthreads();
        }
        __syncthreads();
    }
    for (u64 u = warp_of_grid(); u < rows; u += warps_of_grid()) {
        u64 length = offsets[u + 1] - offsets[u];
        if (length == 0 || length > SHORT || read(component, u) == skipped) continue;
        Choice found = chooser.search(u, lane(), WARP).of_warp();
        if (lane() == 0) chooser.keep(u, found);
    }
}

// Find the ends of the lightest edge of each component, among those of its owned vertices.
__global__ void PARALLEL(256) choose_by_ends(
    Array<const u32> component, Array<const u64> best_weight, Array<const u64> own_weight, Array<const u64> own_ends,
    Array<u64> best_ends
) {
    for (u64 u = thread_of_grid(); u < own_weight.length; u += threads_of_grid()) {
        u32 c = component[u];
        if (own_weight[u] != NONE && own_weight[u] == best_weight[c] && own_ends[u] < look(best_ends[c]))
            atomicMin(best_ends.at + c, own_ends[u]);
    }
}

// Call ``visit(u, v)`` for each edge to a mirror `v` that is as light as the lightest edge of the mirror's component.
template <typename Weight, typename Visit>
__device__ inline void over_lightest_of_mirrors(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> component, u64 rows,
    Array<const u64> best_weight, Visit visit
) {
    if (rows == 0) return;
    over_edges(offsets, 0, offsets.length - 1, 0, targets.length, [&](u64 u, u64 e) {
        u32 v = read(targets, e);
        if (v < rows || component[u] == component[v]) return;
        if (bits_at(weights, e) == best_weight[component[v]]) visit((u32)u, v);
    });
}

// Find the ends of the lightest edge of each component, among those of its mirrors.
template <typename Weight>
__global__ void PARALLEL(256) choose_of_mirrors(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> vertices,
    Array<const u32> component, u64 rows, Array<const u64> best_weight, Array<u64> best_ends
) {
    over_lightest_of_mirrors(offsets, targets, weights, component, rows, best_weight, [&](u32 u, u32 v) {
        atomicMin(best_ends.at + component[v], ends_of(vertices[u], vertices[v]));
    });
}

struct Joiner {
    Array<const u64> best_weight, best_ends;
    Array<u32> parent;
    Array<u64> tree_weight, tree_ends;

    // Let component `c` join `d` by its lightest edge. If `d` has the same edge, the smaller root stays.
    __device__ void join(u32 c, u32 d) const {
        u64 weight = best_weight[c], ends = best_ends[c];
        if (best_weight[d] == weight && best_ends[d] == ends && c < d) return;
        parent[c] = d;
        tree_weight[c] = weight;
        tree_ends[c] = ends;
    }
};

// Join each component by its lightest edge, if an owned vertex has it. Return how many have one.
__global__ void PARALLEL(256) join(
    Array<const u32> component, Array<const u64> own_weight, Array<const u64> own_ends, Array<const u32> own_target,
    Array<const u64> best_weight, Array<const u64> best_ends, Array<u32> parent, Array<u64> tree_weight,
    Array<u64> tree_ends, Results<u64> results
) {
    Joiner joiner{best_weight, best_ends, parent, tree_weight, tree_ends};
    u64 joins = 0;
    for (u64 u = thread_of_grid(); u < own_weight.length; u += threads_of_grid()) {
        u32 c = component[u];
        if (own_weight[u] == NONE || own_weight[u] != best_weight[c] || own_ends[u] != best_ends[c]) continue;
        joiner.join(c, component[own_target[u]]);
        joins++;
    }
    results.sum(joins);
}

// Join each component by its lightest edge, if a mirror has it. Return the number of such edges.
template <typename Weight>
__global__ void PARALLEL(256) join_mirrors(
    Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights, Array<const u32> vertices,
    Array<const u32> component, u64 rows, Array<const u64> best_weight, Array<const u64> best_ends,
    Array<u32> parent, Array<u64> tree_weight, Array<u64> tree_ends, Results<u64> results
) {
    Joiner joiner{best_weight, best_ends, parent, tree_weight, tree_ends};
    u64 joins = 0;
    over_lightest_of_mirrors(offsets, targets, weights, component, rows, best_weight, [&](u32 u, u32 v) {
        u32 c = component[v];
        if (ends_of(vertices[u], vertices[v]) != best_ends[c]) return;
        joiner.join(c, component[u]);
        joins++;
    });
    results.sum(joins);
}

// Write the root of each vertex, and forget the edges that were chosen.
__global__ void PARALLEL(256) flatten(
    Array<u32> component, Array<u32> parent, Array<u64> best_weight, Array<u64> best_ends, Array<u64> own_weight
) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        for (u32 above = look(parent[root]); above != root; above = look(parent[root])) {
            u32 next = look(parent[above]);
            parent[root] = next;  // an ancestor, also if another thread writes one at the same time
            root = next;
        }
        component[v] = root;
        clear_choices(best_weight, best_ends, own_weight, v);
    }
}

// List the edges of roots that have joined another component, in any order.
__global__ void PARALLEL(256) list_edges(
    Array<const u32> parent, Array<const u64> tree_weight, Array<const u64> tree_ends, Array<u64> length,
    Array<u64> weights, Array<u64> ends
) {
    for (u64 v = thread_of_grid(); v < parent.length; v += threads_of_grid()) {
        if (parent[v] == v) continue;
        u64 place = room_for_one(length);
        weights[place] = tree_weight[v];
        ends[place] = tree_ends[v];
    }
}

// Return the sum of weights, given their bits.
__global__ void PARALLEL(256) total_weight(Array<const u64> weights, Results<double> results) {
    double sum = 0;
    for (u64 i = thread_of_grid(); i < weights.length; i += threads_of_grid()) {
        u64 bits = weights[i];
        sum += __longlong_as_double((long long)(bits ^ (bits >> 63 ? SIGN : NONE)));
    }
    results.sum(sum);
}
