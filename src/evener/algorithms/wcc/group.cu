// Weakly connected components on several GPUs that read each other's memory, in one launch.
// algorithms/wcc/kernels_cpu.py describes the arrays.

#include "group.cuh"
#include "trees.cuh"

// The places of arrays in a table of their addresses on all GPUs.
enum PeerArray { LABEL, PAIRS, LENGTH };

// List the pairs of labels that the mirrors of a route have in their own tree and at their owner, if the labels
// differ: the first one in the lower 32 bits. See `boundary_pairs`. Most mirrors have the same pair, so a warp
// lists equal pairs once.
__device__ inline void list_pairs(
    Mirrored route, const u32* label_of_owner, Array<const u32> component, Array<const u32> label,
    Array<u64> pairs, Array<u64> length
) {
    u64 last = 0;
    for (u64 first = warp_of_grid() * WARP; first < route.count; first += warps_of_grid() * WARP) {
        u64 m = first + lane(), mirror = route.begin + m;
        u64 parent = m < route.count ? component[mirror] : mirror, pair = 0;  // 0 if the labels are equal
        if (parent != mirror) {
            u32 own = label[component[parent]];
            u32 owner = ((volatile const u32*)label_of_owner)[route.index[m]];
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

// Label each vertex with the smallest number in its component, on all GPUs of a group.
//
// `linked_first` neighbours of each vertex are linked before the giant tree is skipped. `peers` is a table of
// addresses, by PeerArray and GPU. If `directed` is not 0, the in-edges are linked too. Returns the label of
// ``giant[0]``, or GROUP_FAILED if a GPU did not answer.
__global__ void PARALLEL(256) label_together(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    Array<const u32> vertices, u64 directed, u64 rows, u64 owned, u64 connected, u64 linked_first,
    Array<u32> component, Array<u32> label, Array<u64> giant, Array<u64> pairs, Array<u64> length,
    Array<u32> joined, Array<const u64> peers, Array<const u64> mirrored, Results<u64> results, Grid grid,
    Pieces pieces, Group group
) {
    LongRows long_rows(pieces, grid);
    auto on_peers = [&](PeerArray array) { return peers.at + array * group.size; };
    Array<const u32> tree = {component.at, component.length}, known = {label.at, label.length};
    begin_trees(vertices, owned, component, label);
    GroupSum group_sum(grid, group);
    attach_to_hub(offsets, targets, rows, component);
    grid.sync();
    link_neighbours(offsets, targets, rows, linked_first, component);
    grid.sync();
    flatten(connected, component);
    grid.sync();
    sample_giant(tree, rows, giant);
    grid.sync();
    u32 root = (u32)look(giant[0]);
    link_others(offsets, targets, connected, linked_first, root, component, long_rows);
    if (directed) {
        grid.sync();
        link_others(in_offsets, in_targets, connected, 0, root, component, long_rows);
    }
    grid.sync();
    flatten(connected, component);
    grid.sync();
    lower_labels(connected, tree, label);
    grid.sync();
    copy_labels(connected, tree, label);
    group_sum.sum(0);
    const Mirrored* routes = (const Mirrored*)mirrored.at;
    for (u64 r = 0; r < mirrored.length * sizeof(u64) / sizeof(Mirrored); r++) {
        Peers<const u32> label_of = {on_peers(LABEL)};
        list_pairs(routes[r], label_of.on(routes[r].owner), tree, known, pairs, length);
    }
    group_sum.sum(0);
    // Each GPU joins the pairs of all GPUs.
    begin_joined(connected, tree, label, joined);
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
    u32 end = relabel(connected, giant[0], label, joined);
    results.sum(first_of_grid() ? (group_sum.failed ? GROUP_FAILED : end) : 0);
}
