// Weakly connected components: device functions shared by the kernels of single steps and of a group.
// algorithms/wcc/kernels_cpu.py describes the arrays.
//
// Every parent that a vertex has had remains its ancestor. So a stale parent in the L1 cache is still an
// ancestor. A thread first reads the cached parent, because most reads are of hubs, and bypasses the cache only
// if necessary.

#pragma once

#include "by_warp.cuh"

// Vertices in the sample for the largest tree, at most, and trees of the sample that are counted.
constexpr u32 SAMPLE = 1024;
constexpr u32 CANDIDATES = 32;

// At most so many neighbours of the largest hub are attached to it before the links.
constexpr u64 ATTACHED = 1 << 16;

// Make each vertex and mirror a tree of its own, and label each vertex with its global number.
__device__ inline void begin_trees(
    Array<const u32> vertices, u64 owned, Array<u32> component, Array<u32> label
) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        component[v] = (u32)v;
        if (v < owned) label[v] = vertices[v];
    }
}

// Join the trees of `u` and `v`: make the smaller root the parent of the larger root (Afforest). On the way to
// the roots, make the grandparent the parent, because paths are long in some graphs, for example in a grid. On
// CPUs, paths are shorter, and this costs more than it saves.
__device__ inline void link(Array<u32> component, u32 u, u32 v) {
    u32 a = component[u];
    u32 b = component[v];
    while (a != b) {
        u32 high = most(a, b);
        u32 low = least(a, b);
        u32 parent = look(component[high]);
        if (parent == low) return;
        if (parent == high) {
            parent = atomicCAS(&component[high], high, low);
            if (parent == high || parent == low) return;
        }
        a = look(component[parent]);
        if (a != parent) component[high] = a;  // no other thread swaps it, because it is no root
        b = look(component[low]);
    }
}

// Make vertex 0, the largest hub, the parent of its first neighbours below `limit`. All vertices must be roots
// before. So the L1 cache does not keep hubs as roots, which would be stale for all later links.
__device__ inline void attach_to_hub(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, u64 limit, Array<u32> component
) {
    if (rows == 0) return;
    u64 end = least(offsets[0] + ATTACHED, offsets[1]);
    for (u64 e = offsets[0] + thread_of_grid(); e < end; e += threads_of_grid()) {
        u32 neighbour = read(targets, e);
        if (neighbour < limit) component[neighbour] = 0;
    }
}

// Link each vertex with those of its first `count` neighbours that are below `limit`. The first neighbours have
// the highest degrees.
__device__ inline void link_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, u64 count, u64 limit, Array<u32> component
) {
    for (u64 v = thread_of_grid(); v < rows; v += threads_of_grid()) {
        u64 begin = offsets[v], end = least(begin + count, offsets[v + 1]);
        for (u64 e = begin; e < end; e++) {
            u32 neighbour = read_first(targets, v, begin, e);
            if (neighbour < limit) link(component, (u32)v, neighbour);
        }
    }
}

// Make the root the parent of every vertex below `connected`; the others have no edges. A thread stores each
// step of its way to the root, so that other threads can skip vertices of deep trees.
//
// The parent of a mirror is the mirror itself or an owned vertex, because owned vertices have smaller numbers.
// So mirrors are at most two steps from the root.
__device__ inline void flatten(u64 connected, Array<u32> component) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 root = component[v];
        u32 parent = component[root];
        while (root != parent) {
            component[v] = parent;
            root = parent;
            parent = look(component[root]);
        }
    }
}

// Set ``giant[0]`` to the tree with the majority of a sample of vertices, if any. The first block works.
//
// It counts CANDIDATES trees of the sample. A majority tree is not among them with probability 2^-32. Rows
// from `rows` on are empty and not sampled.
__device__ inline void sample_giant(Array<const u32> component, u64 rows, Array<u64> giant) {
    __shared__ u32 sample[SAMPLE];
    if (blockIdx.x != 0 || rows == 0) return;
    u64 step = rows / blockDim.x + 1;
    u32 sampled = (u32)((rows + step - 1) / step);
    bool has_sample = threadIdx.x < sampled;
    u32 own = has_sample ? look(component[threadIdx.x * step]) : 0;
    sample[threadIdx.x] = own;
    __syncthreads();
    u32 winner = sample[0];
    int largest = 0;
    for (u32 c = 0; c < CANDIDATES; c++) {
        u32 tree = sample[c * sampled / CANDIDATES];
        int count = __syncthreads_count(has_sample && own == tree);
        if (count > largest) {
            winner = tree;
            largest = count;
        }
    }
    if (threadIdx.x == 0) giant[0] = winner;
}

// Call ``visit(v, e)`` for the edges ``begin:begin + edges`` of every lane's vertex, distributed evenly among
// the lanes. All lanes call it together.
template <typename Visit> __device__ inline void share_edges(u32 v, u64 begin, u32 edges, Visit visit) {
    u32 end = edges;
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 other = __shfl_up_sync(ALL, end, step);
        if (lane() >= step) end += other;
    }
    u32 before = end - edges;
    u32 total = __shfl_sync(ALL, end, WARP - 1);
    for (u32 first = 0; first < total; first += WARP) {
        u32 k = first + lane();
        u32 from = 0;  // the last lane with at most k edges before its own
        for (u32 step = WARP / 2; step > 0; step /= 2)
            if (__shfl_sync(ALL, before, from + step) <= k) from += step;
        u32 vertex = __shfl_sync(ALL, v, from);
        u64 e = __shfl_sync(ALL, begin, from) + (k - __shfl_sync(ALL, before, from));
        if (k < total) visit(vertex, e);
    }
}

// Call ``visit(v, e)`` for the edges, from the `skipped`-th on, of each row v below `rows` with
// ``selected(v)``. It visits all edges of a long row. All blocks call it.
template <typename Selected, typename Visit> __device__ inline void over_edges(
    Array<const u64> offsets, u64 rows, u64 skipped, Selected selected, LongRows& long_rows, Visit visit
) {
    for (u64 batch = 0; first_of_batch(batch) < rows; batch++) {
        u64 v = row_of_batch(batch);
        u64 row = 0, begin = 0, end = 0;
        if (v < rows && selected(v)) {
            row = offsets[v];
            end = offsets[v + 1];
            begin = least(row + skipped, end);
        }
        bool is_long = end - begin > LONG;
        long_rows.defer((u32)v, is_long ? pieces_of(end - row) : 0);
        share_edges((u32)v, begin, is_long ? 0 : (u32)(end - begin), visit);
    }
    long_rows.over(offsets, [&](u32 v, u64 begin, u64 end) {
        if (!selected(v)) return;  // the vertex has changed trees
        for (u64 e = begin + lane(); e < end; e += WARP) visit(v, e);
    });
}

// Link each vertex outside the tree `root` with ``tree_of(neighbour)`` of its neighbours from the `skip`-th on. It
// contains a grid barrier.
//
// Vertices of the giant tree need no work: a neighbour outside the tree links the edge from its own end.
// Vertices from `connected` on have no edges.
template <typename TreeOf> __device__ inline void link_others(
    Array<const u64> offsets, Tiered<u32> targets, u64 connected, u64 skip, u32 root, Array<u32> component,
    LongRows& long_rows, TreeOf tree_of
) {
    auto outside = [&](u64 v) { return look(component[v]) != root; };
    over_edges(offsets, connected, skip, outside, long_rows, [&](u32 v, u64 e) {
        link(component, v, tree_of(targets[e]));
    });
}

// Atomically lower the label of a root.
__device__ inline void lower(Array<u32> label, u32 root, u32 least_label) {
    if (least_label < look(label[root])) atomicMin(&label[root], least_label);
}

// Set the label of each root to the smallest number of the owned vertices in its tree. Its label must be its own
// number before. The trees must be flat, and vertices from `connected` on have no edges.
//
// Most vertices have the same root. So a thread keeps the smallest number of consecutive vertices with the
// same root. At the end, the threads of a warp combine their numbers.
__device__ inline void lower_labels(
    u64 connected, Array<const u32> component, Array<const u32> number, Array<u32> label
) {
    u32 kept = NO_VERTEX, least_label = NO_VERTEX;
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 root = component[v];
        if (root == v) continue;
        if (root != kept) {
            if (kept != NO_VERTEX) lower(label, kept, least_label);
            kept = root;
            least_label = NO_VERTEX;
        }
        least_label = least(least_label, number[v]);
    }
    u32 shared = __shfl_sync(ALL, kept, 0);
    u32 together = across(kept == shared ? least_label : NO_VERTEX, Min());
    if (kept == shared) least_label = together;
    if (kept != NO_VERTEX && (kept != shared || lane() == 0)) lower(label, kept, least_label);
}

// Set the label of each vertex below `connected` to the label of its root. The trees must be flat.
__device__ inline void copy_labels(u64 connected, Array<const u32> component, Array<u32> label) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 root = component[v];
        if (root != v) label[v] = label[root];
    }
}

// Return the root of `v`, and halve the path to it: link every other vertex to its grandparent.
__device__ inline u32 root_of(Array<u32> joined, u32 v) {
    u32 parent = joined[v];
    while (parent != v) {
        u32 above = look(joined[parent]);
        if (above == parent) return parent;
        joined[v] = above;
        v = above;
        parent = look(joined[v]);
    }
    return v;
}

// Make the labels of this thread's trees roots of `joined`.
__device__ inline void begin_joined(
    u64 connected, Array<const u32> component, Array<u32> label, Array<u32> joined
) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid())
        if (component[v] == v) joined[label[v]] = label[v];
}

// Replace the label of each vertex below `connected` by the root of the label. Returns the new label of the
// vertex `giant` to the first thread of the grid.
__device__ inline u32 relabel(u64 connected, u64 giant, Array<u32> label, Array<u32> joined) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 old = label[v];
        u32 root = root_of(joined, old);
        if (root != old) label[v] = root;
    }
    // Another thread may or may not have replaced this label: both labels have the same root.
    return first_of_grid() && connected > 0 ? root_of(joined, look(label[giant])) : 0;
}
