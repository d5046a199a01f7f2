// Which vertices a vertex program works on: see schedule_cpu.py.

#include "rows.cuh"

// Set the bits of the owned vertices in `active` and of their neighbours in `scheduled`.
__global__ void PARALLEL(256) schedule(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, Bits active, Bits scheduled
) {
    for (u64 h = thread_of_grid(); h < active.length(); h += threads_of_grid())
        if (active.half(h) != 0) atomicOr(&scheduled.half(h), active.half(h));
    over_rows(offsets, [&](Rows& rows) {
        u32 working = __ballot_sync(ALL, rows.some && active.test(rows.v));
        EdgeBatch batch;
        while (rows.next(working, batch)) {
#pragma unroll
            for (u32 k = 0; k < AHEAD; k++) {
                if (!batch.wanted[k]) continue;
                u32 target = read_once(targets, batch.edge[k]);
                if (!look(scheduled, target)) scheduled.set(target);
            }
        }
    });
}
