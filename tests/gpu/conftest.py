"""Every test in this folder is marked `gpu`, and skipped with the reason where no GPU can be used."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.elements.cuda import gpus, missing


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


@pytest.fixture
def two_gpus():
    if gpus() < 2:
        pytest.skip("there is one GPU, and this needs two")
