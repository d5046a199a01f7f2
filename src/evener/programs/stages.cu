// GIM-V as a MapReduce job: map edges to records, combine sorted records, and assign the next values. See
// programs/mapreduce/gimv_gpu.py.
//
// A record is the local number of a target and a message. A message of 4 bytes is packed with its key into one
// word, which is sorted as a whole. Longer messages stay in place, and `order` has their positions after a sort.

#include "edge_range.cuh"
#include "operators.cuh"

// Sorted records that a warp combines.
constexpr u32 RUN = 1024;

// ---- map ---------------------------------------------------------------------------------------------

__device__ inline u64 packed(u32 key, float message) { return (u64)key << 32 | __float_as_uint(message); }

// Map the edges ``begin:end`` to packed records.
template <typename Value, typename Wide>
__global__ void PARALLEL(256) map_packed(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Array<const Wide> identity,
    Array<const u32> degree, Array<const u32> vertices, u64 n, Array<const Value> value, Array<u64> records
) {
    Vertices<Value, Wide> own(degree, vertices, n, 0, value);
    over_edges(offsets, 0, offsets.length - 1, begin, end, [&](u64 u, u64 e) {
        records[e - begin] = packed(read_once(targets, e), (float)own.message(u, 1, value[u]));
    });
}

template <typename Value, typename Wide, typename Weight>
__global__ void PARALLEL(256) map_weighted_packed(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights,
    Array<const Wide> identity, Array<const u32> degree, Array<const u32> vertices, u64 n,
    Array<const Value> value, Array<u64> records
) {
    Vertices<Value, Wide> own(degree, vertices, n, 0, value);
    over_edges(offsets, 0, offsets.length - 1, begin, end, [&](u64 u, u64 e) {
        Wide message = own.message(u, (Wide)read(weights, e), value[u]);
        records[e - begin] = packed(read_once(targets, e), (float)message);
    });
}

// Map the edges ``begin:end`` to keys and messages.
template <typename Value, typename Wide>
__global__ void PARALLEL(256) map_apart(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Array<const Wide> identity,
    Array<const u32> degree, Array<const u32> vertices, u64 n, Array<const Value> value, Array<u32> keys,
    Array<Value> messages
) {
    Vertices<Value, Wide> own(degree, vertices, n, 0, value);
    over_edges(offsets, 0, offsets.length - 1, begin, end, [&](u64 u, u64 e) {
        keys[e - begin] = read_once(targets, e);
        messages[e - begin] = (Value)own.message(u, 1, value[u]);
    });
}

template <typename Value, typename Wide, typename Weight>
__global__ void PARALLEL(256) map_weighted_apart(
    u64 begin, u64 end, Array<const u64> offsets, Tiered<u32> targets, Tiered<Weight> weights,
    Array<const Wide> identity, Array<const u32> degree, Array<const u32> vertices, u64 n,
    Array<const Value> value, Array<u32> keys, Array<Value> messages
) {
    Vertices<Value, Wide> own(degree, vertices, n, 0, value);
    over_edges(offsets, 0, offsets.length - 1, begin, end, [&](u64 u, u64 e) {
        keys[e - begin] = read_once(targets, e);
        messages[e - begin] = (Value)own.message(u, (Wide)read(weights, e), value[u]);
    });
}

// ---- reduce ------------------------------------------------------------------------------------------

template <typename Wide> __device__ inline void combine_atomically(Wide* place, Wide message) {
    u64 seen = look(*(u64*)place);
    while (true) {
        Wide joined = combine_all(*(Wide*)&seen, message);
        u64 before = atomicCAS((u64*)place, seen, *(u64*)&joined);
        if (before == seen) return;
        seen = before;
    }
}

// Combine sorted records into ``combined[key]``. Each warp has an equal number of records, so many warps share
// a key with many records. Keys that begin or end in another warp's records are combined atomically.
template <typename Wide, typename Key, typename Message>
__device__ inline void combine_runs(u64 count, Key key_of, Message message_of, Array<Wide> combined) {
    for (u64 first = warp_of_grid() * RUN; first < count; first += warps_of_grid() * RUN) {
        u64 end = least(first + RUN, count);
        u32 first_key = key_of(first), carried_key = first_key;
        Wide carried;
        auto put = [&](u32 key, Wide message) {
            if (key == first_key) combine_atomically(&combined[key], message);
            else combined[key] = combine_all(combined[key], message);
        };
        for (u64 at = first; at < end; at += WARP) {
            u64 here = least<u64>(WARP, end - at);
            bool in = lane() < here;
            u32 key = in ? key_of(at + lane()) : NO_VERTEX;
            Wide message = message_of(at + (in ? lane() : 0));
            // A scan in which equal keys are next to each other.
            for (u32 step = 1; step < WARP; step *= 2) {
                u32 other_key = __shfl_up_sync(ALL, key, step);
                Wide other = __shfl_up_sync(ALL, message, step);
                if (lane() >= step && other_key == key) message = combine_all(other, message);
            }
            if (at > first) {
                if (key == carried_key) message = combine_all(carried, message);
                else if (lane() == 0) put(carried_key, carried);
            }
            u32 next = __shfl_down_sync(ALL, key, 1);
            if (lane() + 1 < here && next != key) put(key, message);
            carried_key = __shfl_sync(ALL, key, here - 1);
            carried = __shfl_sync(ALL, message, here - 1);
        }
        if (lane() == 0) combine_atomically(&combined[carried_key], carried);
    }
}

template <typename Wide>
__global__ void PARALLEL(256) reduce_packed(Array<const u64> records, Array<Wide> combined) {
    combine_runs<Wide>(
        records.length, [&](u64 i) { return (u32)(records[i] >> 32); },
        [&](u64 i) { return (Wide)__uint_as_float((u32)records[i]); }, combined
    );
}

template <typename Value, typename Wide>
__global__ void PARALLEL(256) reduce_apart(
    Array<const u32> keys, Array<const u64> order, Array<const Value> messages, Array<Wide> combined
) {
    combine_runs<Wide>(
        keys.length, [&](u64 i) { return keys[order[i]]; },
        [&](u64 i) { return (Wide)messages[order[i]]; }, combined
    );
}

// Combine the messages of mirrors on another GPU. `index` has each vertex once.
template <typename Wide>
__global__ void PARALLEL(256) merge_mirrors(
    Array<const u32> index, Array<const Wide> messages, Array<Wide> combined
) {
    for (u64 i = thread_of_grid(); i < index.length; i += threads_of_grid())
        combined[index[i]] = combine_all(combined[index[i]], messages[i]);
}

// ---- assign ------------------------------------------------------------------------------------------

// Write the next value of each vertex.
template <typename Value, typename Wide>
__global__ void PARALLEL(256) assign_values(
    Array<const Wide> combined, Array<const u32> degree, Array<const u32> vertices, u64 n, double total,
    Array<const Value> initial, Array<Value> value, Results<u64, double, double> results
) {
    Vertices<Value, Wide> own(degree, vertices, n, total, initial);
    for (u64 v = thread_of_grid(); v < value.length; v += threads_of_grid())
        value[v] = own.next(v, value[v], combined[v]);
    results.sum(own.converged, own.change, own.size);
}
