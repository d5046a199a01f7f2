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
from evener.kernels.cpu.bits import extract_bits, population, put_word, set_bit, take_word, trailing_zeros
from evener.kernels.cpu.chunks import CHUNK_WORDS, chunk_count, chunk_of, flag_chunks, flag_words
from evener.kernels.cpu.jit import inline_step, parallel, vertex_step

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


# ---- all values ---------------------------------------------------------------------------------


@parallel
def push_add(index, begin, mirrored, owned):
    """``owned[index] += mirrored[begin:]``. Sets the mirrors to 0."""
    for i in prange(len(index)):
        mirror = np.uint64(begin) + np.uint64(i)
        owned[index[i]] += mirrored[mirror]
        mirrored[mirror] = 0


@parallel
def push_min(index, begin, mirrored, owned):
    """``owned[index] = min(owned[index], mirrored[begin:])``."""
    for i in prange(len(index)):
        owned[index[i]] = min(owned[index[i]], mirrored[np.uint64(begin) + np.uint64(i)])


@parallel
def pull(index, begin, owned, mirrored):
    """``mirrored[begin:] = owned[index]``."""
    for i in prange(len(index)):
        mirrored[np.uint64(begin) + np.uint64(i)] = owned[index[i]]


# ---- flagged mirrors ----------------------------------------------------------------------------


@vertex_step
def _add(mirrored, mirror, owned, v):
    owned[v] += mirrored[mirror]
    mirrored[mirror] = 0
    return True


@vertex_step
def _lower(mirrored, mirror, owned, v):
    lowers = mirrored[mirror] < owned[v]
    if lowers:
        owned[v] = mirrored[mirror]
    return lowers


@vertex_step
def _set(mirrored, mirror, owned, v):
    owned[v] = mirrored[mirror]
    return True


@vertex_step
def _only_flag(mirrored, mirror, owned, v):  # noqa: ARG001 - the arguments of the others
    return True


def _push_with(move):
    """Return a step that moves the flagged mirrors of a chunk of words, clears their flags and counts them.

    ``move(mirrored, mirror, owned, v)`` moves a value, and returns whether vertex `v` is flagged.
    """

    @inline_step
    def push_words(index, begin, mirrored, mirror_flags, owned, flags, chunk):
        begin, end = np.uint64(begin), np.uint64(begin) + np.uint64(len(index))
        first, last = flag_words(begin, len(index), chunk)
        moved, at, collected = _ZERO, _ZERO, _ZERO
        for w in range(first, last):
            word = take_word(mirror_flags, w, begin, end)
            while word != _ZERO:
                mirror = (w << _SIX) + trailing_zeros(word)
                word &= word - _ONE
                moved += _ONE
                v = np.uint64(index[mirror - begin])
                if move(mirrored, mirror, owned, v):
                    # Consecutive vertices share a word of flags, and one atomic operation.
                    if v >> _SIX != at:
                        if collected != _ZERO:
                            fetch_or(flags, at, collected)
                        at, collected = v >> _SIX, _ZERO
                    collected |= _ONE << (v & _LOW_BITS)
        if collected != _ZERO:
            fetch_or(flags, at, collected)
        return moved

    return push_words


_add_words, _lower_words, _set_words = _push_with(_add), _push_with(_lower), _push_with(_set)
_flag_words = _push_with(_only_flag)


@parallel
def push_add_flagged(index, begin, mirrored, mirror_flags, owned, flags):
    """As `push_add`, for flagged mirrors only. Moves their flags to the owner's vertices.

    Returns the number of flagged mirrors.
    """
    moved = _ZERO
    for chunk in prange(flag_chunks(begin, len(index))):
        moved += _add_words(index, begin, mirrored, mirror_flags, owned, flags, chunk)
    return moved


@parallel
def push_min_flagged(index, begin, mirrored, mirror_flags, owned, flags):
    """As `push_min`, for flagged mirrors only. Flags the lowered vertices, and clears the mirrors' flags.

    Returns the number of flagged mirrors.
    """
    moved = _ZERO
    for chunk in prange(flag_chunks(begin, len(index))):
        moved += _lower_words(index, begin, mirrored, mirror_flags, owned, flags, chunk)
    return moved


@parallel
def push_set_flagged(index, begin, mirrored, mirror_flags, owned, flags):
    """``owned[index] = mirrored[begin:]`` for flagged mirrors. Moves their flags to the owner.

    Returns the number of flagged mirrors.
    """
    moved = _ZERO
    for chunk in prange(flag_chunks(begin, len(index))):
        moved += _set_words(index, begin, mirrored, mirror_flags, owned, flags, chunk)
    return moved


@parallel
def push_or_bits(index, begin, mirror_flags, flags):
    """``flags[index] |= mirror_flags[begin:]``, bit by bit. Clears the mirrors' flags."""
    moved = _ZERO
    for chunk in prange(flag_chunks(begin, len(index))):
        moved += _flag_words(index, begin, flags, mirror_flags, flags, flags, chunk)
    return moved


# ---- flagged vertices ---------------------------------------------------------------------------


@inline_step
def _pull_words(begin, held, before, flags, mirror_flags, chunk):
    """Pull the flags of a chunk of the owner's words, whose mirrors are contiguous."""
    first, last = chunk_of(chunk, _ZERO, len(held), CHUNK_WORDS)
    mirror = begin + before[first]
    run_begin = mirror
    run_end = begin + before[last]
    collected = _ZERO
    for w in range(first, last):
        count = population(held[w])
        word = extract_bits(flags[w], held[w])
        free_bits = _SIXTY_FOUR - (mirror & _LOW_BITS)
        collected |= word << (mirror & _LOW_BITS)
        if count >= free_bits:
            put_word(mirror_flags, mirror >> _SIX, run_begin, run_end, collected)
            collected = word >> free_bits if free_bits < _SIXTY_FOUR else _ZERO
        mirror += count
    if mirror & _LOW_BITS != _ZERO and mirror > run_begin:
        put_word(mirror_flags, mirror >> _SIX, run_begin, run_end, collected)


@parallel
def pull_bits(begin, held, before, flags, mirror_flags):
    """``mirror_flags[begin:] = flags[index]``, bit by bit."""
    for chunk in prange(chunk_count(len(held), CHUNK_WORDS)):
        _pull_words(np.uint64(begin), held, before, flags, mirror_flags, chunk)


@inline_step
def _pull_flagged_words(begin, held, before, owned, flags, mirrored, mirror_flags, chunk):
    first, last = chunk_of(chunk, _ZERO, len(held), CHUNK_WORDS)
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
    moved = _ZERO
    for chunk in prange(chunk_count(len(held), CHUNK_WORDS)):
        moved += _pull_flagged_words(
            np.uint64(begin), held, before, owned, flags, mirrored, mirror_flags, chunk
        )
    return moved
