"""A CPU element in the role of a GPU: it has a memory of its own, with limited room."""

from __future__ import annotations

import numpy as np

from fake_elements import ApartElement


class FakeGpu(ApartElement):
    """Runs kernels as a CPU element does. It holds whole partitions in its own memory."""

    kind = "cuda"
    broken = None  # the error of starting cuda:0
    free = 1 << 36

    def __init__(self, name, index, limit=None):
        if index == 0 and self.broken:
            raise self.broken
        super().__init__(name, ("cuda", index), deferred=True)
        self.weight = 800.0
        self._room = self.free if limit is None else min(limit, self.free)

    def room(self):
        return self._room

    def room_after(self, taken):
        return self._room - taken

    def copy_in(self, source, target):
        np.copyto(target.view(np.ndarray), source.view(np.ndarray))

    copy_out = copy_in


class SizedGpu:
    """Has room and a name, and runs nothing."""

    kind = "cuda"
    threads = 1
    weight = 800.0

    def __init__(self, name, room):
        self.name, self._room = name, room
        self.memory = name.partition("#")[0]

    def room(self):
        return self._room

    def room_after(self, taken):
        return self._room - taken
