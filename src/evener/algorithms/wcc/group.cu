// Weakly connected components on several GPUs that read each other's memory, in one launch.
// algorithms/wcc/kernels_cpu.py describes the arrays.
//
// Each GPU first links its own vertices only, finds its giant tree, and flags its vertices outside. If the hub of
// each GPU has neighbours in the giant trees of all other GPUs, the giant trees are one component. A vertex outside
// then joins the giant tree of its own GPU if it has a neighbour in any giant tree. So most mirrors are in no tree.

#include "group.cuh"
#include "trees.cuh"

// The places of arrays in a table of their addresses on all GPUs.
enum PeerArray { LABEL, PAIRS, LENGTH, GIANT, OUTSIDE };

// Make each vertex with edges and each mirror a tree of its own, and label each vertex without edges with its global
// number.
__device__ inline void begin_connected(
    Array<const u32> vertices, u64 owned, u64 connected, Array<u32> component, Array<u32> label
) {
    for (u64 v = thread_of_grid(); v < component.length; v += threads_of_grid()) {
        if (v < connected || v >= owned) component[v] = (u32)v;
        else label[v] = vertices[v];
    }
}

// Flag the owned vertices outside the tree `root`, and label roots with their global numbers. Vertices from
// `connected` on have no edges and no flag. The trees must be flat.
__device__ inline void flag_outside(
    Array<const u32> vertices, u64 connected, u64 owned, u32 root, Array<const u32> component, Bits outside,
    Array<u32> label
) {
    for (u64 h = warp_of_grid(); h < (owned + 31) / 32; h += warps_of_grid()) {
        u64 v = h * 32 + lane();
        u32 tree = v < connected ? component[v] : root;
        if (tree == v && v < connected) label[v] = vertices[v];
        u32 half = __ballot_sync(ALL, tree != root);
        if (lane() == 0) outside.half(h) = half;
    }
}

// Edges of the largest hub that are looked at, at most.
constexpr u64 SAMPLED_EDGES = 1024;

// Return whether the largest hub, which is vertex 0, is in the tree `root` and has a neighbour in the giant tree of
// each other GPU. It looks at a sample of the hub's edges. The threads of one block call it together.
__device__ inline bool meets_all_giants(
    Array<const u64> offsets, Tiered<u32> targets, u64 rows, u32 root, Array<const u32> component, u64 owned,
    Bits outside, const Mirrored* routes, u64 count
) {
    __shared__ u32 met;  // a bit for each route
    if (threadIdx.x == 0) met = 0;
    __syncthreads();
    if (rows > 0 && count <= 32 && component[0] == root) {
        u64 begin = offsets[0], length = offsets[1] - begin, step = length / SAMPLED_EDGES + 1;
        for (u64 k = threadIdx.x * step; k < length; k += blockDim.x * step) {
            u32 neighbour = read(targets, begin + k);
            if (neighbour < owned || outside.test(neighbour)) continue;
            for (u32 r = 0; r < count; r++)
                if (neighbour - routes[r].begin < routes[r].count) atomicOr(&met, 1u << r);
        }
    }
    __syncthreads();
    return __popc(met) == count;
}

// Copy the label of the root to the vertices that are, or were at first, outside the tree `root`. Make all labels
// of roots roots of `joined`.
__device__ inline void label_outside(
    u64 connected, u32 root, Array<const u32> component, Bits outside, Array<u32> label, Array<u32> joined
) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid()) {
        u32 tree = component[v];
        if (tree == v) joined[label[v]] = label[v];
        else if (tree != root || outside.test(v)) label[v] = label[tree];
    }
}

// List the pairs of labels that the mirrors of a route have in their own tree and at their owner, if the labels
// differ: the first one in the lower 32 bits. See `boundary_pairs`. Most mirrors have the same pair, so a warp
// lists equal pairs once.
//
// `giant` and `giant_of_owner` are the labels of the giant trees here, with the root `root`, and at the owner.
// A label at the owner is read only if the owner's vertex was outside its giant tree at first.
__device__ inline void list_pairs(
    Mirrored route, const u32* label_of_owner, Bits outside, u32 root, u32 giant, u32 giant_of_owner,
    Array<const u32> component, Array<const u32> label, Array<u64> pairs, Array<u64> length
) {
    u64 last = 0;
    for (u64 first = warp_of_grid() * WARP; first < route.count; first += warps_of_grid() * WARP) {
        u64 m = first + lane(), mirror = route.begin + m;
        u64 parent = m < route.count ? component[mirror] : mirror, pair = 0;  // 0 if the labels are equal
        if (parent != mirror) {
            u32 tree = component[parent], own = tree == root ? giant : label[tree], owner = giant_of_owner;
            if (look(outside, mirror)) owner = ((volatile const u32*)label_of_owner)[route.index[m]];
            if (own != owner) pair = (u64)owner << 32 | own;
        }
        if (pair == last) pair = 0;
        if (pair != 0) last = pair;
        u32 equal = __match_any_sync(ALL, pair);
        if (pair != 0 && __ffs(equal) - 1 == lane()) pairs[room_for_one(length)] = pair;
    }
}

// Call ``visit(a, b)`` for the pairs of all GPUs, given the addresses of the lists and of their lengths.
template <typename Visit>
__device__ inline void over_pairs(const u64* lists, const u64* lengths, u32 gpus, Visit visit) {
    for (u32 q = 0; q < gpus; q++) {
        volatile const u64* pairs = (const u64*)lists[q];
        u64 count = *(volatile const u64*)lengths[q];
        for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
            u64 pair = pairs[i];
            visit((u32)pair, (u32)(pair >> 32));
        }
    }
}

// Replace each label by its root in `joined`. The vertices of the tree `root` get the label `giant`.
__device__ inline void relabel_all(
    u64 connected, u32 root, u32 giant, Array<const u32> component, Array<u32> label, Array<u32> joined
) {
    for (u64 v = thread_of_grid(); v < connected; v += threads_of_grid())
        label[v] = component[v] == root ? giant : root_of(joined, label[v]);
}

// Label each vertex with the smallest number in its component, on all GPUs of a group.
//
// `linked_first` neighbours of each vertex are linked before the giant tree is skipped. `peers` is a table of
// addresses, by PeerArray and GPU. If `directed` is not 0, the in-edges are linked too. At the end, ``giant[0]``
// is the root of the giant tree. Returns its label, or GROUP_FAILED if a GPU did not answer.
__global__ void PARALLEL(256, 6) label_together(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    Array<const u32> vertices, u64 directed, u64 rows, u64 owned, u64 connected, u64 linked_first,
    Array<u32> component, Array<u32> label, Array<u64> giant, Bits outside, Array<u64> pairs, Array<u64> length,
    Array<u32> joined, Array<const u64> peers, Array<const u64> mirrored, Results<u64> results, Grid grid,
    Pieces pieces, Group group
) {
    LongRows long_rows(pieces, grid);
    auto on_peers = [&](PeerArray array) { return peers.at + array * group.size; };
    Array<const u32> tree = {component.at, component.length}, known = {label.at, label.length};
    const Mirrored* routes = (const Mirrored*)mirrored.at;
    u64 count = mirrored.length * sizeof(u64) / sizeof(Mirrored);
    begin_connected(vertices, owned, connected, component, label);
    GroupSum group_sum(grid, group);
    attach_to_hub(offsets, targets, rows, owned, component);
    grid.sync();
    link_neighbours(offsets, targets, rows, linked_first, owned, component);
    grid.sync();
    flatten(connected, component);
    grid.sync();
    sample_giant(tree, rows, giant);
    grid.sync();
    u32 root = (u32)look(giant[0]);
    flag_outside(vertices, connected, owned, root, tree, outside, label);
    group_sum.sum(0);
    Peers<const u32> label_of = {on_peers(LABEL)}, outside_of = {on_peers(OUTSIDE)};
    for (u64 r = 0; r < count && !group_sum.failed; r++)
        pull_flags(routes[r], outside_of.on(routes[r].owner), outside);
    grid.sync();
    bool meets_all = blockIdx.x == 0 && count == group.size - 1 &&
        meets_all_giants(offsets, targets, rows, root, tree, owned, outside, routes, count);
    bool one_giant = group_sum.sum(first_of_grid() && meets_all).all.first == group.size;
    auto tree_of = [&](u32 v) { return one_giant && v >= owned && !outside.test(v) ? root : v; };
    link_others(offsets, targets, connected, 0, root, component, long_rows, tree_of);
    if (directed) {
        grid.sync();
        link_others(in_offsets, in_targets, connected, 0, root, component, long_rows, tree_of);
    }
    grid.sync();
    flatten(connected, component);
    grid.sync();
    if (connected > 0) root = tree[root];
    if (first_of_grid()) giant[0] = root;
    lower_labels(connected, tree, vertices, label);
    grid.sync();
    label_outside(connected, root, tree, outside, label, joined);
    u32 giant_label = connected > 0 ? look(label[root]) : 0;
    group_sum.sum(0);
    Peers<const u64> giant_of = {on_peers(GIANT)};
    for (u64 r = 0; r < count && !group_sum.failed; r++) {
        const u32* labels = label_of.on(routes[r].owner);
        volatile const u64* giant_there = giant_of.on(routes[r].owner);
        u32 giant_of_owner = ((volatile const u32*)labels)[*giant_there];
        list_pairs(
            routes[r], labels, outside, root, giant_label, giant_of_owner, tree, known, pairs, length
        );
        if (one_giant && first_of_grid()) pairs[room_for_one(length)] = (u64)giant_of_owner << 32 | giant_label;
    }
    group_sum.sum(0);
    // Each GPU joins the pairs of all GPUs.
    if (!group_sum.failed) {
        over_pairs(on_peers(PAIRS), on_peers(LENGTH), group.size, [&](u32 a, u32 b) {
            joined[a] = a;
            joined[b] = b;
        });
    }
    grid.sync();
    if (!group_sum.failed) {
        over_pairs(on_peers(PAIRS), on_peers(LENGTH), group.size, [&](u32 a, u32 b) { link(joined, a, b); });
    }
    grid.sync();
    u32 end = connected > 0 ? root_of(joined, giant_label) : 0;
    relabel_all(connected, root, end, tree, label, joined);
    results.sum(first_of_grid() ? (group_sum.failed ? GROUP_FAILED : end) : 0);
}
