"""A machine with fake GPUs, for tests of plans."""

from __future__ import annotations

import numpy as np
import pytest

from evener.elements import cpu
from evener.elements.cuda import discovery
from evener.elements.cuda import element as cuda
from evener.planning import planner
from evener.spec import run
from support.fake_gpu import FakeGpu
from support.kernel_inventory import find_kernels_of_gpus


@pytest.fixture
def gpus(monkeypatch, tmp_path):
    """Give the machine one fake GPU and an empty file of observations; return a function to set the count."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cuda, "CudaElement", FakeGpu)
    find_kernels_of_gpus(monkeypatch)
    monkeypatch.setattr(discovery, "missing", lambda: None)
    monkeypatch.setattr(cpu, "locked_array", lambda length, dtype: np.empty(length, dtype))

    def have(count):
        for module in (run, cuda, planner, discovery):
            monkeypatch.setattr(module, "gpus", lambda: count)

    have(1)
    return have
