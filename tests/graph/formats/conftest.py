"""What the tests of formats share: a cache of their own, graphs of all kinds, what "the same graph" means."""

from __future__ import annotations

from pathlib import Path

import pytest

from evener.testing.formats import check_same
from evener.testing.formats import graphs as graphs_of_all_kinds

DATA = Path(__file__).resolve().parents[4] / "shared" / "data"


@pytest.fixture(autouse=True)
def _own_cache(tmp_path_factory, monkeypatch):
    """Let no test remember a container for the user."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))


@pytest.fixture
def real():
    """The real files, which are not part of the repository: ``real("soc-Epinions1.txt.gz")``."""

    def find(name: str) -> Path:
        if not (DATA / name).exists():
            pytest.skip(f"the real file {name} is not beside the repository, in shared/data")
        return DATA / name

    return find


@pytest.fixture
def same():
    """Assert that two graphs are one."""
    return check_same


@pytest.fixture(scope="session")
def graphs():
    """Graphs of all kinds, by name."""
    return graphs_of_all_kinds()


def pytest_generate_tests(metafunc):
    """Give a test that takes `graphs` and `kind` every kind of graph."""
    if {"kind", "graphs"} <= set(metafunc.fixturenames):
        metafunc.parametrize("kind", graphs_of_all_kinds())
