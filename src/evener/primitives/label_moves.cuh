// Moves of vertices to their best labels: choose, apply, wake. The arrays are those of label_sums_cpu.py.
//
// A warp chooses for a row of up to 32 edges in its registers, and for a longer row in its part of the shared memory.
// A block chooses for a long row in all of its shared memory. The longest rows have a table in global memory, if
// their labels do not fit. Owned vertices come by descending length of their rows.

#pragma once

#include "label_table.cuh"
#include "mixing.cuh"

// Bytes of a place in a table: a label and a sum.
constexpr u32 PLACE_BYTES = sizeof(u32) + sizeof(double);
// Edges of the longest row that a warp reads to wake neighbours.
constexpr u32 LONG_ROW = 1024;
// The ratio of the lengths of rows whose tables in global memory have equal sizes.
constexpr u32 RATIO = 4;

// The score of a label. The compiler must not contract these operations, because CPUs choose equal labels.
__device__ inline double score_of(double weight, double rate, double total) {
    return __dsub_rn(weight, __dmul_rn(rate, total));
}
__device__ inline double score_of(double weight, double rate, double total, double far_rate, double far_total) {
    return __dsub_rn(weight, __dadd_rn(__dmul_rn(rate, total), __dmul_rn(far_rate, far_total)));
}

template <typename Weight> struct Moves {
    Array<const u64> offsets;
    Tiered<u32> targets;
    Tiered<Weight> weights;
    Array<const u64> far_offsets;
    Tiered<u32> far_targets;
    Tiered<Weight> far_weights;
    u32 both;
    Array<const u32> vertices;
    u64 owned;
    u32* label;
    Array<const u32> within;
    Array<const double> strength, far_strength;
    double *total, *far_total;
    bool scored;
    double rate;
    u32 single_only;
    Bits active, moved;
    Array<u32> chosen;
    // Tables in global memory, each with `places` places.
    Array<u32> table_labels;
    Array<double> table_sums;
    u64 places;

    // The first vertices with rows for the table of a block and of a warp, and that a warp reads to wake neighbours.
    struct Bounds {
        u64 of_block, of_warp, to_wake;
    } bounds;

    __device__ u64 shorter(u64 limit) const {
        return first_shorter(owned, limit, [&](u64 v) { return length(v); });
    }
    __device__ void find_bounds(u32 bytes) {
        u32 of_warp = longest(fits(bytes / (blockDim.x / WARP)));
        bounds = {shorter(longest(fits(bytes))), shorter(of_warp), shorter(LONG_ROW)};
    }

    struct Row {
        u64 near, far;
        u32 from_near, count;
    };
    __device__ Row row(u64 v) const {
        u64 near = offsets[v], far = both ? far_offsets[v] : 0;
        u32 from_near = (u32)(offsets[v + 1] - near);
        return {near, far, from_near, from_near + (both ? (u32)(far_offsets[v + 1] - far) : 0)};
    }
    __device__ u32 length(u64 v) const { return row(v).count; }

    // ---- choose ----------------------------------------------------------------------------------------

    // The label of edge `i` of a row, and its weight. The label is EMPTY if the edge does not count.
    template <typename Sum> __device__ u32 hear(u64 v, const Row& row, u32 i, Sum& weight) const {
        weight = 0;
        if (i >= row.count) return EMPTY;
        bool near = i < row.from_near;
        u64 e = near ? row.near + i : row.far + (i - row.from_near);
        u32 u = near ? read(targets, e) : read(far_targets, e);
        if (u == v || (within.length != 0 && within[u] != within[v])) return EMPTY;
        if (weights.length == 0) weight = 1;
        else weight = (Sum)(near ? read(weights, e) : read(far_weights, e));
        return label[u];
    }

    // The sum of the weights of a group of lanes.
    template <typename Sum> __device__ Sum group_sum(u32 equal, Sum weight) const {
        return weights.length == 0 ? (Sum)__popc(equal) : sum_of_lanes(equal, weight);
    }

    // The scores of the labels of a vertex.
    struct Scores {
        const double *total, *far_total;
        bool scored, both;
        double rate, far_rate;

        __device__ double of(u32 other, double sum) const {
            if (!scored) return sum;
            if (!both) return score_of(sum, rate, total[other]);
            return score_of(sum, rate, far_total[other], far_rate, total[other]);
        }
        // The score of the vertex's own label, without the vertex.
        __device__ double own(u32 own, double sum, double strength, double far_strength) const {
            if (!scored) return sum;
            if (!both) return score_of(sum, rate, total[own] - strength);
            return score_of(sum, rate, far_total[own] - far_strength, far_rate, total[own] - strength);
        }
    };
    __device__ Scores scores(u64 v) const {
        return {
            total, far_total, scored, both != 0, scored ? __dmul_rn(rate, strength[v]) : 0,
            scored && both ? __dmul_rn(rate, far_strength[v]) : 0
        };
    }
    __device__ double own_score(const Scores& scores, u64 v, double sum) const {
        return scores.own(label[v], sum, strength[v], both ? far_strength[v] : 0);
    }

    // Return the best label of a row of up to 32 edges. A warp calls it.
    template <typename Sum> __device__ u32 best_of_short(u64 v, const Row& row) const {
        u32 own = label[v];
        Sum weight;
        u32 other = hear(v, row, lane(), weight);
        double own_sum = across(other == own ? (double)weight : 0.0, ::Sum());
        u32 equal = __match_any_sync(ALL, other);
        bool counts = other != EMPTY && other != own;
        double sum = (double)group_sum(counts ? equal : 0, weight);
        Scores scores = this->scores(v);
        double score = counts ? scores.of(other, sum) : -infinite();
        double best = across(score, Max());
        if (!(best > own_score(scores, v, own_sum))) return own;
        return across(score == best ? other : EMPTY, Min());
    }

    // Return the best label of a row, with the table of a warp, or of a block if `BLOCK`. If `used` counts more than
    // `most` labels, the result is EMPTY.
    template <bool BLOCK, typename Sum>
    __device__ u32 best_by_table(u64 v, const Row& row, LabelTable<Sum> table, u32* used, u32 most) const {
        u32 who = BLOCK ? threadIdx.x : lane(), width = BLOCK ? blockDim.x : WARP;
        auto together = [] {
            if (BLOCK) __syncthreads();
            else __syncwarp();
        };
        u32 own = label[v];
        table.clear(who, width);
        if (used != nullptr && who == 0) *used = 0;
        together();
        double own_sum = 0;
        bool fits = true;
        Sum next_weight;
        u32 next = hear(v, row, who, next_weight);
        for (u32 at = who - lane(); at < row.count; at += width) {
            u32 other = next;
            Sum weight = next_weight;
            next = hear(v, row, at + width + lane(), next_weight);  // read while this edge is added
            if (other == own) own_sum += weight;
            u32 equal = __match_any_sync(ALL, other);
            bool counts = other != EMPTY && other != own;
            Sum sum = group_sum(counts ? equal : 0, weight);
            if (counts && lane() == __ffs(equal) - 1) fits = table.add(other, sum, used, most) && fits;
            if (used != nullptr && !__all_sync(ALL, fits)) break;
        }
        together();
        if (BLOCK && used != nullptr && __syncthreads_or(!fits)) return EMPTY;
        own_sum = BLOCK ? across_block(own_sum, ::Sum()) : across(own_sum, ::Sum());
        Scores scores = this->scores(v);
        double best_score = own_score(scores, v, own_sum);
        u32 best = EMPTY;
        for (u32 h = who; h <= table.mask; h += width) {
            u32 other = table.labels[h];
            if (other == EMPTY) continue;
            double score = scores.of(other, (double)table.sums[h]);
            if (score < best_score || (score == best_score && other >= best)) continue;
            if (score == best_score && best == EMPTY) continue;
            best_score = score;
            best = other;
        }
        double highest = BLOCK ? across_block(best_score, Max()) : across(best_score, Max());
        u32 candidate = best_score == highest ? best : EMPTY;
        best = BLOCK ? across_block(candidate, Min()) : across(candidate, Min());
        together();
        return best == EMPTY ? own : best;
    }

    __device__ static u32 places_of(u32 length) { return 2u << (32 - __clz(length | 15)); }
    // The largest power of two of places that fit, and the longest row with a table of so many places.
    __device__ static u32 fits(u32 bytes) { return 1u << (31 - __clz(bytes / PLACE_BYTES)); }
    __device__ static u32 longest(u32 places) { return places / 2 - 1; }

    template <typename Sum> __device__ LabelTable<Sum> table_at(u64* memory, u32 places) const {
        return {(u32*)(memory + places), (Sum*)memory, places - 1};
    }

    __device__ bool is_picked(u64 v, u64 salt, u64 buckets, u64 bucket) const {
        return (mix((u64)vertices[v] + salt) & (buckets - 1)) == bucket;
    }
    // Whether no vertex with this number may leave its label at the same time.
    __device__ bool may_take(u32 other, u64 salt, u64 buckets, u64 bucket) const {
        return !single_only || (mix((u64)other + salt) & (buckets - 1)) != bucket;
    }
    __device__ bool may_move(u64 v) const { return !single_only || total[label[v]] == strength[v]; }

    // Choose for rows that fit the table of a warp. Return the number of moves, in one lane of each warp.
    template <typename Sum>
    __device__ u64 choose_short(u64 salt, u64 buckets, u64 bucket, u64* memory, u32 bytes) const {
        u32 places = fits(bytes / (blockDim.x / WARP)), most = longest(places);
        // A place has one word for its sum, and half a word for its label.
        u64* own = memory + (u64)(threadIdx.x / WARP) * (places + places / 2);
        u64 halves = (owned + 31) / 32, count = 0;
        for (u64 h = warp_of_grid(); h < halves; h += warps_of_grid()) {
            u64 v = h * 32 + lane();
            bool mine = v < owned && (active.half(h) >> lane() & 1);
            mine = mine && is_picked(v, salt, buckets, bucket) && length(v) <= most;
            u32 picked = __ballot_sync(ALL, mine), moves = 0;
            for (u32 rest = picked; rest != 0; rest &= rest - 1) {
                u64 w = h * 32 + __ffs(rest) - 1;
                if (!may_move(w)) continue;
                Row row = this->row(w);
                u32 best;
                if (row.count <= WARP) best = best_of_short<Sum>(w, row);
                else {
                    LabelTable<Sum> table = table_at<Sum>(own, least(places, places_of(row.count)));
                    best = best_by_table<false>(w, row, table, nullptr, 0);
                }
                if (best == label[w] || !may_take(best, salt, buckets, bucket)) continue;
                moves |= rest & -rest;
                if (lane() == 0) chosen[w] = best;
            }
            if (lane() == 0) {
                if (picked != 0) atomicAnd(&active.half(h), ~picked);
                moved.half(h) = moves;
                count += __popc(moves);
            }
        }
        return count;
    }

    // Choose for the other rows, after a barrier. Return the number of moves, in one thread of each block.
    template <typename Sum>
    __device__ u64 choose_long(u64 salt, u64 buckets, u64 bucket, u64* memory, u32 bytes, Grid grid) const {
        __shared__ u32 used;
        u32 of_block = fits(bytes);
        u64 count = 0;
        // Choose for the vertices ``begin:end``, with a table in global memory for each of `blocks` blocks, if it
        // is needed.
        auto choose_all = [&](u64 begin, u64 end, u64 blocks, u64 table_places) {
            if (blockIdx.x >= blocks) return;
            for (u64 first = begin + blockIdx.x; first < end; first += WARP * blocks) {
                u64 v = first + lane() * blocks;
                bool mine = v < end && look(active, v) && is_picked(v, salt, buckets, bucket);
                u32 picked = __ballot_sync(ALL, mine);
                __syncthreads();
                for (; picked != 0; picked &= picked - 1) {
                    u64 w = first + (__ffs(picked) - 1) * blocks;
                    if (threadIdx.x == 0) active.clear(w);
                    if (!may_move(w)) continue;
                    Row row = this->row(w);
                    u32 places = table_places != 0 ? of_block : least(of_block, places_of(row.count));
                    u32* counter = table_places != 0 ? &used : nullptr;
                    u32 best = best_by_table<true>(w, row, table_at<Sum>(memory, places), counter, of_block / 4 * 3);
                    if (best == EMPTY) {
                        u64 at = blockIdx.x * table_places;
                        LabelTable<Sum> table{
                            table_labels.at + at, (Sum*)(table_sums.at + at), places_of(row.count) - 1
                        };
                        best = best_by_table<true>(w, row, table, nullptr, 0);
                    }
                    if (threadIdx.x == 0 && best != label[w] && may_take(best, salt, buckets, bucket)) {
                        chosen[w] = best;
                        moved.set(w);
                        count++;
                    }
                }
            }
        };
        u64 begin = 0, middle = bounds.of_block;
        // Rows of similar lengths at a time, because their tables share the memory.
        for (u64 size = places; begin < middle; size /= RATIO) {
            u64 end = shorter(most<u64>(longest(of_block), size / (2 * RATIO) - 1));
            choose_all(begin, end, least<u64>(gridDim.x, table_labels.length / size), size);
            begin = end;
            grid.sync();
        }
        choose_all(middle, bounds.of_warp, gridDim.x, 0);
        return count;
    }

    // Choose for all rows. Return the number of moves, in some threads.
    template <typename Sum>
    __device__ u64 choose(u64 salt, u64 buckets, u64 bucket, u64* memory, u32 bytes, Grid grid) const {
        u64 count = choose_short<Sum>(salt, buckets, bucket, memory, bytes);
        grid.sync();
        return count + choose_long<Sum>(salt, buckets, bucket, memory, bytes, grid);
    }

    // ---- apply and wake --------------------------------------------------------------------------------

    __device__ void apply(bool add) const {
        for (u64 v = thread_of_grid(); v < owned; v += threads_of_grid()) {
            if (!moved.test(v)) continue;
            u32 from = label[v], to = chosen[v];
            if (add) {
                atomicAdd(total + from, -strength[v]);
                atomicAdd(total + to, strength[v]);
                if (both) {
                    atomicAdd(far_total + from, -far_strength[v]);
                    atomicAdd(far_total + to, far_strength[v]);
                }
            }
            label[v] = to;
        }
    }

    // Make the neighbours of `v` active, except those with its label. `width` threads call it.
    __device__ void wake_row(u64 v, u32 who, u32 width) const {
        Row row = this->row(v);
        u32 own = label[v];
        for (u32 i = who; i < row.count; i += width) {
            bool near = i < row.from_near;
            u32 u = near ? read(targets, row.near + i) : read(far_targets, row.far + (i - row.from_near));
            if (label[u] != own && !look(active, u)) active.set(u);
        }
    }
    __device__ void wake() const {
        u64 halves = (owned + 31) / 32;
        for (u64 h = warp_of_grid(); h < halves; h += warps_of_grid())
            for (u32 rest = moved.half(h) & range_mask(h, 0, owned); rest != 0; rest &= rest - 1) {
                u64 v = h * 32 + __ffs(rest) - 1;
                if (length(v) <= LONG_ROW) wake_row(v, lane(), WARP);
            }
        u64 end = bounds.to_wake;
        for (u64 first = blockIdx.x; first < end; first += WARP * gridDim.x) {
            u64 v = first + lane() * gridDim.x;
            for (u32 rest = __ballot_sync(ALL, v < end && moved.test(v)); rest != 0; rest &= rest - 1)
                wake_row(first + (__ffs(rest) - 1) * gridDim.x, threadIdx.x, blockDim.x);
        }
    }
};
