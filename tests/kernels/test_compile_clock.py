"""The compile clock: it measures compile time apart from run time, and counts each second once."""

from __future__ import annotations

import gc
import re
import threading
import time

import numba
import pytest

import evener as ev
from evener.kernels.compile_clock import compile_seconds, compiling


def test_compiling_counts_and_calling_does_not():
    kernel = numba.njit(lambda x: x + 1)
    began, before = time.perf_counter(), compile_seconds()
    kernel(1)
    took, compiled = time.perf_counter() - began, compile_seconds() - before
    assert took / 2 < compiled <= took
    before = compile_seconds()
    kernel(2)
    assert compile_seconds() == before


def test_garbage_collection_pauses_while_compiling():
    for collects in (True, False):
        (gc.enable if collects else gc.disable)()
        try:
            with compiling():
                assert not gc.isenabled()
            assert gc.isenabled() == collects
        finally:
            gc.enable()


def test_concurrent_compilation_counts_once():
    def some():
        with compiling():
            time.sleep(0.2)

    began, before = time.perf_counter(), compile_seconds()
    threads = [threading.Thread(target=some) for _ in range(4)]
    for thread in threads:
        thread.start()
    with compiling():
        some()
        within = compile_seconds() - before
    for thread in threads:
        thread.join()
    # If each thread were counted, the sum would be a second.
    assert 0.2 <= within <= compile_seconds() - before <= time.perf_counter() - began


def test_a_run_records_its_compile_time():
    """The first run with weights of this dtype compiles or loads kernels; the second does neither."""
    graph = ev.Graph.from_edges([0, 1], [1, 2], weights=[1, 2])
    placed = ev.partition(graph, "cpu:1")
    first, second = (ev.sssp(placed, source=0) for _ in range(2))
    assert 0 <= first.timeline.compile_seconds <= first.seconds
    assert second.timeline.compile_seconds == 0
    assert "for loading or compiling kernels" not in second.explain()


@pytest.mark.parametrize(
    ("seconds", "reported"), [(0.0, False), (0.04, False), (0.5, True), (1.0, False), (1.1, False)]
)
def test_a_large_share_of_a_run_is_reported(seconds, reported):
    result = ev.bfs(ev.Graph.from_edges([0, 1], [1, 2]), source=0, on="cpu:1")
    result.seconds, result.edges, result.timeline.compile_seconds = 1.0, 1000, seconds
    sentence = "This includes 500 ms for loading or compiling kernels"
    assert (sentence in result.explain()) == reported
    assert ("for loading or compiling kernels" in result.explain()) == reported
    assert ("without it: 2 k traversed edges/s." in result.explain()) == reported


def test_one_line_says_that_kernels_are_compiled(tmp_path, apart):
    """The line comes before the first kernel, once in a process, and never if all are in the cache."""
    program = (
        "import sys, numpy as np; from evener.kernels.cpu import fill, bits\n"
        "words = np.zeros(2, 'u8'); fill.fill(words, 7); print('filled', file=sys.stderr)\n"
        "bits.copy(words, words.copy())"
    )
    cold = {"NUMBA_CACHE_DIR": str(tmp_path), "EVENER_QUIET": ""}
    first, second = (apart("-c", program, **cold).err for _ in range(2))
    assert re.fullmatch(r"compiling kernels, .* \(evener warmup does it ahead\)\nfilled\n", first)
    assert second == "filled\n"


def test_a_function_of_no_module_is_compiled():
    names = {}
    exec("def double(x):\n    return 2 * x", names)
    assert numba.njit(names["double"])(4) == 8
