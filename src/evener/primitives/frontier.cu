// Spread the values of a frontier along edges. frontier_cpu.py describes the arrays.

#include "by_warp.cuh"
#include "frontier.cuh"

// Members. A step over fewer members does not gather values.
constexpr u64 FEW = 64;
// As in frontier_cpu.py.
constexpr u64 ALPHA = 15, VERTICES_PER_EDGE = 8;

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

    // Whether a neighbour has the value of the members, and their peers. All lanes of a warp call it.
    __device__ bool has_member(Tiered<u32> far_targets, u64 begin, u64 end, u32 peer, u32 value) const {
        bool has = false;
        for (u64 at = begin; at < end && !has; at += WARP) {
            u64 e = at + lane();
            u32 t = e < end ? read_once(far_targets, e) : 0;
            has = __any_sync(ALL, e < end && look(values[t]) == value && peers[t] == peer);
        }
        return has;
    }

    // Lower the values of vertices with a neighbour of this value, and list them.
    __device__ void gather(Array<const u64> far_offsets, Tiered<u32> far_targets, u32 peer, u32 value) const {
        for (u64 first = (u64)warp_of_grid() * WARP; first < owned; first += (u64)warps_of_grid() * WARP) {
            u64 v = first + lane();
            bool open = v < owned && look(values[v]) > value && peers[v] == peer;
            for (u32 rest = __ballot_sync(ALL, open); rest != 0; rest &= rest - 1) {
                u64 w = first + __ffs(rest) - 1;
                if (!has_member(far_targets, far_offsets[w], far_offsets[w + 1], peer, value) || lane() != 0) continue;
                values[w] = value;
                append(following, length, (u32)w);
            }
        }
    }
};

// Spread values until no owned vertex is a member, and leave the lowered mirrors in `members`. Returns the number of
// members at the beginning.
__global__ void PARALLEL(256) spread(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> far_offsets, Tiered<u32> far_targets, u64 owned,
    Array<u32> peers, Array<u32> values, Bits members, Array<u32> queue, Array<u32> following, Array<u64> length,
    Array<u64> following_length, Results<u64> results, Pieces pieces, Grid grid
) {
    LongRows long_rows(pieces, grid);
    GridSum sums(grid);
    if (first_of_grid()) length[0] = following_length[0] = 0;
    grid.sync();
    u64 edges = queue_flagged(offsets, owned, members, queue, length), others = 0;
    grid.sync();
    u64 queued = look(length[0]), members_first = queued;
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) {
        u32 u = look(queue[0]), v = look(queue[i]);
        others += values[v] != values[u] || peers[v] != peers[u];
    }
    Sums all = sums.sum(edges, others);
    u64 unexplored = offsets[owned] - all.first;
    bool search = owned == values.length && all.second == 0;
    for (bool first = true; queued > 0; first = false) {
        Spread own{targets, owned, peers, values, members, following, following_length};
        edges = 0;
        if (search && !first && queued > FEW) {
            for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) {
                u64 u = look(queue[i]);
                edges += offsets[u + 1] - offsets[u];
            }
            edges = sums.sum(edges, 0).first;
            unexplored -= edges;
        }
        if (edges > unexplored / ALPHA + owned / VERTICES_PER_EDGE) {
            u32 u = look(queue[0]);
            for (u64 h = thread_of_grid(); h < (owned + 31) / 32; h += threads_of_grid()) members.half(h) = 0;
            own.gather(far_offsets, far_targets, peers[u], look(values[u]));
        } else {
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
        }
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
