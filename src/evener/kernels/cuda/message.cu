// Message kernels: pack boundary values for an element with another memory, and unpack them there.
// kernels/cpu/message.py describes the arrays.

#include "flags.cuh"

// ``message = flags[begin:begin + count]``, bit by bit. Clears the flags.
__global__ void PARALLEL(256) take_bits(Bits flags, u64 begin, u64 count, Bits message, Grid grid) {
    u64 halves = (count + 31) / 32;
    for (u64 h = thread_of_grid(); h < message.length(); h += threads_of_grid()) {
        u32 half = 0;
        if (h < halves) {
            u64 at = begin + h * 32;
            u32 shift = at % 32;
            half = flags.half(at / 32) >> shift;
            if (shift != 0 && at / 32 + 1 < flags.length()) half |= flags.half(at / 32 + 1) << (32 - shift);
            half &= range_mask(h, 0, count);
        }
        message.half(h) = half;
    }
    grid.sync();
    take_each(flags, begin, begin + count, [](u64) {});
}

// ``flags[begin:begin + count] = message``, bit by bit.
__global__ void PARALLEL(256) place_bits(Bits message, u64 count, Bits flags, u64 begin) {
    u64 end = begin + count;
    for (u64 h = begin / 32 + thread_of_grid(); h < (end + 31) / 32; h += threads_of_grid()) {
        u32 mask = range_mask(h, begin, end);
        u32 shift = begin % 32;
        u64 from = h - begin / 32;  // the half of the message that begins at bit `shift` of half h
        u32 half = from < message.length() ? message.half(from) << shift : 0;
        if (shift != 0 && from > 0) half |= message.half(from - 1) >> (32 - shift);
        flags.half(h) = (flags.half(h) & ~mask) | (half & mask);
    }
}

// ``message = values[begin:begin + count]``. If `emptied` is not 0, sets these values to 0.
template <typename Value>
__global__ void PARALLEL(256) take_values(
    Array<Value> values, u64 begin, u64 count, u32 emptied, Array<Value> message
) {
    for (u64 i = thread_of_grid(); i < count; i += threads_of_grid()) {
        message[i] = values[begin + i];
        if (emptied) values[begin + i] = 0;
    }
}

// ``message = values[begin:]`` where `message_flags` are set, and 0 elsewhere.
//
// If `emptied` is not 0, sets the flagged values to 0.
template <typename Value>
__global__ void PARALLEL(256) take_flagged(
    Array<Value> values, u64 begin, Bits message_flags, u32 emptied, Array<Value> message
) {
    for (u64 i = thread_of_grid(); i < message.length; i += threads_of_grid()) {
        bool flagged = message_flags.test(i);
        message[i] = flagged ? values[begin + i] : 0;
        if (flagged && emptied) values[begin + i] = 0;
    }
}

// Append the flagged values of ``begin:begin + count`` to the lists, with their positions from `begin`.
//
// Adds their number to ``length[0]`` and clears their flags. If `emptied` is not 0, sets the values to 0.
template <typename Value>
__global__ void PARALLEL(256) list_flagged(
    Bits flags, u64 begin, u64 count, Array<Value> values, u32 emptied, Array<u32> positions,
    Array<Value> listed, Array<u64> length
) {
    take_each(flags, begin, begin + count, [&](u64 v) {
        u64 i = room_for_one(length);
        positions[i] = (u32)(v - begin);
        listed[i] = values[v];
        if (emptied) values[v] = 0;
    });
}

// ``values[begin + positions] = listed``. Flags these values.
template <typename Value>
__global__ void PARALLEL(256) place_listed(
    Array<const u32> positions, Array<Value> listed, u64 begin, Array<Value> values, Bits flags
) {
    for (u64 i = thread_of_grid(); i < positions.length; i += threads_of_grid()) {
        values[begin + positions[i]] = listed[i];
        flags.set(begin + positions[i]);
    }
}

// ``values[begin:] = message`` where `message_flags` are set. Flags these values.
template <typename Value>
__global__ void PARALLEL(256) place_flagged(
    Array<Value> message, Bits message_flags, u64 begin, Array<Value> values, Bits flags
) {
    for (u64 i = thread_of_grid(); i < message.length; i += threads_of_grid()) {
        if (!message_flags.test(i)) continue;
        values[begin + i] = message[i];
        flags.set(begin + i);
    }
}
