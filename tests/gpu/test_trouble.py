"""Full, lost and hidden GPUs: the errors, and the elements that run instead."""

from __future__ import annotations

import os
import re
import subprocess
import sys

import cupy
import pytest
from cupy.cuda import runtime

import evener as ev
from evener.elements import parse_elements
from evener.errors import NO_USABLE_GPU, DeviceOutOfMemory

# Bytes of GPU memory that stay free.
LEFT = 200 << 20


def run_alone(*words, **environment):
    """Run Python in a separate process without a memory limit: CUDA reserves large address ranges."""
    return subprocess.run(
        [sys.executable, *map(str, words)],
        capture_output=True,
        text=True,
        timeout=240,
        env={**os.environ, **environment},
        check=False,
    )


# ---- full ----------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def many_vertices():
    """A graph whose state needs about 400 MiB."""
    return ev.read("uniform:23,edge_factor=1")


@pytest.fixture
def full(tmp_path, monkeypatch):
    """Fill the memory of the first GPU up to `LEFT` bytes."""
    if "PYTEST_XDIST_WORKER" in os.environ:
        pytest.skip("this test fills the GPU of other workers; run it without -n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    parse_elements("cuda:0")  # allocates CUDA's own memory first
    with cupy.cuda.Device(0):
        cupy.get_default_memory_pool().free_all_blocks()
        taken = runtime.malloc(runtime.memGetInfo()[0] - LEFT)
        try:
            yield
        finally:
            runtime.free(taken)


@pytest.mark.usefixtures("full")
def test_the_error_of_a_full_gpu_names_a_placement_that_fits(many_vertices):
    with pytest.raises(
        DeviceOutOfMemory, match=r"^cuda:0 has room for 1\d\d\.\d MiB, but a partition"
    ) as caught:
        ev.wcc(many_vertices, on="cuda:0")
    assert caught.value.available <= LEFT < caught.value.needed
    fits = re.search(r'; it fits with on="cpu,cuda:0", policy="(\w+)", alpha=([\d.]+)$', str(caught.value))
    result = ev.wcc(many_vertices, on="cpu,cuda:0", policy=fits[1], alpha=float(fits[2]))
    assert [element.kind for element in result.partitioned.elements] == ["cpu", "cuda"]
    ev.verify(result)


@pytest.mark.usefixtures("full")
def test_a_plan_avoids_a_full_gpu(many_vertices):
    result = ev.wcc(many_vertices)
    assert [element.name for element in result.partitioned.elements] != ["cuda:0"]
    ev.verify(result)


# ---- lost ----------------------------------------------------------------------------------------------

TRAP = """#include "common.cuh"

__global__ void PARALLEL(256) trap(Array<u32> array, Results<u64> results) {
    if (first_of_grid()) asm("trap;");
    results.sum(array.length);
}
"""

LOSE_THE_GPU = """
import sys
import warnings
from pathlib import Path

import evener as ev


def print_error(call, *args, **how):
    try:
        call(*args, **how)
    except ev.DeviceError as error:
        print(error)


graph = ev.read("rmat:10")
placed = ev.partition(graph, "cuda:0")
mixed = ev.partition(graph, "cpu:1,cuda:0", alpha=0.5)
ev.bfs(mixed, source=1)
engine = ev.Engine(placed, "lost")
engine.superstep("only")
print_error(engine.compute, ev.Kernel(cuda=Path(sys.argv[1]), name="trap"), engine.owned_array("uint32", 0))
print_error(ev.bfs, placed, source=1)
print_error(ev.bfs, mixed, source=1)
print_error(ev.pagerank, graph, on="cuda:0")
print_error(ev.wcc, graph, on="cpu:1,cuda:0", policy="random", alpha=0.5)
warnings.showwarning = lambda message, *_: print(message)
result = ev.bfs(graph, source=1)
ev.verify(result)
print(*(element.name for element in result.partitioned.elements))
"""


def test_a_gpu_that_is_lost_in_the_middle_of_a_run(tmp_path):
    """After the failure, CUDA refuses every call of the process with the same error."""
    (tmp_path / "trap.cu").write_text(TRAP)
    done = run_alone("-c", LOSE_THE_GPU, tmp_path / "trap.cu", XDG_CACHE_HOME=str(tmp_path))
    assert done.returncode == 0, done.stderr
    *lost, instead, element = done.stdout.splitlines()
    sentence = (
        r"(cuda:0|a GPU) failed while [\w' .]+: \w+: .*; this process cannot use the GPU again; "
        r'run in a new process, or with on="cpu"'
    )
    assert len(lost) == 5
    assert [line for line in lost if not re.fullmatch(sentence, line)] == []
    assert instead.startswith(f"{NO_USABLE_GPU}: ")
    assert element == "cpu"
    assert "Traceback" not in done.stderr


# ---- hidden --------------------------------------------------------------------------------------------


def test_all_gpus_are_hidden():
    why = 'the NVIDIA driver shows no GPU: CUDA_VISIBLE_DEVICES is ""; unset it or name a GPU'
    words = ("-m", "evener", "run", "bfs", "rmat:6", "--verify")
    done = run_alone(*words, CUDA_VISIBLE_DEVICES="")
    assert (done.returncode, done.stderr) == (0, "")
    done = run_alone(*words, "--on", "cuda:0", CUDA_VISIBLE_DEVICES="")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f'evener: element "cuda:0" cannot be used: {why}\n'
