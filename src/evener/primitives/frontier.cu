// Spread the values of a frontier along edges. frontier_cpu.py describes the arrays.

#include "by_warp.cuh"
#include "frontier.cuh"

struct Spread {
    Tiered<u32> targets;
    u64 owned;
    Array<u32> peers, values;
    Bits members;
    Array<u32> following;
    Array<u64> length;

    // Lower the values of some targets of a vertex with a warp, and list the new members.
    __device__ void row(u32 u, u64 begin, u64 end) const {
        u32 peer = peers[u], value = look(values[u]);
        for (u64 e = begin + lane(); e < end; e += WARP) {
            u32 t = read_once(targets, e);
            if (look(values[t]) <= value || peers[t] != peer || atomicMin(values.at + t, value) <= value) continue;
            if (!members.set(t) && t < owned) append(following, length, t);
        }
    }
};

// Spread values until no owned vertex is a member, and leave the lowered mirrors in `members`. Returns the number of
// members at the beginning.
__global__ void PARALLEL(256) spread(
    Array<const u64> offsets, Tiered<u32> targets, u64 owned, Array<u32> peers, Array<u32> values, Bits members,
    Array<u32> queue, Array<u32> following, Array<u64> length, Array<u64> following_length, Results<u64> results,
    Pieces pieces, Grid grid
) {
    LongRows long_rows(pieces, grid);
    if (first_of_grid()) length[0] = following_length[0] = 0;
    grid.sync();
    queue_flagged(offsets, owned, members, queue, length);
    grid.sync();
    u64 queued = look(length[0]), members_first = queued;
    for (bool first = true; queued > 0; first = false) {
        Spread own{targets, owned, peers, values, members, following, following_length};
        for (u64 i = warp_of_grid(); i < queued; i += warps_of_grid()) {
            u32 u = look(queue[i]);
            if (lane() == 0 && !first) {
                members.clear(u);
                __threadfence();  // before the value is read
            }
            __syncwarp();
            u64 begin = offsets[u], end = offsets[(u64)u + 1];
            u32 parts = pieces_of(end - begin);
            long_rows.defer(u, lane() == 0 ? parts : 0);
            if (parts == 0) own.row(u, begin, end);
        }
        long_rows.over(offsets, [&](u32 u, u64 begin, u64 end) { own.row(u, begin, end); });
        grid.sync();
        queued = look(following_length[0]);
        swap(queue, following);
        swap(length, following_length);
        grid.sync();  // all blocks have read the length
        if (first_of_grid()) following_length[0] = *pieces.count = 0;
        long_rows.done = 0;  // a row may be long in each step
        grid.sync();
    }
    results.sum(first_of_grid() ? members_first : 0);
}
