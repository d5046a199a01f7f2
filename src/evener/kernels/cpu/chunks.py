"""Chunks of a parallel loop over many values."""

from __future__ import annotations

import numpy as np

from evener.kernels.cpu.jit import inline_step

__all__ = ["CHUNK", "CHUNK_WORDS", "chunk_count", "chunk_of", "flag_chunks", "flag_words"]

# Values, and words of flags, per chunk of a loop that only copies.
CHUNK = np.uint64(1 << 13)
CHUNK_WORDS = np.uint64(1 << 7)
_ONE, _SIX, _LOW_BITS = np.uint64(1), np.uint64(6), np.uint64(63)


@inline_step
def chunk_count(length, size):
    """Return how many chunks of `size` values cover `length` values."""
    return np.int64((np.uint64(length) + size - _ONE) // size)


@inline_step
def chunk_of(chunk, begin, end, size):
    """Return the begin and the end of chunk number `chunk` of the values ``begin:end``."""
    first = np.uint64(begin) + np.uint64(chunk) * size
    return first, min(first + size, np.uint64(end))


@inline_step
def _words_of(begin, count):
    return np.uint64(begin) >> _SIX, (np.uint64(begin) + np.uint64(count) + _LOW_BITS) >> _SIX


@inline_step
def flag_chunks(begin, count):
    """Return how many chunks cover the words of the flags ``begin:begin + count``."""
    first, last = _words_of(begin, count)
    return chunk_count(last - first, CHUNK_WORDS) if count > 0 else 0


@inline_step
def flag_words(begin, count, chunk):
    """Return the begin and the end of a chunk of the words of the flags ``begin:begin + count``."""
    first, last = _words_of(begin, count)
    return chunk_of(chunk, first, last, CHUNK_WORDS)
