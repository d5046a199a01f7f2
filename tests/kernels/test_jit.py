"""The cache of compiled kernels, forked processes, and threads that call kernels at the same time."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from evener.kernels.cpu import jit
from evener.kernels.cpu.jit import can_cache


@pytest.fixture
def unset(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", "")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache" / "of" / "mine"))


@pytest.mark.usefixtures("unset")
def test_cached_in_the_source_folder(tmp_path):
    assert can_cache(tmp_path, writable=lambda path: path == tmp_path)


@pytest.mark.usefixtures("unset")
def test_cached_in_the_users_cache_folder_even_if_it_is_missing(tmp_path):
    assert can_cache(tmp_path / "package", writable=lambda path: path == tmp_path)


def test_cached_in_numbas_cache_dir(monkeypatch, tmp_path):
    place = tmp_path / "yet" / "to be made"
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(place))
    assert can_cache(tmp_path / "package", writable=lambda path: path == tmp_path)


@pytest.mark.usefixtures("unset")
def test_not_cached_if_numbas_cache_dir_is_not_writable(monkeypatch, tmp_path):
    monkeypatch.setattr(numba.config, "CACHE_DIR", str(tmp_path))
    assert not can_cache(tmp_path, writable=lambda _: False)


@pytest.mark.usefixtures("unset")
def test_not_cached_if_no_folder_is_writable(tmp_path):
    assert not can_cache(tmp_path, writable=lambda _: False)


@pytest.mark.usefixtures("unset")
@pytest.mark.parametrize("named", ["", "relative"])
def test_not_cached_in_the_working_directory(tmp_path, monkeypatch, named):
    """Numba would write to the working directory if XDG_CACHE_HOME is empty or relative."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("XDG_CACHE_HOME", named)
    monkeypatch.chdir(tmp_path)
    assert not can_cache(Path("/package"), writable=lambda path: path == tmp_path)


@pytest.mark.usefixtures("unset")
def test_cached_only_in_the_source_folder_without_a_home_directory(tmp_path, monkeypatch):
    monkeypatch.setattr(jit, "cache_folder", lambda: None)
    assert can_cache(tmp_path, writable=lambda path: path == tmp_path)
    assert not can_cache(Path("/package"), writable=lambda path: path == tmp_path)


def test_kernels_need_no_cache():
    """On a read-only system, Numba refuses every cache folder, but kernels are imported and compile."""
    program = (
        "import os, pkgutil; os.access = lambda *args, **kwargs: False\n"
        "from importlib import import_module\n"
        "from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []\n"
        "import evener\n"
        "names = [one.name for one in pkgutil.walk_packages(evener.__path__, 'evener.')]\n"
        "found = [n for n in names if n.endswith('_cpu') or n.startswith('evener.kernels.cpu.')]\n"
        "modules = {name: import_module(name) for name in found}\n"
        "words = __import__('numpy').zeros(2, 'u8')\n"
        "modules['evener.kernels.cpu.fill'].fill(words, 7)\n"
        "print(len(modules) > 30, words.tolist())"
    )
    done = run_alone(program, without="NUMBA_CACHE_DIR")
    assert done.stdout == "True [7, 7]\n", done.stderr


# ---- forked processes ----------------------------------------------------------------------------------

FORKING = """
import multiprocessing as mp
import evener as ev

def reached(words):
    return ev.bfs(ev.Graph.from_edges(*words), source=0, on=["cpu:1", "cpu:1"])["distance"].tolist()

def attempt():
    with mp.get_context("fork").Pool(2) as pool:
        return pool.map_async(reached, 2 * [([0, 1], [1, 2])]).get(60)

print(attempt())
ev.Graph.from_edges([0], [1])
print(attempt())
"""


def test_forked_children_run_before_and_after_the_parent_has_started_threads():
    done = run_alone(FORKING, without="NUMBA_THREADING_LAYER")
    assert done.stdout == 2 * "[[0, 1, 2], [0, 1, 2]]\n", done.stderr


# ---- concurrent threads ------------------------------------------------------------------------------

# Two threads build and partition graphs, each on two elements, at the same time.
TOGETHER = """
import sys
from concurrent.futures import ThreadPoolExecutor
import evener as ev
from evener.kernels.cpu import jit

def place(_):
    for _ in range(turns):
        placed = ev.partition(ev.Graph.from_edges(range(500), range(1, 501)), on=["cpu:1", "cpu:1"])
    return placed

turns = int(sys.argv[1])
with ThreadPoolExecutor(2) as threads:
    placed = list(threads.map(place, range(2)))[0]
for _ in range(turns):
    rank = ev.pagerank(placed, max_iter=5, tol=0)
print(jit.THREAD_SAFE, numba.threading_layer())
"""


def run_alone(program, *words, without):
    environment = {k: v for k, v in os.environ.items() if k != without}
    return subprocess.run(
        [sys.executable, "-c", program, *map(str, words)],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=200,
    )


WORK_QUEUE = "import numba; numba.config.THREADING_LAYER = 'workqueue'"


@pytest.mark.parametrize(
    ("then", "turns"),
    [
        ("", 50),
        pytest.param("; numba.get_num_threads()", 1, marks=pytest.mark.slow),
        pytest.param(
            "; numba.get_num_threads(); numba.config.THREADING_LAYER = 'default'", 1, marks=pytest.mark.slow
        ),
    ],
    ids=["chosen", "launched", "launched by default"],
)
def test_threads_take_turns_with_the_workqueue_layer(then, turns):
    done = run_alone(WORK_QUEUE + then + TOGETHER, turns, without="NUMBA_THREADING_LAYER")
    assert done.stdout == "False workqueue\n", done.stderr


def test_kernels_call_kernels_with_the_workqueue_layer():
    """The kernels of a search call other kernels, which need no turn of their own."""
    search = "ev.bfs(ev.read('grid:3x3'), source=0)['distance'].tolist()"
    program = f"{WORK_QUEUE}\nimport evener as ev\nprint({search}, numba.threading_layer())"
    done = run_alone(program, without="NUMBA_THREADING_LAYER")
    assert done.stdout == "[0, 1, 2, 1, 2, 3, 2, 3, 4] workqueue\n", done.stderr
