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
    "gathered",
    "gathered_anywhere",
    "is_set",
    "population",
    "put_word",
    "range_mask",
    "take_word",
    "trailing_zeros",
    "words_of",
]

_ONE = np.uint64(1)
_ZERO = np.uint64(0)
_SIX = np.uint64(6)
_LOW_BITS = np.uint64(63)
_ALL = np.uint64(0xFFFFFFFFFFFFFFFF)
# Words counted by a thread at a time.
_RUN = 1 << 12


def _has_pext() -> bool:
    """Whether Numba compiles for this very processor, and it is an x86 with BMI2."""
    retargeted = numba.config.CPU_NAME is not None or numba.config.CPU_FEATURES is not None
    return not retargeted and get_host_cpu_features().get("bmi2", False)


@intrinsic
def trailing_zeros(typingctx, word):  # noqa: ARG001 - Numba's signature for an intrinsic
    """The lowest set bit of a uint64 that is not zero (LLVM ``cttz``)."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

    return types.uint64(types.uint64), codegen


@intrinsic
def population(typingctx, word):  # noqa: ARG001 - as above
    """The number of set bits of a uint64 (LLVM ``ctpop``)."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        return builder.ctpop(args[0])

    return types.uint64(types.uint64), codegen


@inline_step
def words_of(bits):
    """The words that hold so many bits."""
    return (np.uint64(bits) + _LOW_BITS) >> _SIX


@inline_step
def is_set(words, i):
    """Whether bit `i` is set."""
    i = np.uint64(i)
    return (words[i >> _SIX] >> (i & _LOW_BITS)) & _ONE != np.uint64(0)


@intrinsic
def _extract(typingctx, word, mask):  # noqa: ARG001 - as above
    """x86's PEXT."""

    def codegen(context, builder, signature, args):  # noqa: ARG001 - as above
        word = ir.IntType(64)
        name, kind = "llvm.x86.bmi.pext.64", ir.FunctionType(word, [word, word])
        return builder.call(builder.module.declare_intrinsic(name, (), kind), args)

    return types.uint64(types.uint64, types.uint64), codegen


@inline_step
def gathered_anywhere(word, mask):
    """As `gathered`, on a processor of any kind."""
    moved = _ZERO
    word &= mask
    while word != _ZERO:
        lowest = word & (~word + _ONE)
        word ^= lowest
        moved |= _ONE << population(mask & (lowest - _ONE))
    return moved


# The bits of `word` at the set places of `mask`, moved together to the low end. On 262,144 vertices, a third
# of them in `mask` and a quarter in `word`: 2.6 us with PEXT, 21 us without.
gathered = _extract if _has_pext() else gathered_anywhere


@inline_step
def range_mask(word, begin, end):
    """The bits of word number `word` that lie in ``begin:end``; the two must overlap."""
    mask = _ALL
    if begin >> _SIX == word:
        mask &= _ALL << (begin & _LOW_BITS)
    if end >> _SIX == word:
        mask &= (_ONE << (end & _LOW_BITS)) - _ONE
    return mask


@inline_step
def take_word(words, w, begin, end):
    """The bits ``begin:end`` in word `w`, which are cleared; others may be changing the rest of the word."""
    mask = range_mask(w, begin, end)
    word = words[w] & mask
    if mask == _ALL:
        words[w] = _ZERO
    elif word != _ZERO:
        fetch_and(words, w, ~mask)
    return word


@inline_step
def put_word(words, w, begin, end, word):
    """Set or clear the bits ``begin:end`` in word `w`; others may be changing the rest of the word."""
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
    """How many bits of ``begin:end`` are set."""
    first = np.uint64(begin) >> _SIX
    last = (np.uint64(end) + _LOW_BITS) >> _SIX
    runs = (np.int64(last) - np.int64(first) + _RUN - 1) // _RUN
    count = np.uint64(0)
    for r in prange(runs):
        lower = first + np.uint64(r * _RUN)
        upper = min(lower + np.uint64(_RUN), last)
        count += _count_words(words, np.uint64(begin), np.uint64(end), lower, upper)
    return count


@serial
def clear_range(words, begin, end):
    """Clear the bits of ``begin:end``; other threads may be changing the rest of the outer words."""
    begin = np.uint64(begin)
    end = np.uint64(end)
    for w in range(begin >> _SIX, (end + _LOW_BITS) >> _SIX):
        put_word(words, w, begin, end, _ZERO)


@serial
def copy(words, out):
    """``out = words``."""
    for w in range(np.uint64(len(words))):
        out[w] = words[w]
