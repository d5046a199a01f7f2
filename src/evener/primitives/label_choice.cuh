// The best labels of vertices. The arrays are those of label_sums_cpu.py.
//
// Rows of similar lengths are picked into a list. A warp chooses for a row of up to 32 edges in its registers. For a
// longer row, a warp, a group of warps or a block has a table in shared memory. Blocks sum up parts of the longest
// rows, and add the sums in tables in global memory.

#pragma once

#include "label_moves.cuh"

// The best label of a row except the vertex's own label, and the sum of its own label. The smaller label wins a tie.
struct Best {
    double score, own_sum;
    u32 label;

    __device__ void take(double other_score, u32 other) {
        if (other_score < score || (other_score == score && other >= label)) return;
        score = other_score;
        label = other;
    }
    // Combine the values of the lanes from 0 on that are below `width`, a power of two.
    __device__ void combine(u32 width) {
        for (u32 step = width / 2; step > 0; step /= 2) {
            double other_score = __shfl_xor_sync(ALL, score, step);
            u32 other = __shfl_xor_sync(ALL, label, step);
            own_sum += __shfl_xor_sync(ALL, own_sum, step);
            take(other_score, other);
        }
    }
};

// A bucket of a round.
struct Bucket {
    u64 salt, buckets, number;
    __device__ bool has(u32 vertex) const { return (mix((u64)vertex + salt) & (buckets - 1)) == number; }
};

template <typename Weight, typename Sum> struct Choice : Moves<Weight, Sum> {
    using Base = Moves<Weight, Sum>;
    using Row = typename Base::Row;
    using Table = LabelTable<Sum>;
    using Base::active, Base::both, Base::bounds, Base::chosen, Base::far_strength, Base::far_total;
    using Base::far_weights, Base::label, Base::length, Base::moved, Base::owned, Base::picked, Base::plan;
    using Base::places_in, Base::rate, Base::scored, Base::single_only, Base::strength, Base::table_labels;
    using Base::table_places, Base::table_sums, Base::target, Base::total, Base::vertices, Base::weights;
    using Base::within;

    // ---- pick ------------------------------------------------------------------------------------------

    // List the active vertices of a bucket by classes, and make them inactive.
    __device__ void pick(Bucket bucket, u64* counts) const {
        u64 halves = (owned + 31) / 32;
        for (u64 first = warp_of_grid() * WARP; first < halves; first += warps_of_grid() * WARP) {
            u64 h = first + lane();
            u32 half = h < halves ? active.half(h) & range_mask(h, 0, owned) : 0, mine = 0, gone = 0;
            if (h < halves) moved.half(h) = 0;
            for (u32 rest = __ballot_sync(ALL, half != 0); rest != 0; rest &= rest - 1) {
                u32 from = __ffs(rest) - 1;
                u64 v = (first + from) * 32 + lane();
                bool here = (__shfl_sync(ALL, half, from) >> lane() & 1) && bucket.has(vertices[v]);
                u32 of_bucket = __ballot_sync(ALL, here);
                here = here && v < bounds[CLASSES] && (!single_only || total[label[v]] == strength[v]);
                u32 moving = __ballot_sync(ALL, here);
                if (lane() == from) {
                    gone = of_bucket;
                    mine = moving;
                }
            }
            if (gone != 0) active.half(h) &= ~gone;
            for (u32 k = 0; k < CLASSES; k++) {
                u64 begin = bounds[k], end = bounds[k + 1];
                if (end <= first * 32 || begin >= (first + WARP) * 32) continue;
                u32 of_class = mine & range_mask(h, begin, end), up_to = __popc(of_class);
                for (u32 step = 1; step < WARP; step *= 2) {
                    u32 other = __shfl_up_sync(ALL, up_to, step);
                    if (lane() >= step) up_to += other;
                }
                u64 place = 0;
                if (lane() == WARP - 1 && up_to != 0) place = atomicAdd(counts + k, (u64)up_to);
                place = begin + __shfl_sync(ALL, place, WARP - 1) + up_to - __popc(of_class);
                for (; of_class != 0; of_class &= of_class - 1) picked[place++] = (u32)(h * 32 + __ffs(of_class) - 1);
            }
        }
    }

    // ---- sums ------------------------------------------------------------------------------------------

    // The label at edge `i` of a row, given its target, and the weight. The label is EMPTY if the edge does not count.
    __device__ u32 hear(u64 v, const Row& row, u32 i, u32 u, Sum& weight) const {
        weight = 0;
        if (u == v || u == NO_VERTEX || (within.length != 0 && within[u] != within[v])) return EMPTY;
        if (weights.length == 0) weight = 1;
        else if (i < row.from_near) weight = (Sum)read(weights, row.near + i);
        else weight = (Sum)read(far_weights, row.far + (i - row.from_near));
        return label[u];
    }
    // Add the edges ``begin:end`` of a row to a table. A team calls it.
    template <u32 WIDTH> __device__ void enter(u64 v, const Row& row, u32 begin, u32 end, Table table) const {
        for (u32 first = begin + Team<WIDTH>::who() - lane(); first < end; first += AT_ONCE * WIDTH) {
            u32 other[AT_ONCE];
            Sum weight[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u32 i = first + k * WIDTH + lane();
                other[k] = i < end ? target(row, i) : NO_VERTEX;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++)
                other[k] = hear(v, row, first + k * WIDTH + lane(), other[k], weight[k]);
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                if (first + k * WIDTH >= end) break;
                add(table, other[k], weight[k]);
            }
        }
    }
    // Add the weights of a warp to a table. Additions of float64 to a place are slow, so lanes combine them first.
    __device__ static void add(Table table, u32 other, Sum weight) {
        bool counts = other != EMPTY;
        if (sizeof(Sum) == 8) {
            u32 equal = __match_any_sync(ALL, other);
            weight = sum_of_lanes(counts ? equal : 0, weight);
            counts = counts && lane() == __ffs(equal) - 1;
        }
        if (counts) table.add(other, weight);
    }

    // ---- scores ----------------------------------------------------------------------------------------

    // The rates of the totals of a vertex's labels.
    struct Rates {
        double near, far;
        // The compiler must not contract these operations, because CPUs choose equal labels.
        __device__ double score(double sum, double total, double far_total) const {
            return __dsub_rn(sum, __dadd_rn(__dmul_rn(far, far_total), __dmul_rn(near, total)));
        }
    };
    __device__ Rates rates(u64 v) const {
        if (!scored) return {0, 0};
        double own = __dmul_rn(rate, strength[v]);
        return both ? Rates{__dmul_rn(rate, far_strength[v]), own} : Rates{own, 0};
    }
    __device__ double near_total(u32 other) const { return scored ? total[other] : 0; }
    __device__ double far_total_of(u32 other) const { return scored && both ? far_total[other] : 0; }

    // Return the best of the labels that a team's thread finds in a table, and empty the table.
    template <u32 WIDTH> __device__ Best best_of(u64 v, u32 own, Table table) const {
        Rates rates = this->rates(v);
        Best best{-infinite(), 0, EMPTY};
        for (u64 first = Team<WIDTH>::who(); first < table.places; first += AT_ONCE * WIDTH) {
            u32 other[AT_ONCE];
            double sum[AT_ONCE], near[AT_ONCE], far[AT_ONCE];
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u64 h = first + k * WIDTH;
                other[k] = h < table.places ? look(table.labels[h]) : EMPTY;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                u64 h = first + k * WIDTH;
                sum[k] = near[k] = far[k] = 0;
                if (other[k] == EMPTY) continue;
                sum[k] = (double)look(table.sums[h]);
                near[k] = near_total(other[k]);
                far[k] = far_total_of(other[k]);
                table.labels[h] = EMPTY;
                table.sums[h] = 0;
            }
#pragma unroll
            for (u32 k = 0; k < AT_ONCE; k++) {
                if (other[k] == own) best.own_sum += sum[k];
                else if (other[k] != EMPTY) best.take(rates.score(sum[k], near[k], far[k]), other[k]);
            }
        }
        return best;
    }
    // Return the best of the labels of a short row that a lane finds.
    __device__ Best best_of_short(u64 v, u32 own, const Row& row) const {
        Sum weight;
        u32 other = hear(v, row, lane(), lane() < row.count ? target(row, lane()) : NO_VERTEX, weight);
        u32 equal = __match_any_sync(ALL, other);
        bool counts = other != EMPTY;
        double sum = weights.length == 0 ? (counts ? __popc(equal) : 0) : (double)sum_of_lanes(counts ? equal : 0, weight);
        Best best{-infinite(), 0, EMPTY};
        if (counts && other == own && lane() == __ffs(equal) - 1) best.own_sum = sum;
        if (counts && other != own) best.take(rates(v).score(sum, near_total(other), far_total_of(other)), other);
        return best;
    }
    // Combine the values of a team. Its first warp receives the result.
    template <u32 WIDTH> __device__ static Best across_team(Best best) {
        best.combine(WARP);
        if (WIDTH == WARP) return best;
        __shared__ Best of_warp[TEAM_BLOCK / WARP];
        constexpr u32 WARPS = WIDTH / WARP;
        if (lane() == 0) of_warp[threadIdx.x / WARP] = best;
        Team<WIDTH>::sync();
        if (Team<WIDTH>::who() >= WARP) return best;
        best = of_warp[Team<WIDTH>::number() * WARPS + lane() % WARPS];
        best.combine(WARPS);
        return best;
    }
    // Choose a label, given the best. Return whether the vertex will move.
    __device__ bool decide(u64 v, u32 own, Best best, Bucket bucket) const {
        double near = scored ? total[own] - strength[v] : 0, far = scored && both ? far_total[own] - far_strength[v] : 0;
        bool better = best.score > rates(v).score(best.own_sum, near, far);
        // No vertex with this number may leave its label at the same time.
        bool moves = better && !(single_only && bucket.has(best.label));
        chosen[v] = moves ? best.label : own;
        if (moves) moved.set(v);
        return moves;
    }

    // ---- choose ----------------------------------------------------------------------------------------

    template <u32 WIDTH> __device__ static Table table_of_team(u64* memory, u32 bytes) {
        u32 places = places_in(bytes, Team<WIDTH>::TEAMS);
        u64* own = memory + Base::bytes_of(bytes, Team<WIDTH>::TEAMS) / 8 * Team<WIDTH>::number();
        Sum* sums = (Sum*)own;
        return {(u32*)(sums + places), sums, places};
    }
    // Choose for the rows of a class. Return the number of moves, in one thread of each team.
    template <u32 CLASS> __device__ u64 choose_class(Bucket bucket, const u64* counts, u64* memory, u32 bytes) const {
        constexpr u32 WIDTH = WIDTH_OF<CLASS>;
        using Threads = Team<WIDTH>;
        u64 count = look(counts[CLASS]), stride = (u64)gridDim.x * Threads::TEAMS, moves = 0;
        u64 begin = (u64)Threads::number() * gridDim.x + blockIdx.x;
        if (begin >= count) return 0;
        const u32* list = picked + bounds[CLASS];
        Table whole = table_of_team<WIDTH>(memory, bytes);
        if (CLASS != SHORT) whole.template clear<WIDTH>();
        for (u64 first = begin; first < count; first += WARP * stride) {
            u64 at = first + lane() * stride;
            u32 next = at < count ? list[at] : NO_VERTEX;
            for (u32 rest = __ballot_sync(ALL, at < count); rest != 0; rest &= rest - 1) {
                u64 v = __shfl_sync(ALL, next, __ffs(rest) - 1);
                Row row = this->row(v);
                u32 own = label[v];
                Best best;
                if (CLASS == SHORT) {
                    best = best_of_short(v, own, row);
                } else {
                    Table table{whole.labels, whole.sums, least(whole.places, 2 * row.count)};
                    enter<WIDTH>(v, row, 0, row.count, table);
                    Threads::sync();
                    best = best_of<WIDTH>(v, own, table);
                }
                best = across_team<WIDTH>(best);
                if (Threads::who() == 0) moves += decide(v, own, best, bucket);
                if (WIDTH == WARP) __syncwarp();
            }
        }
        return moves;
    }

    // ---- the longest rows ------------------------------------------------------------------------------

    __device__ static u64 parts_of(u32 count) { return ((u64)count + CHUNK - 1) / CHUNK; }
    // The first place of the table of a picked row, and the end of the batch of rows that begins there.
    __device__ u64& place_of(u64 k) const { return plan[PLAN + 2 * k]; }
    __device__ u64& end_of(u64 k) const { return plan[PLAN + 2 * k + 1]; }
    __device__ Table global_table(u64 k, u32 count) const {
        u64 place = look(place_of(k));
        return {table_labels + place, table_sums + place, 2 * count};
    }
    // Find places for tables of all picked rows, in batches that fit the memory. A warp calls it.
    __device__ void plan_tables(u64 count) const {
        u64 place = 0, batch = 0;
        for (u64 first = 0; first < count; first += WARP) {
            u64 k = first + lane();
            u64 wanted = k < count ? 2 * CHUNK * parts_of(length(picked[k])) : 0;
            for (u32 from = 0; from < WARP && first + from < count; from++) {
                u64 places = __shfl_sync(ALL, wanted, from);
                if (place + places > table_places && place != 0) {
                    if (lane() == 0) end_of(batch) = first + from;
                    batch = first + from;
                    place = 0;
                }
                if (lane() == from) place_of(k) = place;
                place += places;
            }
        }
        if (lane() == 0) end_of(batch) = count;
    }
    // The row of a batch whose table has a place. A warp calls it.
    __device__ u64 row_at(u64 begin, u64 end, u64 place) const {
        return begin - 1 + first_shorter(end - begin, 0, [&](u64 k) { return look(place_of(begin + k)) <= place; });
    }
    // Enter the rows of a batch in their tables, a part at a time. A block first sums up the part.
    __device__ void enter_parts(u64 begin, u64 end, u64* memory, u32 bytes) const {
        u64 parts = look(place_of(end - 1)) / (2 * CHUNK) + parts_of(length(picked[end - 1]));
        if (blockIdx.x >= parts) return;
        Table own = table_of_team<TEAM_BLOCK>(memory, bytes);
        own.places = least(own.places, 2 * CHUNK);
        own.template clear<TEAM_BLOCK>();
        for (u64 part = blockIdx.x; part < parts; part += gridDim.x) {
            u64 k = row_at(begin, end, part * 2 * CHUNK), v = picked[k];
            Row row = this->row(v);
            u32 from = (u32)(part * CHUNK - look(place_of(k)) / 2);
            Table whole = global_table(k, row.count);
            enter<TEAM_BLOCK>(v, row, from, least(from + CHUNK, row.count), own);
            __syncthreads();
            for (u32 h = threadIdx.x; h < own.places; h += TEAM_BLOCK) {
                if (own.labels[h] == EMPTY) continue;
                whole.add(own.labels[h], own.sums[h]);
                own.labels[h] = EMPTY;
                own.sums[h] = 0;
            }
            __syncthreads();
        }
    }
    // Choose for the rows of a batch. Return the number of moves, in one thread of each block.
    __device__ u64 choose_entered(u64 begin, u64 end, Bucket bucket) const {
        u64 moves = 0;
        for (u64 k = begin + blockIdx.x; k < end; k += gridDim.x) {
            u64 v = picked[k];
            u32 own = label[v];
            Best best = best_of<TEAM_BLOCK>(v, own, global_table(k, length(v)));
            best = across_team<TEAM_BLOCK>(best);
            if (threadIdx.x == 0) moves += decide(v, own, best, bucket);
            __syncthreads();  // `across_team` has read the values of all warps
        }
        return moves;
    }
    // Clear the counts, before the first choice. A barrier of the grid must follow.
    __device__ void clear_counts() const {
        if (thread_of_grid() < PLAN) plan[thread_of_grid()] = 0;
    }

    // Choose for all active vertices of a bucket. Return the number of moves, in some threads. `turn` grows by 1
    // with each call.
    __device__ u64 choose(Bucket bucket, u64 turn, u64* memory, u32 bytes, Grid grid) const {
        u64* counts = this->counts(turn);
        pick(bucket, counts);
        grid.sync();
        if (blockIdx.x == 0 && threadIdx.x < CLASSES) this->counts(turn + 1)[threadIdx.x] = 0;
        u64 longest = look(counts[OF_GRID]);
        if (blockIdx.x == gridDim.x - 1 && threadIdx.x < WARP && longest != 0) plan_tables(longest);
        u64 moves = choose_class<OF_BLOCK>(bucket, counts, memory, bytes);
        __syncthreads();
        moves += choose_class<OF_GROUP>(bucket, counts, memory, bytes);
        __syncthreads();
        moves += choose_class<OF_WARP>(bucket, counts, memory, bytes);
        moves += choose_class<SHORT>(bucket, counts, memory, bytes);
        for (u64 begin = 0; begin < longest;) {
            grid.sync();
            u64 end = look(end_of(begin));
            enter_parts(begin, end, memory, bytes);
            grid.sync();
            moves += choose_entered(begin, end, bucket);
            begin = end;
        }
        return moves;
    }
};
