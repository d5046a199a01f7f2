"""A group of GPUs whose kernels wait for each other and read each other's memory."""

from __future__ import annotations

from functools import cache
from itertools import permutations
from typing import TYPE_CHECKING
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.cuda.element import CudaElement

__all__ = ["PATIENCE", "GpuGroup", "access_each_other"]

# Seconds that a kernel waits for another GPU of its group.
PATIENCE = 10.0
# Words that a GPU sends in a round, and rounds in a mailbox; see kernels/cuda/group.cuh.
_SUMS, _ROUNDS = 3, 2
# cudaErrorPeerAccessAlreadyEnabled.
_ALREADY_ENABLED = 704


class GpuGroup:
    """The mailboxes by which kernels on several GPUs wait for each other, and their launch parameters.

    Parameters
    ----------
    elements : sequence of CudaElement
        Elements that can access each other's memory.
    """

    def __init__(self, elements: Sequence[CudaElement]) -> None:
        self.size = len(elements)
        self._elements = [ref(element) for element in elements]
        # Also the number of the last round.
        self._round = _ROUNDS * self.size * _SUMS
        self._mailboxes = [element.allocate(self._round + 1, np.uint64, 0) for element in elements]
        for element in elements:
            element.wait()  # before another GPU writes to the mailbox
        addresses = np.array([mailbox.data.ptr for mailbox in self._mailboxes], np.uint64)
        self._tables = [element.upload(addresses) for element in elements]

    def begin_launch(self) -> None:
        """Let the next kernels of all GPUs run as this group."""
        for rank, element in enumerate(self._elements):
            if (own := element()) is not None:
                own.join_group(self, rank)

    def filled(self, rank: int) -> tuple[int, int, int, int, int]:
        """Return the numbers for a parameter of kind "Group" on the GPU `rank`."""
        last_round = self._mailboxes[rank].data.ptr + 8 * self._round
        return self._tables[rank].data.ptr, last_round, int(PATIENCE * 1e9), rank, self.size


def access_each_other(indices: Sequence[int]) -> bool:
    """Let kernels of each GPU read and write the memory of the others. Return False if some cannot."""
    import cupy

    # Memory of other allocators is not visible to other GPUs.
    pooled = cupy.cuda.get_allocator() == cupy.get_default_memory_pool().malloc
    return pooled and all(_enable_access(*pair) for pair in permutations(set(indices), 2))


@cache
def _enable_access(here: int, there: int) -> bool:
    from cupy.cuda import Device, runtime

    if not runtime.deviceCanAccessPeer(here, there):
        return False
    with Device(here):
        try:
            runtime.deviceEnablePeerAccess(there)
        except runtime.CUDARuntimeError as error:
            if error.status != _ALREADY_ENABLED:
                raise
    return True
