"""A group of GPUs whose kernels wait for each other and read each other's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.cuda.gpu_memory import GpuMemory

__all__ = ["PATIENCE", "GpuGroup", "launch_numbers", "mailbox_words"]

# Seconds that a kernel waits for another GPU of its group.
PATIENCE = 10.0
# Words that a GPU sends in a round, and rounds in a mailbox; see kernels/cuda/group.cuh.
_SUMS, _ROUNDS = 3, 2


class GpuGroup:
    """The mailboxes by which kernels on several GPUs wait for each other, and their launch parameters.

    Parameters
    ----------
    elements : sequence of GpuMemory
        Elements that can access each other's memory.
    """

    def __init__(self, elements: Sequence[GpuMemory]) -> None:
        self.size = len(elements)
        self._elements = [ref(element) for element in elements]
        words = mailbox_words(self.size)
        self._mailboxes = [element.allocate(words, np.uint64, 0) for element in elements]
        for element in elements:
            element.wait()  # before another GPU writes to the mailbox
        addresses = np.array([mailbox.data.ptr for mailbox in self._mailboxes], np.uint64)
        self._tables = [element.upload(addresses) for element in elements]

    def addresses(self, arrays: Sequence[Sequence[Any]]) -> list[int]:
        """Return the address of each array on each GPU, given its part on each GPU."""
        return [part.data.ptr for parts in arrays for part in parts]

    def begin_launch(self) -> None:
        """Let the next kernels of all GPUs run as this group."""
        for rank, element in enumerate(self._elements):
            if (own := element()) is not None:
                own.join_group(self, rank)

    def filled(self, rank: int) -> tuple[int, int, int, int, int]:
        """Return the numbers for a parameter of kind "Group" on the GPU `rank`."""
        return launch_numbers(self._tables[rank], self._mailboxes[rank], PATIENCE, rank, self.size)


def mailbox_words(size: int) -> int:
    """Return the words of the mailbox of a GPU in a group: the words of two rounds, and the last round."""
    return _ROUNDS * size * _SUMS + 1


def launch_numbers(
    table: Any, mailbox: Any, patience: float, rank: int, size: int
) -> tuple[int, int, int, int, int]:
    """Return the numbers for a parameter of kind "Group": see kernels/cuda/group.cuh."""
    last_round = mailbox.data.ptr + 8 * (mailbox_words(size) - 1)
    return table.data.ptr, last_round, int(patience * 1e9), rank, size
