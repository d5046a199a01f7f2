// Weakly connected components: link vertices into trees, flatten the trees, and label them.
// algorithms/wcc/kernels_cpu.py describes the arrays and results.

#include "trees.cuh"

__global__ void PARALLEL(256) begin(
    Array<const u32> vertices, u64 owned, Array<u32> component, Array<u32> label
) {
    begin_trees(vertices, owned, component, label);
}

__global__ void PARALLEL(256) link_first(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, u64 count, Array<u32> component, Grid grid
) {
    attach_to_hub(offsets, targets, rows, component.length, component);
    grid.sync();
    link_neighbours(offsets, targets, rows, count, component.length, component);
}

__global__ void PARALLEL(256) compress(u64 connected, Array<u32> component) { flatten(connected, component); }

__global__ void PARALLEL(1024) find_giant(Array<const u32> component, u64 rows, Array<u64> giant) {
    sample_giant(component, rows, giant);
}

// For a directed graph, call the kernel for out-edges and in-edges with the same `giant`.
__global__ void PARALLEL(256) link_rest(
    Array<const u64> offsets, Tiered<u32> targets, u64 connected, u64 skip, Array<const u64> giant,
    Array<u32> component, Grid grid, Pieces pieces
) {
    LongRows long_rows(pieces, grid);
    auto itself = [](u32 neighbour) { return neighbour; };
    link_others(offsets, targets, connected, skip, (u32)giant[0], component, long_rows, itself);
}

// Count the edges from the tree of ``giant[0]`` to mirrors with the label `giant_label`.
//
// The trees must be flat. No owned neighbour of the tree has this label. Rows from `rows` on are ignored.
__global__ void PARALLEL(256) edges_between(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, Array<const u64> giant,
    Array<const u32> component, Array<const u32> label, u32 giant_label, Results<u64> results, Grid grid,
    Pieces pieces
) {
    LongRows long_rows(pieces, grid);
    u32 root = rows > 0 ? component[giant[0]] : 0;
    u64 found = 0;
    auto inside = [&](u64 v) { return component[v] == root; };
    over_edges(offsets, rows, 0, inside, long_rows, [&](u32, u64 e) {
        found += label[targets[e]] == giant_label;
    });
    results.sum(found);
}

__global__ void PARALLEL(256) min_labels(u64 connected, Array<const u32> component, Array<u32> label) {
    Array<const u32> number = {label.at, label.length};  // labels of vertices that are no roots do not change
    lower_labels(connected, component, number, label);
}

__global__ void PARALLEL(256) broadcast_labels(u64 connected, Array<const u32> component, Array<u32> label) {
    copy_labels(connected, component, label);
}

// List the pairs of labels that mirrors have in their own tree and at their owner, if the labels differ.
//
// `pairs` (M, 2) receives ``length[0]`` pairs, which may repeat. A mirror that is a root is skipped: its tree
// has no other vertex, because owned vertices have smaller numbers. The trees must be flat, except for mirrors.
// A pair is omitted if the previous mirror has the same pair, or if the thread's last pair is the same. The
// first mirror with a pair always lists it.
//
// Returns the number of pairs.
__global__ void PARALLEL(256) boundary_pairs(
    u64 owned, Array<const u32> component, Array<const u32> label, Array<u32> pairs, Array<u64> length,
    Results<u64> results
) {
    u64 listed = 0;
    u32 last = 0, last_owner = 0;
    for (u64 v = owned + thread_of_grid(); v < label.length; v += threads_of_grid()) {
        u32 parent = component[v];
        if (parent == v) continue;
        u32 own = label[component[parent]];
        u32 owner = label[v];
        if (own == owner || (own == last && owner == last_owner)) continue;
        u32 before = v > owned ? component[v - 1] : NO_VERTEX;
        if (before < owned && label[component[before]] == own && label[v - 1] == owner) continue;
        last = own;
        last_owner = owner;
        u64 place = room_for_one(length);
        pairs[2 * place] = own;
        pairs[2 * place + 1] = owner;
        listed++;
    }
    results.sum(listed);
}

// Link the labels in `pairs`, and replace the label of each vertex by the root of the label.
//
// Vertices from `connected` on have no edge and keep their labels. Mirrors keep theirs, too. Returns the new
// label of ``giant[0]``; 0 if no vertex has an edge.
__global__ void PARALLEL(256) join(
    u64 connected, Array<const u64> giant, Array<const u32> component, Array<u32> label, Array<const u32> pairs,
    Array<u32> joined, Results<u64> results, Grid grid
) {
    // Each label of a tree with edges, and each label in `pairs`, is a root at first.
    begin_joined(connected, component, label, joined);
    for (u64 i = thread_of_grid(); i < pairs.length; i += threads_of_grid()) joined[pairs[i]] = pairs[i];
    grid.sync();
    for (u64 i = thread_of_grid(); i < pairs.length / 2; i += threads_of_grid())
        link(joined, pairs[2 * i], pairs[2 * i + 1]);
    grid.sync();
    results.sum(relabel(connected, giant[0], label, joined));
}
