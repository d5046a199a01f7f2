"""Ranks that an MPI launcher starts."""

from __future__ import annotations

import time

import pytest

import evener as ev
from mpi.launcher import mpiexec

pytestmark = pytest.mark.usefixtures("launcher")


PARITY = """
import sys
from support import graphs
from evener.system.world import current_world
from support.expected_results import truth_of

world = current_world()
assert world.size == int(sys.argv[1]), world.size
for directed in (False, True):
    truth = truth_of(graphs.SMALL["rmat"](), directed=directed)
    truth.check(on="cpu:1", policy="random")
    truth.check(on="cpu:1,cpu:1", policy="high", alpha=0.4)
world.barrier()
if world.rank == 0:
    print("all equal")
"""


@pytest.mark.slow
def test_five_algorithms():
    done = mpiexec(3, PARITY, "3")
    assert (done.returncode, done.stdout) == (0, "all equal\n"), done.stderr


PARTS = """
import sys
import evener as ev
from support.expected_results import Truth

graph = ev.read(sys.argv[1])
truth = Truth(graph, int(graph.out_degree().argmax()))
truth.check_placed(ev.partition(sys.argv[1], "cpu:1", policy="high", alpha=0.3))
try:
    ev.partition(sys.argv[2], "cpu:1")
except ev.FormatError as error:
    assert "line 301: expected two integer vertex ids" in str(error), error
else:
    raise AssertionError("a malformed line was accepted")
"""


@pytest.mark.slow
def test_parts_of_a_file(tmp_path):
    """Each rank reads a part, and all ranks raise the error of one rank."""
    ev.write(ev.read("rmat:8,directed,weights=real"), tmp_path / "g.txt")
    (tmp_path / "h.txt").write_text("0 1\n" * 300 + "2 x\n")
    done = mpiexec(3, PARTS, str(tmp_path / "g.txt"), str(tmp_path / "h.txt"))
    assert done.returncode == 0, done.stderr


MESSAGES = """
import numpy as np
from evener.system.world import current_world

world = current_world()
other = 1 - world.rank
large = np.full(3_000_000, world.rank, np.uint64)
posted = [world.post(other, 7, large), world.post(other, 8, np.arange(3))]
posted.append(world.post(other, 7, large[:5] + 1))
small, first, second = np.empty(3, np.int64), np.empty(3_000_000, np.uint64), np.empty(5, np.uint64)
expected = [world.expect(other, 8, small), world.expect(other, 7, first), world.expect(other, 7, second)]
world.wait(posted + expected)
assert small.tolist() == [0, 1, 2] and (first == other).all() and (second == other + 1).all()
assert world.allreduce((world.rank, 0.5, 2**62), "sum") == (1, 1.0, 2**63)
assert world.allreduce(world.rank, "max") == 1
assert world.allgather(world.rank * 10) == [0, 10]
"""


def test_messages_and_reductions():
    done = mpiexec(2, MESSAGES)
    assert done.returncode == 0, done.stderr


def test_an_error_of_one_rank_ends_all_ranks():
    program = """
from evener.system.world import current_world
world = current_world()
if world.rank == 1:
    raise ValueError("rank one has a problem")
world.barrier()
"""
    began = time.monotonic()
    done = mpiexec(3, program)
    assert done.returncode != 0
    assert done.stderr.count("ValueError: rank one has a problem") == 1
    assert "rank 1 of 3 failed:" in done.stderr
    assert time.monotonic() - began < 60


ALL_FAIL = """
from evener.system.world import current_world
current_world()
raise ValueError("every rank has this problem")
"""


def test_an_error_of_all_ranks_is_printed_once():
    done = mpiexec(3, ALL_FAIL)
    assert done.returncode == 1
    assert done.stderr.count("ValueError: every rank has this problem") == 1
    assert done.stderr.startswith("Traceback")


TWO_FAIL = """
import sys
from evener.system.world import current_world
world = current_world()
if world.rank:
    raise MemoryError("no memory on this host")
world.barrier()
"""


def test_ranks_with_the_same_error_print_it_once():
    done = mpiexec(3, TWO_FAIL)
    assert done.returncode != 0
    assert done.stderr.count("MemoryError: no memory on this host") == 1
    # The message omits a rank that fails seconds later.
    assert done.stderr.startswith(("ranks 1 and 2 of 3 failed:\nTraceback", "rank 1 of 3", "rank 2 of 3"))
