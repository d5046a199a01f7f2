// Sort edges into column blocks. kernels/cpu/column_blocks.py describes the layout.

#include "common.cuh"
#include "tiles.cuh"

// Largest number of column blocks. Edges to later columns are in the remainder.
constexpr u32 MAX_BLOCKS = 8192;
// One more than the largest column.
constexpr u64 END_COLUMN = 1ull << 32;

// The first of the edges ``begin:end`` with a target of at least `column`.
__device__ inline u64 first_from(Tiered<u32> targets, u64 begin, u64 end, u64 column) {
    while (begin < end) {
        u64 middle = begin + (end - begin) / 2;
        if (read(targets, middle) < column) begin = middle + 1;
        else end = middle;
    }
    return begin;
}

// The edges of this thread's lane of a tile: every `stride`-th edge from `first` to before `last`.
struct LaneEdges {
    u64 first, last;
    u32 stride;

    // The lane's edges to the columns ``from:to``.
    __device__ LaneEdges(
        Array<const u64> offsets, Tiered<u32> targets, u32 row, u32 width, u64 from, u64 to
    ) : first(0), last(0), stride(width) {
        u64 v = (u64)row + threadIdx.x / width;
        if (v + 1 >= offsets.length) return;
        u64 begin = offsets[v], end = offsets[v + 1];
        first = from == 0 ? begin : first_from(targets, begin, end, from);
        last = to >= END_COLUMN ? end : first_from(targets, first, end, to);
        // Edge number e of a row belongs to lane ``e % width``.
        u32 here = (u32)((first - begin) % width), own = threadIdx.x % width;
        first += own >= here ? own - here : own + width - here;
    }
    __device__ u32 count() const { return first < last ? (u32)((last - first - 1) / stride + 1) : 0; }
};

// The rank of this thread's lane when lanes are sorted by steps, most steps first: its slice, its place in
// the slice, and the slice's first step and number of steps.
struct Ranked {
    u32 slice, place, begin, steps;

    // All threads of the block call it.
    __device__ Ranked(u32 own_steps) {
        __shared__ u32 steps_of[LANES];
        __shared__ u32 longest[SLICES];
        __syncthreads();
        steps_of[threadIdx.x] = own_steps;
        __syncthreads();
        u32 before = 0;
        for (u32 first = 0; first < LANES; first += WARP) {
            // Each lane reads one value and broadcasts it.
            u32 own_read = steps_of[first + lane()];
            for (u32 i = 0; i < WARP; i++) {
                u32 other = __shfl_sync(ALL, own_read, i);
                before += other > own_steps || (other == own_steps && first + i < threadIdx.x);
            }
        }
        slice = before / WARP;
        place = before % WARP;
        if (place == 0) longest[slice] = own_steps;
        __syncthreads();
        begin = 0;
        for (u32 s = 0; s < slice; s++) begin += longest[s];
        steps = longest[slice];
    }
    __device__ void put_end(u64 item, Array<u32> ends) const {
        if (place == 0) ends[item * SLICES + slice] = begin + steps;
    }
    __device__ void put_lane(u64 item, Array<u8> order) const {
        order[item * LANES + place * SLICES + slice] = (u8)threadIdx.x;
    }
    // The lane's first word. Its other words follow at distances of WARP.
    __device__ u64 word(u64 start) const { return (start + begin) * WARP + place; }
};

// Tests if a column is outside the local blocks of a tile.
struct Remainder {
    const u32* local;
    u32 columns, blocks;

    __device__ bool operator()(u32 target) const {
        u32 k = target / columns;
        return k >= blocks || !(local[k / 32] >> (k % 32) & 1);
    }
    __device__ u32 count_in(Tiered<u32> targets, LaneEdges edges) const {
        u32 count = 0;
        for (u64 e = edges.first; e < edges.last; e += edges.stride) count += (*this)(read(targets, e));
        return count;
    }
};

// Writes the number of lanes per row for each run of LANES rows. With this number, a lane has at most about
// `lane_edges` edges in a block.
__global__ void PARALLEL(256) widths(
    Array<const u64> offsets, u32 lane_edges, u32 columns, Array<u32> width
) {
    u64 rows = offsets.length - 1;
    for (u64 run = blockIdx.x; run < width.length; run += gridDim.x) {
        u64 v = run * LANES + threadIdx.x;
        u64 degree = v < rows ? offsets[v + 1] - offsets[v] : 0;
        degree = least(over_block(degree, Max()), (u64)columns);
        if (threadIdx.x != 0) continue;
        u32 lanes = 1;
        while (lanes < LANES && (u64)lanes * lane_edges < degree) lanes *= 2;
        width[run] = lanes;
    }
}

// Sets the bit of each block in which a tile has at least `fewest` edges. Clears the other bits.
__global__ void PARALLEL(256) choose(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> tile_row, Array<const u32> tile_width,
    u32 columns, u32 blocks, u32 fewest, Array<u32> local
) {
    __shared__ u32 count[MAX_BLOCKS];
    u64 rows = offsets.length - 1, words = (blocks + 31) / 32;
    for (u64 t = blockIdx.x; t < tile_row.length; t += gridDim.x) {
        for (u32 k = threadIdx.x; k < words * 32; k += blockDim.x) count[k] = 0;
        __syncthreads();
        u64 row = tile_row[t];
        u64 begin = offsets[row], end = offsets[least(row + LANES / tile_width[t], rows)];
        for (u64 e = begin + threadIdx.x; e < end; e += blockDim.x) {
            u32 k = read(targets, e) / columns;
            if (k < blocks) atomicAdd(count + k, 1u);
        }
        __syncthreads();
        for (u64 word = threadIdx.x / WARP; word < words; word += blockDim.x / WARP) {
            u32 bits = __ballot_sync(ALL, count[word * 32 + lane()] >= fewest);
            if (lane() == 0) local[t * words + word] = bits;
        }
        __syncthreads();
    }
}

// Writes where the slices of each local item end, in steps of two edges per lane.
__global__ void PARALLEL(256) measure_local(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> tile_row, Array<const u32> tile_width,
    Array<const u32> tile, Array<const u32> block, u32 columns, Array<u32> ends
) {
    for (u64 item = blockIdx.x; item < tile.length; item += gridDim.x) {
        u32 t = tile[item];
        u64 from = (u64)block[item] * columns;
        LaneEdges own(offsets, targets, tile_row[t], tile_width[t], from, from + columns);
        Ranked((own.count() + 1) / 2).put_end(item, ends);
    }
}

// Writes the words and the lane order of each local item, from step ``starts[i]`` on.
__global__ void PARALLEL(256) fill_local(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> tile_row, Array<const u32> tile_width,
    Array<const u32> tile, Array<const u32> block, u32 columns, Array<const u64> starts, Array<u8> order,
    Array<u32> pairs
) {
    for (u64 item = blockIdx.x; item < tile.length; item += gridDim.x) {
        u32 t = tile[item], from = block[item] * columns;
        LaneEdges own(offsets, targets, tile_row[t], tile_width[t], from, (u64)from + columns);
        Ranked ranked((own.count() + 1) / 2);
        ranked.put_lane(item, order);
        u64 word = ranked.word(starts[item]), e = own.first;
        for (u32 step = 0; step < ranked.steps; step++) {
            u32 low = columns, high = columns;
            if (e < own.last) low = read(targets, e) - from, e += own.stride;
            if (e < own.last) high = read(targets, e) - from, e += own.stride;
            pairs[word + (u64)step * WARP] = pair_of(low, high);
        }
    }
}

// Writes the number of edges in the remainder of each tile, for each band. A band has `band` columns. The
// columns before `owned` are in the first `own_bands` bands.
__global__ void PARALLEL(256) count_remainder(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> tile_row, Array<const u32> tile_width,
    u32 columns, u32 blocks, Array<const u32> local, u32 owned, u32 band, u32 own_bands, Array<u32> counts
) {
    __shared__ u32 count[MAX_BLOCKS];
    u64 rows = offsets.length - 1, words = (blocks + 31) / 32, bands = counts.length / tile_row.length;
    for (u64 t = blockIdx.x; t < tile_row.length; t += gridDim.x) {
        for (u32 b = threadIdx.x; b < bands; b += blockDim.x) count[b] = 0;
        __syncthreads();
        Remainder remainder{local.at + t * words, columns, blocks};
        u64 row = tile_row[t];
        u64 begin = offsets[row], end = offsets[least(row + LANES / tile_width[t], rows)];
        for (u64 e = begin + threadIdx.x; e < end; e += blockDim.x) {
            u32 target = read(targets, e);
            if (remainder(target))
                atomicAdd(count + (target < owned ? target / band : own_bands + (target - owned) / band), 1u);
        }
        __syncthreads();
        for (u32 b = threadIdx.x; b < bands; b += blockDim.x) counts[t * bands + b] = count[b];
        __syncthreads();
    }
}

// Writes where the slices of each remainder item end, in steps of one edge per lane. Item ``i`` has the edges
// to the columns ``first_column[i]:end_column[i]``.
__global__ void PARALLEL(256) measure_remainder(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> tile_row, Array<const u32> tile_width,
    Array<const u32> tile, Array<const u64> first_column, Array<const u64> end_column, u32 columns,
    u32 blocks, Array<const u32> local, Array<u32> ends
) {
    u64 words = (blocks + 31) / 32;
    for (u64 item = blockIdx.x; item < tile.length; item += gridDim.x) {
        u32 t = tile[item];
        LaneEdges own(offsets, targets, tile_row[t], tile_width[t], first_column[item], end_column[item]);
        Remainder remainder{local.at + t * words, columns, blocks};
        Ranked(remainder.count_in(targets, own)).put_end(item, ends);
    }
}

// Writes the words and the lane order of each remainder item, from step ``starts[i]`` on.
__global__ void PARALLEL(256) fill_remainder(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> tile_row, Array<const u32> tile_width,
    Array<const u32> tile, Array<const u64> first_column, Array<const u64> end_column, u32 columns,
    u32 blocks, Array<const u32> local, Array<const u64> starts, Array<u8> order, Array<u32> singles
) {
    u64 words = (blocks + 31) / 32;
    for (u64 item = blockIdx.x; item < tile.length; item += gridDim.x) {
        u32 t = tile[item];
        LaneEdges own(offsets, targets, tile_row[t], tile_width[t], first_column[item], end_column[item]);
        Remainder remainder{local.at + t * words, columns, blocks};
        Ranked ranked(remainder.count_in(targets, own));
        ranked.put_lane(item, order);
        u64 word = ranked.word(starts[item]), end = word + (u64)ranked.steps * WARP;
        for (u64 e = own.first; e < own.last; e += own.stride) {
            u32 target = read(targets, e);
            if (remainder(target)) singles[word] = target, word += WARP;
        }
        for (; word < end; word += WARP) singles[word] = NO_TARGET;
    }
}
