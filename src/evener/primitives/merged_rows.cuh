// Rows of the members of new vertices, merged into one row. The arrays are those of contract_cpu.py.
//
// A warp, a group of warps or a block merges a row in a table in shared memory. The part of `row_targets` of a
// longer row is itself a table: blocks sum up the rows of some members each, and add the sums there.

#pragma once

#include "label_table.cuh"

// Classes of rows, by the threads that merge a row: a warp, a group, a block, or the grid; and its pieces.
enum MergedClass : u32 { BY_WARP, BY_GROUP, BY_BLOCK, BY_GRID, PIECES, MERGED_CLASSES };
constexpr u32 MERGING_GROUP = 128;
// Edges of the longest row of each class. Blocks and groups with little shared memory merge shorter rows only.
constexpr u32 MOST_BY_WARP = 128, MOST_BY_GROUP = 1024, MOST_BY_BLOCK = 8192;
// One row of each class has so many edges at least; primitives/merged_rows.py has these numbers, too.
constexpr u32 FEWEST_BY_BLOCK = 256, FEWEST_BY_GRID = 1024;
// Members of a piece of a row.
constexpr u32 PIECE = 1024;
// Edges that a thread reads at once.
constexpr u32 EDGES_AT_ONCE = 4;

template <typename Weight> struct Merger {
    Array<const u64> offsets;
    Tiered<u32> targets;
    Tiered<Weight> weights;
    bool undirected;
    Array<const u32> vertex;
    Array<const u64> bounds;
    Array<const u32> members;
    Array<const u64> begins;
    Array<u32> row_targets;
    Array<double> row_weights;
    Array<u32> lengths;
    // The rows of the classes from BY_GROUP on, and the first members of pieces; and their counts.
    Array<u32> listed;
    Array<u64> counts;
    u64* memory;
    u32 bytes;
    // The members that a block reads: the edges up to each member of a team, and the ends of their rows.
    u32 *up_to, *owners;
    u64* ends;

    using Table = LabelTable<double>;

    __device__ static double finished(double sum, bool inside) { return inside ? 0.5 * sum : sum; }
    __device__ u64 places_of(u32 c) const { return begins[c + 1] - begins[c]; }

    // ---- lists -----------------------------------------------------------------------------------------

    template <u32 WIDTH> __device__ u32 table_bytes() const { return bytes / Team<WIDTH>::TEAMS / 8 * 8; }
    template <u32 WIDTH> __device__ u32 table_places() const {
        return table_bytes<WIDTH>() / (u32)(sizeof(u32) + sizeof(double));
    }
    template <u32 WIDTH> __device__ Table table() const {
        double* sums = (double*)(memory + table_bytes<WIDTH>() / 8 * Team<WIDTH>::number());
        return {(u32*)(sums + table_places<WIDTH>()), sums, table_places<WIDTH>()};
    }
    __device__ u32 class_of(u64 places) const {
        if (places <= MOST_BY_WARP) return BY_WARP;
        if (places <= least(MOST_BY_GROUP, table_places<MERGING_GROUP>() / 3 * 2)) return BY_GROUP;
        return places <= least(MOST_BY_BLOCK, table_places<TEAM_BLOCK>() / 3 * 2) ? BY_BLOCK : BY_GRID;
    }
    // The list of a class.
    __device__ u32* list(u32 k) const {
        u64 edges = targets.length, begin = 0;
        if (k > BY_GROUP) begin += edges / MOST_BY_WARP + 1;
        if (k > BY_BLOCK) begin += edges / FEWEST_BY_BLOCK + 1;
        if (k > BY_GRID) begin += edges / FEWEST_BY_GRID + 1;
        return listed.at + begin;
    }
    // List the rows that a warp does not merge.
    __device__ void list_rows() const {
        for (u64 first = warp_of_grid() * WARP; first < lengths.length; first += warps_of_grid() * WARP) {
            u64 c = first + lane();
            u32 own = c < lengths.length ? class_of(places_of((u32)c)) : BY_WARP;
            if (__ballot_sync(ALL, own != BY_WARP) == 0) continue;
            for (u32 k = BY_GROUP; k <= BY_GRID; k++) {
                u32 of_class = __ballot_sync(ALL, own == k);
                if (of_class == 0) continue;
                u64 place = 0;
                if (lane() == 0) place = atomicAdd(counts.at + k, (u64)__popc(of_class));
                place = __shfl_sync(ALL, place, 0) + __popc(of_class & ((1u << lane()) - 1));
                if (own == k) list(k)[place] = (u32)c;
            }
            if (own != BY_GRID) continue;
            u64 count = (bounds[c + 1] - bounds[c] + PIECE - 1) / PIECE, place = atomicAdd(counts.at + PIECES, count);
            for (u64 i = 0; i < count; i++) list(PIECES)[place + i] = (u32)(bounds[c] + i * PIECE);
        }
    }

    // ---- members ---------------------------------------------------------------------------------------

    // Read the members from `first` on, one with each thread of a team. Return the edges of their rows.
    template <u32 WIDTH> __device__ u32 read_members(u64 first, u64 last) const {
        u64 i = first + Team<WIDTH>::who();
        u32 u = i < last ? members[i] : 0;
        u64 end = i < last ? offsets[(u64)u + 1] : 0;
        u32 sum = i < last ? (u32)(end - offsets[u]) : 0, begin = threadIdx.x - Team<WIDTH>::who();
        for (u32 step = 1; step < WARP; step *= 2) {
            u32 other = __shfl_up_sync(ALL, sum, step);
            if (lane() >= step) sum += other;
        }
        Team<WIDTH>::sync();
        up_to[threadIdx.x] = sum;
        owners[threadIdx.x] = u;
        ends[threadIdx.x] = end;
        if (WIDTH > WARP) {
            Team<WIDTH>::sync();
            for (u32 w = begin + WARP - 1; w < threadIdx.x - lane(); w += WARP) sum += up_to[w];
            Team<WIDTH>::sync();
            up_to[threadIdx.x] = sum;
        }
        Team<WIDTH>::sync();
        return up_to[begin + WIDTH - 1];
    }
    // Enter the edges ``from:to`` of the members that the team has read.
    template <u32 WIDTH> __device__ void enter(u32 c, u32 from, u32 to, Table table) const {
        u32 begin = threadIdx.x - Team<WIDTH>::who();
        for (u32 first = from + Team<WIDTH>::who() - lane(); first < to; first += EDGES_AT_ONCE * WIDTH) {
            u32 other[EDGES_AT_ONCE];
            double weight[EDGES_AT_ONCE];
            bool twice[EDGES_AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < EDGES_AT_ONCE; k++) {
                u32 place = first + k * WIDTH + lane(), at = begin;
                other[k] = EMPTY;
                weight[k] = 0;
                twice[k] = true;
                if (place >= to) continue;
#pragma unroll 1
                for (u32 step = WIDTH / 2; step > 0; step /= 2)
                    if (up_to[at + step - 1] <= place) at += step;
                u64 e = ends[at] - (up_to[at] - place);
                other[k] = read(targets, e);
                weight[k] = weights.length == 0 ? 1.0 : (double)read(weights, e);
                // An undirected edge inside a new vertex is stored twice, and a self-loop once: see `finished`.
                twice[k] = !undirected || other[k] == owners[at];
            }
#pragma unroll
            for (u32 k = 0; k < EDGES_AT_ONCE; k++) {
                if (other[k] == EMPTY) continue;
                other[k] = read(vertex, other[k]);
                if (other[k] == c && twice[k]) weight[k] += weight[k];
            }
#pragma unroll
            for (u32 k = 0; k < EDGES_AT_ONCE; k++) {
                if (first + k * WIDTH >= to) break;
                add(table, other[k], weight[k]);
            }
        }
    }
    // Add the weights of a warp to a table. Additions to a place are slow, so lanes combine them first.
    __device__ static void add(Table table, u32 other, double weight) {
        bool counts = other != EMPTY;
        u32 equal = __match_any_sync(ALL, other);
        weight = sum_of_lanes(counts ? equal : 0, weight);
        if (counts && lane() == __ffs(equal) - 1) table.add(other, weight);
    }

    // ---- rows ------------------------------------------------------------------------------------------

    // Merge a row that fits the table of a team, which `count` belongs to.
    template <u32 WIDTH> __device__ void merge(u32 c, Table whole, u32* count) const {
        u64 begin = begins[c];
        Table table{whole.labels, whole.sums, (u32)least<u64>(whole.places, 2 * places_of(c))};
        if (Team<WIDTH>::who() == 0) *count = 0;
        for (u64 first = bounds[c]; first < bounds[c + 1]; first += WIDTH)
            enter<WIDTH>(c, 0, read_members<WIDTH>(first, bounds[c + 1]), table);
        Team<WIDTH>::sync();
        for (u32 first = Team<WIDTH>::who() - lane(); first < table.places; first += WIDTH) {
            u32 h = first + lane(), key = h < table.places ? look(table.labels[h]) : EMPTY;
            u32 kept = __ballot_sync(ALL, key != EMPTY), place = 0;
            if (kept == 0) continue;
            if (lane() == 0) place = atomicAdd(count, (u32)__popc(kept));
            place = __shfl_sync(ALL, place, 0) + __popc(kept & ((1u << lane()) - 1));
            if (key == EMPTY) continue;
            row_targets[begin + place] = key;
            row_weights[begin + place] = finished(look(table.sums[h]), key == c);
            table.labels[h] = EMPTY;
            table.sums[h] = 0;
        }
        Team<WIDTH>::sync();
        if (Team<WIDTH>::who() == 0) lengths[c] = look(*count);
    }
    template <u32 WIDTH> __device__ void merge_listed(u32 k, u32* counter) const {
        u64 begin = (u64)Team<WIDTH>::number() * gridDim.x + blockIdx.x, count = look(counts[k]);
        if (begin >= count) return;
        Table whole = table<WIDTH>();
        whole.template clear<WIDTH>();
        for (u64 i = begin; i < count; i += (u64)gridDim.x * Team<WIDTH>::TEAMS)
            merge<WIDTH>(list(k)[i], whole, counter + Team<WIDTH>::number());
    }
    // Merge the rows that are not listed.
    __device__ void merge_short(u32* counter) const {
        Table whole = table<WARP>();
        whole.template clear<WARP>();
        for (u64 first = warp_of_grid() * WARP; first < lengths.length; first += warps_of_grid() * WARP) {
            u64 c = first + lane(), places = c < lengths.length ? places_of((u32)c) : 0;
            if (c < lengths.length && places == 0) lengths[c] = 0;
            u32 rest = __ballot_sync(ALL, places != 0 && class_of(places) == BY_WARP);
            for (; rest != 0; rest &= rest - 1)
                merge<WARP>((u32)(first + __ffs(rest) - 1), whole, counter + threadIdx.x / WARP);
        }
    }

    // ---- rows of the grid ------------------------------------------------------------------------------

    __device__ Table row(u32 c) const { return {row_targets.at + begins[c], row_weights.at + begins[c], (u32)places_of(c)}; }
    // Empty the tables of long rows.
    __device__ void clear_rows() const {
        for (u64 i = blockIdx.x; i < look(counts[BY_GRID]); i += gridDim.x)
            row(list(BY_GRID)[i]).template clear<TEAM_BLOCK>();
    }
    // Add the pieces of long rows to their tables.
    __device__ void enter_pieces() const {
        u64 count = look(counts[PIECES]);
        if (blockIdx.x >= count) return;
        Table part = table<TEAM_BLOCK>();
        u32 most_edges = least(MOST_BY_BLOCK, part.places / 3 * 2);
        part.places = least(part.places, 2 * most_edges);
        part.template clear<TEAM_BLOCK>();
        for (u64 i = blockIdx.x; i < count; i += gridDim.x) {
            u64 first = list(PIECES)[i];
            u32 c = read(vertex, members[first]);
            Table whole = row(c);
            u32 edges = read_members<TEAM_BLOCK>(first, least(first + PIECE, bounds[c + 1]));
            for (u32 from = 0; from < edges; from += most_edges) {
                enter<TEAM_BLOCK>(c, from, least(from + most_edges, edges), part);
                __syncthreads();
                for (u32 h = threadIdx.x; h < part.places; h += TEAM_BLOCK) {
                    if (part.labels[h] == EMPTY) continue;
                    whole.add(part.labels[h], part.sums[h]);
                    part.labels[h] = EMPTY;
                    part.sums[h] = 0;
                }
                __syncthreads();
            }
        }
    }
    // Move the targets of long rows to their begins.
    __device__ void close_rows() const {
        for (u64 i = blockIdx.x; i < look(counts[BY_GRID]); i += gridDim.x) {
            u32 c = list(BY_GRID)[i], count = 0;
            Table own = row(c);
            for (u64 first = 0; first < own.places; first += blockDim.x) {
                u64 h = first + threadIdx.x;
                u32 key = h < own.places ? look(own.labels[h]) : EMPTY;
                double sum = key != EMPTY ? look(own.sums[h]) : 0;
                u32 total, before = exclusive_sum(key != EMPTY, total);
                if (key != EMPTY) {
                    own.labels[count + before] = key;
                    own.sums[count + before] = finished(sum, key == c);
                }
                count += total;
                __syncthreads();
            }
            if (threadIdx.x == 0) lengths[c] = count;
        }
    }
};
