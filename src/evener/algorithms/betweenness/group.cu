// Betweenness on several GPUs that read each other's memory: many levels of a search in one launch.
// algorithms/betweenness/kernels_cpu.py describes the arrays.
//
// Three bitmaps rotate from level to level, so that a GPU does not change flags that another GPU still reads.

#include "group.cuh"
#include "steps.cuh"

// The places of arrays in a table of their addresses on all GPUs. Three bitmaps begin at FLAGS.
enum PeerArray { VALUE, INCOMING, FLAGS };

// Return ``FLAGS + level % 3``: the place of the bitmap of a level.
__device__ inline u32 flags_of(u64 level) { return FLAGS + (u32)(level % 3); }

// The arrays of the other GPUs, and the routes between them and this GPU.
struct Neighbours {
    Array<const u64> peers;
    Array<const u64> incoming;
    Array<const u64> mirrored;
    u32 size;

    // Call ``visit(v, value)`` for each mirror of this GPU's vertices whose flag of `level` is set.
    template <typename Visit> __device__ void receive(u64 level, Visit visit) const {
        Peers<u32> flags = {peers.at + flags_of(level) * size};
        Peers<double> values = {peers.at + INCOMING * size};
        const Incoming* routes = (const Incoming*)incoming.at;
        for (u64 r = 0; r < incoming.length * sizeof(u64) / sizeof(Incoming); r++)
            take_incoming(routes[r], flags.on(routes[r].partition), values.on(routes[r].partition), visit);
    }

    // Store the flags of `level` and the flagged values of the owners in this GPU's mirrors.
    __device__ void pull(u64 level, Bits mirror_flags, Array<double> value) const {
        Peers<u32> flags = {peers.at + flags_of(level) * size};
        Peers<double> values = {peers.at + VALUE * size};
        const Mirrored* routes = (const Mirrored*)mirrored.at;
        for (u64 r = 0; r < mirrored.length * sizeof(u64) / sizeof(Mirrored); r++) {
            const double* owned = values.on(routes[r].owner);
            pull_flagged(routes[r], flags.on(routes[r].owner), owned, mirror_flags, value);
        }
    }
};

// Clear the count of the next launch, because a launch may have no step that clears it.
__device__ inline void clear_next(Pieces pieces) {
    if (first_of_grid()) *pieces.count_of_next_launch = 0;
}

// Clear the count of this launch between two barriers, after a step. Each step begins its own list of pieces.
__device__ inline void clear_done(Pieces pieces) {
    if (first_of_grid()) *(volatile u64*)pieces.count = 0;
}

// ---- forward: count shortest paths --------------------------------------------------------------

// A block reports the sum of its paths in units: UNIT_MANY if the level may have more than `shrink_above`
// paths, UNIT_BEYOND if a count is out of range. A group has fewer than MOST_BLOCKS blocks.
constexpr u64 UNIT_MANY = 1, UNIT_BEYOND = 1 << 20;
constexpr double MOST_BLOCKS = 1 << 16;

__device__ inline u64 units_of(double paths, double shrink_above) {
    paths = over_block(paths, Sum());
    if (threadIdx.x != 0) return 0;
    if (!(paths < infinite())) return UNIT_BEYOND;
    return paths > shrink_above / MOST_BLOCKS ? UNIT_MANY : 0;
}

// The places in `resume`, which keeps the state of a search between launches.
enum Resume { OUT_EDGES, UNEXPLORED, SCALED };

// The state of a search after a launch.
enum Outcome : u64 { DONE, MORE_LEVELS, BEYOND_FLOAT64 };

// Count the paths of up to `max_levels` levels after `level`, on all GPUs of a group.
//
// A search begins at level 0 from `source`, which is NO_VERTEX if another GPU owns it. The steps and the policy
// are those of the kernels of one level, with the edges of all GPUs. A level is scaled by `shrink` if the paths
// of the level before may exceed `shrink_above`. `level_table` receives the row of each level: vertices of this
// GPU, out-edges and in-edges of all GPUs, scale. `peers` is a table of addresses, by PeerArray and GPU.
//
// Returns this GPU's vertices, and on the first GPU (levels, out-edges, Outcome), else zeros. The number of
// vertices is GROUP_FAILED if a GPU did not answer.
__global__ void PARALLEL(256, 6) count_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    u64 in_rows, u64 owned, u32 source, u64 graph_edges, double push_cost, double shrink_above, double shrink,
    u64 level, u64 max_levels, Array<double> value, Array<double> incoming, Bits visited, Bits flags_0,
    Bits flags_1, Bits flags_2, Array<u32> order, Array<u64> bounds, Array<double> level_table,
    Array<u64> resume, Array<const u64> peers, Array<const u64> incoming_routes, Array<const u64> mirrored,
    Results<u64, u64, u64, u64> results, Grid grid, Pieces pieces, Group group
) {
    Neighbours neighbours = {peers, incoming_routes, mirrored, group.size};
    Bits frontier = flags_0, reached = flags_1, spare = flags_2;
    auto rotate = [&] {
        Bits before = frontier;
        frontier = reached;
        reached = spare;
        spare = before;
    };
    for (u64 k = level % 3; k > 0; k--) rotate();
    auto write_row = [&](u64 vertices, u64 out_edges, u64 in_edges, double scale) {
        double* row = &level_table[COLUMNS * level];
        row[0] = (double)vertices;
        row[1] = (double)out_edges;
        row[2] = (double)in_edges;
        row[3] = scale;
    };

    u64 first_new = level == 0 ? 0 : look(bounds[level + 1]);
    u64 out_edges = 0, unexplored = graph_edges, explored = 0, levels = 0;
    bool scaled = false, beyond = false;
    if (level == 0) {
        start(source, value, visited, frontier, order, bounds);
        clear_all(reached);
    }
    clear_next(pieces);
    GroupSum group_sum(grid, group);
    if (level == 0) {
        bool owner = first_of_grid() && source != NO_VERTEX;
        Totals all = group_sum.sum(
            owner ? offsets[(u64)source + 1] - offsets[source] : 0,
            owner ? in_offsets[(u64)source + 1] - in_offsets[source] : 0
        ).all;
        out_edges = explored = all.first;
        unexplored -= all.second;
        if (first_of_grid()) write_row(source != NO_VERTEX, all.first, all.second, 1);
    } else {
        out_edges = look(resume[OUT_EDGES]);
        unexplored = look(resume[UNEXPLORED]);
        scaled = look(resume[SCALED]) != 0;
    }

    while (out_edges > 0 && unexplored > 0 && levels < max_levels && !beyond && !group_sum.failed) {
        u64 begin = look(bounds[level]), end = look(bounds[level + 1]);
        bool pushes = (double)out_edges * push_cost < (double)unexplored;
        if (first_of_grid()) bounds[level + 2] = end;
        if (pushes) {
            EdgeLoop loop(pieces, grid);
            u64 new_mirrors = 0;
            push_counts(loop, offsets, targets, order.at, begin, end, value, visited, incoming, [&](u32 v) {
                reached.set(v);
                if (v >= owned) new_mirrors++;
            });
            if (group_sum.sum(new_mirrors).all.first > 0 && !group_sum.failed) {
                neighbours.receive(level + 1, [&](u32 v, double paths) {
                    if (visited.test(v)) return;
                    atomicAdd(&incoming[v], paths);
                    reached.set(v);
                });
                grid.sync();
            }
            if (group_sum.failed) break;
        } else {
            neighbours.pull(level, frontier, value);
            grid.sync();  // the mirrors have their values
            pull_counts(
                in_offsets, in_targets, in_rows, value, visited, frontier, incoming, reached, grid, pieces
            );
            grid.sync();
        }
        double scale = scaled ? shrink : 1;
        LevelPart own = append_level(
            offsets, in_offsets, owned, scale, incoming, reached, visited, value, order, &bounds[level + 2]
        );
        if (pushes)
            for (u64 h = (owned + 63) / 64 * 2 + thread_of_grid(); h < reached.length(); h += threads_of_grid())
                if (u32 mirrors = reached.half(h)) visited.half(h) |= mirrors;
        clear_all(spare);
        clear_done(pieces);
        u64 units = units_of(own.paths, shrink_above);
        Totals all = group_sum.sum(own.out_edges, own.in_edges, units).all;
        if (group_sum.failed) break;
        out_edges = all.first;
        if (all.second == 0) break;  // the level is empty
        level++;
        levels++;
        if (first_of_grid()) write_row(look(bounds[level + 1]) - end, all.first, all.second, scale);
        explored += all.first;
        unexplored -= all.second;
        scaled = all.third > 0;
        beyond = all.third >= UNIT_BEYOND;
        rotate();
    }

    bool first = first_of_grid(), counts = first && group.rank == 0;
    if (first) {
        resume[OUT_EDGES] = out_edges;
        resume[UNEXPLORED] = unexplored;
        resume[SCALED] = scaled;
    }
    u64 found = group_sum.failed ? GROUP_FAILED : look(bounds[level + 1]) - first_new;
    u64 outcome = beyond ? BEYOND_FLOAT64 : out_edges > 0 && unexplored > 0 ? MORE_LEVELS : DONE;
    results.sum(first ? found : 0, counts ? levels : 0, counts ? explored : 0, counts ? outcome : 0);
}

// ---- backward: dependencies ------------------------------------------------------------------------

// Finish up to `max_levels` levels from `level` down, on all GPUs of a group.
//
// A search has levels up to `farthest`, with rows in `level_table`. The steps and the policy are those of the
// kernels of one level. The bitmap of a level flags its mirrors with a value, if the step pushes, or the
// vertices of the next level, if it pulls. Returns the number of vertices, GROUP_FAILED if a GPU did not answer.
__global__ void PARALLEL(256, 6) add_dependencies(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, Tiered<u32> in_targets,
    u64 owned, double push_cost, u64 level, u64 farthest, u64 max_levels, Array<const double> level_table,
    Array<const u32> order, Array<const u64> bounds, Array<double> value, Array<double> incoming, Bits visited,
    Bits flags_0, Bits flags_1, Bits flags_2, Array<double> centrality, Array<const u64> peers,
    Array<const u64> incoming_routes, Array<const u64> mirrored, Results<u64> results, Grid grid, Pieces pieces,
    Group group
) {
    Neighbours neighbours = {peers, incoming_routes, mirrored, group.size};
    // The bitmaps of this level, the next nearer one and the one after it.
    Bits here = flags_0, nearer = flags_2, spare = flags_1;
    auto rotate = [&] {
        Bits before = here;
        here = nearer;
        nearer = spare;
        spare = before;
    };
    for (u64 k = level % 3; k % 3 != 0; k++) rotate();
    auto receives = [&](u64 at) { return 0 < at && at < farthest; };
    auto pushes = [&](u64 at) {
        return level_table[COLUMNS * (at + 1) + 2] * push_cost < level_table[COLUMNS * at + 1];
    };

    if (level == farthest) clear_all(nearer);
    clear_next(pieces);
    GroupSum group_sum(grid, group);
    u64 finished = 0;
    for (u64 left = max_levels; left > 0; left--) {
        u64 begin = bounds[level], end = bounds[level + 1];
        double scale = 1;
        if (receives(level)) {
            scale = level_table[COLUMNS * (level + 1) + 3];
            if (pushes(level)) {
                EdgeLoop loop(pieces, grid);
                u64 new_mirrors = 0;
                push_values(
                    loop, in_offsets, in_targets, owned, order.at, end, bounds[level + 2], value, visited,
                    incoming,
                    [&](u32 u) {
                        here.set(u);
                        new_mirrors++;
                    }
                );
                if (group_sum.sum(new_mirrors).all.first > 0 && !group_sum.failed) {
                    neighbours.receive(level, [&](u32 u, double sum) {
                        if (visited.test(u)) atomicAdd(&incoming[u], sum);
                    });
                    grid.sync();
                }
                if (group_sum.failed) break;
            } else {
                neighbours.pull(level, here, value);
                grid.sync();  // the mirrors have their values
                pull_values(offsets, targets, order, begin, end, value, here, incoming, grid, pieces);
                grid.sync();
            }
        }
        finished += finish_chunk(
            order, begin, end, scale, level > 0 ? 1 : 0, incoming, visited, value, centrality
        );
        if (level > 0 && receives(level - 1) && !pushes(level - 1)) flag_vertices(order, begin, end, nearer);
        clear_all(spare);
        clear_done(pieces);
        group_sum.sum(0);
        if (level == 0 || group_sum.failed) break;
        level--;
        rotate();
    }
    if (group_sum.failed) finished = first_of_grid() ? GROUP_FAILED : 0;
    results.sum(finished);
}
