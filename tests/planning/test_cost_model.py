"""The cost model: its equation, the fit to observed runs, and the prior."""

from __future__ import annotations

import numpy as np
import pytest

from evener.elements.hardware import GpuFacts
from evener.partition.sizes import ElementShare, PartitionSizes
from evener.planning.cost_model import CostModel, Work, fit
from evener.planning.observations import Observation, ObservedElement
from evener.planning.prior import Coefficients, Rates, cpu_prior, gpu_prior
from evener.spec import registry

PRIOR = Rates("cpu", Coefficients(2e-9, 1e-10, 1e-8, 1e-10, 1e-4), 0.15)
ONES = Coefficients(1e-9, 1e-9, 1e-8, 1e-10, 1e-4)


def share(name, kind, edges, *, threads=1, connected=0, mirrors=0, remote=0, host=0):
    return ElementShare(name, kind, threads, PartitionSizes(99, connected, mirrors, remote, edges), host)


def work(edges=0.0, host_edges=0.0, vertices=0.0, bytes_sent=0.0, supersteps=0.0, *, several=True):
    return Work.of(
        "cuda",
        1,
        edges=edges + host_edges,
        host_edges=host_edges,
        vertices=vertices,
        bytes_sent=bytes_sent,
        supersteps=supersteps,
        several=several,
    )


def test_the_slowest_element_determines_the_time_of_a_run():
    """The run has 2 passes of 1000 edges, 100 vertices, 30 remote mirrors of 4 bytes and 3 supersteps."""
    fitted = {
        "cpu": Rates("cpu", Coefficients(4e-3, 0, 2e-2, 1e-3, 1e-2), 0.5),
        "cuda:0": Rates("H200", Coefficients(1e-3, 5e-3, 0, 1e-3, 1e-2), 0.0, runs=3),
    }
    model = CostModel(0.0, 4.0, fitted, 3.0)
    shares = [
        share("cpu", "cpu", 1000, threads=4, connected=100, remote=30),
        share("cuda:0", "cuda", 1000, host=400, mirrors=30),
    ]
    found = model.predict(shares, passes=2)
    cpu, gpu = found.elements
    assert cpu.compute_seconds == pytest.approx(2 * (1000 * 4e-3 + 100 * 2e-2) / 4)
    assert cpu.exchange_seconds == pytest.approx(2 * (30 * 4 * 1e-3 + 3 * 1e-2))
    assert gpu.compute_seconds == pytest.approx(2 * (600 * 1e-3 + 400 * 5e-3))
    assert gpu.exchange_seconds == pytest.approx(2 * 3 * 1e-2)
    assert found.seconds == pytest.approx(5.26)  # the GPU; the CPU needs 3.3 s
    # With its margin of 50%, the CPU needs 4.95 s, less than the GPU.
    assert model.cautious_seconds(shares, passes=2) == pytest.approx(5.26)
    assert (found.least_seconds, found.most_seconds) == pytest.approx((2.63, 10.52))
    assert (found.runs, found.unobserved) == (3, ("cpu",))


def test_a_single_element_exchanges_nothing():
    model = CostModel(0.0, 4.0, {"cpu": Rates("cpu", ONES, 0.1)}, 10.0)
    alone = model.predict([share("cpu", "cpu", 1000)])
    assert alone.seconds == pytest.approx(1e-6 + 10 * 0.1 * 1e-4)
    assert alone.elements[0].name == "cpu"


def test_without_runs_the_coefficients_equal_the_prior():
    found = fit(PRIOR, [])
    assert found.coefficients == PRIOR.coefficients
    assert (found.margin, found.spread, found.runs) == (0.15, 1.0, 0)


def test_many_runs_outweigh_the_prior():
    """The fit predicts times of random sizes, although the true coefficients differ from the prior."""
    true = np.array([4e-9, 3e-10, 1e-9, 4e-10, 5e-4])
    rng = np.random.default_rng(3)
    sizes = rng.uniform(1, 20, (60, 5)) * [1e8, 1e9, 1e8, 1e9, 1e3]
    runs = [(work(*one), float(one[:3] @ true[:3]), float(one[3:] @ true[3:])) for one in sizes]
    found = fit(PRIOR, runs)
    predicted = [sum(found.seconds(one)) for one, _, _ in runs]
    assert predicted == pytest.approx([a + b for _, a, b in runs], rel=0.2)
    assert found.margin < 0.1
    assert found.runs == 60


def test_one_run_moves_the_coefficient_that_dominates_it():
    """Edges are twice as slow as in the prior. The fit learns nearly the whole factor, only for edges."""
    found = fit(PRIOR, [(work(edges=1e9), 4.0, 0.0)]).coefficients
    assert found.edge == pytest.approx(4e-9, rel=0.1)
    assert found[1:] == pytest.approx(PRIOR.coefficients[1:])


@pytest.mark.parametrize("times", [1 / 50, 1 / 3, 3, 50])
def test_one_run_outweighs_a_prior_that_is_wrong_by_a_large_factor(times):
    found = fit(PRIOR, [(work(edges=1e9), times * 2.0, 0.0)]).coefficients
    assert found.edge == pytest.approx(times * 2e-9, rel=0.2)


def test_no_coefficient_becomes_negative():
    """The runs suggest a negative time per edge: twice the edges in half the time."""
    runs = [(work(edges=1e9, vertices=1e6), 4.0, 0.0), (work(edges=2e9, vertices=1e6), 2.0, 0.0)] * 5
    assert min(fit(PRIOR, runs).coefficients) >= 0


def test_recent_runs_weigh_more():
    """The same runs in opposite orders give different fits."""
    slow, fast = (work(edges=1e9), 4.0, 0.0), (work(edges=1e9), 1.0, 0.0)
    ended_fast = fit(PRIOR, [slow] * 20 + [fast] * 20).coefficients.edge
    ended_slow = fit(PRIOR, [fast] * 20 + [slow] * 20).coefficients.edge
    assert ended_fast < 1.5e-9 < 2e-9 < ended_slow


def test_the_margin_follows_the_errors_of_the_fit():
    steady = [(work(edges=1e9), 2.0, 0.0)] * 8
    unsteady = [(work(edges=1e9), seconds, 0.0) for seconds in (1.0, 3.0) * 4]
    assert fit(PRIOR, steady).margin < PRIOR.margin / 3
    assert fit(PRIOR, unsteady).margin > 0.3
    assert fit(PRIOR, steady).spread < fit(PRIOR, unsteady).spread < 1


def observed(models, *, passes=1.0, seconds=3.0, supersteps=6):
    elements = tuple(ObservedElement(one, one, 2, 10**9, 0, 10, 5, 100, 2.0, 0.5) for one in models)
    return Observation("bfs", passes, supersteps, seconds, elements)


def test_a_model_learns_from_runs_on_equal_hardware():
    priors = {"cpu": PRIOR, "cuda:0": Rates("H200", ONES, 0.05), "cuda:1": Rates("H100", ONES, 0.05)}
    runs = [observed(["cpu"]), observed(["cpu", "H200"], passes=2.0)]
    model = CostModel.of((0.0, 4.0), priors, runs, supersteps=9.0)
    assert [model.rates[name].runs for name in priors] == [2, 1, 0]
    assert model.rates["cuda:1"].coefficients == ONES
    assert model.supersteps == 3.0  # six in two passes; runs on a single element do not count
    assert CostModel.of((0.0, 4.0), priors, runs[:1], supersteps=9.0).supersteps == 9.0


def test_time_outside_the_elements_belongs_to_the_supersteps():
    run = observed(["cpu", "H200"], seconds=4.0)
    assert run.overhead == pytest.approx(4.0 - 2.5)
    assert observed(["cpu"], seconds=1.0).overhead == 0.0


def test_priors_follow_from_hardware_facts():
    """Twice the bandwidth halves the times of a GPU. Early exits make edges cheaper."""
    every, early = registry.find("pagerank"), registry.find("bfs")
    slow = gpu_prior(every, "a GPU", GpuFacts(1e12, 2e10)).coefficients
    fast = gpu_prior(every, "a GPU", GpuFacts(2e12, 4e10)).coefficients
    assert fast[:4] == pytest.approx([each / 2 for each in slow[:4]])
    assert slow.host_edge == pytest.approx(4 / 2e10)
    assert cpu_prior(every).coefficients.edge > cpu_prior(early).coefficients.edge > 0
    assert cpu_prior(every).margin > gpu_prior(every, "a GPU", GpuFacts()).margin
