"""What the tests of formats share: a cache of their own, graphs of all kinds, what "the same graph" means."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import evener as ev

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

    def check(a: ev.Graph, b: ev.Graph, *, weight_dtype: bool = True) -> None:
        assert a.directed == b.directed
        assert np.array_equal(a.ids, b.ids)
        assert a.has_custom_ids == b.has_custom_ids
        assert np.array_equal(a.offsets, b.offsets)
        assert np.array_equal(a.targets, b.targets)
        assert (a.weights is None) == (b.weights is None)
        if a.weights is not None and b.weights is not None:
            assert np.array_equal(a.weights, b.weights.astype(a.weights.dtype))
            if weight_dtype:
                assert a.weights.dtype == b.weights.dtype

    return check


def _made() -> dict[str, ev.Graph]:
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 40, 200), rng.integers(0, 40, 200)
    reals, wholes = rng.random(200), rng.integers(1, 99, 200, dtype=np.int32)
    build = ev.Graph.from_edges
    alone = build([0, 2, 2], [2, 3, 0], n=5)
    return {
        "directed": build(src, dst, n=50),
        "undirected": build(src, dst, directed=False, n=50),
        "real weights": build(src, dst, reals, n=50),
        "small weights": build(src, dst, reals * 1e-300, n=50),
        "float32 weights": build(src, dst, reals.astype(np.float32), n=50),
        "integer weights": build(src, dst, wholes, n=50),
        "negative weights": build(src, dst, -reals, directed=False, n=50),
        "undirected, integer weights, no loops": build(
            src, dst, wholes, directed=False, n=50, self_loops="drop"
        ),
        "undirected, no loops": build(src, dst, directed=False, n=50, self_loops="drop"),
        "gaps": build(src * 7 + 3, dst * 7 + 3),
        "wide gaps": build(src * 10**16, dst * 10**16, reals),
        "gaps, a vertex without edges": ev.Graph(
            alone.offsets, alone.targets, directed=True, ids=np.array([4, 8, 15, 16, 23])
        ),
        "names": build([f"v{i}" for i in src], [f"v{i}" for i in dst], wholes),
        "names, a vertex without edges": ev.Graph(
            alone.offsets, alone.targets, directed=True, ids=np.array(["a", "b", "c", "d", "ß"])
        ),
        "no edges": build([], [], directed=False, n=4),
        "nothing": build([], [], n=0),
        "one loop": build([0], [0], n=1),
    }


@pytest.fixture(scope="session")
def graphs() -> dict[str, ev.Graph]:
    """Graphs of all kinds, by name."""
    return _made()


def pytest_generate_tests(metafunc):
    """Give a test that takes `graphs` and `kind` every kind of graph."""
    if {"kind", "graphs"} <= set(metafunc.fixturenames):
        metafunc.parametrize("kind", _made())
