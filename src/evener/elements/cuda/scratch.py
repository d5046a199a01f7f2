"""Small arrays of a GPU for kernels: results, counters and pieces of rows."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MAX_BLOCKS", "MAX_RESULTS", "Scratch", "pieces_for"]

# Largest number of values that a kernel returns, each a word of 64 bits.
MAX_RESULTS = 5
# Most blocks of a kernel. Each has a place for its results.
MAX_BLOCKS = 1 << 14
# Results that can wait to be read: those of MAX_PENDING verbs in engine/recorder.py, one for each route.
_SLOTS = 4096
# Fewest edges of a piece of a long row: LONG in kernels/cuda/edges.cuh.
_PIECE_EDGES = 512
# The two counts of pieces among the counters, in sectors of 4 words.
_COUNTS_OF_PIECES = slice(8, 16)
# Fewest pieces that lists have room for.
_MIN_PIECES = 1 << 10


class Scratch:
    """Small arrays of a GPU, which the launcher passes to kernels that declare them.

    Construct it with the GPU as the current one.
    """

    def __init__(self) -> None:
        import cupy

        self._block_results = cupy.zeros(MAX_BLOCKS * MAX_RESULTS, np.uint64)
        # Each in its own memory sector: blocks done, arrivals, two counts of pieces, three pairs of sums (two
        # sectors), and 13 words of `GroupSum`.
        self._counters = cupy.zeros(10 * 4, np.uint64)
        self._pieces = cupy.zeros(_MIN_PIECES, np.uint64)
        self._results: NDArray[np.uint64] = np.frombuffer(
            cupy.cuda.alloc_pinned_memory(_SLOTS * MAX_RESULTS * 8), np.uint64, _SLOTS * MAX_RESULTS
        )
        self._results_begin = self._results.ctypes.data
        self._slot = 0
        self._lists = 0
        self._launching = False

    @property
    def pieces(self) -> int:
        """Number of pieces that lists have room for."""
        return len(self._pieces)

    def set_pieces(self, room: Any) -> None:
        """Use an array of uint64 for the lists of pieces."""
        self._pieces = room

    def next_slot(self) -> int:
        """Return the slot of the next kernel's results."""
        self._slot = (self._slot + 1) % _SLOTS
        return self._slot

    def results(self, slot: int) -> tuple[int, int, int]:
        """Return the addresses that a kernel needs to return results."""
        counters = self._counters.data.ptr
        return self._block_results.data.ptr, counters, self._results_begin + slot * MAX_RESULTS * 8

    def read_results(self, slot: int, kinds: str) -> Any:
        """Return the results of a kernel that has ended: a number or a tuple; kind "d" is a float."""
        first = slot * MAX_RESULTS
        raw = self._results[first : first + len(kinds)]
        values = [
            float(bits.view(np.float64)) if kind == "d" else int(bits)
            for bits, kind in zip(raw, kinds, strict=True)
        ]
        return values[0] if len(values) == 1 else tuple(values)

    def filled(self, kind: str) -> tuple[int, ...]:
        """Return the addresses for a parameter of kind "Grid" or "Pieces"."""
        counters = self._counters.data.ptr
        if kind == "Grid":
            return counters + 32, counters + 128
        if self._launching:
            # A launch was interrupted, and its kernel may have counted.
            self._counters[_COUNTS_OF_PIECES].fill(0)
        self._launching = True
        turn = self._lists % 2 * 32  # two counts alternate: each launch clears the next launch's count
        return self._pieces.data.ptr, self._pieces.size, counters + 64 + turn, counters + 96 - turn

    def advance_counter(self) -> None:
        """Let the next kernel that lists pieces use the other count."""
        self._lists += 1
        self._launching = False


def pieces_for(edges: int) -> int:
    """Return the number of pieces that lists need for this many edges of a partition."""
    return 2 * (edges // _PIECE_EDGES) + _MIN_PIECES
