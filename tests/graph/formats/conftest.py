"""Fixtures for the tests of formats: a separate cache, real files, and graphs of all kinds."""

from __future__ import annotations

from pathlib import Path

import pytest

from contracts.formats import check_same
from contracts.formats import graphs as graphs_of_all_kinds

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """Keep the tests out of the user's cache."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def real():
    """Return the path of a published file outside the repository: ``real("soc-Epinions1.txt.gz")``."""

    def find(name: str) -> Path:
        if not (DATA / name).exists():
            pytest.skip(f"no file {name} in shared/data beside the repository")
        return DATA / name

    return find


@pytest.fixture
def same():
    """Return a function that asserts that two graphs are equal."""
    return check_same


@pytest.fixture(scope="session")
def graphs():
    """Return graphs of all kinds by name."""
    return graphs_of_all_kinds()


def pytest_generate_tests(metafunc):
    """Parametrize tests with the arguments `graphs` and `kind` by every kind of graph."""
    if {"kind", "graphs"} <= set(metafunc.fixturenames):
        metafunc.parametrize("kind", graphs_of_all_kinds())
