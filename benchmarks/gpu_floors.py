"""Bandwidth of one GPU's memory, measured in the same run as the algorithms.

A copy gives bytes/s. The bare gather is the core of PageRank: it reads every target once and sums the values
of the targets, in the order of the edges.
"""

from __future__ import annotations

import statistics

SOURCE = r"""
extern "C" __global__ void __launch_bounds__(256)
read_ids(const uint4* ids, unsigned long long fours, float* out) {
    unsigned sum = 0;
    unsigned long long stride = (unsigned long long)gridDim.x * 256;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < fours; i += stride) {
        uint4 t = __ldcs(ids + i);
        sum += t.x ^ t.y ^ t.z ^ t.w;
    }
    if (sum == 0x12345678u) *out = 1;
}

extern "C" __global__ void __launch_bounds__(256)
gather(const uint4* ids, unsigned long long fours, const float* __restrict__ values, float* out) {
    float sum = 0;
    unsigned long long stride = (unsigned long long)gridDim.x * 256;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < fours; i += stride) {
        uint4 t = __ldcs(ids + i);
        sum += __ldg(values + t.x) + __ldg(values + t.y) + __ldg(values + t.z) + __ldg(values + t.w);
    }
    if (sum == 12345.678f) *out = 1;
}
"""


def copy_bytes_per_second(nbytes=1 << 32):
    """Return bytes/s read and written by a copy within the GPU's memory."""
    import cupy

    source = cupy.ones(nbytes // 4, cupy.float32)
    target = cupy.empty_like(source)
    return 2 * nbytes / median_seconds(lambda: target.data.copy_from_device_async(source.data, nbytes))


def gather_seconds(targets, values):
    """Return seconds to read all targets, and to read them and gather their values."""
    import cupy

    module = cupy.RawModule(code=SOURCE)
    blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * 8
    out, fours = cupy.zeros(1, cupy.float32), cupy.uint64(len(targets) // 4)
    ids, gather = module.get_function("read_ids"), module.get_function("gather")
    return (
        median_seconds(lambda: ids((blocks,), (256,), (targets, fours, out))),
        median_seconds(lambda: gather((blocks,), (256,), (targets, fours, values, out))),
    )


def median_seconds(call, repeats=11):
    """Return the median of some runs by the GPU's clock, after a run that does not count."""
    import cupy

    times = []
    for _ in range(repeats + 1):
        begin, end = cupy.cuda.Event(), cupy.cuda.Event()
        begin.record()
        call()
        end.record()
        end.synchronize()
        times.append(cupy.cuda.get_elapsed_time(begin, end) / 1e3)
    return statistics.median(times[1:])


def mapped_bytes_per_second(nbytes=1 << 30):
    """Return bytes/s that a kernel reads from page-locked host memory."""
    import cupy
    import numpy as np

    locked = _locked(nbytes)
    ids = cupy.RawModule(code=SOURCE).get_function("read_ids")
    blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * 8
    out = cupy.zeros(1, cupy.float32)
    place, fours = np.uint64(locked.ctypes.data), np.uint64(nbytes // 16)
    return nbytes / median_seconds(lambda: ids((blocks,), (256,), (place, fours, out)), 5)


def copied_bytes_per_second(nbytes=1 << 30):
    """Return bytes/s of a copy from page-locked host memory."""
    import cupy

    locked, target = _locked(nbytes), cupy.empty(nbytes // 4, cupy.uint32)
    return nbytes / median_seconds(lambda: target.data.copy_from_host_async(locked.ctypes.data, nbytes), 5)


def _locked(nbytes):
    import cupy
    import numpy as np

    pages = cupy.cuda.PinnedMemoryPointer(cupy.cuda.PinnedMemory(nbytes), 0)
    array = np.frombuffer(pages, np.uint32, nbytes // 4)
    array[:] = 1
    return array
