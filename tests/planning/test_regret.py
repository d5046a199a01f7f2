"""Replays of recorded sweeps compare the planner's choices with the best recorded placement.

The sweeps are PageRank on R-MAT 26, 15 cores and an H200 with room for a part of the edges
(benchmarks/results/hybrid_pagerank_26_*.json).
"""

from __future__ import annotations

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
SWEEPS = sorted((Path(__file__).parent / "sweeps").glob("*.json"))


@pytest.fixture(scope="module")
def replay():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(sys, "path", [str(BENCHMARKS), *sys.path])
        yield import_module("planner_regret").replay


@pytest.fixture(params=SWEEPS, ids=lambda path: path.stem)
def sweep(request):
    return json.loads(request.param.read_text(encoding="utf-8"))


def test_there_are_three_sweeps():
    assert len(SWEEPS) == 3


def test_the_regret_is_small_by_hardware_facts_and_vanishes_after_one_run(replay, sweep):
    from_facts, after_one = replay(sweep, choices=2)
    assert from_facts <= 0.30
    assert after_one <= 0.02


@pytest.mark.parametrize(("cpu", "gpu"), [(0.5, 1.0), (2.0, 1.0), (1.0, 0.5), (1.0, 2.0)])
def test_two_runs_outweigh_a_wrong_prior(replay, sweep, cpu, gpu):
    assert replay(sweep, cpu=cpu, gpu=gpu, choices=3)[-1] <= 0.12
