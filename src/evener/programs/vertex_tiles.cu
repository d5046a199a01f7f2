// Vertex programs: the end of a superstep over edges in column blocks, in which all vertices change their states.

#include "column_sums.cuh"
#include "vertex_functions.cuh"

// Rows of a lane in a tile with a row for each lane of `LANES`.
constexpr u32 ROWS = 4;

// Call ``step(j)`` for each `j` below N. Without a loop, the linker knows each `j` when it puts states in registers.
template <u32 N, typename Step> __device__ inline void for_each(Step step) {
    if constexpr (N > 0) {
        for_each<N - 1>(step);
        step(N - 1);
    }
}

// Apply the combined messages of each tile and block to the states of all vertices: see columns.cu. Write the next
// message of each vertex. Returns the values of `apply_messages` in vertex_apply.cu.
__global__ void PARALLEL(256) apply_tiles(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, Array<const double> identity, u64 owned, Array<const u64> fields,
    Array<const u32> degree, Array<const u32> vertices, u64 n, u64 iteration, double total, Array<float> next_sent,
    Bits active, Results<u64, double, double, u64> results
) {
    __shared__ double stages[256 * ROWS];
    double* stage = stages + threadIdx.x / WARP * WARP * ROWS;
    States<double> states{fields, degree, vertices, n, iteration}, next{fields, degree, vertices, n, iteration + 1};
    u64 count = 0;
    double change = 0, size = 0;
    auto work = [&](State& own, double combined, float& message) {
        bool is_active = states.apply(own, combined, total, change);
        size += states.size(own);
        message = (float)next.message(own, 1);
        count += is_active;
        return is_active;
    };
    over_tiles(
        tile_row, tile_width, tile_places, partial, owned, CombineAll<double>{identity[0]},
        [&](u64 v, const double* combined) {
            // Lanes exchange their rows, so that a warp reads and writes adjacent rows.
            u64 first = v - ROWS * lane(), own = first + lane();
            __syncwarp();
            for_each<ROWS>([&](u32 j) { stage[ROWS * lane() + j] = combined[j]; });
            __syncwarp();
            State rows[ROWS];
            float messages[ROWS];
            bool are_active[ROWS];
            // All reads come before all writes, so they overlap.
            for_each<ROWS>([&](u32 j) { rows[j] = states.read(own + j * WARP); });
            for_each<ROWS>([&](u32 j) { are_active[j] = work(rows[j], stage[lane() + j * WARP], messages[j]); });
            for_each<ROWS>([&](u32 j) {
                states.write(own + j * WARP, rows[j]);
                next_sent[own + j * WARP] = messages[j];
                u32 half = __ballot_sync(ALL, are_active[j]);
                if (lane() == 0) active.half(first / WARP + j) = half;
            });
        },
        [&](u64 v, double combined) {
            State own = states.read(v);
            if (work(own, combined, next_sent[v])) active.set(v);
            states.write(v, own);
        }
    );
    results.sum(count, change, size, (u64)0);
}
