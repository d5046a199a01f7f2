"""Staging of large arrays: pages are written again once what they held has gone."""

from __future__ import annotations

import numpy as np
import pytest

from evener.elements import staging
from evener.elements.staging import Staging


class Gone:
    """An event that has been waited for or not."""

    def __init__(self):
        self.waited = False

    def synchronize(self):
        self.waited = True


class Data:
    """What CuPy has behind an array: here it copies at once."""

    def __init__(self, array):
        self.array = array

    def copy_from_host_async(self, _, nbytes):
        self.copied = nbytes


class Target(np.ndarray):
    """As much of an array on a GPU as staging asks for."""

    @property
    def data(self):
        return Data(self)


@pytest.fixture
def locked(monkeypatch):
    """The lengths in bytes of all pages that were locked."""
    lengths = []

    def locked_array(length, dtype):
        lengths.append(length * dtype.itemsize)
        return np.empty(length, dtype)

    monkeypatch.setattr(staging, "locked_array", locked_array)
    return lengths


@pytest.mark.parametrize("weights", ["float32", "float64"])
def test_few_pages_are_locked_however_long_the_arrays(locked, weights):
    """Targets and weights are written side by side, so three sets are enough: two go, one more is open."""
    events = []

    def mark_now():
        events.append(Gone())
        return events[-1]

    pages = Staging(mark_now)
    held = np.empty(1000, weights).view(Target)
    for _ in range(20):
        opened = [pages.open(1000, np.dtype(dtype)) for dtype in ("uint32", weights)]
        assert not np.shares_memory(*opened)
        for array in opened:
            pages.send(array, 0, held, 0)
    # Those that were locked for the shorter array are too short for the longer one.
    assert len(locked) <= (3 if weights == "float32" else 6)
    assert sum(event.waited for event in events) >= 36
    pages.give_up()
