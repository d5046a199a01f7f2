"""The bundle of compiled kernels: which processes use it, and answers without it or with a damaged one.

A process that compiles a kernel announces it on standard error. The bundle of these tests has one kernel.
"""

from __future__ import annotations

import shutil

import pytest

from evener.kernels.cpu import bundle

RUN = """
import sys
from pathlib import Path
import numba, numpy as np
from evener.kernels.cpu import bundle, fill
bundle.HOME = Path(sys.argv[1])
{before}
words = np.zeros(2, np.uint64)
fill.fill(words, 7)
print(words.tolist(), numba.njit(lambda x: x + 1)(1))
"""
BUILDING = "bundle.use_bundle(bundle.Bundle(bundle.HOME / bundle.folder_name(), building=True))"
LEVEL = {"NUMBA_CPU_NAME": bundle.LEVEL, "NUMBA_CPU_FEATURES": "", "NUMBA_DISABLE_INTEL_SVML": "1"}
# A system where Numba refuses every folder.
READ_ONLY = """
import os; os.access = lambda *args, **kwargs: False
from numba.core.caching import CacheImpl; CacheImpl._locator_classes = []
"""


@pytest.fixture(scope="module")
def home(tmp_path_factory, apart):
    """Return the folder of a bundle."""
    folder = tmp_path_factory.mktemp("bundles")
    cache = tmp_path_factory.mktemp("cache")
    apart("-c", RUN.format(before=BUILDING), folder, NUMBA_CACHE_DIR=str(cache), **LEVEL)
    assert len(list(folder.glob("*/*"))) == 1
    return folder


@pytest.fixture
def fill(apart, tmp_path):
    """Fill an array in a process, and return whether it compiled the kernel."""

    def run(home, *, before="", first="", **environment):
        empty = {"NUMBA_CACHE_DIR": str(tmp_path / "cache"), "EVENER_QUIET": "", **environment}
        done = apart("-c", first + RUN.format(before=before), home, **empty)
        assert done.out == "[7, 7] 2\n", done.err
        return done.err.startswith("compiling kernels")

    return run


needs_level = pytest.mark.skipif(
    not bundle._FEATURES.issubset(bundle.get_host_cpu_features().split(",")),
    reason=f"the processor is below {bundle.LEVEL}",
)


@needs_level
def test_kernels_of_the_bundle_are_not_compiled(home, fill, tmp_path):
    assert not fill(home)
    assert not list(tmp_path.rglob("*.nbc"))


@needs_level
def test_a_kernel_that_calls_one_of_the_bundle_is_not_cached(home, apart, tmp_path):
    """The cached code would need the kernel of the bundle in memory."""
    calls = (
        "filled = numba.njit(lambda words, word: fill.fill(words, word))\n"
        "filled._cache = jit._UserCache(fill.fill.py_func)\n"
        "filled(words, 9)\n"
        "print(words.tolist())"
    )
    run = f"from evener.kernels.cpu import jit\n{RUN.format(before='')}{calls}"
    cache = tmp_path / "cache"
    assert apart("-c", run, home, NUMBA_CACHE_DIR=str(cache)).out == "[7, 7] 2\n[9, 9]\n"
    assert not list(cache.rglob("*.nbc"))


@needs_level
def test_the_bundle_needs_no_folder_that_can_be_written(home, fill):
    assert not fill(home, first=READ_ONLY)


@pytest.mark.parametrize(
    "before",
    [
        "numba.__version__ = '0.1'",
        "bundle.get_host_cpu_features = lambda: '+avx,-avx2,+sse4.2'",
    ],
    ids=["another Numba", "an old processor"],
)
def test_another_environment_compiles(home, fill, before):
    assert fill(home, before=before)


@pytest.mark.parametrize(("name", "value"), [("NUMBA_CPU_NAME", "x86-64-v2"), ("NUMBA_CPU_FEATURES", "+avx")])
def test_a_processor_that_the_user_chose_is_compiled_for(home, fill, name, value):
    assert fill(home, **{name: value})


@pytest.mark.parametrize("keep", [0, 31, 1000])
def test_damaged_kernels_are_compiled(home, fill, tmp_path, keep):
    damaged = shutil.copytree(home, tmp_path / "damaged")
    for entry in damaged.glob("*/*"):
        entry.write_bytes(entry.read_bytes()[:keep])
    assert fill(damaged)


def test_the_name_of_the_folder_depends_on_the_code_of_kernels(tmp_path, monkeypatch):
    unwanted = shutil.ignore_patterns("compiled", "__pycache__")
    copy = shutil.copytree(bundle._PACKAGE, tmp_path / "evener", ignore=unwanted)
    before = bundle.folder_name()
    monkeypatch.setattr(bundle, "_PACKAGE", copy)
    assert bundle.folder_name() == before
    for name in ("kernels/cpu/scan.py", "primitives/walks_cpu.py", "algorithms/bfs/levels_cpu.py"):
        with (copy / name).open("a") as file:
            file.write("#")
        assert bundle.folder_name() != before
        before = bundle.folder_name()
