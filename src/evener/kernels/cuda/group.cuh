// Kernels that run on several GPUs at once: sums over all their threads, and values in each other's memory.
//
// Each GPU launches the kernel once, with its own arrays. The GPUs read each other's memory directly.

#pragma once

#include "flags.cuh"

// A number in the memory of another GPU, with the round in which it was sent in its upper bits. So a reader
// knows from the word itself whether it has arrived.
constexpr u32 VALUE_BITS = 40;
constexpr u32 SUMS = 3;

// The GPUs that run a kernel together. The launcher fills it in.
struct Group {
    u64* mailboxes;  // for each GPU, the address of its words: two rounds of SUMS words from each GPU
    u64* round;      // number of the last round of this GPU, kept from launch to launch
    u64 patience;    // nanoseconds to wait for another GPU
    u32 rank;
    u32 size;

    __device__ volatile u64* words(u32 to, u64 round, u32 from) const {
        return (volatile u64*)mailboxes[to] + (round % 2 * size + from) * SUMS;
    }
};

__device__ inline u64 nanoseconds() {
    u64 time;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(time));
    return time;
}
__device__ inline void fence_gpu() { asm volatile("fence.acq_rel.gpu;" ::: "memory"); }
__device__ inline void fence_system() { asm volatile("fence.acq_rel.sys;" ::: "memory"); }

struct Totals {
    u64 first;
    u64 second;
    u64 third;
};

// Sums over all threads of one GPU and of the group.
struct GroupTotals {
    Totals own;
    Totals all;
};

// The words of a GroupSum follow the six words of `GridSum`, which fill two memory sectors.
constexpr u32 GROUP_WORDS = 8;

// Sums over all threads of all GPUs, each below 2^VALUE_BITS. After a sum, all writes of all GPUs before it
// are visible. If a GPU does not answer, `failed` is true for all threads, and the kernel must end.
struct GroupSum {
    Grid grid;
    Group group;
    u64* sums;  // three turns of SUMS sums of this GPU; then the sums of the group, and whether one was silent
    u64 round;
    bool failed;

    // All threads construct it together. It contains a grid barrier.
    __device__ GroupSum(Grid grid, Group group)
        : grid(grid), group(group), sums(grid.sums + GROUP_WORDS), round(look(*group.round)), failed(false) {
        if (first_of_grid())
            for (u32 k = 0; k < SUMS; k++) sums[round % 3 * SUMS + k] = 0;
        grid.sync();
    }

    // The sums of up to three values. All threads call it together.
    template <typename... Values> __device__ GroupTotals sum(Values... values) {
        u64* own = next_turn();
        add(own, values...);
        meet(own, false);
        u64* all = sums + 3 * SUMS;
        return {{look(own[0]), look(own[1]), look(own[2])}, {look(all[0]), look(all[1]), look(all[2])}};
    }

    // The maximum of a value of 64 bits. All threads call it together.
    __device__ u64 maximum(u64 value) {
        u64* own = next_turn();
        value = over_block(value, Max());  // it synchronizes the block
        if (threadIdx.x == 0 && value > 0) atomicMax(own, value);
        meet(own, true);
        return look(sums[3 * SUMS]);
    }

  private:
    // Return the words of this round, and clear those of the next one.
    __device__ u64* next_turn() {
        u64* own = sums + round % 3 * SUMS;
        round++;
        if (first_of_grid())
            for (u32 k = 0; k < SUMS; k++) sums[round % 3 * SUMS + k] = 0;
        return own;
    }
    // Add the block's sums to the words from `place` on.
    template <typename... Values> __device__ void add(u64* place, Values... values) const {
        constexpr u32 COUNT = sizeof...(Values);
        __shared__ u64 of_warp[SUMS][WARP];
        u64 sum[COUNT] = {across((u64)values, Sum())...};
        if (lane() == 0)
            for (u32 k = 0; k < COUNT; k++) of_warp[k][threadIdx.x / WARP] = sum[k];
        __syncthreads();
        if (threadIdx.x >= WARP) return;
        for (u32 k = 0; k < COUNT; k++) {
            u64 value = across(lane() < blockDim.x / WARP ? of_warp[k][lane()] : 0, Sum());
            if (threadIdx.x == 0 && value > 0) atomicAdd(place + k, value);
        }
    }
    // Wait for all threads of all GPUs, and combine the words of the GPUs. The block has synchronized since its
    // last write.
    __device__ void meet(u64* own, bool maximum) {
        u64* all = sums + 3 * SUMS;
        if (threadIdx.x == 0) {
            fence_gpu();
            // As in `Grid::sync`, but the first block arrives last, after the exchange with the other GPUs.
            if (blockIdx.x > 0) {
                u32 before = atomicAdd(grid.arrivals, 1);
                while (((before ^ *(volatile u32*)grid.arrivals) & 0x80000000u) == 0) {
                }
            } else {
                while ((*(volatile u32*)grid.arrivals & 0x7FFFFFFFu) != gridDim.x - 1) {
                }
                if (!failed) exchange(own, all, maximum);
                fence_gpu();
                atomicAdd(grid.arrivals, 0x80000000u - (gridDim.x - 1));
            }
            fence_gpu();
        }
        __syncthreads();
        failed |= look(all[SUMS]) != 0;
    }
    // One thread sends this GPU's words to the others and combines them with theirs. A maximum is sent in two
    // words of 32 bits.
    __device__ void exchange(u64* own, u64* all, bool maximum) const {
        u64 tag = round << VALUE_BITS, mask = (1ull << VALUE_BITS) - 1, total[SUMS], sent[SUMS], silent = 0;
        for (u32 k = 0; k < SUMS; k++) sent[k] = total[k] = look(own[k]);
        if (maximum) {
            sent[0] = total[0] >> 32;
            sent[1] = total[0] & ALL;
        }
        fence_system();
        for (u32 q = 0; q < group.size; q++)
            if (q != group.rank)
                for (u32 k = 0; k < SUMS; k++) group.words(q, round, group.rank)[k] = tag | sent[k];
        *group.round = round;
        u64 deadline = nanoseconds() + group.patience;
        for (u32 q = 0; q < group.size; q++) {
            if (q == group.rank) continue;
            u64 word[SUMS];
            bool arrived;
            do {
                arrived = true;
                for (u32 k = 0; k < SUMS; k++) word[k] = group.words(group.rank, round, q)[k];
                for (u32 k = 0; k < SUMS; k++) arrived = arrived && (word[k] ^ tag) >> VALUE_BITS == 0;
            } while (!arrived && nanoseconds() <= deadline);
            if (!arrived) silent = 1;
            for (u32 k = 0; k < SUMS && !maximum; k++) total[k] += word[k] & mask;
            if (maximum) total[0] = most(total[0], (word[0] & mask) << 32 | (word[1] & mask));
        }
        fence_system();
        for (u32 k = 0; k < SUMS; k++) all[k] = total[k];
        all[SUMS] = silent;
    }
};

// The result that a kernel returns first if a GPU of its group did not answer. engine/group.py has it too.
constexpr u64 GROUP_FAILED = ALL;

// ---- routes ----------------------------------------------------------------------------------------

// The mirrors that another GPU has of this GPU's vertices: those from `begin` on in its numbering.
struct Incoming {
    u64 partition;
    u64 begin;
    u64 count;
    const u32* index;   // this GPU's number of each mirror
    const u32* held;    // a bitmap of this GPU's vertices with a mirror there
    const u32* before;  // mirrors before each word of the bitmap
};

// The mirrors that this GPU has of another GPU's vertices: those from `begin` on in its own numbering.
struct Mirrored {
    u64 owner;
    u64 begin;
    u64 count;
    u64 first;          // if the vertices are contiguous, the owner's number of the first one, else NOT_CONTIGUOUS
    u64 words;          // of the bitmap
    u32* held;          // a bitmap of the owner's vertices with a mirror here, in the owner's memory
    const u32* before;  // mirrors before each word of the bitmap, in the owner's memory
    const u32* index;   // the owner's number of each mirror, in the owner's memory
};
constexpr u64 NOT_CONTIGUOUS = ~0ull;

// The addresses of one array on each GPU.
template <typename T> struct Peers {
    const u64* addresses;
    __device__ T* on(u64 partition) const { return (T*)addresses[partition]; }
};

// Call ``visit(v, value)`` for every flagged mirror that another GPU has of this GPU's vertices, and clear the
// flags: v is the vertex here, and `value` the mirror's value there. All threads call it together.
template <typename T, typename Visit>
__device__ inline void over_incoming(Incoming route, u32* flags, const T* values, Visit visit) {
    u64 end = route.begin + route.count, last = (end + 31) / 32;
    for (u64 first = route.begin / 32 + warp_of_grid() * WARP; first < last; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 mask = h < last ? range_mask(h, route.begin, end) : 0;
        u32 half = mask != 0 ? look(flags[h]) & mask : 0;
        if (half != 0) half = atomicAnd_system(flags + h, ~mask) & mask;
        over_flagged(first, half, ALL, h * 32, values, [&](u64 mirror, T value) {
            visit(route.index[mirror - route.begin], value);
        });
    }
}

// Call ``visit(v, value)`` for every flagged mirror that another GPU has of this GPU's vertices, and set the
// mirror's value to 0. The flags stay as they are. All threads call it together.
template <typename T, typename Visit>
__device__ inline void take_incoming(Incoming route, const u32* flags, T* values, Visit visit) {
    u64 end = route.begin + route.count, last = (end + 31) / 32;
    for (u64 first = route.begin / 32 + warp_of_grid() * WARP; first < last; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 half = h < last ? look(flags[h]) & range_mask(h, route.begin, end) : 0;
        over_flagged(first, half, ALL, h * 32, (const T*)values, [&](u64 mirror, T value) {
            values[mirror] = 0;
            visit(route.index[mirror - route.begin], value);
        });
    }
}

// Call ``store(place)`` for the place of each mirror of vertex `v` in `array` on another GPU.
template <typename T, typename Store>
__device__ inline void over_mirrors(Array<const u64> incoming, Peers<T> array, u64 v, Store store) {
    const Incoming* routes = (const Incoming*)incoming.at;
    for (u64 r = 0; r < incoming.length * sizeof(u64) / sizeof(Incoming); r++) {
        Incoming route = routes[r];
        u32 half = route.held[v / 32], bit = 1u << (v % 32);
        if ((half & bit) == 0) continue;
        u64 mirror = route.begin + mirrors_before(route.held, route.before, v / 32) + __popc(half & (bit - 1));
        store(array.on(route.partition)[mirror]);
    }
}

// Store the flags of the owner's vertices, and the values of its flagged vertices, in their mirrors. All threads
// call it together.
template <typename T> __device__ inline void pull_flagged(
    Mirrored route, const u32* owned_flags, const T* owned, Bits mirror_flags, Array<T> mirrors
) {
    volatile const u32* flags = owned_flags;
    u64 halves = route.words * 2;
    for (u64 first = warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
        u64 h = first + lane();
        u32 here = h < halves ? route.held[h] : 0, word = here != 0 ? flags[h] & here : 0;
        if (here != 0) place_flags(route.held, route.before, h, here, word, route.begin, mirror_flags);
        u64 mirror = word != 0 ? route.begin + mirrors_before(route.held, route.before, h) : 0;
        over_flagged(first, word, here, mirror, owned, [&](u64 place, T value) { mirrors[place] = value; });
    }
}

// Store the bits of the owner's vertices in the bits of their mirrors. All threads of the grid call it.
__device__ inline void pull_flags(Mirrored route, const u32* owned, Bits mirror_flags) {
    volatile const u32* flags = owned;
    if (route.first == NOT_CONTIGUOUS) {
        for (u64 h = thread_of_grid(); h < route.words * 2; h += threads_of_grid()) {
            u32 here = route.held[h];
            if (here != 0) place_flags(route.held, route.before, h, here, flags[h] & here, route.begin, mirror_flags);
        }
        return;
    }
    u64 end = route.begin + route.count;
    for (u64 h = route.begin / 32 + thread_of_grid(); h < (end + 31) / 32; h += threads_of_grid()) {
        // Bit 0 of half h belongs to the owner's vertex `from`, which is negative before the first mirror.
        long long from = (long long)(h * 32 + route.first) - (long long)route.begin;
        u32 mask = range_mask(h, route.begin, end), shift = (u32)(from & 31);
        long long low = from >> 5;
        u64 last = (route.first + route.count - 1) / 32;
        u64 both = (low < 0 ? 0 : flags[low]) | (low + 1 < 0 || low + 1 > (long long)last ? 0 : (u64)flags[low + 1] << 32);
        u32 word = (u32)(both >> shift) & mask;
        if (mask == ALL) {
            mirror_flags.half(h) = word;
        } else {  // another route, or owned vertices, have other bits of the half
            atomicAnd(&mirror_flags.half(h), ~mask | word);
            atomicOr(&mirror_flags.half(h), word);
        }
    }
}
