"""CPU and GPU compute at the same time, and the first to finish sends meanwhile (T13 §4.3)."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from support.sanitizer_sizes import TOOL

ITERATIONS = 20
# Without overlap the count would be 0. On a busy machine, some supersteps may not overlap.
SOME = ITERATIONS // 4


@pytest.fixture(scope="module")
def slices():
    """The slices of PageRank with steps of milliseconds: the GPU reads many edges from host memory."""
    if TOOL:
        pytest.skip(f"kernels do not overlap under {TOOL}")
    placed = ev.partition(
        ev.read("rmat:20"), "cpu,cuda:0", policy="low", alpha=0.3, gpu_memory="64MiB", directions="in"
    )
    assert placed.partitions[1].host_edges > placed.graph.m // 4
    ev.pagerank(placed, tol=0, max_iter=1)
    return ev.pagerank(placed, tol=0, max_iter=ITERATIONS).timeline.slices


def in_common(slices, activity, element, other_activity, other):
    """Return the number of supersteps in which an activity of each element overlaps."""
    ours = [one for one in slices if (one.element, one.activity) == (element, activity)]
    theirs = [one for one in slices if (one.element, one.activity) == (other, other_activity)]
    both = {
        one.superstep
        for one in ours
        for two in theirs
        if one.superstep == two.superstep and max(one.begin, two.begin) < min(one.end, two.end)
    }
    return len(both)


def test_cpu_and_gpu_compute_at_the_same_time(slices):
    assert in_common(slices, "compute", "cpu", "compute", "cuda:0") >= SOME


def test_one_element_sends_while_the_other_computes(slices):
    from_cpu = in_common(slices, "send", "cpu", "compute", "cuda:0")
    from_gpu = in_common(slices, "send", "cuda:0", "compute", "cpu")
    assert from_cpu + from_gpu >= SOME


def test_the_slices_of_one_element_do_not_overlap(slices):
    for name in ("cpu", "cuda:0"):
        own = sorted((one.begin, one.end) for one in slices if one.element == name)
        begins, ends = np.array(own).T
        assert (ends >= begins).all()
        assert (begins[1:] >= ends[:-1] - 1e-4).all()
