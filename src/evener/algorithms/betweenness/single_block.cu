// Betweenness where levels are narrow: many of them by one block, which nobody launches, or asks, in between.
// Arrays and votes are those of algorithms/betweenness/single_block_cpu.py.
//
// What betweenness.cu does level by level, on the same arrays. What this block's atomics have changed, it
// reads past the L1 cache.

#include "betweenness.cuh"
#include "single_block.cuh"

// Numbers that there are to tell of a level: vertices, out-edges, in-edges, scale.
constexpr u32 TOLD = 4;

// Make the levels behind `level` while no more than `most_edges` lead out, as many as there is room for.
//
// `told` gets what there is to tell of each; `frontier` flags the last one, before and after. Returns
// (vertices, levels, out-edges, paths).
__global__ void BLOCK(1024) count_paths(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> in_offsets, u64 level, u64 out_edges,
    u64 unexplored, u64 most_edges, double many, double shrink, double scale, Array<double> value,
    Bits visited, Bits frontier, Array<double> arriving, Array<u32> order, Array<u64> bounds,
    Array<double> told, Votes<u64, u64, u64, double> votes
) {
    __shared__ u32 reached;
    __shared__ u64 led_out, led_in;
    __shared__ double counted;
    u64 begin = bounds[level], end = bounds[level + 1], first_made = end;
    u64 made = 0;
    double paths = 0;
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) frontier.clear(order[i]);
    while (0 < out_edges && out_edges <= most_edges && unexplored > 0 && made < told.length / TOLD) {
        __syncthreads();  // all have read what the level before has left
        if (threadIdx.x == 0) {
            reached = 0;
            led_out = 0;
            led_in = 0;
            counted = 0;
        }
        over_narrow(offsets, order.at, begin, end, out_edges, [&](u32 u, u64 e) {
            u32 v = read(targets, e);
            if (look(visited, v)) return;
            if (atomicAdd(&arriving[v], value[u]) == 0) order[end + atomicAdd(&reached, 1)] = v;
        });
        __syncthreads();
        u64 stop = end + reached;
        u64 own_out = 0, own_in = 0;
        double own_paths = 0;
        for (u64 i = end + threadIdx.x; i < stop; i += blockDim.x) {
            u64 v = look(order[i]);
            double count = look(arriving[v]) * scale;
            arriving[v] = 0;
            value[v] = count;
            visited.set(v);
            own_paths += in_range(count);
            own_out += offsets[v + 1] - offsets[v];
            own_in += in_offsets[v + 1] - in_offsets[v];
        }
        if (end + threadIdx.x / WARP * WARP < stop) {  // else none was this warp's
            own_out = across(own_out, Sum());
            own_in = across(own_in, Sum());
            own_paths = across(own_paths, Sum());
            if (lane() == 0) {
                atomicAdd(&led_out, own_out);
                atomicAdd(&led_in, own_in);
                atomicAdd(&counted, own_paths);
            }
        }
        __syncthreads();
        out_edges = led_out;
        paths = counted;
        if (stop == end) break;
        if (threadIdx.x == 0) {
            told[TOLD * made] = (double)(stop - end);
            told[TOLD * made + 1] = (double)led_out;
            told[TOLD * made + 2] = (double)led_in;
            told[TOLD * made + 3] = scale;
            bounds[level + 2] = stop;
        }
        made++;
        level++;
        begin = end;
        end = stop;
        unexplored -= led_in;
        scale = paths > many ? shrink : 1;
        if (!(paths < infinite())) break;
    }
    for (u64 i = begin + threadIdx.x; i < end; i += blockDim.x) frontier.set(look(order[i]));
    bool first = threadIdx.x == 0;
    votes.sum(first ? end - first_made : 0, first ? made : 0, first ? out_edges : 0, first ? paths : 0);
}

// Settle the levels from `level` back to `last`, what they depend on being pushed to each.
//
// `told` is what `count_paths` tells of level ``last`` and of those behind it. Returns how many vertices were
// settled.
__global__ void BLOCK(1024) add_dependencies(
    Array<const u64> in_offsets, Tiered<u32> in_targets, Array<const u32> order, Array<const u64> bounds,
    u64 level, u64 last, u64 farthest, Array<const double> told, Array<double> value, Bits visited,
    Array<double> arriving, Bits arrived, Array<double> centrality, Votes<u64> votes
) {
    u64 settled = 0;
    for (u64 at = level + 1; at-- > last;) {
        u64 begin = bounds[at], end = bounds[at + 1];
        double scale = 1;
        if (0 < at && at < farthest) {
            u64 behind = TOLD * (at + 1 - last);
            u64 edges = (u64)told[behind + 2];
            over_narrow(in_offsets, order.at, end, bounds[at + 2], edges, [&](u32 v, u64 e) {
                u32 u = read(in_targets, e);  // no mirror: this element has the whole graph
                if (look(visited, u)) atomicAdd(&arriving[u], value[v]);
            });
            __syncthreads();
            scale = told[behind + 3];
        }
        settled += settle_run(order, begin, end, scale, at ? 1 : 0, arriving, visited, value, centrality);
    }
    votes.sum(settled);
}
