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

extern "C" __global__ void __launch_bounds__(256)
gather_words(const uint4* ids, unsigned long long fours, const unsigned long long* __restrict__ words,
             float* out) {
    unsigned long long sum = 0;
    unsigned long long stride = (unsigned long long)gridDim.x * 256;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < fours; i += stride) {
        uint4 t = __ldcs(ids + i);
        sum += __ldg(words + t.x) ^ __ldg(words + t.y) ^ __ldg(words + t.z) ^ __ldg(words + t.w);
    }
    if (sum == 0x12345678u) *out = 1;
}

extern "C" __global__ void __launch_bounds__(256)
look_up(const uint4* ids, unsigned long long fours, float* out) {
    __shared__ unsigned table[2048];
    for (unsigned i = threadIdx.x; i < 2048; i += 256) table[i] = i;
    __syncthreads();
    unsigned sum = 0;
    unsigned long long stride = (unsigned long long)gridDim.x * 256;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < fours; i += stride) {
        uint4 t = __ldcs(ids + i);
        sum += (table[t.x >> 5 & 2047] >> (t.x & 31) & 1) + (table[t.y >> 5 & 2047] >> (t.y & 31) & 1) +
               (table[t.z >> 5 & 2047] >> (t.z & 31) & 1) + (table[t.w >> 5 & 2047] >> (t.w & 31) & 1);
    }
    if (sum == 0x12345678u) *out = 1;
}

extern "C" __global__ void __launch_bounds__(256)
add(const uint4* ids, unsigned long long fours, unsigned* values) {
    unsigned long long stride = (unsigned long long)gridDim.x * 256;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < fours; i += stride) {
        uint4 t = __ldcs(ids + i);
        atomicAdd(values + t.x, 1u);
        atomicAdd(values + t.y, 1u);
        atomicAdd(values + t.z, 1u);
        atomicAdd(values + t.w, 1u);
    }
}

extern "C" __global__ void __launch_bounds__(256)
jump(const unsigned long long* __restrict__ offsets, const unsigned* __restrict__ targets,
     unsigned long long edges, unsigned long long jumps, float* out) {
    unsigned long long sum = 0;
    unsigned long long stride = (unsigned long long)gridDim.x * 256;
    for (unsigned long long i = blockIdx.x * 256ull + threadIdx.x; i < jumps; i += stride) {
        // 2^64 over the golden ratio: Fibonacci hashing.
        unsigned long long place = ((i * 0x9E3779B97F4A7C15ull) >> 32) * edges >> 32;
        sum += __ldg(offsets + __ldg(targets + place));
    }
    if (sum == 0x12345678u) *out = 1;
}
"""


def copy_bytes_per_second(nbytes=1 << 32):
    """Return bytes/s read and written by a copy within the GPU's memory."""
    import cupy

    source = cupy.ones(nbytes // 4, cupy.float32)
    target = cupy.empty_like(source)
    return 2 * nbytes / median_seconds(lambda: target.data.copy_from_device_async(source.data, nbytes))


def read_seconds(targets):
    """Return seconds to read all targets."""
    import cupy

    return _pass_seconds("read_ids", targets, cupy.zeros(1, cupy.float32))


def gather_seconds(targets, values):
    """Return seconds to read all targets and gather their values of 4 or 8 bytes."""
    import cupy

    kernel = "gather" if values.dtype.itemsize == 4 else "gather_words"
    return _pass_seconds(kernel, targets, values, cupy.zeros(1, cupy.float32))


def lookup_seconds(targets):
    """Return the seconds to look up all targets in a table of bits in shared memory."""
    import cupy

    return _pass_seconds("look_up", targets, cupy.zeros(1, cupy.float32))


def add_seconds(targets, values):
    """Return the seconds to read all targets and add 1 to the uint32 value of each."""
    return _pass_seconds("add", targets, values)


def _pass_seconds(kernel, targets, *arguments):
    import cupy

    function = cupy.RawModule(code=SOURCE).get_function(kernel)
    blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * 8
    given = targets, cupy.uint64(len(targets) // 4), *arguments
    return median_seconds(lambda: function((blocks,), (256,), given))


def random_edges_per_second(offsets, targets, jumps=1 << 26):
    """Return edges/s at random places: the target of each, and then the offset of this target."""
    import cupy

    jump, out = cupy.RawModule(code=SOURCE).get_function("jump"), cupy.zeros(1, cupy.float32)
    blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * 8
    arguments = offsets, targets, cupy.uint64(len(targets)), cupy.uint64(jumps), out
    return jumps / median_seconds(lambda: jump((blocks,), (256,), arguments))


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


def link_rates(nbytes=1 << 28, reads=1 << 26):
    """Return bytes/s of a copy from the first GPU to the second, and random reads/s of the first."""
    import cupy
    from cupy.cuda import runtime

    with cupy.cuda.Device(1):
        target = cupy.empty(nbytes // 4, cupy.float32)
        cupy.cuda.get_current_stream().synchronize()
    with cupy.cuda.Device(0):
        try:
            runtime.deviceEnablePeerAccess(1)
        except runtime.CUDARuntimeError as error:
            if "PeerAccessAlreadyEnabled" not in str(error):
                raise
        source, values = cupy.ones(nbytes // 4, cupy.float32), cupy.ones(reads, cupy.float32)
        places = cupy.random.randint(0, reads, reads, dtype=cupy.uint32)
        copied = median_seconds(lambda: target.data.copy_from_device_async(source.data, nbytes), 5)
        return {
            "copied bytes a second": nbytes / copied,
            "random reads of the own memory a second": reads / gather_seconds(places, values),
        }


def _locked(nbytes):
    import cupy
    import numpy as np

    pages = cupy.cuda.PinnedMemoryPointer(cupy.cuda.PinnedMemory(nbytes), 0)
    array = np.frombuffer(pages, np.uint32, nbytes // 4)
    array[:] = 1
    return array
