// Vertex programs: the message that most neighbours of a vertex send, and the smallest of several.
//
// A warp counts the messages of a vertex with few of them, one in each lane. A thread block counts many messages
// in a hash table, in shared memory or, for the longest rows, in global memory. Tables have half as many places
// again as a vertex has messages.

#include "vertex_functions.cuh"

// Messages of a vertex whose table fits shared memory; as in vertex_kernels_gpu.py.
constexpr u32 MANY = 2048;
// The bits of an unused place. The smallest integer is the only message with these bits.
constexpr u64 EMPTY = 1ull << 63;

__device__ inline u64 bits_of(i64 message) { return message; }
__device__ inline u64 bits_of(double message) { return __double_as_longlong(message + 0.0); }  // -0.0 is 0.0
__device__ inline i64 message_of(u64 bits, i64) { return bits; }
__device__ inline double message_of(u64 bits, double) { return __longlong_as_double(bits); }
__device__ inline i64 largest(i64) { return ~EMPTY; }
__device__ inline double largest(double) { return infinite(); }

// The messages of each vertex along the edges `near`, and along the edges `far` if `both`. `message` holds the
// message of each vertex; if `per_edge`, each edge makes its message from `states`.
template <typename Message, typename Wide, typename Weight> struct Heard {
    Array<const u64> near_offsets, far_offsets;
    Tiered<u32> near_targets, far_targets;
    Tiered<Weight> near_weights, far_weights;
    u32 both, per_edge;
    Array<const Message> message;
    States<Wide> states;

    struct Row {
        u64 near, far;
        u32 from_near, count;
    };
    __device__ Row row(u64 v) const {
        u64 near = near_offsets[v], far = both ? far_offsets[v] : 0;
        u32 from_near = (u32)(near_offsets[v + 1] - near);
        return {near, far, from_near, from_near + (both ? (u32)(far_offsets[v + 1] - far) : 0)};
    }
    __device__ Wide at(const Row& row, u32 i) const {
        bool is_near = i < row.from_near;
        u64 e = is_near ? row.near + i : row.far + (i - row.from_near);
        u32 u = is_near ? read(near_targets, e) : read(far_targets, e);
        if (!per_edge) return (Wide)message[u];
        return states.message(states.read(u, false), is_near ? read(near_weights, e) : read(far_weights, e));
    }
};

// Write the message of each scheduled vertex with at most 32 messages.
template <typename Message, typename Wide, typename Weight>
__global__ void PARALLEL(256) most_frequent_of_few(
    Array<const u64> near_offsets, Tiered<u32> near_targets, Tiered<Weight> near_weights,
    Array<const u64> far_offsets, Tiered<u32> far_targets, Tiered<Weight> far_weights, u32 both, u32 per_edge,
    Array<const Message> message, Array<const u64> fields, Array<const u32> degree, Array<const u32> vertices, u64 n,
    u64 iteration, u32 everyone, Bits scheduled, Array<Wide> combined, Array<const Wide> nothing
) {
    Heard<Message, Wide, Weight> heard{
        near_offsets, far_offsets, near_targets, far_targets, near_weights, far_weights, both, per_edge, message,
        {fields, degree, vertices, n, iteration}
    };
    for (u64 begin = warp_of_grid() * WARP; begin < combined.length; begin += warps_of_grid() * WARP) {
        u64 v = begin + lane();
        bool works = v < combined.length && (everyone || scheduled.test(v));
        auto own = works ? heard.row(v) : decltype(heard.row(v)){};
        if (works && own.count == 0) combined[v] = nothing[0];
        for (u32 few = __ballot_sync(ALL, own.count > 0 && own.count <= WARP); few != 0; few &= few - 1) {
            u32 k = __ffs(few) - 1;
            decltype(own) row = {
                __shfl_sync(ALL, own.near, k), __shfl_sync(ALL, own.far, k), __shfl_sync(ALL, own.from_near, k),
                __shfl_sync(ALL, own.count, k)
            };
            Wide mine = largest(Wide());
            u32 times = 0;
            if (lane() < row.count) {
                mine = heard.at(row, lane());
                times = __popc(__match_any_sync(ALL >> (WARP - row.count), bits_of(mine)));
            }
            u32 most_times = across(times, Max());
            Wide best = across(times == most_times ? mine : largest(Wide()), Min());
            if (lane() == 0) combined[begin + k] = best;
        }
    }
}

// Counts of messages, in a hash table.
struct Table {
    u64* messages;
    u32* times;
    u32 places;

    __device__ void clear() const {
        for (u32 p = threadIdx.x; p < places; p += blockDim.x) {
            messages[p] = EMPTY;
            times[p] = 0;
        }
    }
    __device__ void add(u64 message, u32 count) const {
        u64 hash = (message ^ message >> 33) * 0xFF51AFD7ED558CCDull;
        u32 p = (u32)((hash >> 32) * places >> 32);
        while (true) {
            u64 found = look(messages[p]);
            if (found == EMPTY) found = atomicCAS(messages + p, EMPTY, message);
            if (found == EMPTY || found == message) break;
            p = p + 1 < places ? p + 1 : 0;
        }
        atomicAdd(times + p, count);
    }
};

// Write the message of each scheduled vertex of `rows` with more messages. A block has a table of `places`
// places in `messages` and `times`; if `places` is 0, a table in shared memory.
template <typename Message, typename Wide, typename Weight>
__global__ void PARALLEL(512) most_frequent_of_many(
    Array<const u64> near_offsets, Tiered<u32> near_targets, Tiered<Weight> near_weights,
    Array<const u64> far_offsets, Tiered<u32> far_targets, Tiered<Weight> far_weights, u32 both, u32 per_edge,
    Array<const Message> message, Array<const u64> fields, Array<const u32> degree, Array<const u32> vertices, u64 n,
    u64 iteration, u32 everyone, Bits scheduled, Array<Wide> combined, Array<const u32> rows, u64 places,
    Array<u64> messages, Array<u32> times
) {
    __shared__ u64 own_messages[MANY + MANY / 2];
    __shared__ u32 own_times[MANY + MANY / 2];
    __shared__ u32 times_of_empty, most_times;
    Heard<Message, Wide, Weight> heard{
        near_offsets, far_offsets, near_targets, far_targets, near_weights, far_weights, both, per_edge, message,
        {fields, degree, vertices, n, iteration}
    };
    u64 tables = places == 0 ? gridDim.x : messages.length / places;
    if (blockIdx.x >= tables) return;
    Table table{own_messages, own_times, 0};
    if (places != 0) table = {messages.at + blockIdx.x * places, times.at + blockIdx.x * places, 0};
    for (u64 i = blockIdx.x; i < rows.length; i += tables) {
        u64 v = rows[i];
        auto row = heard.row(v);
        if (row.count <= WARP || !(everyone || scheduled.test(v))) continue;
        table.places = row.count + row.count / 2;
        table.clear();
        if (threadIdx.x == 0) times_of_empty = 0;
        __syncthreads();
        for (u32 at = threadIdx.x - lane(); at < row.count; at += blockDim.x) {
            bool in = at + lane() < row.count;
            u32 here = __ballot_sync(ALL, in);
            if (!in) continue;
            u64 bits = bits_of(heard.at(row, at + lane()));
            u32 equal = __match_any_sync(here, bits);
            if (lane() != __ffs(equal) - 1) continue;
            if (bits == EMPTY) atomicAdd(&times_of_empty, __popc(equal));
            else table.add(bits, __popc(equal));
        }
        __syncthreads();
        u32 own_most = times_of_empty;
        Wide best = own_most > 0 ? message_of(EMPTY, Wide()) : largest(Wide());
        for (u32 p = threadIdx.x; p < table.places; p += blockDim.x) {
            if (table.times[p] == 0 || table.times[p] < own_most) continue;
            Wide found = message_of(table.messages[p], Wide());
            if (table.times[p] > own_most || found < best) best = found;
            own_most = table.times[p];
        }
        u32 longest = over_block(own_most, Max());
        if (threadIdx.x == 0) most_times = longest;
        __syncthreads();
        best = over_block(own_most == most_times ? best : largest(Wide()), Min());
        if (threadIdx.x == 0) combined[v] = best;
        __syncthreads();
    }
}
