// Vertex programs: the end of a superstep over edges in column blocks, in which all vertices change their states.

#include "column_sums.cuh"
#include "vertex_functions.cuh"

struct Or {
    __device__ u32 operator()(u32 a, u32 b) const { return a | b; }
};

// Apply the combined messages of each tile and block to the states of all vertices: see columns.cu. Write the next
// message of each vertex. Returns the values of `apply_messages` in vertex_apply.cu.
__global__ void PARALLEL(256) apply_tiles(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, Array<const double> identity, u64 owned, Array<const u64> fields,
    Array<const u32> degree, Array<const u32> vertices, u64 n, u64 iteration, double total, Array<float> next_sent,
    Bits active, Results<u64, double, double, u64> results
) {
    struct alignas(16) Four {
        float of[4];
    };
    States<double> states{fields, degree, vertices, n, iteration}, next{fields, degree, vertices, n, iteration + 1};
    u64 count = 0;
    double change = 0, size = 0;
    auto work = [&](u64 v, double combined, float& message) {
        bool is_active = states.apply(v, combined, total, change);
        size += states.size(v);
        message = (float)next.message(v, 1);
        count += is_active;
        return is_active;
    };
    over_tiles(
        tile_row, tile_width, tile_places, partial, owned, CombineAll<double>{identity[0]},
        [&](u64 v, const double* combined) {
            Four messages;
            u32 are_active = 0;
#pragma unroll
            for (u32 j = 0; j < 4; j++) are_active |= (u32)work(v + j, combined[j], messages.of[j]) << j;
            *(Four*)(next_sent.at + v) = messages;
            // Eight lanes have the vertices of one half.
            are_active = across(are_active << v % WARP, Or(), 8);
            if (v % WARP == 0) active.half(v / WARP) = are_active;
        },
        [&](u64 v, double combined) {
            if (work(v, combined, next_sent[v])) active.set(v);
        }
    );
    results.sum(count, change, size, (u64)0);
}
