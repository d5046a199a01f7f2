// Rows of distinct neighbours: written, and packed for other partitions.
//
// `degree` and `vertices` give the order of vertices: by descending degree, then by ascending number. The rows of
// the graph are `offsets` and `targets`, and if `both` also `more_offsets` and `more_targets`. Equal targets of a
// row follow each other. `mutual` has a value for each target, or none if it is not requested.

#include "team.cuh"

struct Order {
    u32 oriented;
    Array<const u32> degree, vertices;

    // Whether the row of `v` has a target: another vertex and, if `oriented`, one that comes before `v`.
    __device__ bool has(u32 v, u32 target) const {
        if (target == v) return false;
        if (!oriented) return true;
        u32 own = degree[v], other = read(degree, target);
        return other > own || (other == own && vertices[target] < vertices[v]);
    }
};

// Write the length of the row of each owned vertex, or if `both` the sum of the lengths of two rows.
__global__ void PARALLEL(256) row_lengths(
    Array<const u64> offsets, Array<const u64> more_offsets, u32 both, Array<u32> lengths
) {
    for (u64 v = thread_of_grid(); v + 1 < offsets.length; v += threads_of_grid()) {
        u64 length = offsets[v + 1] - offsets[v];
        lengths[v] = (u32)(both ? length + more_offsets[v + 1] - more_offsets[v] : length);
    }
}

// Rows up to this length have a warp, and longer rows have a block.
constexpr u32 SHORT_ROW = 1024;

// Whether the edges of `v` need a block.
__device__ inline bool is_long(Array<const u64> offsets, Array<const u64> more_offsets, u32 both, u32 v) {
    u64 length = offsets[v + 1ull] - offsets[v];
    return length + (both ? more_offsets[v + 1ull] - more_offsets[v] : 0) > SHORT_ROW;
}

// Call ``keep(target, place)`` for each target of the row of `v` that is kept, where `place` counts the kept
// targets from `count` on. Return the new count. The threads of a team call it together.
template <typename Keep>
__device__ inline u32 over_kept(
    Array<const u64> offsets, Tiered<u32> targets, u32 v, const Order& order, u32 count, Team team, Keep keep
) {
    u64 first = offsets[v], last = offsets[v + 1ull];
    for (u64 from = first; from < last; from += team.width) {
        u64 e = from + team.who;
        u32 target = e < last ? read(targets, e) : v;
        bool kept = e < last && order.has(v, target) && (e == first || read(targets, e - 1) != target);
        u32 place, total;
        if (team.width == WARP) {
            u32 all = __ballot_sync(ALL, kept);
            place = __popc(all & ((1u << lane()) - 1));
            total = __popc(all);
        } else {
            place = exclusive_sum(kept, total);
        }
        if (kept) keep(target, count + place);
        count += total;
    }
    return count;
}

// Write the number of targets of each row. If `both`, a neighbour in both directions counts twice.
__global__ void PARALLEL(256) count_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> more_offsets, Tiered<u32> more_targets,
    u32 both, u32 oriented, Array<const u32> degree, Array<const u32> vertices, Array<u32> lengths
) {
    Order order{oriented, degree, vertices};
    auto ignore = [](u32, u32) {};
    auto needs_block = [&](u32 v) { return is_long(offsets, more_offsets, both, v); };
    auto count_row = [&](u32 v, Team team) {
        u32 count = over_kept(offsets, targets, v, order, 0, team, ignore);
        if (both) count = over_kept(more_offsets, more_targets, v, order, count, team, ignore);
        if (team.who == 0) lengths[v] = count;
    };
    for (u64 v = warp_of_grid(); v < lengths.length; v += warps_of_grid())
        if (!needs_block(v)) count_row(v, Team::warp());
    over_wanted(lengths.length, needs_block, [&](u32 v) { count_row(v, Team::block()); });
}

// A row from `at` on, which is being written.
struct WrittenRow {
    u32* at;
    u32 length;

    __device__ bool ascends(Team team) const {
        bool right = true;
        for (u32 i = team.who + 1; i < length && right; i += team.width) right = at[i - 1] < at[i];
        return team.width == WARP ? __all_sync(ALL, right) : __syncthreads_and(right);
    }
    // Sort the row by a bitonic network in which the lower place of two gets the smaller target. Places after
    // the row would hold the largest targets, so they do not change.
    __device__ void sort(Team team) const {
        for (u64 size = 2; size / 2 < length; size *= 2) {
            u64 half = size / 2, pairs = (length + size - 1) / size * half;
            for (u64 t = team.who; t < pairs; t += team.width)
                order(t / half * size + t % half, t / half * size + size - 1 - t % half);
            team.sync();
            for (u64 step = size / 4; step > 0; step /= 2) {
                for (u64 t = team.who; t < pairs; t += team.width)
                    order(t / step * 2 * step + t % step, t / step * 2 * step + t % step + step);
                team.sync();
            }
        }
    }
    // Drop the second of two equal targets of a sorted row, and mark the first. Return the new length.
    __device__ u32 drop_repeated(Array<u8> mutual, u64 begin) const {
        u32 count = 0, last = NO_VERTEX;
        for (u32 from = 0; from < length; from += WARP) {
            u32 i = from + lane();
            u32 target = i < length ? at[i] : NO_VERTEX, next = i + 1 < length ? at[i + 1] : NO_VERTEX;
            u32 before = __shfl_up_sync(ALL, target, 1);
            if (lane() == 0) before = last;
            last = __shfl_sync(ALL, target, WARP - 1);
            bool kept = i < length && target != before;
            u32 all = __ballot_sync(ALL, kept);
            u32 place = count + __popc(all & ((1u << lane()) - 1));
            __syncwarp();
            if (kept) {
                at[place] = target;
                if (mutual.length && target == next) mutual[begin + place] = 1;
            }
            count += __popc(all);
            __syncwarp();
        }
        return count;
    }

  private:
    __device__ void order(u64 low, u64 high) const {
        if (high >= length) return;
        u32 first = at[low], second = at[high];
        if (second >= first) return;
        at[low] = second;
        at[high] = first;
    }
};

// Write each row from ``row_offsets[v]`` on, and its length. Neighbours in both directions leave a gap after the
// row.
__global__ void PARALLEL(256) write_neighbours(
    Array<const u64> offsets, Tiered<u32> targets, Array<const u64> more_offsets, Tiered<u32> more_targets,
    u32 both, u32 oriented, Array<const u32> degree, Array<const u32> vertices, Array<const u64> row_offsets,
    Array<u32> row_targets, Array<u8> mutual, Array<u32> lengths
) {
    Order order{oriented, degree, vertices};
    auto needs_block = [&](u32 v) { return is_long(offsets, more_offsets, both, v); };
    auto write_row = [&](u32 v, Team team) {
        u64 begin = row_offsets[v];
        u32* at = row_targets.at + begin;
        auto write = [&](u32 target, u32 place) {
            at[place] = target;
            if (mutual.length) mutual[begin + place] = !both;
        };
        u32 count = over_kept(offsets, targets, v, order, 0, team, write);
        if (both) count = over_kept(more_offsets, more_targets, v, order, count, team, write);
        team.sync();
        WrittenRow row{at, count};
        if (!row.ascends(team)) {
            row.sort(team);
            if (team.who < WARP) count = row.drop_repeated(mutual, begin);
        }
        if (team.who == 0) lengths[v] = count;
    };
    for (u64 v = warp_of_grid(); v < lengths.length; v += warps_of_grid())
        if (!needs_block(v)) write_row(v, Team::warp());
    over_wanted(lengths.length, needs_block, [&](u32 v) { write_row(v, Team::block()); });
}

// Sort each row.
__global__ void PARALLEL(256) sort_rows(Array<const u64> row_offsets, Array<u32> row_targets) {
    auto row_of = [&](u32 v) {
        return WrittenRow{row_targets.at + row_offsets[v], (u32)(row_offsets[v + 1ull] - row_offsets[v])};
    };
    auto needs_block = [&](u32 v) { return row_of(v).length > SHORT_ROW; };
    for (u64 v = warp_of_grid(); v + 1 < row_offsets.length; v += warps_of_grid())
        if (!needs_block(v)) row_of(v).sort(Team::warp());
    over_wanted(row_offsets.length - 1, needs_block, [&](u32 v) { row_of(v).sort(Team::block()); });
}

// Copy rows that begin at ``begins[v]`` to rows without gaps.
__global__ void PARALLEL(256) close_gaps(
    Array<const u64> begins, Array<const u32> from_targets, Array<const u8> from_mutual,
    Array<const u64> row_offsets, Array<u32> row_targets, Array<u8> mutual
) {
    for (u64 v = warp_of_grid(); v + 1 < row_offsets.length; v += warps_of_grid()) {
        u64 begin = row_offsets[v], length = row_offsets[v + 1] - begin;
        for (u64 i = lane(); i < length; i += WARP) {
            row_targets[begin + i] = from_targets[begins[v] + i];
            if (mutual.length) mutual[begin + i] = from_mutual[begins[v] + i];
        }
    }
}

// Write the lengths of the rows of the listed vertices.
__global__ void PARALLEL(256) lengths_of(
    Array<const u64> row_offsets, Array<const u32> listed, Array<u32> lengths
) {
    for (u64 i = thread_of_grid(); i < listed.length; i += threads_of_grid())
        lengths[i] = (u32)(row_offsets[listed[i] + 1ull] - row_offsets[listed[i]]);
}

// Write the rows of the listed vertices one after the other, as numbers of the graph.
__global__ void PARALLEL(256) pack_rows(
    Array<const u64> row_offsets, Array<const u32> row_targets, Array<const u8> mutual, Array<const u32> vertices,
    Array<const u32> listed, Array<const u64> begins, Array<u32> packed, Array<u8> marks
) {
    for (u64 i = warp_of_grid(); i < listed.length; i += warps_of_grid()) {
        u64 v = listed[i], from = row_offsets[v];
        for (u64 k = lane(); k < row_offsets[v + 1] - from; k += WARP) {
            packed[begins[i] + k] = vertices[row_targets[from + k]];
            if (marks.length) marks[begins[i] + k] = mutual[from + k];
        }
    }
}

// Replace numbers of the graph by local numbers, given all numbers, ascending, with their local numbers.
__global__ void PARALLEL(256) to_local(
    Array<const u32> ascending, Array<const u32> local, Array<u32> numbers
) {
    for (u64 i = thread_of_grid(); i < numbers.length; i += threads_of_grid()) {
        u64 low = 0, high = ascending.length;
        u32 number = numbers[i];
        while (low < high) {
            u64 middle = (low + high) / 2;
            if (read(ascending, middle) < number) low = middle + 1;
            else high = middle;
        }
        numbers[i] = low < ascending.length && ascending[low] == number ? local[low] : NO_VERTEX;
    }
}
