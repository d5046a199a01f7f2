"""Exchanges between a GPU and itself, the CPU, and another GPU."""

from __future__ import annotations

import pytest

from contracts.transports import TransportContract
from evener.elements import CpuElement, parse_elements
from support.one_route import check_one_route, sparse_and_dense
from support.sanitizer_sizes import RUNS


class TestTwoOfEach(TransportContract):
    """Routes between CPUs, between two elements of one GPU, and between CPU and GPU in both directions."""

    on = ("cpu:1", "cuda:0", "cuda:0", "cpu:1")
    repetitions = RUNS


@pytest.mark.usefixtures("two_gpus")
class TestTwoGpus(TransportContract):
    on = ("cuda:0", "cuda:1")
    repetitions = RUNS


@pytest.fixture(scope="module")
def cpu():
    return CpuElement("cpu:1", 1, pinned=True)


@pytest.fixture(scope="module")
def gpu():
    return parse_elements(["cuda:0"])[0]


@sparse_and_dense
def test_bytes_of_sparse_and_dense_on_one_gpu(gpu, verb, dtype, flagged, moved):
    check_one_route(gpu, gpu, verb, dtype, flagged, moved)


@sparse_and_dense
def test_bytes_of_sparse_and_dense_from_the_gpus_mirrors(gpu, cpu, verb, dtype, flagged, moved):
    check_one_route(gpu, cpu, verb, dtype, flagged, moved)


@sparse_and_dense
def test_bytes_of_sparse_and_dense_from_the_cpus_mirrors(gpu, cpu, verb, dtype, flagged, moved):
    check_one_route(cpu, gpu, verb, dtype, flagged, moved)
