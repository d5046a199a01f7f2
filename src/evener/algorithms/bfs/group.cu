// Breadth-first search on several GPUs that read each other's memory, many levels in one launch.
// algorithms/bfs/kernels_cpu.py describes the arrays.

#include "bfs.cuh"
#include "group.cuh"

// The places of arrays in a table of their addresses on all GPUs.
enum PeerArray { FRONTIERS, OFFERS = 3, OFFER_BOUNDS };

// The parents that this GPU offers to its mirrors: each a mirror in the lower 32 bits and a parent in the upper
// ones. A mirror gets one offer in a search, so the list only grows. `bounds` has its length, and then the
// length before a top-down step, for steps with an even and an odd number.
struct OfferList {
    Array<u64> offers;
    Array<u64> bounds;
    __device__ void operator()(u64 mirror, u32 by) const {
        offers[room_for_one(bounds)] = (u64)by << 32 | mirror;
    }
};

// Visit the vertices that other GPUs offer a parent for, and append them to the queue.
//
// `own` increases by the vertices that this thread visits, and by their out-edges.
__device__ inline void receive_offers(
    Array<const u64> incoming, Peers<u64> offers_of, Peers<u64> bounds_of, u32 step, Array<const u64> offsets,
    i32 level, Array<i32> distance, Array<u32> parent, Bits visited, Array<u32> queue, Array<u64> length,
    StepResult& own
) {
    __shared__ u64 begin, end;  // one thread reads them, because reads of one remote word are slow
    const Incoming* routes = (const Incoming*)incoming.at;
    for (u64 r = 0; r < incoming.length * sizeof(u64) / sizeof(Incoming); r++) {
        Incoming route = routes[r];
        volatile u64* offers = offers_of.on(route.partition);
        volatile u64* bounds = bounds_of.on(route.partition);
        __syncthreads();
        if (threadIdx.x == 0) {
            begin = bounds[1 + step % 2];
            end = bounds[0];
        }
        __syncthreads();
        for (u64 i = begin + thread_of_grid(); i < end; i += threads_of_grid()) {
            u64 offer = offers[i], mirror = offer & ALL;
            if (mirror < route.begin || mirror >= route.begin + route.count) continue;
            u32 v = route.index[mirror - route.begin];
            if (look(visited, v) || visited.set(v)) continue;
            parent[v] = (u32)(offer >> 32);
            distance[v] = level;
            own.frontier_edges += degree_of(offsets, v);
            own.frontier_vertices++;
            append(queue, length, v);
        }
    }
}

// Append the owned vertices visited since `visited_before` to the queue, and offer the mirrors their parents.
__device__ inline StepResult collect_offers(
    Array<const u64> offsets, u64 owned, Bits visited_before, Bits visited, i32 level, Array<i32> distance,
    OfferList offer, Array<u32> offered, Array<u32> next_queue, Array<u64> next_length
) {
    StepResult own = {0, 0, 0};
    for (u64 h = warp_of_grid(); h < visited.length(); h += warps_of_grid()) {
        u32 fresh = visited.half(h) & ~visited_before.half(h);
        u64 v = h * 32 + lane();
        if ((fresh >> lane() & 1) == 0) continue;
        if (v >= owned) {
            offer(v, offered[v]);
            own.new_mirrors++;
            continue;
        }
        distance[v] = level;
        own.frontier_edges += degree_of(offsets, v);
        own.frontier_vertices++;
        append(next_queue, next_length, (u32)v);
    }
    return own;
}

// Set the bits of a half of this GPU's vertices, and the bits of their mirrors on other GPUs.
struct PushHalf {
    Bits bits;
    Array<const u64> incoming;
    Peers<u32> bits_of;  // the same bitmap on each GPU
    __device__ void operator()(u64 h, u32 half) const {
        if (half == 0) return;
        atomicOr_system(&bits.half(h), half);
        const Incoming* routes = (const Incoming*)incoming.at;
        for (u64 r = 0; r < incoming.length * sizeof(u64) / sizeof(Incoming); r++) {
            const Incoming& route = routes[r];
            u32 here = route.held[h], packed = compress(half, here);
            if (packed == 0) continue;
            u64 mirror = route.begin + mirrors_before(route.held, route.before, h);
            u32* place = bits_of.on(route.partition) + mirror / 32;
            u64 both = (u64)packed << (mirror % 32);
            atomicOr_system(place, (u32)both);
            if (both >> 32 != 0) atomicOr_system(place + 1, (u32)(both >> 32));
        }
    }
};

// Search from `source` if `level` is 0, and from the queues, on all GPUs of a group. A `source` of NO_VERTEX
// adds nothing to the queue.
//
// The steps and the policy are those of `all_steps`, with the frontiers of all GPUs. A top-down step has two
// barriers: the owners of the mirrors that it reached then visit their vertices. A bottom-up step has one: it sets
// the bits of mirrors on other GPUs. So three frontiers alternate: the one of the step, the next one, and one that
// is cleared.
//
// `peers` is a table of addresses, by PeerArray and GPU, and `incoming` has the routes. Returns
// this GPU's (vertices, frontier_vertices, frontier_edges), and on the first GPU (levels, edges), else zeros.
// `vertices` are those of the frontiers of all steps. It is GROUP_FAILED if a GPU did not answer.
__global__ void PARALLEL(256, 6) search(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    Array<const u32> vertices, u64 in_rows, u64 owned, u32 source, u64 unexplored, u64 max_levels,
    u64 bottom_up, u64 alpha, u64 min_bottom_up, u64 min_scatter, i32 level, Array<u32> queue,
    Array<u64> length, Array<i32> distance, Array<u32> parent, Bits visited, Bits visited_before, Bits frontier,
    Bits second_frontier, Bits third_frontier, Array<u64> offers, Array<u64> offer_bounds, Array<u32> offered,
    Array<u32> next_queue, Array<u64> next_length, Array<const u64> peers, Array<const u64> incoming,
    Results<u64, u64, u64, u64, u64> results, Grid grid, Pieces pieces, Group group
) {
    EdgeLoop loop(pieces, grid);
    OfferList offer = {offers, offer_bounds};
    auto on_peers = [&](u32 array) { return peers.at + array * group.size; };
    auto frontier_of = [&](u32 turn) {
        return turn % 3 == 0 ? frontier : turn % 3 == 1 ? second_frontier : third_frontier;
    };
    auto push = [&](u32 turn) { return PushHalf{frontier_of(turn), incoming, {on_peers(FRONTIERS + turn % 3)}}; };
    if (first_of_grid()) {
        offer_bounds[1] = look(offer_bounds[0]);
        if (level == 0 && source != NO_VERTEX)
            start(vertices, source, 0, distance, parent, visited, queue, length);
    }
    GroupSum group_sum(grid, group);
    u64 queued = look(length[0]), own_edges = 0;
    for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid()) own_edges += degree_of(offsets, queue[i]);
    GroupTotals sums = group_sum.sum(first_of_grid() ? queued : 0, own_edges);
    own_edges = sums.own.second;
    u64 frontier_vertices = sums.all.first, frontier_edges = sums.all.second, left = unexplored;
    u64 read_vertices = 0;
    u32 levels = 0, steps = 0;  // steps are top-down
    while (frontier_vertices > 0 && levels < max_levels && !group_sum.failed) {
        // After an odd number of levels, `queue` and `next_queue` have swapped roles.
        bool odd = levels % 2 != 0;
        if (bottom_up && frontier_edges * alpha > left) {
            u32 turn = 0;
            Array<u32> from = odd ? next_queue : queue;
            for (u64 i = thread_of_grid(); i < queued; i += threads_of_grid())
                push(0)(from[i] / 32, 1u << (from[i] % 32));
            if (first_of_grid()) length[0] = next_length[0] = 0;
            fence_system();
            group_sum.sum(0);
            u64 last = 0;  // vertices of the frontier before
            while (frontier_vertices > 0 && (frontier_vertices >= last || frontier_vertices > min_bottom_up)) {
                last = frontier_vertices;
                read_vertices += queued;
                levels++;
                clear_all(frontier_of(turn + 2));
                u64 own = step_up(
                    in_offsets, in_targets, vertices, in_rows, level + (i32)levels, distance, parent, visited,
                    frontier_of(turn), push(turn + 1)
                );
                fence_system();
                sums = group_sum.sum(own);
                if (group_sum.failed) break;
                frontier_vertices = sums.all.first;
                queued = sums.own.first;
                turn++;
            }
            odd = levels % 2 != 0;
            own_edges = queue_flagged(
                offsets, owned, frontier_of(turn), odd ? next_queue : queue, odd ? next_length : length
            );
            for (u64 h = (owned + 63) / 64 * 2 + thread_of_grid(); h < visited.length(); h += threads_of_grid())
                frontier_of(turn).half(h) = 0;
            clear_all(frontier_of(turn + 2));
            sums = group_sum.sum(own_edges);
            own_edges = sums.own.first;
            frontier_edges = sums.all.first;
            continue;
        }
        levels++;
        read_vertices += queued;
        left -= frontier_edges;
        Array<u32> from = odd ? next_queue : queue, to = odd ? queue : next_queue;
        Array<u64> to_length = odd ? length : next_length;
        StepResult own;
        if (frontier_edges < min_scatter) {
            own = step_down(
                loop, offsets, targets, vertices, owned, from, queued, level + (i32)levels, distance, parent,
                visited, offer, to, to_length
            );
        } else {
            copy_all(visited, visited_before);
            grid.sync();
            scatter(loop, offsets, targets, vertices, owned, from, queued, parent, visited, offered);
            grid.sync();
            own = collect_offers(
                offsets, owned, visited_before, visited, level + (i32)levels, distance, offer, offered, to,
                to_length
            );
        }
        if (first_of_grid()) (odd ? next_length : length)[0] = 0;
        sums = group_sum.sum(own.frontier_vertices, own.frontier_edges, own.new_mirrors);
        // The next step's offers begin after those of this step.
        if (first_of_grid()) offer_bounds[1 + (steps + 1) % 2] = look(offer_bounds[0]);
        if (sums.all.third > 0 && !group_sum.failed) {
            own = {0, 0, 0};
            receive_offers(
                incoming, {on_peers(OFFERS)}, {on_peers(OFFER_BOUNDS)}, steps, offsets, level + (i32)levels,
                distance, parent, visited, to, to_length, own
            );
            GroupTotals received = group_sum.sum(own.frontier_vertices, own.frontier_edges);
            sums.own.first += received.own.first;
            sums.own.second += received.own.second;
            sums.all.first += received.all.first;
            sums.all.second += received.all.second;
        }
        queued = sums.own.first;
        own_edges = sums.own.second;
        frontier_vertices = sums.all.first;
        frontier_edges = sums.all.second;
        steps++;
    }
    u64 found = group_sum.failed ? GROUP_FAILED : read_vertices;
    bool reports = first_of_grid(), counts = reports && group.rank == 0;
    results.sum(
        reports ? found : 0, reports ? queued : 0, reports ? own_edges : 0, counts ? (u64)levels : 0, counts ? unexplored - left : 0
    );
}
