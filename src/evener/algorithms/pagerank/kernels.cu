// PageRank: one iteration, in which every vertex pulls the contributions of its in-neighbours. Arrays and
// results are as in algorithms/pagerank/kernels_cpu.py.
//
// A value of 4 bytes that is gathered from the L2 cache moves 32 bytes. Shared memory therefore holds the
// contributions of the owned vertices and the mirrors of highest degree, which are read most.

#include "common.cuh"
#include "tiles.cuh"

// A thread block shares each row of a run if its rows have this many edges on average.
constexpr u64 BLOCK_EDGES = 8192;
// Edges for each lane of a row that part of a warp shares.
constexpr u64 LANE_EDGES = 16;

// Four consecutive targets; the position of the first target is divisible by four.
struct Four {
    u32 of[4];
};

__device__ inline Four read_four(Tiered<u32> targets, u64 e) {
    Four t;
    if (e + 4 <= targets.length) {
        asm("ld.global.nc.L1::no_allocate.v4.u32 {%0, %1, %2, %3}, [%4];"
            : "=r"(t.of[0]), "=r"(t.of[1]), "=r"(t.of[2]), "=r"(t.of[3])
            : "l"(targets.at(e)));
    } else {
        for (u32 j = 0; j < 4; j++) t.of[j] = e + j < targets.length ? targets[e + j] : 0;
    }
    return t;
}

// Load from shared or global memory. A predicate instead of a branch lets a thread issue many loads before it
// waits.
__device__ inline float load_either(u32 v, u32 cached, u32 shared_place, const float* global_place) {
    float value;
    asm("{.reg .pred n; setp.lt.u32 n, %1, %2; @n ld.shared.f32 %0, [%3]; @!n ld.global.nc.f32 %0, [%4];}"
        : "=f"(value)
        : "r"(v), "r"(cached), "r"(shared_place), "l"(global_place));
    return value;
}
__device__ inline double load_either(u32 v, u32 cached, u32 shared_place, const double* global_place) {
    double value;
    asm("{.reg .pred n; setp.lt.u32 n, %1, %2; @n ld.shared.f64 %0, [%3]; @!n ld.global.nc.f64 %0, [%4];}"
        : "=d"(value)
        : "r"(v), "r"(cached), "r"(shared_place), "l"(global_place));
    return value;
}

// The contributions, with a copy of the first owned vertices and the first mirrors in shared memory.
template <typename Rank> struct CachedContributions {
    const Rank* contribution;
    u32 base, owned, from_owned, from_mirrors;

    __device__ CachedContributions(Array<const Rank> all, u64 owned, Shared shared) : contribution(all.at), owned((u32)owned) {
        Rank* place = shared_memory<Rank>();
        base = (u32)__cvta_generic_to_shared(place);
        u64 room = shared.bytes / sizeof(Rank), mirrors = all.length - owned;
        from_mirrors = (u32)least(mirrors, most(room / 2, room - least(room, owned)));
        from_owned = (u32)least(owned, room - from_mirrors);
        for (u32 i = threadIdx.x; i < from_owned; i += blockDim.x) place[i] = all[i];
        for (u32 i = threadIdx.x; i < from_mirrors; i += blockDim.x) place[from_owned + i] = all[owned + i];
        __syncthreads();
    }
    __device__ double operator[](u32 v) const {
        u32 place = v;
        if (from_mirrors != 0) place = v < from_owned ? v : v - owned < from_mirrors ? v - owned + from_owned : ALL;
        return load_either(
            place, from_owned + from_mirrors, base + place * (u32)sizeof(Rank), contribution + v
        );
    }
};

// The sum of the contributions of a row's neighbours that thread `who` of `width` adjacent threads adds.
template <typename Rank>
__device__ inline double pulled_by(
    const CachedContributions<Rank>& cached, Tiered<u32> targets, u64 first, u64 last, u32 who, u32 width
) {
    double sum = 0;
    u64 begin = (first & ~3ull) + 4 * who;
    if (begin >= last) return sum;
    i32 edges = (i32)(last - first), e = (i32)(begin - first);
    Four next = read_four(targets, begin);
    while (e < edges) {
        Four t = next;
        i32 here = e;
        e += 4 * width;
        if (e < edges) next = read_four(targets, first + e);
#pragma unroll
        for (i32 j = 0; j < 4; j++) {
            // Values of adjacent rows are loaded at either end, but they do not count.
            double value = cached[t.of[j]];
            sum += here + j >= 0 && here + j < edges ? value : 0;
        }
    }
    return sum;
}

// Set the first rank of each vertex to ``start[v]`` or ``start[0]``; return the dangling rank.
template <typename Rank>
__global__ void PARALLEL(256) begin(
    Array<const u32> out_degree, Array<const u32> blocks, Array<const double> start, Array<Rank> rank,
    Array<Rank> contribution, Results<double> results
) {
    double dangling = 0;
    for (u64 v = thread_of_grid(); v < rank.length; v += threads_of_grid()) {
        double r = start[start.length > 1 ? v : 0];
        Rank stored = (Rank)r;
        rank[v] = stored;
        if (out_degree[v] == 0) {
            dangling += r;
            contribution[v] = 0;
        } else {
            contribution[v] = (Rank)((double)stored / out_degree[v]);
        }
    }
    results.sum(dangling);
}

// Set ``rank = damping A^T contribution + jump teleport``, over in-edges.
//
// `jump` is the rank that `teleport` distributes: the part that damping takes, and the rank of dangling
// vertices. Returns (L1 change, rank of dangling vertices). Thread blocks take runs of rows in turn. Each row is
// added in a fixed order, so equal arguments give equal results.
template <typename Rank>
__global__ void PARALLEL(1024) iterate(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u32> blocks, u64 connected,
    Array<const u32> out_degree, double damping, double jump, Array<const double> teleport,
    Array<const Rank> contribution, Array<Rank> rank, Array<Rank> next_contribution,
    Results<double, double> results, Shared shared
) {
    double error = 0, dangling = 0;
    CachedContributions<Rank> cached(contribution, rank.length, shared);
    auto finish = [&](u64 v, double pulled, Rank had, u32 degree) {
        double r = damping * pulled + jump * teleport[teleport.length > 1 ? v : 0];
        error += fabs(r - (double)had);
        Rank stored = (Rank)r;
        rank[v] = stored;
        if (degree == 0) dangling += r;
        // Of the stored rank: `begin` gives the same.
        next_contribution[v] = degree == 0 ? (Rank)0 : (Rank)((double)stored / degree);
    };
    for (u64 b = blockIdx.x; b + 1 < blocks.length && blocks[b] < connected; b += gridDim.x) {
        u64 begin = blocks[b], end = least<u64>(blocks[b + 1], connected);
        u64 each = (offsets[end] - offsets[begin]) / (end - begin);
        if (each >= BLOCK_EDGES) {
            for (u64 v = begin; v < end; v++) {
                double sum = pulled_by(cached, targets, offsets[v], offsets[v + 1], threadIdx.x, blockDim.x);
                sum = over_block(sum, Sum());
                if (threadIdx.x == 0) finish(v, sum, rank[v], out_degree[v]);
            }
            continue;
        }
        u32 width = 1;
        while (width < WARP && width * LANE_EDGES < each) width *= 2;
        u32 who = threadIdx.x % width, groups = blockDim.x / width;
        // Row v belongs to group v % groups, so that runs of few rows do not all go to the first warps. All
        // threads of a warp stay in the loop, because `across` needs them.
        u64 group = threadIdx.x / width;
        for (u64 row = begin / groups * groups; row < end; row += groups) {
            u64 v = row + group;
            bool mine = v >= begin && v < end;
            u64 first = mine ? offsets[v] : 0, last = mine ? offsets[v + 1] : 0;
            Rank had = mine && who == 0 ? rank[v] : (Rank)0;
            u32 degree = mine && who == 0 ? out_degree[v] : 0;
            double sum = across(pulled_by(cached, targets, first, last, who, width), Sum(), width);
            if (mine && who == 0) finish(v, sum, had, degree);
        }
    }
    results.sum(error, dangling);
}

// Finish an iteration from the sums of pull.cu; return the values of `iterate`. `partial` holds a sum for each
// row of a tile and each column block; the sums of a tile are contiguous.
__global__ void PARALLEL(256) finish(
    Array<const u32> tile_row, Array<const u32> tile_width, Array<const u64> tile_places,
    Array<const float> partial, u64 connected, Array<const u32> out_degree, double damping, double jump,
    Array<const double> teleport, Array<float> rank, Array<float> next_contribution,
    Results<double, double> results
) {
    double error = 0, dangling = 0, everywhere = teleport[0];
    auto finish_row = [&](u64 v, double pulled, float& ranked, u32 degree, float& next) {
        double r = damping * pulled + jump * (teleport.length > 1 ? teleport[v] : everywhere);
        error += fabs(r - (double)ranked);
        ranked = (float)r;
        if (degree == 0) dangling += r;
        next = degree == 0 ? 0.0f : (float)((double)ranked / degree);
    };
    for (u64 t = warp_of_grid(); t < tile_row.length; t += warps_of_grid()) {
        u64 first = tile_row[t], place = tile_places[t], end = tile_places[t + 1];
        if (first >= connected) break;
        u32 rows = LANES / tile_width[t], there = (u32)least<u64>(rows, connected - first);
        if (there == LANES) {
            // Four rows per lane, so that a lane reads 16 bytes at a time. Tiles begin at multiples of four.
            for (u32 part = 0; part < LANES; part += 4 * WARP) {
                u64 v = first + part + 4 * lane();
                uint4 degree = *(const uint4*)(out_degree.at + v);
                float4 ranked = *(const float4*)(rank.at + v), next;
                double of_x = 0, of_y = 0, of_z = 0, of_w = 0;
#pragma unroll 4
                for (u64 i = place + part + 4 * lane(); i < end; i += LANES) {
                    float4 some = __ldcs((const float4*)(partial.at + i));
                    of_x += some.x, of_y += some.y, of_z += some.z, of_w += some.w;
                }
                finish_row(v, of_x, ranked.x, degree.x, next.x);
                finish_row(v + 1, of_y, ranked.y, degree.y, next.y);
                finish_row(v + 2, of_z, ranked.z, degree.z, next.z);
                finish_row(v + 3, of_w, ranked.w, degree.w, next.w);
                *(float4*)(rank.at + v) = ranked;
                *(float4*)(next_contribution.at + v) = next;
            }
            continue;
        }
        // One row per lane; if there are few rows, several lanes per row.
        for (u32 row = lane(); row < most(rows, WARP); row += WARP) {
            double sum = 0;
#pragma unroll 4
            for (u64 i = place + row; i < end; i += most(rows, WARP)) sum += __ldcs(partial.at + i);
            for (u32 step = rows; step < WARP; step *= 2) sum += __shfl_xor_sync(ALL, sum, step);
            if (row >= there) continue;
            u64 v = first + row;
            finish_row(v, sum, rank[v], out_degree[v], next_contribution[v]);
        }
    }
    results.sum(error, dangling);
}

// Set ``rank[connected:] = value``.
template <typename Rank>
__global__ void PARALLEL(256) rank_others(u64 connected, double value, Array<Rank> rank) {
    for (u64 v = connected + thread_of_grid(); v < rank.length; v += threads_of_grid()) rank[v] = (Rank)value;
}
