"""What kernels of a GPU need beside their arguments: places for votes, counters, and lists of pieces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from evener.elements.cuda.launch import MOST_VOTES

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["MOST_BLOCKS", "Scratch", "pieces_for"]

# Blocks that an H200 holds at once number 132 x 8 to 32; votes of each have a place.
MOST_BLOCKS = 1 << 14
# So many kernels' votes can wait to be read; each is read before the next but a few is launched.
_SLOTS = 16
# Each piece of a long row has at least this many edges to it: LONG in kernels/cuda/edges.cuh.
_EDGES_A_PIECE = 512
# Where the two counts of pieces lie among the counters, in sectors of 4 words.
_COUNTS_OF_PIECES = slice(8, 16)
# Pieces there is always room for.
_PIECES = 1 << 10


class Scratch:
    """A GPU's own small arrays, which the launcher passes to kernels that ask for them.

    Made with that GPU as the current one.
    """

    def __init__(self) -> None:
        import cupy

        self._of_block = cupy.zeros(MOST_BLOCKS * MOST_VOTES, np.uint64)
        # Each in memory sectors of its own: blocks done, arrivals, two counts of pieces, three pairs of sums.
        self._counters = cupy.zeros(6 * 4, np.uint64)
        self._pieces = cupy.zeros(_PIECES, np.uint64)
        self._answers: NDArray[np.uint64] = np.frombuffer(
            cupy.cuda.alloc_pinned_memory(_SLOTS * MOST_VOTES * 8), np.uint64, _SLOTS * MOST_VOTES
        )
        self._answers_begin = self._answers.ctypes.data
        self._slot = 0
        self._lists = 0
        self._launching = False

    @property
    def pieces(self) -> int:
        """How many pieces there is room for."""
        return len(self._pieces)

    def hold_pieces(self, room: Any) -> None:
        """Take an array of uint64 for the lists of pieces."""
        self._pieces = room

    def next_slot(self) -> int:
        """Where the next vote goes."""
        self._slot = (self._slot + 1) % _SLOTS
        return self._slot

    def votes(self, slot: int) -> tuple[int, int, int]:
        """What a kernel needs to vote."""
        counters = self._counters.data.ptr
        return self._of_block.data.ptr, counters, self._answers_begin + slot * MOST_VOTES * 8

    def voted(self, slot: int, kinds: str) -> Any:
        """What a kernel that has ended has voted: an integer or, of kind "d", a float; or a tuple of them."""
        first = slot * MOST_VOTES
        raw = self._answers[first : first + len(kinds)]
        values = [
            float(bits.view(np.float64)) if kind == "d" else int(bits)
            for bits, kind in zip(raw, kinds, strict=True)
        ]
        return values[0] if len(values) == 1 else tuple(values)

    def filled(self, kind: str) -> tuple[int, ...]:
        """What else a kernel may ask for: "Grid" or "Pieces"."""
        counters = self._counters.data.ptr
        if kind == "Grid":
            return counters + 32, counters + 128
        if self._launching:
            # A launch was broken off, and nobody knows whether its kernel ran, and counted.
            self._counters[_COUNTS_OF_PIECES].fill(0)
        self._launching = True
        turn = self._lists % 2 * 32  # two counts alternate: each launch clears what the next will count in
        return self._pieces.data.ptr, self._pieces.size, counters + 64 + turn, counters + 96 - turn

    def listed(self) -> None:
        """Let the next kernel that lists pieces count in the other place, now that one was launched."""
        self._lists += 1
        self._launching = False


def pieces_for(edges: int) -> int:
    """The room that lists need to share out so many edges of a partition."""
    return 2 * (edges // _EDGES_A_PIECE) + _PIECES
