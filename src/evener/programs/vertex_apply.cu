// Vertex programs: the end of a superstep, in which scheduled vertices change their states.

#include "vertex_functions.cuh"

// Apply the combined messages to the states of the scheduled vertices, or of all vertices if `everyone`; if
// `first`, of no vertex. Unless `per_edge`, write the next message of each vertex; it is that of `sent` if the
// vertex has not worked, and not all messages change in each superstep (`timed`).
//
// Returns the values of `step` in vertex_kernels_cpu.py, with 0 edges if `everyone`, because the host knows them.
template <typename Message, typename Wide>
__global__ void PARALLEL(256) apply_messages(
    u32 first, u32 everyone, u32 per_edge, u32 timed, Bits scheduled, Array<const u64> near_offsets,
    Array<const u64> far_offsets, u32 both, Array<const Wide> combined, Array<const u64> fields,
    Array<const u32> degree, Array<const u32> vertices, u64 n, u64 iteration, double total,
    Array<const Message> sent, Array<Message> next_sent, Bits active, Results<u64, double, double, u64> results
) {
    States<Wide> states{fields, degree, vertices, n, iteration}, next{fields, degree, vertices, n, iteration + 1};
    u64 count = 0, edges = 0;
    double change = 0, size = 0;
    for (u64 begin = warp_of_grid() * WARP; begin < combined.length; begin += warps_of_grid() * WARP) {
        u64 v = begin + lane();
        bool is_active = false;
        if (v < combined.length) {
            bool works = !first && (everyone || scheduled.test(v));
            State own = states.read(v);
            if (works) {
                is_active = states.apply(own, combined[v], total, change);
                states.write(v, own);
                if (!everyone) edges += near_offsets[v + 1] - near_offsets[v];
                if (!everyone && both) edges += far_offsets[v + 1] - far_offsets[v];
            }
            size += states.size(own);
            if (!per_edge) next_sent[v] = works || first || timed ? (Message)next.message(own, 1) : sent[v];
        }
        u32 half = __ballot_sync(ALL, is_active);
        if (half != 0 && lane() == 0) {
            active.half(begin / 32) = half;
            count += __popc(half);
        }
    }
    results.sum(count, change, size, edges);
}
