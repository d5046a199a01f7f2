"""Every test in this folder is marked `gpu`, and skipped with the reason where no GPU can be used."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from evener.elements.cuda.discovery import gpus, missing
from sanitizer_sizes import FEW_BLOCKS, TOOL

BLOCKS = 4  # of each kernel, where they are few


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.gpu)


@pytest.fixture(scope="session", autouse=True)
def gpu_or_none():
    """Before any other fixture of these tests."""
    why = missing()
    if why:
        pytest.skip(f"no GPU can be used: {why}")


@pytest.fixture(scope="session", autouse=True)
def few_blocks():
    """They do what many would."""
    with pytest.MonkeyPatch.context() as patch:
        if FEW_BLOCKS:
            patch.setattr("evener.elements.cuda.modules.MAX_BLOCKS", BLOCKS)
        yield


@pytest.fixture(autouse=True)
def memory_of_its_own():
    """Under `sanitize.py` no memory that another test wrote: what a test reads and did not write is found."""
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
        pytest.skip("there is one GPU, and this needs two")
