// Shared by all kernels: types, array arguments, bitmaps, results, barriers.
//
// A kernel has the name and the arguments of the CPU kernel of the same name. After these arguments come
// parameters of the types `Results`, `Grid`, `Pieces` and `Shared`, which the launcher fills in. A SERIAL
// kernel runs on one thread, a BLOCK(t) kernel on one block of t threads. A PARALLEL(t) kernel runs on as
// many blocks of t threads as the GPU can hold at once: its loops stride by the whole grid, and its blocks
// may wait for each other. PARALLEL(t, b) limits the registers so that a multiprocessor holds b blocks.

#pragma once

typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef signed char i8;
typedef short i16;
typedef int i32;
typedef long long i64;

#define SERIAL __launch_bounds__(1)
// A single block may use all registers.
#define BLOCK(threads) __launch_bounds__(threads, 1)
#define PARALLEL(...) __launch_bounds__(__VA_ARGS__)

constexpr u32 NO_VERTEX = 0xFFFFFFFFu;  // in the place of a vertex number
constexpr u32 WARP = 32;
constexpr u32 ALL = 0xFFFFFFFFu;

// ---- thread numbers --------------------------------------------------------------------------------

__device__ inline u32 lane() { return threadIdx.x % WARP; }
__device__ inline u64 thread_of_grid() { return (u64)blockIdx.x * blockDim.x + threadIdx.x; }
__device__ inline u64 threads_of_grid() { return (u64)gridDim.x * blockDim.x; }
__device__ inline u64 warp_of_grid() { return thread_of_grid() / WARP; }
__device__ inline u64 warps_of_grid() { return threads_of_grid() / WARP; }
__device__ inline bool first_of_grid() { return thread_of_grid() == 0; }

__device__ inline double infinite() { return __longlong_as_double(0x7FF0000000000000); }
template <typename T> __device__ inline T least(T a, T b) { return b < a ? b : a; }
template <typename T> __device__ inline T most(T a, T b) { return a < b ? b : a; }
template <typename T> __device__ inline void swap(T& a, T& b) {
    T before = a;
    a = b;
    b = before;
}

// ---- arrays ----------------------------------------------------------------------------------------

// A one-dimensional array. `a[i]` and `a.length` are NumPy's `a[i]` and `len(a)`.
template <typename T> struct Array {
    T* at;
    u64 length;
    __device__ T& operator[](u64 i) const { return at[i]; }
};

// Read a value that no thread writes during the kernel, through the read-only cache.
template <typename T> __device__ inline T read(Array<const T> array, u64 i) { return __ldg(array.at + i); }
// Read a value that is needed once, without allocating a line in the L1 cache.
__device__ inline u32 read_once(const u32* place) {
    u32 value;
    asm("ld.global.nc.L1::no_allocate.u32 %0, [%1];" : "=r"(value) : "l"(place));
    return value;
}
// Edges in two memories: edges before `split` in host memory, other edges in device memory. Both pointers
// are the address that edge 0 would have. `split` is a multiple of 32.
template <typename T> struct Tiered {
    const T* device;
    const T* host;
    u64 split;
    u64 length;
    const T* prefix;  // copies of the first PREFIX_EDGES edges of each of the first `prefixed_rows` rows
    u64 prefixed_rows;
    __device__ const T* at(u64 e) const { return (e < split ? host : device) + e; }
    __device__ T operator[](u64 e) const { return *at(e); }
};
template <typename T> __device__ inline T read(Tiered<T> edges, u64 e) { return __ldg(edges.at(e)); }

// Read edge `e` of row `v`, which begins at edge `begin`. If the row is in host memory, its first edges are
// read from a copy in device memory. PREFIX_EDGES equals the constant in evener/partition/footprint.py.
constexpr u32 PREFIX_EDGES = 4;
template <typename T> __device__ inline T read_first(Tiered<T> edges, u64 v, u64 begin, u64 e) {
    if (v >= edges.prefixed_rows || e - begin >= PREFIX_EDGES) return read(edges, e);
    return __ldg(edges.prefix + v * PREFIX_EDGES + (e - begin));
}
__device__ inline u32 read_once(Tiered<u32> edges, u64 e) { return read_once(edges.at(e)); }

// Read, bypassing the L1 cache, a value that other blocks write while the kernel runs.
template <typename T> __device__ inline T look(T& place) { return *(volatile T*)&place; }

// ---- bitmaps ---------------------------------------------------------------------------------------

// Bit `i` is bit ``i & 63`` of the uint64 word ``i >> 6``. It is also bit ``i & 31`` of the uint32 half ``i
// >> 5``. A half has one bit per lane of a warp. `words` counts uint64 words.
struct Bits {
    u32* halves;
    u64 words;
    __device__ u64 length() const { return words * 2; }
    __device__ u32& half(u64 h) const { return halves[h]; }
    __device__ bool test(u64 i) const { return halves[i >> 5] >> (i & 31) & 1; }
    // Set or clear a bit atomically. Return true if it was set before.
    __device__ bool set(u64 i) const { return atomicOr(halves + (i >> 5), 1u << (i & 31)) >> (i & 31) & 1; }
    __device__ bool clear(u64 i) const { return atomicAnd(halves + (i >> 5), ~(1u << (i & 31))) >> (i & 31) & 1; }
};

// True if bit `i` is set; bypasses the L1 cache, because other blocks change bits.
__device__ inline bool look(Bits bits, u64 i) { return look(bits.half(i >> 5)) >> (i & 31) & 1; }

// The mask of the bits of half `h` that are in ``begin:end``.
__device__ inline u32 range_mask(u64 h, u64 begin, u64 end) {
    u64 first = h * 32, last = first + 32;
    if (end <= first || begin >= last) return 0;
    u32 mask = ALL;
    if (begin > first) mask &= ALL << (begin - first);
    if (end < last) mask &= ALL >> (last - end);
    return mask;
}

// Copy `words` to `out` with the whole grid.
__device__ inline void copy_all(Bits words, Bits out) {
    for (u64 h = thread_of_grid(); h < words.length(); h += threads_of_grid()) out.half(h) = words.half(h);
}

// Clear `words` with the whole grid.
__device__ inline void clear_all(Bits words) {
    for (u64 h = thread_of_grid(); h < words.length(); h += threads_of_grid()) words.half(h) = 0;
}

// ---- within a warp and a block ---------------------------------------------------------------------

struct Sum {
    template <typename T> __device__ T operator()(T a, T b) const { return a + b; }
};
struct Max {
    template <typename T> __device__ T operator()(T a, T b) const { return most(a, b); }
};
struct Min {
    template <typename T> __device__ T operator()(T a, T b) const { return least(a, b); }
};
struct SumOrUnion {
    bool unite;
    __device__ u64 operator()(u64 a, u64 b) const { return unite ? a | b : a + b; }
};

// Combine the values of `width` consecutive lanes, a power of two. All of these lanes receive the result.
template <typename T, typename Combine>
__device__ inline T across(T value, Combine combine, u32 width = WARP) {
    for (u32 step = width / 2; step > 0; step /= 2) value = combine(value, __shfl_xor_sync(ALL, value, step));
    return value;
}

// Combine the values of all threads of the block in a fixed order. Thread 0 receives the result.
template <typename T, typename Combine> __device__ inline T over_block(T value, Combine combine) {
    if (blockDim.x == 1) return value;
    __shared__ T of_warp[WARP];
    value = across(value, combine);
    __syncthreads();
    if (lane() == 0) of_warp[threadIdx.x / WARP] = value;
    __syncthreads();
    if (threadIdx.x < WARP) {
        u32 warps = (blockDim.x + WARP - 1) / WARP;
        value = of_warp[least(lane(), warps - 1)];
        for (u32 step = WARP / 2; step > 0; step /= 2) {
            T other = __shfl_down_sync(ALL, value, step);
            if (lane() + step < warps) value = combine(value, other);
        }
    }
    return value;
}

// Return the sum over the threads of the block before this thread, and set `total` to the sum over all
// threads. The block has at least 32 threads.
__device__ inline u32 exclusive_sum(u32 value, u32& total) {
    __shared__ u32 of_warp[WARP];
    u32 sum = value;
    for (u32 step = 1; step < WARP; step *= 2) {
        u32 other = __shfl_up_sync(ALL, sum, step);
        if (lane() >= step) sum += other;
    }
    __syncthreads();
    if (lane() == WARP - 1) of_warp[threadIdx.x / WARP] = sum;
    __syncthreads();
    if (threadIdx.x < WARP) {
        u32 own = threadIdx.x < blockDim.x / WARP ? of_warp[threadIdx.x] : 0;
        for (u32 step = 1; step < WARP; step *= 2) {
            u32 other = __shfl_up_sync(ALL, own, step);
            if (lane() >= step) own += other;
        }
        of_warp[threadIdx.x] = own;
    }
    __syncthreads();
    total = of_warp[blockDim.x / WARP - 1];
    return sum - value + (threadIdx.x < WARP ? 0 : of_warp[threadIdx.x / WARP - 1]);
}

// Reserve a place for this thread's value in a shared list of ``length[0]`` values. The active threads of a
// warp share one atomic add.
__device__ inline u64 room_for_one(Array<u64> length) {
    u32 here = __activemask();
    u32 before = __popc(here & ((1u << lane()) - 1));
    u64 first = 0;
    if (before == 0) first = atomicAdd(length.at, (u64)__popc(here));
    return __shfl_sync(here, first, __ffs(here) - 1) + before;
}

__device__ inline void append(Array<u32> queue, Array<u64> length, u32 v) { queue[room_for_one(length)] = v; }

// ---- results ---------------------------------------------------------------------------------------

// The results of a kernel: up to five numbers, each reduced over all threads. Every thread of every block
// calls one of the functions once, as its last action. The last block combines the blocks in a fixed order, so
// equal inputs give bitwise equal results.
template <typename... T> struct Results {
    u64* of_block;  // five results per block
    u32* blocks_done;
    u64* answer;  // in host memory

    __device__ void sum(T... own) const { collect([](u32) { return Sum(); }, own...); }
    __device__ void minimum(T... own) const { collect([](u32) { return Min(); }, own...); }
    // Add all results but the last, and combine the bits of the last by or.
    __device__ void sum_and_unite(T... own) const {
        collect([](u32 k) { return SumOrUnion{k + 1 == sizeof...(T)}; }, own...);
    }

  private:
    template <typename Choose> __device__ void collect(Choose combine_of, T... own) const {
        __shared__ bool last;
        u32 k = 0;
        ((put(of_block + (u64)gridDim.x * k + blockIdx.x, over_block(own, combine_of(k))), k++), ...);
        if (threadIdx.x == 0) {
            __threadfence();
            last = atomicAdd(blocks_done, 1) == gridDim.x - 1;
        }
        __syncthreads();
        if (!last) return;
        __threadfence();
        k = 0;
        ((put(answer + k, of_all(k, combine_of(k), own)), k++), ...);
        if (threadIdx.x == 0) *blocks_done = 0;
        __threadfence_system();
    }
    // Combine result `k` of all blocks.
    template <typename V, typename Combine> __device__ V of_all(u32 k, Combine combine, V) const {
        __shared__ V of_thread[1024];
        u32 count = least(blockDim.x, gridDim.x);
        u64* first = of_block + (u64)gridDim.x * k;
        __syncthreads();
        if (threadIdx.x < count) {
            V value = get<V>(first + threadIdx.x);
            for (u32 b = threadIdx.x + count; b < gridDim.x; b += count) value = combine(value, get<V>(first + b));
            of_thread[threadIdx.x] = value;
        }
        __syncthreads();
        for (u32 half = 512; half > 0; half /= 2) {
            if (threadIdx.x < half && threadIdx.x + half < count)
                of_thread[threadIdx.x] = combine(of_thread[threadIdx.x], of_thread[threadIdx.x + half]);
            __syncthreads();
        }
        return of_thread[0];
    }
    template <typename V> __device__ static V get(u64* place) {
        u64 bits = look(*place);
        return *(V*)&bits;
    }
    template <typename V> __device__ static void put(u64* place, V value) {
        static_assert(sizeof(V) == 8, "a result must be a u64 or a double");
        if (threadIdx.x == 0) *(volatile u64*)place = *(u64*)&value;
    }
};

// ---- barriers --------------------------------------------------------------------------------------

// A barrier for all blocks of the grid. The launcher starts a kernel with a `Grid` so that all blocks run at
// once.
struct Grid {
    u32* arrivals;
    u64* sums;  // three pairs of sums; see `GridSum`

    // Wait until every thread of the grid is here. Writes before the barrier are visible to all threads after
    // it.
    __device__ void sync() const {
        __syncthreads();
        if (threadIdx.x == 0) {
            // The blocks add 2^31 in total. So the top bit flips when the last block arrives, and the counter
            // is ready for the next barrier.
            u32 own = blockIdx.x == 0 ? 0x80000000u - (gridDim.x - 1) : 1;
            __threadfence();
            u32 before = atomicAdd(arrivals, own);
            while (((before ^ *(volatile u32*)arrivals) & 0x80000000u) == 0) {
            }
            __threadfence();
        }
        __syncthreads();
    }
};

struct Sums {
    u64 first;
    u64 second;
};

// Sums over all threads of the grid, which all threads receive in the middle of a kernel. Successive sums
// rotate through three pairs: while the threads add to one pair, the next pair is cleared.
struct GridSum {
    Grid grid;
    u32 turn;

    // All threads construct it together. It contains a grid barrier.
    __device__ GridSum(Grid grid) : grid(grid), turn(0) {
        if (first_of_grid()) grid.sums[0] = grid.sums[1] = 0;
        grid.sync();
    }

    // All threads call it together. It contains a grid barrier.
    __device__ Sums sum(u64 first, u64 second) {
        u32 next = (turn + 2) % 6;
        if (first_of_grid()) grid.sums[next] = grid.sums[next + 1] = 0;
        first = over_block(first, Sum());
        second = over_block(second, Sum());
        if (threadIdx.x == 0 && first > 0) atomicAdd(grid.sums + turn, first);
        if (threadIdx.x == 0 && second > 0) atomicAdd(grid.sums + turn + 1, second);
        grid.sync();
        Sums all = {look(grid.sums[turn]), look(grid.sums[turn + 1])};
        turn = next;
        return all;
    }
};

// All the shared memory of a block, except for the memory that the kernel declares.
struct Shared {
    u32 bytes;
};

template <typename T> __device__ inline T* shared_memory() {
    extern __shared__ u64 memory[];
    return (T*)memory;
}
