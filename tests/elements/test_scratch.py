"""The counts in which kernels list pieces of long rows: each launch finds its own clear."""

from __future__ import annotations

from itertools import product

import cupy
import numpy as np
import pytest

from evener.elements.cuda.scratch import Scratch


class Data:
    """Where an array lies: here with the host."""

    def __init__(self, array):
        self.ptr = array.ctypes.data


class Array(np.ndarray):
    """As much of an array on a GPU as is asked for."""

    @property
    def data(self):
        return Data(self)


@pytest.fixture
def host_memory(monkeypatch):
    """CuPy's arrays are in host memory."""
    monkeypatch.setattr(cupy, "zeros", lambda length, dtype: np.zeros(length, dtype).view(Array))
    monkeypatch.setattr(cupy.cuda, "alloc_pinned_memory", bytearray)


def counters(scratch, *addresses):
    """The places of these addresses."""
    begin = scratch._counters.ctypes.data
    return [(address - begin) // 8 for address in addresses]


@pytest.mark.usefixtures("host_memory")
def test_each_launch_counts_from_zero():
    """Also where Ctrl-C came before the kernel was handed over, or before it was noted that it was."""
    for ends in product(["noted", "broken off before", "broken off after"], repeat=4):
        check_launches(Scratch(), ends)


def check_launches(scratch, ends):
    turns = set()
    for end in (*ends, "noted", "noted"):
        _, _, *places = scratch.filled("Pieces")
        mine, next_one = counters(scratch, *places)
        turns.add(mine)
        assert mine != next_one
        if end != "broken off before":
            assert scratch._counters[mine] == 0
            scratch._counters[next_one] = 0
            scratch._counters[mine] += 5
        if end == "noted":
            scratch.advance_counter()
    assert len(turns) == 2
