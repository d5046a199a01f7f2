"""CPU and GPU compute at the same time, and who is done sends while the other still computes (T13 §4.3)."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from sanitizer_sizes import TOOL

ITERATIONS = 20
# One after the other they would have no time in common. On a busy machine one of them may get its turn late.
SOME = ITERATIONS // 4


@pytest.fixture(scope="module")
def slices():
    """Those of PageRank where both take some milliseconds: the GPU reads most edges across the bus."""
    if TOOL:
        pytest.skip(f"under {TOOL} kernels take other times, and not beside one another")
    placed = ev.partition(
        ev.read("rmat:20"), "cpu,cuda:0", policy="low", alpha=0.3, gpu_memory="64MiB", directions="in"
    )
    assert placed.partitions[1].host_edges > placed.graph.m // 4
    ev.pagerank(placed, tol=0, max_iter=1)
    return ev.pagerank(placed, tol=0, max_iter=ITERATIONS).timeline.slices


def in_common(slices, activity, element, other_activity, other):
    """In how many supersteps the one does this while the other does that."""
    ours = [one for one in slices if (one.element, one.activity) == (element, activity)]
    theirs = [one for one in slices if (one.element, one.activity) == (other, other_activity)]
    both = {
        one.superstep
        for one in ours
        for two in theirs
        if one.superstep == two.superstep and max(one.begin, two.begin) < min(one.end, two.end)
    }
    return len(both)


def test_they_compute_at_the_same_time(slices):
    assert in_common(slices, "compute", "cpu", "compute", "cuda:0") >= SOME


def test_one_sends_while_the_other_computes(slices):
    from_cpu = in_common(slices, "send", "cpu", "compute", "cuda:0")
    from_gpu = in_common(slices, "send", "cuda:0", "compute", "cpu")
    assert from_cpu + from_gpu >= SOME


def test_the_slices_of_one_element_follow_one_another(slices):
    """Which is what makes the above mean something."""
    for name in ("cpu", "cuda:0"):
        own = sorted((one.begin, one.end) for one in slices if one.element == name)
        begins, ends = np.array(own).T
        assert (ends >= begins).all()
        assert (begins[1:] >= ends[:-1] - 1e-4).all()
