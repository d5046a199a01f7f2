"""A CPU element that imitates a GPU: it has a separate memory with limited room."""

from __future__ import annotations

from functools import partial

import numpy as np

from support.fake_elements import ApartElement


class FakeGpu(ApartElement):
    """A fake GPU that runs kernels on the CPU and holds whole partitions in its own memory."""

    kind = "cuda"
    broken = None  # the error when cuda:0 starts
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

    def sort(self, keys):
        self.run(np.ndarray.sort, keys)

    def argsort(self, keys):
        return self.run(partial(np.argsort, kind="stable"), keys).view(np.uint64)


class SizedGpu:
    """A fake GPU with a name and room that runs no kernels."""

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
