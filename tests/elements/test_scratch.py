"""The counters of the pieces of long rows: each launch starts with a counter of zero."""

from __future__ import annotations

from itertools import product

import cupy
import numpy as np
import pytest

from evener.elements.cuda.scratch import Scratch


class Data:
    """The memory of an array, here in host memory."""

    def __init__(self, array):
        self.ptr = array.ctypes.data


class Array(np.ndarray):
    """The attributes of a CuPy array that `Scratch` reads."""

    @property
    def data(self):
        return Data(self)


@pytest.fixture
def host_memory(monkeypatch):
    """Make CuPy allocate its arrays in host memory."""
    monkeypatch.setattr(cupy, "zeros", lambda length, dtype: np.zeros(length, dtype).view(Array))
    monkeypatch.setattr(cupy.cuda, "alloc_pinned_memory", bytearray)


def counters(scratch, *addresses):
    """Return the indices of the counters at these addresses."""
    begin = scratch._counters.ctypes.data
    return [(address - begin) // 8 for address in addresses]


@pytest.mark.usefixtures("host_memory")
def test_each_launch_counts_from_zero():
    """Ctrl-C may come before the launch of the kernel, or between the launch and `advance_counter`."""
    for ends in product(["complete", "interrupted before", "interrupted after"], repeat=4):
        check_launches(Scratch(), ends)


def check_launches(scratch, ends):
    turns = set()
    for end in (*ends, "complete", "complete"):
        _, _, *places = scratch.filled("Pieces")
        mine, next_one = counters(scratch, *places)
        turns.add(mine)
        assert mine != next_one
        if end != "interrupted before":
            assert scratch._counters[mine] == 0
            scratch._counters[next_one] = 0
            scratch._counters[mine] += 5
        if end == "complete":
            scratch.advance_counter()
    assert len(turns) == 2
