"""Bitmaps as arrays of uint64 words: bit ``i`` is bit ``i & 63`` of word ``i >> 6``."""

from __future__ import annotations

import numba
import numpy as np
from llvmlite import ir
from llvmlite.binding import get_host_cpu_features
from numba import prange, types
from numba.extending import intrinsic

from evener.kernels.cpu.atomics import fetch_and, fetch_or
from evener.kernels.cpu.jit import inline_step, parallel, serial

__all__ = [
    "clear_range",
    "copy",
    "count_range",
    "extract_bits",
    "extract_bits_by_loop",
    "is_set",
    "population",
    "put_word",
    "range_mask",
    "set_bit",
    "take_word",
    "trailing_zeros",
    "words_of",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Words per iteration of the counting loop.
_CHUNK = 1 << 12


def _has_pext() -> bool:
    """Return true if Numba compiles for this processor and it is an x86 with BMI2."""
    retargeted = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
    return not retargeted and get_host_cpu_features().get("bmi2", False)


@intrinsic
def trailing_zeros(typingctx, word):  # noqa: ARG001 - Numba's signature for an intrinsic
    """Return the position of the lowest set bit of a nonzero uint64 (LLVM ``cttz``)."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def population(typingctx, word):  # noqa: ARG001 - as above
    """Return the number of set bits of a uint64 (LLVM ``ctpop``)."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@inline_step
def words_of(bits):
    """Return the number of words that `bits` bits need."""
    return (np.uint64(bits) + _LOW_BITS) >> _SIX


@inline_step
def is_set(words, i):
    """Return true if bit `i` is set."""
    i = np.uint64(i)
    return (words[i >> _SIX] >> (i & _LOW_BITS)) & _ONE != np.uint64(0)


@inline_step
def set_bit(words, i):
    """Set bit `i`. Other threads may change the other bits of its word."""
    i = np.uint64(i)
    fetch_or(words, i >> _SIX, _ONE << (i & _LOW_BITS))


@intrinsic
def _extract(typingctx, word, mask):  # noqa: ARG001 - as above
    """The x86 instruction PEXT."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        word = ir.IntType(64)
        name, kind = "llvm.x86.bmi.pext.64", ir.FunctionType(word, [word, word])
        return builder.call(builder.module.declare_intrinsic(name, (), kind), args)

    return types.uint64(types.uint64, types.uint64), codegen


@inline_step
def extract_bits_by_loop(word, mask):
    """Return the same as `extract_bits`, on any processor."""
    moved = _ZERO
    word &= mask
    while word != _ZERO:
        lowest = word & (~word + _ONE)
        word ^= lowest
        moved |= _ONE << population(mask & (lowest - _ONE))
    return moved


# ``extract_bits(word, mask)``: the bits of `word` at the set positions of `mask`, packed into the low bits.
extract_bits = _extract if _has_pext() else extract_bits_by_loop


@inline_step
def range_mask(word, begin, end):
    """Return the mask of the bits of word number `word` that are in ``begin:end``. The two must overlap."""
    mask = _ALL
    if begin >> _SIX == word:
        mask &= _ALL << (begin & _LOW_BITS)
    if end >> _SIX == word:
        mask &= (_ONE << (end & _LOW_BITS)) - _ONE
    return mask


@inline_step
def take_word(words, w, begin, end):
    """Clear the bits ``begin:end`` of word `w` and return them. Other threads may change its other bits."""
    mask = range_mask(w, begin, end)
    word = words[w] & mask
    if mask == _ALL:
        words[w] = _ZERO
    elif word != _ZERO:
        fetch_and(words, w, ~mask)
    return word


@inline_step
def put_word(words, w, begin, end, word):
    """Write the bits ``begin:end`` of word `w` from `word`. Other threads may change its other bits."""
    mask = range_mask(w, begin, end)
    if mask == _ALL:
        words[w] = word
    else:
        fetch_and(words, w, ~mask | word)
        fetch_or(words, w, word & mask)


@inline_step
def _count_words(words, begin, end, first, last):
    count = np.uint64(0)
    for w in range(first, last):
        count += population(words[w] & range_mask(w, begin, end))
    return count


@parallel
def count_range(words, begin, end):
    """Return the number of set bits in ``begin:end``."""
    first = np.uint64(begin) >> _SIX
    last = (np.uint64(end) + _LOW_BITS) >> _SIX
    chunks = (np.int64(last) - np.int64(first) + _CHUNK - 1) // _CHUNK
    count = np.uint64(0)
    for c in prange(chunks):
        lower = first + np.uint64(c * _CHUNK)
        upper = min(lower + np.uint64(_CHUNK), last)
        count += _count_words(words, np.uint64(begin), np.uint64(end), lower, upper)
    return count


@serial
def clear_range(words, begin, end):
    """Clear the bits ``begin:end``. Other threads may change the other bits of the first and last word."""
    begin = np.uint64(begin)
    end = np.uint64(end)
    for w in range(begin >> _SIX, (end + _LOW_BITS) >> _SIX):
        put_word(words, w, begin, end, _ZERO)


@serial
def copy(words, out):
    """Copy `words` to `out`."""
    for w in range(np.uint64(len(words))):
        out[w] = words[w]
