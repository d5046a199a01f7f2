"""Codes of names: a hash table that all threads fill, from lines of text or from Arrow strings.

Each distinct name gets a code. A thread claims a free slot with a compare-and-swap, and publishes the name
with another. Two names of at most 16 bytes are compared in their slots.

Encoding: `slots` uint64[3 * capacity] has two words of a name, and its length and code. The words are the
bytes of a short name. They are the hash of a longer name and its place in `arena` uint8, which has the bytes
of all names. `begins` uint64 and `lengths` uint32 are the places of the names there, by code. `counts`
uint64[2] are the numbers of names and of bytes in the arena. `scratch` uint64[parts, BLOCK, 5] has the names
that a part looks up: begin or code, length, two words, and first slot.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import compare_and_swap, fetch_add, load
from evener.kernels.cpu.bits import population, trailing_zeros
from evener.kernels.cpu.build import slice_bound
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step
from evener.kernels.cpu.mixing import mix
from evener.kernels.cpu.simd import load_word, prefetch

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BLOCK", "DONE", "FULL", "ODD", "Syntax", "Table", "pack_names", "read_lines"]
__all__ += ["read_strings", "rehash", "words_of", "write_characters"]


class Table(NamedTuple):
    """The arrays of a hash table. It has room for `limit` names and one block for each thread."""

    slots: NDArray[np.uint64]
    arena: NDArray[np.uint8]
    begins: NDArray[np.uint64]
    lengths: NDArray[np.uint32]
    counts: NDArray[np.uint64]
    limit: np.uint64


class Syntax(NamedTuple):
    """The syntax of lines.

    Bit c of `comments` marks byte c as the begin of a comment, and bit c of `ends` marks byte c as the end of
    a name. No marked byte is larger than the comma.
    """

    separator: np.uint8
    comments: np.uint64
    ends: np.uint64


# Names that a thread looks up at once, so that their reads of memory overlap.
BLOCK = 64
# States of a part: all lines are read, the table must grow, or a line needs another reader.
DONE, FULL, ODD = 0, 1, 2

_ZERO, _ONE, _TWO, _THREE, _EIGHT, _SHORT = (np.uint64(k) for k in (0, 1, 2, 3, 8, 16))
_WORD_BITS = np.uint64(64)
_HALF, _CODE = np.uint64(32), np.uint64((1 << 32) - 1)
_ALL = np.uint64((1 << 64) - 1)
_BUSY = _CODE  # the state of a slot during a write: length 0, and a code that no name has
_NEWLINE, _RETURN = (np.uint8(c) for c in b"\n\r")
_MAX_SPECIAL = np.uint64(ord(","))
_LOW_BITS, _HIGH_BITS = np.uint64(0x0101010101010101), np.uint64(0x8080808080808080)
_AFTER_SPECIAL = _LOW_BITS * (_MAX_SPECIAL + _ONE)


@vertex_step
def _word(text, at, count):
    """Return the word of up to eight bytes at a position, filled with zeros."""
    if at + _EIGHT <= np.uint64(len(text)):
        word = load_word(text, at)
        return word if count >= _EIGHT else word & ~(_ALL << (count << _THREE))
    word = _ZERO
    for k in range(min(count, _EIGHT)):
        word |= np.uint64(text[at + k]) << (np.uint64(k) << _THREE)
    return word


@inline_step
def _long_hash(text, at, length):
    """Return the hash of a name of more than 16 bytes."""
    value = length
    for k in range(_ZERO, length, _EIGHT):
        value = mix(value ^ _word(text, at + k, length - k))
    return value


@inline_step
def _equal(text, at, arena, begin, length):
    for k in range(_ZERO, length, _EIGHT):
        if _word(text, at + k, length - k) != _word(arena, begin + k, length - k):
            return False
    return True


@inline_step
def _insert(text, at, length, first, second, place, slots, arena, begins, lengths, counts):
    """Write a name to a claimed slot, and return its code."""
    code = fetch_add(counts, _ZERO, _ONE)
    begin = fetch_add(counts, _ONE, length)
    for k in range(length):
        arena[begin + k] = text[at + k]
    begins[code] = begin
    lengths[code] = np.uint32(length)
    slots[place] = first
    slots[place + _ONE] = begin if length > _SHORT else second
    compare_and_swap(slots, place + _TWO, _BUSY, (length << _HALF) | (code + _ONE))
    return code


@inline_step
def _code_block(text, names, count, slots, arena, begins, lengths, counts):
    """Replace the begins in `names` by codes."""
    last = np.uint64(len(slots)) // _THREE - _ONE
    shift = _WORD_BITS - population(last)
    for k in range(count):
        at, length = names[k, 0], names[k, 1]
        if length > _SHORT:
            first, second = _long_hash(text, at, length), _ZERO
            home = first >> shift
        else:
            first = _word(text, at, length)
            second = _word(text, at + _EIGHT, length - _EIGHT) if length > _EIGHT else _ZERO
            home = mix(mix(first ^ length) ^ second) >> shift
        prefetch(slots, home * _THREE)
        prefetch(slots, home * _THREE + _TWO)
        names[k, 2], names[k, 3], names[k, 4] = first, second, home
    # The loop calls no function for most names, because Numba counts references to the arrays of a call.
    for k in range(count):
        length, first, second, home = names[k, 1], names[k, 2], names[k, 3], names[k, 4]
        while True:
            place = home * _THREE
            state = load(slots, place + _TWO)
            if state == _BUSY:  # another thread writes the name
                continue
            if state == _ZERO:
                if not compare_and_swap(slots, place + _TWO, _ZERO, _BUSY):
                    continue
                names[k, 0] = _insert(
                    text, names[k, 0], length, first, second, place, slots, arena, begins, lengths, counts
                )
                break
            if state >> _HALF == length and slots[place] == first:
                other = slots[place + _ONE]
                if other == second if length <= _SHORT else _equal(text, names[k, 0], arena, other, length):
                    names[k, 0] = (state & _CODE) - _ONE
                    break
            home = (home + _ONE) & last


@vertex_step
def _name_end(text, at, ends):
    """Return the position of the first byte of `ends`."""
    while True:
        if at + _EIGHT <= np.uint64(len(text)):
            word = load_word(text, at)
            special = (word - _AFTER_SPECIAL) & ~word & _HIGH_BITS
            if special == _ZERO:
                at += _EIGHT
                continue
            at += trailing_zeros(special) >> _THREE
        byte = np.uint64(text[at])
        if byte <= _MAX_SPECIAL and (ends >> byte) & _ONE != _ZERO:
            return at
        at += _ONE


@vertex_step
def _line_names(text, at, separator, ends, names, count):
    """Write the places of tail and head of a line; return the end of the line, and whether it is odd."""
    end = _name_end(text, at, ends)
    names[count, 0], names[count, 1] = at, end - at
    if end == at or text[end] != separator:
        return at, True
    at = end + _ONE
    end = _name_end(text, at, ends)
    names[count + _ONE, 0], names[count + _ONE, 1] = at, end - at
    empty = end == at
    end += np.uint64(text[end] == _RETURN)
    return end, empty or text[end] != _NEWLINE


@inline_step
def _split_block(text, at, stop, separator, comments, ends, names):
    """Write the places of names in lines to `names`; return the end, their number, and whether a line is odd.

    Empty lines and comments have no names.
    """
    count, odd = _ZERO, False
    while at < stop and count < np.uint64(BLOCK) and not odd:
        byte = np.uint64(text[at])
        if byte <= _MAX_SPECIAL and (comments >> byte) & _ONE != _ZERO:
            while text[at] != _NEWLINE:
                at += _ONE
        elif text[at] != _NEWLINE:
            at, odd = _line_names(text, at, separator, ends, names, count)
            count += _TWO
        at += _ONE
    return at, count, odd


@inline_step
def _read_part(text, syntax, at, stop, row, src, dst, names, table):
    """Read lines; return where the next line begins, the next row, and the state."""
    separator, comments, ends = syntax
    slots, arena, begins, lengths, counts, limit = table
    while at < stop:
        if load(counts, _ZERO) >= limit:
            return at, row, FULL
        at, count, odd = _split_block(text, at, stop, separator, comments, ends, names)
        if odd:
            return at, row, ODD
        _code_block(text, names, count, slots, arena, begins, lengths, counts)
        for k in range(_ZERO, count, _TWO):
            src[row] = np.uint32(names[k, 0])
            dst[row] = np.uint32(names[k + _ONE, 0])
            row += _ONE
    return at, row, DONE


@parallel
def read_lines(text, syntax, at, stops, rows, states, src, dst, scratch, table):
    """Write the codes of the tails and heads of each part from row ``rows[part]`` on.

    `at`, `stops` and `rows` uint64[parts] and `states` int64[parts] are the state of each part. A part stops
    if the table is full, and goes on from there in the next call.
    """
    for part in prange(len(at)):
        at[part], rows[part], states[part] = _read_part(
            text, syntax, at[part], stops[part], rows[part], src, dst, scratch[part], table
        )


@inline_step
def _code_strings(text, offsets, row, stop, codes, names, table):
    slots, arena, begins, lengths, counts, limit = table
    while row < stop:
        if load(counts, _ZERO) >= limit:
            return row
        count = min(stop - row, np.uint64(BLOCK))
        for k in range(count):
            begin = np.uint64(offsets[row + k])
            names[k, 0], names[k, 1] = begin, np.uint64(offsets[row + k + _ONE]) - begin
        _code_block(text, names, count, slots, arena, begins, lengths, counts)
        for k in range(count):
            codes[row + k] = np.uint32(names[k, 0])
        row += count
    return row


@parallel
def read_strings(text, offsets, at, stops, codes, scratch, table):
    """Write the codes of Arrow strings. A part that finds the table full continues in the next call.

    `at` has the next string of each part.
    """
    for part in prange(len(at)):
        at[part] = _code_strings(text, offsets, at[part], stops[part], codes, scratch[part], table)


@inline_step
def _rehash_slot(slots, place, larger):
    last = np.uint64(len(larger)) // _THREE - _ONE
    first, second, state = slots[place], slots[place + _ONE], slots[place + _TWO]
    length = state >> _HALF
    home = (first if length > _SHORT else mix(mix(first ^ length) ^ second)) >> (
        _WORD_BITS - population(last)
    )
    while not compare_and_swap(larger, home * _THREE + _TWO, _ZERO, state):
        home = (home + _ONE) & last
    larger[home * _THREE] = first
    larger[home * _THREE + _ONE] = second


@inline_step
def _rehash_slice(slots, first, last, larger):
    for slot in range(first, last):
        if slots[slot * _THREE + _TWO] != _ZERO:
            _rehash_slot(slots, slot * _THREE, larger)


@parallel
def rehash(slots, larger, parts):
    """Copy all names to a larger table of zeros, in the order of their hashes."""
    capacity = np.uint64(len(slots)) // _THREE
    for p in prange(parts):
        _rehash_slice(slots, slice_bound(capacity, p, parts), slice_bound(capacity, p + 1, parts), larger)


@inline_step
def _words_slice(arena, begins, lengths, first, last, words):
    for code in range(first, last):
        begin, length, word = begins[code], np.uint64(lengths[code]), _ZERO
        for k in range(_EIGHT):
            word = (word << _EIGHT) | (np.uint64(arena[begin + k]) if k < length else _ZERO)
        words[code] = word


@parallel
def words_of(arena, begins, lengths, words, parts):
    """Write the first eight bytes of each name as a number, in the order of the names."""
    for p in prange(parts):
        first, last = slice_bound(len(words), p, parts), slice_bound(len(words), p + 1, parts)
        _words_slice(arena, begins, lengths, first, last, words)


@inline_step
def _pack_slice(arena, begins, codes, first, last, offsets, packed):
    for i in range(first, last):
        begin, at = begins[codes[i]], np.uint64(offsets[i])
        for k in range(np.uint64(offsets[i + _ONE]) - at):
            packed[at + k] = arena[begin + k]


@parallel
def pack_names(arena, begins, codes, offsets, packed, parts):
    """Copy the bytes of names to their places as Arrow strings."""
    for p in prange(parts):
        n = len(codes)
        _pack_slice(
            arena, begins, codes, slice_bound(n, p, parts), slice_bound(n, p + 1, parts), offsets, packed
        )


@inline_step
def _characters_of(packed, at, stop, row, characters):
    """Decode UTF-8."""
    place = _ZERO
    while at < stop:
        byte = np.uint32(packed[at])
        more = _ZERO
        if byte >= np.uint32(0xC0):
            more = _ONE + np.uint64(byte >= np.uint32(0xE0)) + np.uint64(byte >= np.uint32(0xF0))
            byte &= np.uint32(0x3F) >> np.uint32(more)
        for k in range(more):
            byte = (byte << np.uint32(6)) | np.uint32(packed[at + k + _ONE] & np.uint8(0x3F))
        characters[row, place] = byte
        place += _ONE
        at += more + _ONE


@inline_step
def _characters_slice(packed, offsets, first, last, characters):
    for i in range(first, last):
        _characters_of(packed, np.uint64(offsets[i]), np.uint64(offsets[i + _ONE]), i, characters)


@parallel
def write_characters(packed, offsets, characters, parts):
    """Write the characters of Arrow strings of valid UTF-8 to the rows of uint32 zeros."""
    for p in prange(parts):
        n = len(characters)
        _characters_slice(packed, offsets, slice_bound(n, p, parts), slice_bound(n, p + 1, parts), characters)
