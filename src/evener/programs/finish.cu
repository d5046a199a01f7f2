// GIM-V: the end of an iteration over column blocks. Arrays and results are as in programs/kernels_cpu.py.

#include "column_sums.cuh"
#include "operators.cuh"

// Assign the next values and messages, given the combined messages of each tile and block: see columns.cu.
__global__ void PARALLEL(256) finish(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, Array<const double> identity, Array<const u32> degree,
    Array<const u32> vertices, u64 n, double total, Array<const float> initial, Array<float> value,
    Array<float> next_message, Results<u64, double, double> results
) {
    struct alignas(16) Four {
        float of[4];
    };
    Vertices<float, double> own(degree, vertices, n, total, initial);
    over_tiles(
        tile_row, tile_width, tile_places, partial, value.length, CombineAll<double>{identity[0]},
        [&](u64 v, const double* combined) {
            Four now = *(const Four*)(value.at + v), next;
#pragma unroll
            for (u32 j = 0; j < 4; j++) {
                now.of[j] = own.next(v + j, now.of[j], combined[j]);
                next.of[j] = own.message(v + j, now.of[j]);
            }
            *(Four*)(value.at + v) = now;
            *(Four*)(next_message.at + v) = next;
        },
        [&](u64 v, double combined) {
            float now = own.next(v, value[v], combined);
            value[v] = now;
            next_message[v] = own.message(v, now);
        }
    );
    results.sum(own.converged, own.change, own.size);
}
