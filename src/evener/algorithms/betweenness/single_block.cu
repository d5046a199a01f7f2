// Betweenness on narrow levels: one block processes many levels in one launch.
// algorithms/betweenness/single_block_cpu.py describes the arrays and results.
//
// The block reads values that its atomic operations change with loads that bypass the L1 cache.

#include "betweenness.cuh"
#include "single_block.cuh"

// Build the levels after `level` while a level has at most `max_edges` out-edges.
//
// The kernel also stops when `level_table` is full. It writes a row of `level_table` for each level.
// `frontier` flags the last level, before and after. If the paths of a level exceed `shrink_above`, the next
// level is scaled by `shrink`. Returns (vertices, levels, out-edges, paths): the vertices of all these
// levels, and the out-edges and paths of the last level.
__global__ void BLOCK(1024) count_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, u64 level, u64 out_edges,
    u64 unexplored, u64 max_edges, double shrink_above, double shrink, double scale, Array<double> value,
    Bits visited, Bits frontier, Array<double> incoming, Array<u32> order, Array<u64> bounds,
    Array<double> level_table, Results<u64, u64, u64, double> results
) {
    __shared__ u32 new_vertices;
    __shared__ u64 level_out_edges, level_in_edges;
    __shared__ double level_paths;
    u64 begin = bounds[level], end = bounds[level + 1], first_new = end;
    u64 levels = 0;
    double paths = 0;
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) frontier.clear(order[i]);
    while (0 < out_edges && out_edges <= max_edges && unexplored > 0 && levels < level_table.length / COLUMNS) {
        __syncthreads();  // all threads have read the sums of the last level
        if (threadIdx.x == 0) {
            new_vertices = 0;
            level_out_edges = 0;
            level_in_edges = 0;
            level_paths = 0;
        }
        over_narrow(offsets, order.at, begin, end, out_edges, [&](u32 u, u64 e) {
            u32 v = read(targets, e);
            if (look(visited, v)) return;
            if (atomicAdd(&incoming[v], value[u]) == 0) order[end + atomicAdd(&new_vertices, 1)] = v;
        });
        __syncthreads();
        u64 stop = end + new_vertices;
        u64 own_out = 0, own_in = 0;
        double own_paths = 0;
        for (u64 i = end + threadIdx.x; i < stop; i += blockDim.x) {
            u64 v = look(order[i]);
            double count = look(incoming[v]) * scale;
            incoming[v] = 0;
            value[v] = count;
            visited.set(v);
            own_paths += in_range(count);
            own_out += offsets[v + 1] - offsets[v];
            own_in += in_offsets[v + 1] - in_offsets[v];
        }
        if (end + threadIdx.x / WARP * WARP < stop) {  // skip warps without a vertex
            own_out = across(own_out, Sum());
            own_in = across(own_in, Sum());
            own_paths = across(own_paths, Sum());
            if (lane() == 0) {
                atomicAdd(&level_out_edges, own_out);
                atomicAdd(&level_in_edges, own_in);
                atomicAdd(&level_paths, own_paths);
            }
        }
        __syncthreads();
        out_edges = level_out_edges;
        paths = level_paths;
        if (stop == end) break;
        if (threadIdx.x == 0) {
            level_table[COLUMNS * levels] = (double)(stop - end);
            level_table[COLUMNS * levels + 1] = (double)level_out_edges;
            level_table[COLUMNS * levels + 2] = (double)level_in_edges;
            level_table[COLUMNS * levels + 3] = scale;
            bounds[level + 2] = stop;
        }
        levels++;
        level++;
        begin = end;
        end = stop;
        unexplored -= level_in_edges;
        scale = paths > shrink_above ? shrink : 1;
        if (!(paths < infinite())) break;
    }
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) frontier.set(look(order[i]));
    bool first = threadIdx.x == 0;
    results.sum(first ? end - first_new : 0, first ? levels : 0, first ? out_edges : 0, first ? paths : 0);
}

// Finish the levels from `level` back to `last`; push the dependencies of each level to the level before.
//
// `level_table` has the rows of level `last` and of the following levels. Returns the number of vertices.
__global__ void BLOCK(1024) add_dependencies(
    Array<const u64> in_offsets, Tiered<u32> in_targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 last, u64 farthest, Array<const double> level_table, Array<double> value, Bits visited,
    Array<double> incoming, Bits reached, Array<double> centrality, Results<u64> results
) {
    u64 finished = 0;
    for (u64 at = level + 1; at-- > last;) {
        u64 begin = bounds[at], end = bounds[at + 1];
        double scale = 1;
        if (0 < at && at < farthest) {
            u64 behind = COLUMNS * (at + 1 - last);
            u64 edges = (u64)level_table[behind + 2];
            over_narrow(in_offsets, order.at, end, bounds[at + 2], edges, [&](u32 v, u64 e) {
                u32 u = read(in_targets, e);  // there are no mirrors
                if (look(visited, u)) atomicAdd(&incoming[u], value[v]);
            });
            __syncthreads();
            scale = level_table[behind + 3];
        }
        finished += finish_chunk(order, begin, end, scale, at ? 1 : 0, incoming, visited, value, centrality);
    }
    results.sum(finished);
}
