"""A group of the GPUs of several ranks on one machine: see `evener.elements.cuda.group`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from weakref import proxy

import numpy as np

from evener.elements.cuda.group import launch_numbers, mailbox_words

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.cuda.gpu_memory import GpuMemory
    from evener.system.world import World

__all__ = ["RankGpuGroup"]

# Seconds that a kernel waits for the GPU of another rank, which may be stopped. If a rank ends, the lifelines
# end the job.
_PATIENCE = 900.0


class RankGpuGroup:
    """The mailboxes of one GPU for each rank. The constructor is a collective operation.

    Parameters
    ----------
    world : World
    element : GpuMemory
        The GPU of this rank.
    """

    def __init__(self, world: World, element: GpuMemory) -> None:
        self._world = world
        self._element = proxy(element)  # the element references the group
        self.size = world.size
        # The handles that this rank has sent, with their numbers, and addresses of those of the other ranks.
        self._sent: dict[bytes, int] = {}
        self._opened: list[list[int]] = [[] for _ in range(self.size)]
        self._mailbox = element.allocate(mailbox_words(self.size), np.uint64, 0)
        element.wait()  # before another GPU writes to the mailbox
        self._table = element.upload(np.array(self.addresses([[self._mailbox]]), np.uint64))

    def addresses(self, arrays: Sequence[Sequence[Any]]) -> list[int]:
        """Return the address of each array on each GPU, given its only part on this rank.

        This is a collective operation; all ranks must call it.
        """
        places, handles = [], []
        for (part,) in arrays:
            handle, offset = self._element.sharing.export(part)
            if handle not in self._sent:
                self._sent[handle] = len(self._sent)
                handles.append(handle)
            places.append((self._sent[handle], offset))
        found = []
        for rank, (others, fresh) in enumerate(self._world.allgather((places, handles))):
            if rank == self._world.rank:
                found.append([part.data.ptr for (part,) in arrays])
                continue
            opened = self._opened[rank]
            opened += [self._element.sharing.address(handle) for handle in fresh]
            found.append([opened[number] + offset for number, offset in others])
        return [address for of_array in zip(*found, strict=True) for address in of_array]

    def begin_launch(self) -> None:
        """Let the next kernel of this rank's GPU run as a member of this group."""
        self._element.join_group(self, self._world.rank)

    def filled(self, rank: int) -> tuple[int, int, int, int, int]:
        """Return the numbers for a parameter of kind "Group"."""
        return launch_numbers(self._table, self._mailbox, _PATIENCE, rank, self.size)
