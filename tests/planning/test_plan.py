"""Plans: the choice of elements, policy and share, and its text."""

from __future__ import annotations

import re

import numpy as np
import pytest
from models import CPU_MARGIN, cost_model

import evener as ev
from evener.cli import plan_command
from evener.elements import CpuElement
from evener.partition.estimate import GraphSizes
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.placement import Placement
from evener.partition.sizes import ElementShare, PartitionSizes
from evener.planning.plan import Plan, choose
from evener.planning.prediction import ElementPrediction, Prediction
from evener.results.report.units import seconds_text
from evener.spec.registry import find
from evener.system.memory import format_bytes
from support.fake_gpu import SizedGpu

GIB = 1 << 30
CPU = CpuElement("cpu", 4)


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:14")


@pytest.fixture(scope="module")
def sizes(graph):
    return GraphSizes.of(graph)


def gpu(room=GIB, number=0):
    return SizedGpu(f"cuda:{number}", room)


def made(sizes, elements, *, policy="auto", alpha=None, passes=1.0, use_all=False, **coefficients):
    """Return the plan for an algorithm with the given seconds per edge."""
    model = cost_model(elements, **coefficients)
    asked = Placement(tuple(elements) if use_all else None, policy, alpha)
    plan, placement = choose(sizes, find("pagerank"), asked, elements, model, passes=passes)
    assert tuple(one.name for one in placement.on) == plan.on
    assert (placement.policy, placement.alpha) == (plan.policy, plan.alpha)
    return plan


def bytes_without_edges(graph):
    return bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1)


def test_a_fast_gpu_with_room_gets_the_whole_graph(sizes):
    found = made(sizes, [CPU, gpu()], gpu=1e-12, superstep=1e-4)
    assert (found.on, found.alpha) == (("cuda:0",), None)
    assert found.shares[0].host_edges == 0
    assert found.prediction.speedup_over_gpu == pytest.approx(1.0)
    assert found.prediction.speedup_over_cpu > 1


def test_a_slow_gpu_is_not_used(sizes):
    found = made(sizes, [CPU, gpu()], gpu=1e-6)
    assert found.on == ("cpu",)
    assert found.prediction.speedup_over_cpu == pytest.approx(1.0)


def test_equally_fast_elements_divide_the_edges_by_their_margins(sizes):
    """Both elements finish at the same time if the CPU is slower by its margin."""
    found = made(sizes, [CPU, gpu()], gpu=1e-9)
    assert found.on == ("cpu", "cuda:0")
    assert found.alpha == pytest.approx(1 / (2 + CPU_MARGIN), abs=0.011)
    assert found.prediction.speedup_over_cpu == pytest.approx(1 / (1 - found.alpha), rel=0.01)


def test_the_cpu_gets_more_edges_if_fewer_fit_on_the_gpu(graph, sizes):
    alphas = []
    for fits in (0.8, 0.65, 0.5):
        room = int(bytes_without_edges(graph) + fits * graph.m * 4)
        found = made(sizes, [CPU, gpu(room)], policy="high")
        assert found.on == ("cpu", "cuda:0")
        cpu, on_gpu = (e.compute_seconds for e in found.prediction.elements)
        assert (1 + CPU_MARGIN) * cpu == pytest.approx(on_gpu, rel=0.05)
        assert found.nbytes[1] <= room
        alphas.append(found.alpha)
    assert alphas == sorted(alphas)


def test_given_elements_policy_and_share_are_kept(sizes):
    found = made(sizes, [CPU, gpu()], policy="low", alpha=0.3, use_all=True)
    assert (found.on, found.policy, found.alpha) == (("cpu", "cuda:0"), "low", 0.3)
    # C-R gives equal parts, so there is no alpha.
    even = made(sizes, [CPU, gpu()], policy="C-R", use_all=True)
    assert (even.policy, even.alpha) == ("C-R", None)
    assert even.shares[0].sizes.edges == pytest.approx(even.shares[1].sizes.edges, abs=1)
    assert made(sizes, [CPU, gpu()], gpu=1e-12, use_all=True).on == ("cpu", "cuda:0")
    assert made(sizes, [gpu(), gpu(number=1)], use_all=True).on == ("cuda:0", "cuda:1")


@pytest.mark.parametrize(
    ("alpha", "on", "kinds"),
    [
        (0, ("cuda:0",), {"GPU alone", "CPU and GPU"}),
        (0.5, ("cpu", "cuda:0"), {"CPU and GPU"}),
        (1, ("cpu",), {"CPU alone", "CPU and GPU"}),
    ],
)
def test_a_given_share_keeps_every_side_with_edges(sizes, alpha, on, kinds):
    """A given alpha takes precedence over the faster placement on the GPU alone."""
    found = made(sizes, [CPU, gpu()], gpu=1e-12, superstep=1e-4, alpha=alpha)
    assert found.on == on
    assert set(found.alternatives) == kinds


def test_a_placement_without_room_is_an_error(sizes):
    with pytest.raises(ev.DeviceOutOfMemory, match=r"cuda:0 has room for 1.0 KiB, .* needs .*larger alpha"):
        made(sizes, [gpu(1024)])


def test_the_error_for_named_elements_describes_all_of_them(sizes):
    """The error describes the placement on both GPUs, although one GPU alone does not fit either."""
    elements = [CPU, gpu(1024), gpu(1024, 1)]
    with pytest.raises(ev.DeviceOutOfMemory, match=r"a partition of 16,384 vertices"):
        made(sizes, elements[1:2], use_all=True)
    with pytest.raises(ev.DeviceOutOfMemory, match=r"a partition of 8,192 vertices"):
        made(sizes, elements[1:], use_all=True)


def test_placements_that_do_not_fit_are_listed_with_the_reason(graph, sizes):
    found = made(sizes, [CPU, gpu(1024)])
    assert found.on == ("cpu",)
    assert set(found.alternatives) == {"CPU alone"}
    assert set(found.infeasible) == {"CPU and GPU", "GPU alone"}
    assert found.no_gpu_reason == found.infeasible["GPU alone"]
    assert found.no_gpu_reason.startswith("cuda:0 has room for 1.0 KiB, but ")
    assert made(sizes, [CPU, gpu()]).no_gpu_reason is None
    # The GPU has room for half of the vertices, so "CPU and GPU" fits with some share.
    half = made(sizes, [CPU, gpu(bytes_without_edges(graph) // 2)], policy="random")
    assert set(half.infeasible) == {"GPU alone"}
    assert set(half.alternatives) == {"CPU alone", "CPU and GPU"}


def test_a_gpu_without_room_is_skipped_for_other_gpus(sizes, graph):
    elements = [CPU, gpu(1024), gpu(number=1), gpu(number=2)]
    found = made(sizes, elements, gpu=1e-9)
    assert found.on == ("cpu", "cuda:1", "cuda:2")
    assert sum(share.sizes.edges for share in found.shares) == pytest.approx(graph.m, rel=0.01)
    assert "several GPUs" in found.alternatives
    with pytest.raises(ev.DeviceOutOfMemory, match="cuda:0"):
        made(sizes, elements, gpu=1e-9, use_all=True)


@pytest.mark.parametrize(("times_slower", "on"), [(49, ("cpu",)), (19, ("cpu", "cuda:0"))])
def test_another_element_must_save_a_few_percent(sizes, times_slower, on):
    """A GPU with 1/49 of the CPU's speed saves 2% of the time, and a GPU with 1/19 saves 5%."""
    assert made(sizes, [CPU, gpu()], gpu=times_slower * 1e-9).on == on


def test_the_cpu_alone_includes_all_cpu_elements(sizes):
    halves = [CpuElement("cpu:2#0", 2), CpuElement("cpu:2#1", 2)]
    model = cost_model(halves)
    found, _ = choose(sizes, find("wcc"), Placement(tuple(halves), alpha=0.3), halves, model)
    assert (found.on, found.alpha) == (("cpu:2", "cpu:2"), 0.3)
    assert set(found.alternatives) == {"CPU alone"}
    shares = [share.sizes.edges / sizes.degrees.edges for share in found.shares]
    assert shares == pytest.approx([0.3, 0.7], abs=1e-3)


def test_predicted_seconds_are_proportional_to_passes(sizes):
    for passes in (0, 1, 10):
        found = made(sizes, [CPU], cpu=1e-9, passes=passes)
        assert found.prediction.seconds == pytest.approx(passes * sizes.degrees.edges * 1e-9)
        assert made(sizes, [CPU, gpu()], gpu=1e-12, superstep=1.0, passes=passes).on == ("cuda:0",)


@pytest.mark.parametrize(("cpu", "passes"), [(1e6, 1e308), (np.nan, 1)])
def test_times_that_are_not_finite_are_rejected(sizes, cpu, passes):
    with pytest.raises(ev.ArgumentError, match=r"passes=: .* of pagerank, found .*; give fewer passes"):
        made(sizes, [CPU], cpu=cpu, passes=passes)


def test_speed_ups_use_the_same_number_of_passes():
    found = Prediction((), seconds=2.0).with_alternatives({"CPU alone": 3.0, "GPU alone": 1.0}, passes=4)
    assert (found.speedup_over_cpu, found.speedup_over_gpu) == (6, 2)


def test_a_share_of_a_grid_that_fits_is_accepted():
    """In a grid, neighbours are near each other, so an estimate by degrees would give too many mirrors."""
    graph = ev.read("grid:300x300")
    real = ev.partition(graph, ["cpu:1", "cpu:1"], policy="high", alpha=0.5).partitions[1]
    needs = bytes_excluding_edges(real.owned, real.mirrors, real.mirrors, real.stored_edges, directions=1)
    room = int(1.05 * needs) + 4 * real.stored_edges
    found = made(GraphSizes.of(graph), [CPU, gpu(room)], policy="high", alpha=0.5, use_all=True)
    assert found.shares[1].host_edges == 0
    assert found.shares[1].sizes.mirrors == pytest.approx(real.mirrors, rel=0.1, abs=300)


# ---- text of a plan ------------------------------------------------------------------------------------


def test_the_text_of_a_plan(sizes):
    found = made(sizes, [CPU, gpu()], gpu=1e-9, policy="random")
    lines = plan_command._planned(found).splitlines()
    share = f"alpha {found.cpu_share:.2f} (share of the edges on the CPU side)"
    assert lines[0] == f"pagerank on cpu, cuda:0; policy random, {share}"
    assert [line.split()[0] for line in lines[3:5]] == ["cpu", "cuda:0"]
    took, whole = seconds_text(found.prediction.seconds), seconds_text(1e-9 * sizes.degrees.edges)
    least, most = (seconds_text(times * found.prediction.seconds) for times in (0.5, 2))
    assert lines[6:8] == [
        f"Memory: {format_bytes(sum(found.nbytes))}",
        f"Predicted: {took} for an iteration ({least} to {most}), from hardware facts",
    ]
    ratio = f"{found.prediction.speedup_over_cpu:.2f}"
    assert lines[8] == f"Speed-up: {ratio} over the CPU alone, {ratio} over the GPU alone"
    assert lines[10:] == [f"CPU and GPU: {took}", f"CPU alone: {whole}", f"GPU alone: {whole}"]


def test_the_table_of_a_plan_and_the_origin_of_its_prediction():
    shares = (
        ElementShare("cpu", "cpu", 4, PartitionSizes(100, 100, 20, 30, 1000)),
        ElementShare("cuda:0", "cuda", 1, PartitionSizes(300, 300, 30, 20, 7000), host_edges=500),
    )
    parts = (ElementPrediction("cpu", 0.5, 0.25), ElementPrediction("cuda:0", 2.0, 0.0))
    prediction = Prediction(parts, 2.0, 1.5, 2.5, runs=3)
    placement = ("cpu", "cuda:0"), "low", 0.125, shares, (1024, 2048)
    lines = plan_command._planned(
        Plan("bfs", "a run", 1.0, *placement, prediction, {}, {}, cost_model([]))
    ).splitlines()
    assert re.split(" {2,}", lines[3]) == [
        "cpu",
        "1,000",
        "12%",
        "100",
        "20",
        "1.0 KiB",
        "-",
        "500 ms",
        "250 ms",
    ]
    assert re.split(" {2,}", lines[4]) == [
        "cuda:0",
        "7,000",
        "88%",
        "300",
        "30",
        "2.0 KiB",
        "500",
        "2 s",
        "-",
    ]
    assert lines[7] == "Predicted: 2 s for a run (1.5 s to 2.5 s), from 3 runs on this machine"
    several = plan_command._planned(Plan("bfs", "a run", 4.0, *placement, prediction, {}, {}, cost_model([])))
    assert "Predicted: 2 s for 4 times a run (" in several


@pytest.mark.parametrize(
    ("runs", "unobserved", "origin"),
    [
        (0, ("cpu", "cuda:0"), "from hardware facts"),
        (1, (), "from 1 run on this machine"),
        (2, ("cpu",), "from 2 runs on this machine; from hardware facts for cpu"),
    ],
)
def test_the_origin_of_a_prediction(runs, unobserved, origin):
    assert Prediction((), 1.0, runs=runs, unobserved=unobserved).origin == origin


def test_the_text_for_a_placement_that_does_not_fit(sizes):
    lines = plan_command._planned(made(sizes, [CPU, gpu(1024)])).splitlines()
    assert lines[0] == "pagerank on cpu"
    assert [one for one in lines if one.startswith("GPU alone: does not fit; cuda:0 has room for 1.0 KiB, ")]
    assert "larger alpha" not in lines[-1]
    assert not [one for one in lines if one.startswith("Speed-up")]  # there is no other choice


def test_a_faster_placement_without_a_safe_gain_is_mentioned(sizes):
    """The CPU alone needs 0.9 times the GPU's time, or 1.035 times with its margin."""
    found = made(sizes, [CPU, gpu()], cpu=0.9e-9, gpu=1e-9, byte=1.0)
    assert (found.on, found.faster_but_unsafe) == (("cuda:0",), "CPU alone")
    sentence = "CPU alone is not chosen: the gain is below the error of the prediction."
    assert sentence in plan_command._planned(found).splitlines()
    assert made(sizes, [CPU, gpu()], cpu=0.8e-9, gpu=1e-9, byte=1.0).faster_but_unsafe is None
