// Weakly connected components: link vertices into trees, flatten the trees, and label them.
// algorithms/wcc/kernels_cpu.py describes the arrays and results.
//
// A vertex never leaves its tree and only moves towards the root. So a stale parent in the L1 cache is still
// a vertex of the same tree. A thread first reads the cached parent, because most reads are of hubs, and
// bypasses the cache only if necessary.

#include "by_warp.cuh"

// Vertices in the sample for the largest tree, and trees of the sample that are counted.
constexpr u32 SAMPLE = 1024;
constexpr u32 CANDIDATES = 32;

// Make each vertex and mirror a tree of its own, labelled with its global number.
__global__ void PARALLEL(256) begin(Array<const u32> vertices, Array<u32> component, Array<u32> label) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        component[v] = (u32)v;
        label[v] = vertices[v];
    }
}

// Join the trees of `u` and `v`: make the smaller root the parent of the larger root (Afforest).
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
        b = look(component[low]);
    }
}

// Link each vertex with its `k`-th neighbour. The first neighbours have the highest degrees.
__global__ void PARALLEL(256) link_one(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, u64 k, Array<u32> component
) {
    for (u64 v = thread_of_grid(); v < rows; v += threads_of_grid()) {
        u64 begin = offsets[v];
        if (begin + k < offsets[v + 1]) link(component, (u32)v, read_first(targets, v, begin, begin + k));
    }
}

// Flatten the trees: make the root the parent of every vertex. A thread stores each step of its way to the
// root, so that other threads can skip vertices of deep trees.
__global__ void PARALLEL(256) compress(Array<u32> component) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        u32 parent = component[root];
        while (root != parent) {
            component[v] = parent;
            root = parent;
            parent = look(component[root]);
        }
    }
}

// Set ``giant[0]`` to the tree with the majority of a sample of vertices, if any.
//
// The kernel counts CANDIDATES trees of the sample. A majority tree is not among them with probability 2^-32.
// Rows from `rows` on are empty and not sampled.
__global__ void PARALLEL(1024) find_giant(Array<const u32> component, u64 rows, Array<u64> giant) {
    __shared__ u32 sample[SAMPLE];
    if (blockIdx.x != 0 || rows == 0) return;
    u64 step = rows / SAMPLE + 1;
    u32 sampled = (u32)((rows + step - 1) / step);
    bool has_sample = threadIdx.x < sampled;
    u32 own = has_sample ? component[threadIdx.x * step] : 0;
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
    Array<const u64> offsets, u64 rows, u64 skipped, Selected selected, Grid grid, Pieces pieces, Visit visit
) {
    LongRows long_rows(pieces, grid);
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

// Link each vertex outside the tree ``giant[0]`` with its neighbours from the `skip`-th on.
//
// The vertices of the giant tree need no work: a neighbour outside the tree links the edge from its own end.
// For a directed graph, call the kernel for out-edges and in-edges with the same `giant`.
__global__ void PARALLEL(256) link_rest(
    Array<const u64> offsets, Tiered<u32> targets, u64 owned, u64 skip, Array<const u64> giant,
    Array<u32> component, Grid grid, Pieces pieces
) {
    u32 root = (u32)giant[0];
    auto outside = [&](u64 v) { return look(component[v]) != root; };
    over_edges(offsets, owned, skip, outside, grid, pieces, [&](u32 v, u64 e) {
        link(component, v, targets[e]);
    });
}

// Count the edges from the tree of ``giant[0]`` to vertices with the owner label `giant_label`.
//
// The trees must be flat. Rows from `rows` on are ignored.
__global__ void PARALLEL(256) edges_between(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, Array<const u64> giant,
    Array<const u32> component, Array<const u32> owner_label, u32 giant_label, Results<u64> results, Grid grid,
    Pieces pieces
) {
    u32 root = rows > 0 ? component[giant[0]] : 0;
    u64 found = 0;
    auto inside = [&](u64 v) { return component[v] == root; };
    over_edges(offsets, rows, 0, inside, grid, pieces, [&](u32, u64 e) {
        found += owner_label[targets[e]] == giant_label;
    });
    results.sum(found);
}

// Atomically lower the label of a root.
__device__ inline void lower(Array<u32> label, u32 root, u32 least_label) {
    if (least_label < look(label[root])) atomicMin(&label[root], least_label);
}

// Set the label of each root to the smallest label in its tree. The trees must be flat.
//
// Most vertices have the same root. So a thread keeps the smallest label of consecutive vertices with the
// same root. At the end, the threads of a warp combine their labels.
__global__ void PARALLEL(256) min_labels(Array<const u32> component, Array<u32> label) {
    u32 kept = NO_VERTEX, least_label = NO_VERTEX;
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        if (root == v) continue;
        if (root != kept) {
            if (kept != NO_VERTEX) lower(label, kept, least_label);
            kept = root;
            least_label = NO_VERTEX;
        }
        least_label = least(least_label, label[v]);
    }
    u32 shared = __shfl_sync(ALL, kept, 0);
    u32 together = across(kept == shared ? least_label : NO_VERTEX, Min());
    if (kept == shared) least_label = together;
    if (kept != NO_VERTEX && (kept != shared || lane() == 0)) lower(label, kept, least_label);
}

// Set the label of each vertex to the label of its root. The trees must be flat.
__global__ void PARALLEL(256) broadcast_labels(Array<const u32> component, Array<u32> label) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        if (root != v) label[v] = label[root];
    }
}

// List the pairs (label, owner label) of mirrors whose two labels differ.
//
// `pairs` (M, 2) uint32 receives ``length[0]`` pairs, which may repeat. A mirror that is a root is skipped:
// its tree has no other vertex, because owned vertices have smaller numbers. A pair is omitted if the
// previous mirror has the same pair, or if the thread's last pair is the same. The first mirror with a pair
// always lists it.
__global__ void PARALLEL(256) boundary_pairs(
    u64 owned, Array<const u32> component, Array<const u32> label, Array<const u32> owner_label,
    Array<u32> pairs, Array<u64> length
) {
    u32 last = 0, last_owner = 0;
    for (u64 v = owned + thread_of_grid(); v < label.length; v += threads_of_grid()) {
        u32 own = label[v];
        u32 owner = owner_label[v];
        if (own == owner || (own == last && owner == last_owner) || component[v] == v) continue;
        // The previous mirror is not a root: the label of a root is unique.
        if (v > owned && label[v - 1] == own && owner_label[v - 1] == owner) continue;
        last = own;
        last_owner = owner;
        u64 place = room_for_one(length);
        pairs[2 * place] = own;
        pairs[2 * place + 1] = owner;
    }
}

// Replace each label in `old_labels`, which is sorted, by the entry of `new_labels` at the same index.
//
// Vertices from `connected` on, which have no edge, and mirrors keep their labels.
__global__ void PARALLEL(256) rename(
    u64 connected, Array<u32> label, Array<const u32> old_labels, Array<const u32> new_labels
) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 least_label = label[v];
        u64 low = 0, high = old_labels.length;
        while (low < high) {
            u64 middle = (low + high) / 2;
            if (old_labels[middle] < least_label) low = middle + 1;
            else high = middle;
        }
        if (low < old_labels.length && old_labels[low] == least_label) label[v] = new_labels[low];
    }
}

// Count the owned vertices labelled with their own number. Each component has one.
__global__ void PARALLEL(256) count_roots(
    u64 owned, Array<const u32> vertices, Array<const u32> label, Results<u64> results
) {
    u64 roots = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) roots += label[v] == vertices[v];
    results.sum(roots);
}
