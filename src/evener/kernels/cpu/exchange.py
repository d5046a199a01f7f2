"""Exchange kernels: push (mirrors to owners, with a reduction) and pull (owners to mirrors).

`index` (k,) uint32 is the owner's number of each mirror of a route, ascending and without repeats. Mirror
``begin + i`` is the mirror of the owner's vertex ``index[i]``. `held` (words,) uint64 is `index` as a bitmap
of the owner's vertices. `before` (words + 1,) uint32 counts its bits before each word. Flags are bitmaps.

Each value has one writer, because `index` has no repeats. Two threads may write to the same word of flags, so
flags change atomically.
"""

from __future__ import annotations

import numpy as np
from numba import prange

from evener.kernels.cpu.atomics import fetch_or
from evener.kernels.cpu.bits import (
    extract_bits,
    population,
    put_word,
    set_bit,
    take_word,
    trailing_zeros,
)
from evener.kernels.cpu.chunks import CHUNK, CHUNK_WORDS, chunk_count
from evener.kernels.cpu.jit import inline_step, parallel

__all__ = [
    "pull",
    "pull_bits",
    "pull_flagged",
    "push_add",
    "push_add_flagged",
    "push_min",
    "push_min_flagged",
    "push_or_bits",
    "push_set_flagged",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_SIXTY_FOUR = np.uint64(64)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)


# ---- flags --------------------------------------------------------------------------------------


@inline_step
def _or_words(index, begin, mirror_flags, flags, first, last):
    end = begin + np.uint64(len(index))
    moved = _ZERO
    for w in range(first, last):
        word = take_word(mirror_flags, w, begin, end)
        while word != _ZERO:
            mirror = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            set_bit(flags, index[mirror - begin])
            moved += _ONE
    return moved


@parallel
def push_or_bits(index, begin, mirror_flags, flags):
    """``flags[index] |= mirror_flags[begin:]``, bit by bit. Clears the mirrors' flags."""
    first_word = np.uint64(begin) >> _SIX
    last_word = (np.uint64(begin) + np.uint64(len(index)) + _LOW_BITS) >> _SIX
    moved = _ZERO
    for r in prange(chunk_count(last_word - first_word, CHUNK_WORDS)):
        first = first_word + np.uint64(r) * CHUNK_WORDS
        last = min(first + CHUNK_WORDS, last_word)
        moved += _or_words(index, np.uint64(begin), mirror_flags, flags, first, last)
    return moved


@inline_step
def _pull_words(begin, held, before, flags, mirror_flags, first, last):
    """Pull the flags of the owner's words ``first:last``, whose mirrors are contiguous."""
    mirror = begin + before[first]
    run_begin = mirror
    run_end = begin + before[last]
    collected = _ZERO
    for w in range(first, last):
        count = population(held[w])
        word = extract_bits(flags[w], held[w])
        room = _SIXTY_FOUR - (mirror & _LOW_BITS)
        collected |= word << (mirror & _LOW_BITS)
        if count >= room:
            put_word(mirror_flags, mirror >> _SIX, run_begin, run_end, collected)
            collected = word >> room if room < _SIXTY_FOUR else _ZERO
        mirror += count
    if mirror & _LOW_BITS != _ZERO and mirror > run_begin:
        put_word(mirror_flags, mirror >> _SIX, run_begin, run_end, collected)


@parallel
def pull_bits(begin, held, before, flags, mirror_flags):
    """``mirror_flags[begin:] = flags[index]``, bit by bit."""
    words = np.uint64(len(held))
    for r in prange(chunk_count(words, CHUNK_WORDS)):
        first = np.uint64(r) * CHUNK_WORDS
        last = min(first + CHUNK_WORDS, words)
        _pull_words(np.uint64(begin), held, before, flags, mirror_flags, first, last)


# ---- all values ---------------------------------------------------------------------------------


@inline_step
def _add_chunk(index, begin, mirrored, owned, first, last):
    for i in range(first, last):
        owned[index[i]] += mirrored[begin + i]
        mirrored[begin + i] = 0


@parallel
def push_add(index, begin, mirrored, owned):
    """``owned[index] += mirrored[begin:]``. Sets the mirrors to 0."""
    for r in prange(chunk_count(len(index), CHUNK)):
        first = np.uint64(r) * CHUNK
        _add_chunk(index, np.uint64(begin), mirrored, owned, first, min(first + CHUNK, np.uint64(len(index))))


@inline_step
def _min_chunk(index, begin, mirrored, owned, first, last):
    for i in range(first, last):
        owned[index[i]] = min(owned[index[i]], mirrored[begin + i])


@parallel
def push_min(index, begin, mirrored, owned):
    """``owned[index] = min(owned[index], mirrored[begin:])``."""
    for r in prange(chunk_count(len(index), CHUNK)):
        first = np.uint64(r) * CHUNK
        _min_chunk(index, np.uint64(begin), mirrored, owned, first, min(first + CHUNK, np.uint64(len(index))))


@inline_step
def _pull_chunk(index, begin, owned, mirrored, first, last):
    for i in range(first, last):
        mirrored[begin + i] = owned[index[i]]


@parallel
def pull(index, begin, owned, mirrored):
    """``mirrored[begin:] = owned[index]``."""
    for r in prange(chunk_count(len(index), CHUNK)):
        first = np.uint64(r) * CHUNK
        _pull_chunk(
            index, np.uint64(begin), owned, mirrored, first, min(first + CHUNK, np.uint64(len(index)))
        )


# ---- flagged values only ------------------------------------------------------------------------


@inline_step
def _add_flagged_words(index, begin, mirrored, mirror_flags, owned, flags, first, last):
    end = begin + np.uint64(len(index))
    moved = _ZERO
    for w in range(first, last):
        word = take_word(mirror_flags, w, begin, end)
        while word != _ZERO:
            mirror = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            owned[index[mirror - begin]] += mirrored[mirror]
            mirrored[mirror] = 0
            set_bit(flags, index[mirror - begin])
            moved += _ONE
    return moved


@parallel
def push_add_flagged(index, begin, mirrored, mirror_flags, owned, flags):
    """As `push_add`, for flagged mirrors only. Moves their flags to the owner's vertices.

    Returns the number of flagged mirrors.
    """
    first_word = np.uint64(begin) >> _SIX
    last_word = (np.uint64(begin) + np.uint64(len(index)) + _LOW_BITS) >> _SIX
    moved = _ZERO
    for r in prange(chunk_count(last_word - first_word, CHUNK_WORDS)):
        first = first_word + np.uint64(r) * CHUNK_WORDS
        last = min(first + CHUNK_WORDS, last_word)
        moved += _add_flagged_words(
            index, np.uint64(begin), mirrored, mirror_flags, owned, flags, first, last
        )
    return moved


@inline_step
def _min_flagged_words(index, begin, mirrored, mirror_flags, owned, flags, first, last):
    end = begin + np.uint64(len(index))
    moved = _ZERO
    for w in range(first, last):
        word = take_word(mirror_flags, w, begin, end)
        while word != _ZERO:
            mirror = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            moved += _ONE
            i = index[mirror - begin]
            if mirrored[mirror] < owned[i]:
                owned[i] = mirrored[mirror]
                set_bit(flags, i)
    return moved


@parallel
def push_min_flagged(index, begin, mirrored, mirror_flags, owned, flags):
    """As `push_min`, for flagged mirrors only. Flags the lowered vertices, and clears the mirrors' flags.

    Returns the number of flagged mirrors.
    """
    first_word = np.uint64(begin) >> _SIX
    last_word = (np.uint64(begin) + np.uint64(len(index)) + _LOW_BITS) >> _SIX
    moved = _ZERO
    for r in prange(chunk_count(last_word - first_word, CHUNK_WORDS)):
        first = first_word + np.uint64(r) * CHUNK_WORDS
        last = min(first + CHUNK_WORDS, last_word)
        moved += _min_flagged_words(
            index, np.uint64(begin), mirrored, mirror_flags, owned, flags, first, last
        )
    return moved


@inline_step
def _set_flagged_words(index, begin, mirrored, mirror_flags, owned, flags, first, last):
    end = begin + np.uint64(len(index))
    moved = _ZERO
    at = _ZERO
    collected = _ZERO
    for w in range(first, last):
        word = take_word(mirror_flags, w, begin, end)
        while word != _ZERO:
            mirror = (w << _SIX) + trailing_zeros(word)
            word &= word - _ONE
            i = np.uint64(index[mirror - begin])
            owned[i] = mirrored[mirror]
            moved += _ONE
            if i >> _SIX != at:
                if collected != _ZERO:
                    fetch_or(flags, at, collected)
                at = i >> _SIX
                collected = _ZERO
            collected |= _ONE << (i & _LOW_BITS)
    if collected != _ZERO:
        fetch_or(flags, at, collected)
    return moved


@parallel
def push_set_flagged(index, begin, mirrored, mirror_flags, owned, flags):
    """``owned[index] = mirrored[begin:]`` for flagged mirrors. Moves their flags to the owner.

    Returns the number of flagged mirrors.
    """
    first_word = np.uint64(begin) >> _SIX
    last_word = (np.uint64(begin) + np.uint64(len(index)) + _LOW_BITS) >> _SIX
    moved = _ZERO
    for r in prange(chunk_count(last_word - first_word, CHUNK_WORDS)):
        first = first_word + np.uint64(r) * CHUNK_WORDS
        last = min(first + CHUNK_WORDS, last_word)
        moved += _set_flagged_words(
            index, np.uint64(begin), mirrored, mirror_flags, owned, flags, first, last
        )
    return moved


@inline_step
def _pull_flagged_words(begin, held, before, owned, flags, mirrored, mirror_flags, first, last):
    moved = _ZERO
    for w in range(first, last):
        word = flags[w] & held[w]
        while word != _ZERO:
            lowest = word & (~word + _ONE)
            mirror = begin + before[w] + population(held[w] & (lowest - _ONE))
            mirrored[mirror] = owned[(w << _SIX) + trailing_zeros(word)]
            set_bit(mirror_flags, mirror)
            word ^= lowest
            moved += _ONE
    return moved


@parallel
def pull_flagged(begin, held, before, owned, flags, mirrored, mirror_flags):
    """As `pull`, for the owner's flagged vertices only. Flags and counts the mirrors."""
    words = np.uint64(len(held))
    moved = _ZERO
    for r in prange(chunk_count(words, CHUNK_WORDS)):
        first = np.uint64(r) * CHUNK_WORDS
        last = min(first + CHUNK_WORDS, words)
        moved += _pull_flagged_words(
            np.uint64(begin), held, before, owned, flags, mirrored, mirror_flags, first, last
        )
    return moved
