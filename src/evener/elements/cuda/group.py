"""Groups of GPUs whose kernels wait for each other and read each other's memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import ref

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.cuda.gpu_memory import GpuMemory
    from evener.system.world import World

__all__ = ["GpuGroup", "RankGpuGroup"]

# Words that a GPU sends in a round, and rounds in a mailbox; see kernels/cuda/group.cuh.
_SUMS, _ROUNDS = 3, 2


class GpuGroup:
    """The mailboxes by which kernels on several GPUs wait for each other, and their launch parameters.

    `elements` are the GPUs of this process. They are all GPUs of the group, or those from the number `first`
    on, of `size` GPUs.
    """

    # Seconds that a kernel waits for another GPU of its group.
    patience = 10.0

    def __init__(self, elements: Sequence[GpuMemory], first: int = 0, size: int | None = None) -> None:
        self._first = first
        self._size = len(elements) if size is None else size
        self._elements = [ref(element) for element in elements]  # an element references its group
        # The words of all rounds, and the number of the last round.
        self._words = _ROUNDS * self._size * _SUMS + 1
        self._mailboxes = [element.allocate(self._words, np.uint64, 0) for element in elements]
        for element in elements:
            element.wait()  # before another GPU writes to the mailbox
        addresses = np.array(self.addresses([self._mailboxes]), np.uint64)
        self._tables = [element.upload(addresses) for element in elements]

    def addresses(self, arrays: Sequence[Sequence[Any]]) -> list[int]:
        """Return the address of each array on each GPU, given its part on each GPU of this process."""
        return [part.data.ptr for parts in arrays for part in parts]

    def begin_launch(self) -> None:
        """Let the next kernels of the GPUs of this process run as this group."""
        for number, element in enumerate(self._elements, self._first):
            if (own := element()) is not None:
                own.join_group(self, number)

    def filled(self, number: int) -> tuple[int, int, int, int, int]:
        """Return the numbers for a parameter of kind "Group" on a GPU: see kernels/cuda/group.cuh."""
        here = number - self._first
        last_round = self._mailboxes[here].data.ptr + 8 * (self._words - 1)
        return self._tables[here].data.ptr, last_round, int(self.patience * 1e9), number, self._size


class RankGpuGroup(GpuGroup):
    """A group of one GPU for each rank of a machine. The constructor is a collective operation."""

    # A rank may be stopped. If it ends, the lifelines end the job.
    patience = 900.0

    def __init__(self, world: World, element: GpuMemory) -> None:
        self._world = world
        self._sharing = element.sharing
        # The handles that this rank has sent, with their numbers, and addresses of those of the other ranks.
        self._sent: dict[bytes, int] = {}
        self._opened: list[list[int]] = [[] for _ in range(world.size)]
        super().__init__([element], world.rank, world.size)

    def addresses(self, arrays: Sequence[Sequence[Any]]) -> list[int]:
        """Return the address of each array on each GPU, given its only part on this rank.

        This is a collective operation; all ranks must call it.
        """
        exported = [self._sharing.export(part) for (part,) in arrays]
        fresh = [handle for handle in dict(exported) if handle not in self._sent]
        self._sent |= {handle: number for number, handle in enumerate(fresh, len(self._sent))}
        places = [(self._sent[handle], offset) for handle, offset in exported]
        found = []
        for rank, (others, handles) in enumerate(self._world.allgather((places, fresh))):
            if rank == self._world.rank:
                found.append([part.data.ptr for (part,) in arrays])
                continue
            opened = self._opened[rank]
            opened += [self._sharing.address(handle) for handle in handles]
            found.append([opened[number] + offset for number, offset in others])
        return [address for of_array in zip(*found, strict=True) for address in of_array]
