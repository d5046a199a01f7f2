// Weakly connected components: linking vertices into trees, flattening the trees, naming them. Arrays and
// votes are those of algorithms/wcc/kernels_cpu.py.
//
// A vertex that hangs under another never leaves that tree, and only moves up in it. So what is found in the
// L1 cache may be old, but it is a vertex of the same tree. There a thread looks first, for all look at the
// hubs; where that does not settle it, it looks past the cache.

#include "by_warp.cuh"

// Threads that vote for the largest tree, each for one vertex, and trees that they vote on.
constexpr u32 SAMPLE = 1024;
constexpr u32 CANDIDATES = 32;

// Make every vertex and mirror a tree of its own, named by its number in the graph.
__global__ void PARALLEL(256) begin(Array<const u32> vertices, Array<u32> component, Array<u32> label) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        component[v] = (u32)v;
        label[v] = vertices[v];
    }
}

// Join the trees of `u` and `v`: hang the root with the larger number under the other (Afforest).
__device__ inline void link(Array<u32> component, u32 u, u32 v) {
    u32 a = component[u];
    u32 b = component[v];
    while (a != b) {
        u32 high = most(a, b);
        u32 low = least(a, b);
        u32 above = look(component[high]);
        if (above == low) return;
        if (above == high) {
            above = atomicCAS(&component[high], high, low);
            if (above == high || above == low) return;
        }
        a = look(component[above]);
        b = look(component[low]);
    }
}

// Link each vertex with its `k`-th neighbour; the first are the ones of highest degree.
__global__ void PARALLEL(256) link_one(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, u64 k, Array<u32> component
) {
    for (u64 v = thread_of_grid(); v < rows; v += threads_of_grid()) {
        u64 begin = offsets[v];
        if (begin + k < offsets[v + 1]) link(component, (u32)v, read_first(targets, v, begin, begin + k));
    }
}

// Make every vertex point to its root. On its way up each leaves behind how far it has come, so long trees
// are climbed by leaps.
__global__ void PARALLEL(256) compress(Array<u32> component) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        u32 above = component[root];
        while (root != above) {
            component[v] = above;
            root = above;
            above = look(component[root]);
        }
    }
}

// ``giant[0]``: a tree that holds most of the vertices, if one does, from a sample of them.
//
// The sample votes on some of its own trees; one that holds most of the vertices is missing among these once
// in 2^32 times. Rows from `rows` on have no edge and are not asked.
__global__ void PARALLEL(1024) commonest(Array<const u32> component, u64 rows, Array<u64> giant) {
    __shared__ u32 sample[SAMPLE];
    if (blockIdx.x != 0 || rows == 0) return;
    u64 step = rows / SAMPLE + 1;
    u32 asked = (u32)((rows + step - 1) / step);
    bool votes = threadIdx.x < asked;
    u32 own = votes ? component[threadIdx.x * step] : 0;
    sample[threadIdx.x] = own;
    __syncthreads();
    u32 winner = sample[0];
    int most_votes = 0;
    for (u32 c = 0; c < CANDIDATES; c++) {
        u32 tree = sample[c * asked / CANDIDATES];
        int count = __syncthreads_count(votes && own == tree);
        if (count > most_votes) {
            winner = tree;
            most_votes = count;
        }
    }
    if (threadIdx.x == 0) giant[0] = winner;
}

// Calls ``visit(v, e)`` for the edges ``begin:begin + edges`` of every lane's vertex, which all lanes share
// evenly. All of them come here together.
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
        u32 from = 0;  // the last lane that has no more than k edges before its own
        for (u32 step = WARP / 2; step > 0; step /= 2)
            if (__shfl_sync(ALL, before, from + step) <= k) from += step;
        u32 vertex = __shfl_sync(ALL, v, from);
        u64 e = __shfl_sync(ALL, begin, from) + (k - __shfl_sync(ALL, before, from));
        if (k < total) visit(vertex, e);
    }
}

// Calls ``visit(v, e)`` for the edges from the `skipped`-th on of each of the `rows` that are ``taken(v)``,
// also with earlier ones where a row is long. All blocks come here.
template <typename Taken, typename Visit> __device__ inline void over_edges(
    Array<const u64> offsets, u64 rows, u64 skipped, Taken taken, Grid grid, Pieces pieces, Visit visit
) {
    LongRows long_rows(pieces, grid);
    for (u64 batch = 0; first_of_batch(batch) < rows; batch++) {
        u64 v = row_of_batch(batch);
        u64 row = 0, begin = 0, end = 0;
        if (v < rows && taken(v)) {
            row = offsets[v];
            end = offsets[v + 1];
            begin = least(row + skipped, end);
        }
        bool aside = end - begin > LONG;
        long_rows.put_aside((u32)v, aside ? pieces_of(end - row) : 0);
        share_edges((u32)v, begin, aside ? 0 : (u32)(end - begin), visit);
    }
    long_rows.over(offsets, [&](u32 v, u64 begin, u64 end) {
        if (!taken(v)) return;  // any more
        for (u64 e = begin + lane(); e < end; e += WARP) visit(v, e);
    });
}

// Link every vertex outside the tree ``giant[0]`` with its neighbours from the `linked`-th on.
//
// Most vertices share that tree by now. Where a neighbour does not, it will link to them itself, so they are
// skipped. A neighbour sees a directed edge from its other end: both directions must be given one `giant`,
// for an edge between two in it is skipped from both its ends.
__global__ void PARALLEL(256) link_rest(
    Array<const u64> offsets, Tiered<u32> targets, u64 owned, u64 linked, Array<const u64> giant,
    Array<u32> component, Grid grid, Pieces pieces
) {
    u32 root = (u32)giant[0];
    auto outside = [&](u64 v) { return look(component[v]) != root; };
    over_edges(offsets, owned, linked, outside, grid, pieces, [&](u32 v, u64 e) {
        link(component, v, targets[e]);
    });
}

// How many edges lead from the tree of ``giant[0]`` to a vertex that is in its owner's tree `name`.
//
// Trees are flat. Rows from `rows` on are not looked at.
__global__ void PARALLEL(256) edges_between(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, Array<const u64> giant,
    Array<const u32> component, Array<const u32> owner_label, u32 name, Votes<u64> votes, Grid grid,
    Pieces pieces
) {
    u32 root = rows > 0 ? component[giant[0]] : 0;
    u64 found = 0;
    auto inside = [&](u64 v) { return component[v] == root; };
    over_edges(offsets, rows, 0, inside, grid, pieces, [&](u32, u64 e) {
        found += owner_label[targets[e]] == name;
    });
    votes.sum(found);
}

// Lower the label of a root.
__device__ inline void lower(Array<u32> label, u32 root, u32 name) {
    if (name < look(label[root])) atomicMin(&label[root], name);
}

// ``label[root] = min`` of the labels in its tree. Trees are flat.
//
// Most vertices share one root, so a thread keeps the least label that it has met as long as the root is the
// same, and in the end a warp puts those of its threads together.
__global__ void PARALLEL(256) smallest(Array<const u32> component, Array<u32> label) {
    u32 kept = NOBODY, name = NOBODY;
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        if (root == v) continue;
        if (root != kept) {
            if (kept != NOBODY) lower(label, kept, name);
            kept = root;
            name = NOBODY;
        }
        name = least(name, label[v]);
    }
    u32 shared = __shfl_sync(ALL, kept, 0);
    u32 together = across(kept == shared ? name : NOBODY, Min());
    if (kept == shared) name = together;
    if (kept != NOBODY && (kept != shared || lane() == 0)) lower(label, kept, name);
}

// ``label[v] = label[root of v]``.
__global__ void PARALLEL(256) spread(Array<const u32> component, Array<u32> label) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        u32 root = component[v];
        if (root != v) label[v] = label[root];
    }
}

// List the pairs of labels that a mirror's tree has here and at its owner, runs of one pair once.
//
// `pairs` (M, 2) uint32 receives ``length[0]`` of them. A mirror that is a root has nobody in its tree: it has
// only been linked with owned vertices, whose numbers are smaller, if at all. A pair is left out where the
// mirror before has listed it, or its thread has listed it last: the first mirror with a pair is never left
// out.
__global__ void PARALLEL(256) boundary_pairs(
    u64 owned, Array<const u32> component, Array<const u32> label, Array<const u32> owner_label,
    Array<u32> pairs, Array<u64> length
) {
    u32 last = 0, last_owner = 0;
    for (u64 v = owned + thread_of_grid(); v < label.length; v += threads_of_grid()) {
        u32 mine = label[v];
        u32 theirs = owner_label[v];
        if (mine == theirs || (mine == last && theirs == last_owner) || component[v] == v) continue;
        // One that is a root has a label that no other has.
        if (v > owned && label[v - 1] == mine && owner_label[v - 1] == theirs) continue;
        last = mine;
        last_owner = theirs;
        u64 place = room_for_one(length);
        pairs[2 * place] = mine;
        pairs[2 * place + 1] = theirs;
    }
}

// Replace each label found in `before`, ascending, by its partner in `after`.
//
// Those of vertices from `connected` on, which have no edge, and of mirrors are left alone.
__global__ void PARALLEL(256) rename(
    u64 connected, Array<u32> label, Array<const u32> before, Array<const u32> after
) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 name = label[v];
        u64 low = 0, high = before.length;
        while (low < high) {
            u64 middle = (low + high) / 2;
            if (before[middle] < name) low = middle + 1;
            else high = middle;
        }
        if (low < before.length && before[low] == name) label[v] = after[low];
    }
}

// The number of owned vertices that carry their own number: one in each component.
__global__ void PARALLEL(256) count_roots(
    u64 owned, Array<const u32> vertices, Array<const u32> label, Votes<u64> votes
) {
    u64 roots = 0;
    for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) roots += label[v] == vertices[v];
    votes.sum(roots);
}
