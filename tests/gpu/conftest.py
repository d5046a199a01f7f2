"""Mark every test in this folder as `gpu`, and skip it with the reason if no GPU is usable."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from evener.elements.cuda.discovery import gpus, missing
from support.sanitizer_sizes import FEW_BLOCKS, TOOL

BLOCKS = 4  # the largest number of blocks of a kernel with FEW_BLOCKS


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session", autouse=True)
def skip_without_a_gpu():
    """Skip before any other fixture of these tests runs."""
    why = missing()
    if why:
        pytest.skip(f"no GPU can be used: {why}")


@pytest.fixture(scope="session", autouse=True)
def few_blocks():
    """Run kernels on few blocks with FEW_BLOCKS; the results are the same."""
    with pytest.MonkeyPatch.context() as patch:
        if FEW_BLOCKS:
            patch.setattr("evener.elements.cuda.modules.MAX_BLOCKS", BLOCKS)
        yield


@pytest.fixture(autouse=True)
def free_memory_pools():
    """With `sanitize.py`, free the memory pool after each test, so reads of unwritten memory are found."""
    yield
    if TOOL:
        import cupy

        gc.collect()
        for index in range(gpus()):
            with cupy.cuda.Device(index):
                cupy.get_default_memory_pool().free_all_blocks()


@pytest.fixture
def two_gpus():
    if gpus() < 2:
        pytest.skip("expected two GPUs, found one")
