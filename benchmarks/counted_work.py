"""The work of a run on one element: its placed rows, and the edges that its rounds and levels read.

Results do not have these numbers. A single element also runs many rounds in one kernel. A run that is not
timed therefore counts them from the arguments of kernels.
"""

from __future__ import annotations

import inspect
from collections import Counter
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from numba import njit, prange

from evener.algorithms.spanning_forest.kernels_cpu import choose
from evener.engine.engine import Engine
from evener.partition.upload import edges_on_host
from evener.primitives.bit_search_cpu import take_bits
from evener.primitives.label_rounds_cpu import move_in_rounds


class Work:
    """Numbers from which the least work of an algorithm is counted.

    Parameters
    ----------
    placed : PartitionedGraph
        On one element.
    pairs : ndarray of shape (pairs, 2)
        The pairs whose similarity is computed.

    Attributes
    ----------
    n, m : int
    offsets, targets : ndarray
        The placed rows in host memory. Vertices are in descending degree, and rows ascend.
    result : Result
        Of the last run.
    seen : Counter
        What `observed` has counted in the last run.
    """

    def __init__(self, placed, pairs):
        self.placed, self.pairs, self.n, self.m = placed, pairs, placed.graph.n, placed.graph.m
        element, edges = placed.elements[0], placed.partitions[0].out
        self.offsets = np.asarray(element.download(edges.offsets))
        self.targets = np.asarray(edges_on_host(edges.targets, element))
        self.result, self.seen = None, Counter()

    @cached_property
    def oriented(self):
        """The edges to vertices of higher degree, and the entries that may complete a triangle with each.

        For an edge from u to v, these are the entries of v's row or those before v in u's row.
        """
        lengths = np.empty(self.n, np.uint32)
        edges = int(_orient(self.offsets, self.targets, lengths))
        return edges, int(_fewest_entries(self.offsets, self.targets, lengths))


@njit(nogil=True)
def _length(offsets, targets, u):
    count, before = 0, u
    for e in range(offsets[u], offsets[u + 1]):
        v = np.int64(targets[e])
        count += v < u and v != before
        before = v
    return count


@njit(parallel=True, nogil=True)
def _orient(offsets, targets, lengths):
    """Write the number of distinct targets of each row before its vertex. Return their sum."""
    edges = 0
    for u in prange(len(lengths)):
        lengths[u] = _length(offsets, targets, u)
        edges += lengths[u]
    return edges


@njit(nogil=True)
def _entries_of(offsets, targets, lengths, u):
    entries, place, before = 0, 0, u
    for e in range(offsets[u], offsets[u + 1]):
        v = np.int64(targets[e])
        if v < u and v != before:
            entries += min(place, np.int64(lengths[v]))
            place += 1
        before = v
    return entries


@njit(parallel=True, nogil=True)
def _fewest_entries(offsets, targets, lengths):
    entries = 0
    for u in prange(len(lengths)):
        entries += _entries_of(offsets, targets, lengths, u)
    return entries


@contextmanager
def observed(work):
    """Count the rounds, levels and edges of a run in `work.seen`."""
    given = Engine.compute

    def compute(engine, kernel, *args, **options):
        if kernel not in _SEEN:
            return given(engine, kernel, *args, **options)
        function, see = _SEEN[kernel]
        named = dict(zip(inspect.signature(function).parameters, args, strict=True))

        def run(**changed):
            return given(engine, kernel, *(named | changed).values(), **options)

        return see(work, engine, named, run)

    Engine.compute = compute
    try:
        yield
    finally:
        Engine.compute = given


def _see_level(work, engine, args, run):
    """Count the edges of the cheaper direction: those of the frontier, or of vertices that searches miss.

    A search whose last level reached no vertex misses none.
    """
    frontier, seen = (engine.download(args[name])[0] for name in ("frontier", "seen"))
    going = np.uint64(args["going"]) & np.bitwise_or.reduce(frontier)
    pushed = int(np.diff(work.offsets)[frontier[: work.n] != 0].sum())
    pulled = int(_until_complete(work.offsets, work.targets, frontier, seen, going))
    work.seen.update(rounds=1, edges=min(pushed, pulled))
    return run()


@njit(nogil=True)
def _edges_until(offsets, targets, frontier, missing, v):
    edges, taken = 0, np.uint64(0)
    for e in range(offsets[v], offsets[v + 1]):
        if taken & missing == missing:
            break
        taken |= frontier[targets[e]]
        edges += 1
    return edges


@njit(parallel=True, nogil=True)
def _until_complete(offsets, targets, frontier, seen, going):
    """Return the edges that vertices read until no search is missing."""
    edges = 0
    for v in prange(len(seen)):
        edges += _edges_until(offsets, targets, frontier, going & ~seen[v], v)
    return edges


def _see_choice(work, engine, args, run):
    """Count the edges of vertices outside the component with the most edges."""
    component, lengths = engine.download(args["component"])[0][: work.n], np.diff(work.offsets)
    largest = int(np.bincount(component, weights=lengths).max())
    work.seen.update(rounds=1, edges=work.m - largest)
    return run()


def _see_rounds(work, engine, args, run):
    """Move labels in single rounds, and count the edges of the vertices that are active before each.

    A graph that is smaller than the one before is its contraction.
    """
    seen, edges = work.seen, engine.partitioned.graph.m
    weighted = int(getattr(args["weights"][0], "nbytes", 0) > 0)
    if edges < seen["last"]:
        seen.update(contracted=seen["last"], written=edges, weighted=seen["last_weighted"])
    seen["last"], seen["last_weighted"] = edges, weighted * edges
    lengths = np.diff(engine.download(args["offsets"])[0])
    enough, rounds, moves = int(args["enough"]), 0, 0
    last = enough + 1
    while rounds < args["rounds"] and last > enough:
        words = np.asarray(engine.download(args["active"])[0])
        active = np.unpackbits(words.view(np.uint8), bitorder="little", count=len(lengths))
        read = int(lengths[active == 1].sum())
        seen.update(rounds=1, edges=read, weighted=weighted * read)
        last = int(run(salt=args["salt"] + rounds, rounds=1)[1])
        rounds, moves = rounds + 1, moves + last
    return rounds, moves, last


def _name(function):
    """Return the name of a kernel, given its CPU side."""
    package, _, file = function.__module__.removesuffix("_cpu").rpartition(".")
    return f"{package}:{file}.{function.__name__}"


# Observed kernels by name. Their CPU sides name the arguments of both sides.
_SEEN = {
    _name(function): (function, see)
    for function, see in ((take_bits, _see_level), (choose, _see_choice), (move_in_rounds, _see_rounds))
}
