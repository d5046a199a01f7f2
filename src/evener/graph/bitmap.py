"""Bitmap: a set of numbers with the rank of each number."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numba
import numpy as np

from evener.graph.arrays import read_only
from evener.kernels.cpu import numbering as kernels

if TYPE_CHECKING:
    from numpy.typing import DTypeLike, NDArray

__all__ = ["Bitmap"]


class Bitmap:
    """A set of numbers below `size`: one bit for each number in `words`.

    `count` sets `ranks`, uint32 of shape (words + 1,): the number of bits before each word, and of all bits.
    """

    def __init__(self, size: int) -> None:
        self.words = np.zeros(-(-size // 64), np.uint64)

    def add(self, numbers: NDArray[Any]) -> None:
        """Add numbers to the set."""
        kernels.mark_ids(read_only(numbers), self.words, numba.get_num_threads())

    def count(self) -> int:
        """Count the bits before each word, and return the number of all bits."""
        counts = np.bitwise_count(self.words)
        self.ranks = np.zeros(len(self.words) + 1, np.uint32)
        np.cumsum(counts, dtype=np.uint32, out=self.ranks[1:])
        return int(counts.sum(dtype=np.int64))

    def counts_below(self, bounds: NDArray[np.int64]) -> NDArray[np.int64]:
        """Return how many numbers of the set are below each bound."""
        word = bounds >> 6
        below = (np.uint64(1) << (bounds & 63).astype(np.uint64)) - np.uint64(1)
        last = self.words.take(word, mode="clip") if len(self.words) else np.zeros(len(word), np.uint64)
        counts: NDArray[np.int64] = self.ranks[word].astype(np.int64) + np.bitwise_count(last & below)
        return counts

    def numbers(self, dtype: DTypeLike = np.uint32) -> NDArray[Any]:
        """Return the numbers of the set in ascending order."""
        found = np.empty(int(self.ranks[-1]), dtype)
        kernels.list_marked_ids(self.words, self.ranks, found)
        return found

    def replace_by_ranks(self, numbers: NDArray[np.uint32]) -> None:
        """Replace numbers of the set by their ranks."""
        kernels.number_by_bitmap(read_only(numbers), self.words, self.ranks, numbers, numba.get_num_threads())

    def run_between(self, first: int, end: int) -> tuple[int, int]:
        """Return the first number of the set in a range with one, and the end after the last one."""
        begin, stop = self.counts_below(np.array([first, end])).tolist()
        return self._number(begin), self._number(stop - 1) + 1

    def _number(self, rank: int) -> int:
        """Return the number of the set with a rank."""
        at = int(np.searchsorted(self.ranks, rank, side="right")) - 1
        word = int(self.words[at])
        for _ in range(rank - int(self.ranks[at])):
            word &= word - 1  # without its lowest bit
        return 64 * at + (word & -word).bit_length() - 1

    def fill(self, first: int, end: int) -> None:
        """Add all numbers of a range, and count the bits."""
        self.add(np.arange(first, end, dtype=np.uint32))
        self.count()
