"""Message kernels: pack boundary values for an element with another memory, and unpack them there.

A message is for `count` contiguous mirrors from `begin` on. Its flags are a bitmap from bit 0, and its values
are in the order of the mirrors. A sparse message lists values with their positions, counted from `begin`.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_add
from evener.kernels.cpu.bits import is_set, put_word, range_mask, set_bit, take_word, trailing_zeros
from evener.kernels.cpu.chunks import CHUNK_WORDS, chunk_count, chunk_of, flag_chunks, flag_words
from evener.kernels.cpu.frontier import BUFFER
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = [
    "list_flagged",
    "place_bits",
    "place_flagged",
    "place_listed",
    "take_bits",
    "take_flagged",
    "take_values",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_SIXTY_FOUR = np.uint64(64)


@inline_step
def _take_words(flags, begin, count, message, chunk):
    first, last = chunk_of(chunk, _ZERO, len(message), CHUNK_WORDS)
    shift = begin & _LOW_BITS
    low = begin >> _SIX
    whole = max(first, min(last, count >> _SIX))
    if shift == _ZERO:
        for w in range(first, whole):
            message[w] = flags[low + w]
    else:
        for w in range(first, whole):
            message[w] = flags[low + w] >> shift | flags[low + w + _ONE] << (_SIXTY_FOUR - shift)
    for w in range(whole, last):
        word = _ZERO
        if w << _SIX < count:
            at = low + w
            word = flags[at] >> shift
            if shift != _ZERO and at + _ONE < np.uint64(len(flags)):
                word |= flags[at + _ONE] << (_SIXTY_FOUR - shift)
            word &= range_mask(w, _ZERO, count)
        message[w] = word


@inline_step
def _clear_words(flags, begin, count, chunk):
    first, last = flag_words(begin, count, chunk)
    for w in range(first, last):
        put_word(flags, w, begin, begin + count, _ZERO)


@parallel
def take_bits(flags, begin, count, message):
    """``message = flags[begin:begin + count]``, bit by bit. Clears the flags."""
    for chunk in prange(chunk_count(len(message), CHUNK_WORDS)):
        _take_words(flags, np.uint64(begin), np.uint64(count), message, chunk)
    for chunk in prange(flag_chunks(begin, count)):
        _clear_words(flags, np.uint64(begin), np.uint64(count), chunk)


@inline_step
def _place_words(message, begin, count, flags, chunk):
    first, last = flag_words(begin, count, chunk)
    shift = begin & _LOW_BITS
    for w in range(first, last):
        part = w - (begin >> _SIX)  # the word of the message that ends in this word, past `shift` bits
        word = message[part] << shift if part < np.uint64(len(message)) else _ZERO
        if shift != _ZERO and part > _ZERO:
            word |= message[part - _ONE] >> (_SIXTY_FOUR - shift)
        put_word(flags, w, begin, begin + count, word)


@parallel
def place_bits(message, count, flags, begin):
    """``flags[begin:begin + count] = message``, bit by bit."""
    for chunk in prange(flag_chunks(begin, count)):
        _place_words(message, np.uint64(begin), np.uint64(count), flags, chunk)


@parallel
def take_values(values, begin, count, emptied, message):
    """``message = values[begin:begin + count]``. If `emptied` is not 0, sets these values to 0."""
    for i in prange(count):
        v = np.uint64(begin) + np.uint64(i)
        message[i] = values[v]
        if emptied:
            values[v] = 0


@parallel
def take_flagged(values, begin, message_flags, emptied, message):
    """``message = values[begin:]`` where `message_flags` are set, and 0 elsewhere.

    If `emptied` is not 0, sets the flagged values to 0.
    """
    for i in prange(len(message)):
        v = np.uint64(begin) + np.uint64(i)
        message[i] = 0
        if is_set(message_flags, i):
            message[i] = values[v]
            if emptied:
                values[v] = 0


@inline_step
def _list_buffer(buffer, held, begin, values, emptied, positions, listed, length):
    first = fetch_add(length, _ZERO, np.uint64(held))
    for i in range(np.uint64(held)):
        positions[first + i] = buffer[i]
        listed[first + i] = values[begin + buffer[i]]
        if emptied:
            values[begin + buffer[i]] = 0


@inline_step
def _list_words(flags, begin, count, values, emptied, positions, listed, length, chunk):
    first, last = flag_words(begin, count, chunk)
    buffer = np.empty(BUFFER, np.uint32)
    held = 0
    for w in range(first, last):
        word = take_word(flags, w, begin, begin + count)
        while word != _ZERO:
            buffer[held] = ((w << _SIX) + trailing_zeros(word)) - begin
            word &= word - _ONE
            held += 1
        if held > BUFFER - 64:
            _list_buffer(buffer, held, begin, values, emptied, positions, listed, length)
            held = 0
    if held > 0:
        _list_buffer(buffer, held, begin, values, emptied, positions, listed, length)


@parallel
def list_flagged(flags, begin, count, values, emptied, positions, listed, length):
    """Append the flagged values of ``begin:begin + count`` to the lists, with their positions from `begin`.

    Adds their number to ``length[0]`` and clears their flags. If `emptied` is not 0, sets the values to 0.
    """
    for chunk in prange(flag_chunks(begin, count)):
        _list_words(
            flags, np.uint64(begin), np.uint64(count), values, emptied, positions, listed, length, chunk
        )


@parallel
def place_listed(positions, listed, begin, values, flags):
    """``values[begin + positions] = listed``. Flags these values."""
    for i in prange(len(positions)):
        v = np.uint64(begin) + np.uint64(positions[i])
        values[v] = listed[i]
        set_bit(flags, v)


@parallel
def place_flagged(message, message_flags, begin, values, flags):
    """``values[begin:] = message`` where `message_flags` are set. Flags these values."""
    for i in prange(len(message)):
        if is_set(message_flags, i):
            v = np.uint64(begin) + np.uint64(i)
            values[v] = message[i]
            set_bit(flags, v)
