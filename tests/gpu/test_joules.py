"""The energy of a real GPU, if NVML measures it."""

from __future__ import annotations

import time

import pytest

import evener as ev
from evener.results.energy.meter import Meter
from support.sanitizer_sizes import sized


def test_a_busy_gpu_uses_a_plausible_power():
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    placed = ev.partition(ev.read(sized("rmat:16", "rmat:10")), on="cuda:0")
    ev.pagerank(placed, tol=0, max_iter=1)
    with Meter(placed.elements) as meter:
        began = time.perf_counter()
        while time.perf_counter() - began < 1.5:
            r = ev.pagerank(placed, tol=0, max_iter=20)
    r.energy = meter.energy
    if meter.joules["cuda:0"] is None:
        pytest.skip(f"not measured: {meter.reasons['cuda:0']}")
    # Current GPUs use between 5 W and 2 kW.
    assert 5 < meter.joules["cuda:0"] / meter.energy.seconds < 2000
    assert " per watt" in r.explain()


def test_a_very_short_run_is_not_measured():
    pytest.importorskip("pynvml", reason="nvidia-ml-py is not installed")
    with Meter(["cuda:0"]) as meter:
        pass
    assert meter.joules["cuda:0"] is None
    assert meter.reasons["cuda:0"]
