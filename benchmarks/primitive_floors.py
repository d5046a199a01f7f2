"""Question: how far are communities, cores, triangles and others from the least work of their methods.

The least work is counted on the graph, or in a run that is not timed: bytes in order, bytes from a cache,
edges with a value of their target, and edges at random places. The floor is this work at rates that are
measured on the same graph in the same run. The distance is the time of a run over the floor. Graphs are R-MAT
with 16 edges for each vertex. Strong components run on the directed graph.

    python benchmarks/primitive_floors.py --graphs rmat:18
    python benchmarks/primitive_floors.py --on cuda:0 --graphs rmat:20 rmat:23

Times on a CPU include gathering the answer; times on a GPU do not.
"""

from __future__ import annotations

import argparse
import time
from contextlib import contextmanager
from functools import cached_property

import numpy as np
from numba import get_num_threads, njit, prange, set_num_threads

import cpu_floors
import evener as ev
import gpu_floors
import harness
import machine
from evener.engine.engine import Engine
from evener.partition.upload import edges_on_host
from primitives_cpu import SEED, Evener

# Pairs whose similarity is computed, and walks: on a CPU and on a GPU, as in the benchmarks of both.
PAIRS = {"cpu": 100_000, "cuda": 1 << 20}
WALKS = {"cpu": 1 << 14, "cuda": 1 << 17}


class Tasks(Evener):
    """The calls of a placed graph, each of which returns a result and the name of a column."""

    def __init__(self, placed, kind):
        graph, rng = placed.graph, np.random.default_rng(SEED)
        self.placed, self._walks = placed, WALKS[kind]
        if kind == "cpu":
            self.pairs = rng.integers(0, graph.n, (PAIRS[kind], 2))
        else:  # ends of edges
            edges = rng.choice(graph.m, min(PAIRS[kind], graph.m), replace=False)
            tails = np.searchsorted(graph.offsets, edges, side="right") - 1
            self.pairs = np.stack([tails, graph.targets[edges].astype(np.int64)], axis=1)

    def coloring(self):
        return ev.coloring(self.placed, seed=SEED), "color"

    def random_walks(self):
        starts = np.resize(self.pairs[:, 0], self._walks)
        return ev.random_walks(self.placed, starts, length=80, seed=SEED), "walk"


# ---- the least work of each task ---------------------------------------------------------------------------


class Run:
    """A task on a placed graph, from which its least work is counted.

    Attributes
    ----------
    n, m : int
    offsets, targets : ndarray
        The placed rows in host memory, by descending degree.
    result : Result
    seen : dict of str to int
        Counts of the kernels' arguments: see `observed`.
    """

    def __init__(self, tasks):
        self.placed, self.pairs = tasks.placed, tasks.pairs
        self.n, self.m = tasks.placed.graph.n, tasks.placed.graph.m
        element, edges = tasks.placed.elements[0], tasks.placed.partitions[0].out
        self.offsets = np.asarray(element.download(edges.offsets))
        self.targets = np.asarray(edges_on_host(edges.targets, element))
        self.result, self.seen = None, {}

    @cached_property
    def oriented(self):
        """The edges to vertices of higher degree, and the entries of the shorter row of each of them."""
        lengths = np.empty(self.n, np.uint32)
        edges = _orient(self.offsets, self.targets, lengths)
        return int(edges), int(_shorter(self.offsets, self.targets, lengths))


def triangles(run):
    """The shorter oriented row of each edge, 4 bytes an entry from a cache, and the oriented rows once."""
    edges, entries = run.oriented
    return {"stream": 16 * run.n + 4 * edges, "cached": 4 * entries}


clustering = triangles


def core_number(run):
    """Each stored edge once with the degree of its target; offsets and core numbers."""
    return {"stream": 12 * run.n, "label": run.m}


def coloring(run):
    """Each edge once with the color of its end of higher degree; offsets and colors."""
    return {"stream": 12 * run.n, "label": run.oriented[0]}


def scc(run):
    """An edge in each direction of each vertex with the component of its target; offsets and components."""
    graph = run.placed.graph
    both = (np.diff(graph.offsets.astype(np.int64)) > 0) & (np.bincount(graph.targets, minlength=graph.n) > 0)
    return {"stream": 20 * run.n, "label": 2 * int(both.sum())}


def louvain(run):
    """The rows of active vertices in each round, a label and later a weight an edge; contractions."""
    seen = run.seen
    return {
        "stream": 8 * seen["weighted"] + 12 * seen["written"],
        "label": seen["edges"] + seen["contracted"],
    }


leiden = label_propagation = louvain


def closeness(run):
    """The edges of the cheaper direction in each level with a word of 64 searches; counts and sums."""
    return {"stream": 16 * run.n, "word": run.seen["edges"]}


def spanning_forest(run):
    """In each round the rows outside the largest component with a component an edge; the forest's rows."""
    rows = run.n - run.result.outcome["trees"]
    return {"stream": 4 * run.n * run.seen["rounds"] + 24 * rows, "label": run.seen["edges"]}


def jaccard(run):
    """The shorter row of each pair, the offsets of both ends at random places, and the scores."""
    _, local = run.placed.places_of(run.pairs.ravel().astype(np.uint32))
    lengths = np.diff(run.offsets.astype(np.int64))[local].reshape(-1, 2)
    return {"stream": 16 * len(lengths) + 4 * int(lengths.min(axis=1).sum()), "jump": lengths.size}


def random_walks(run):
    """In each step an edge at a random place and the offset of its target; the walks."""
    walks = run.result["walk"]
    steps = int((walks >= 0).sum()) - len(walks)
    return {"stream": 4 * steps, "jump": steps}


WORK = {
    one.__name__ if name is None else name: one
    for name, one in [
        (None, triangles), ("clustering", clustering), (None, core_number), (None, coloring), (None, louvain),
        ("leiden", leiden), ("label_propagation", label_propagation), (None, closeness),
        (None, spanning_forest), (None, jaccard), (None, random_walks), (None, scc),
    ]
}  # fmt: skip


@njit(parallel=True, nogil=True)
def _orient(offsets, targets, lengths):
    """Write the number of distinct targets of each row before its vertex. Return their sum."""
    edges = 0
    for v in prange(len(lengths)):
        count, before = 0, v
        for e in range(offsets[v], offsets[v + 1]):
            count += targets[e] < v and targets[e] != before
            before = targets[e]
        lengths[v] = count
        edges += count
    return edges


@njit(parallel=True, nogil=True)
def _shorter(offsets, targets, lengths):
    entries = 0
    for v in prange(len(lengths)):
        before = v
        for e in range(offsets[v], offsets[v + 1]):
            if targets[e] < v and targets[e] != before:
                entries += min(lengths[v], lengths[targets[e]])
            before = targets[e]
    return entries


# ---- what a run does -----------------------------------------------------------------------------------


@njit(parallel=True, nogil=True)
def _until_complete(offsets, targets, frontier, seen, every):
    """Return the edges that vertices read until no search is missing."""
    edges = 0
    for v in prange(len(seen)):
        missing = every & ~seen[v]
        taken = missing & np.uint64(0)
        for e in range(offsets[v], offsets[v + 1]):
            if taken & missing == missing:
                break
            taken |= frontier[targets[e]]
            edges += 1
    return edges


def _see_level(run, engine, args):
    """Add the edges of the cheaper direction: those of the frontier, or of vertices that searches miss."""
    frontier, seen = (engine.download(args[i])[0] for i in (6, 7))
    pushed = int(np.diff(run.offsets)[frontier[: run.n] != 0].sum())
    pulled = int(_until_complete(run.offsets, run.targets, frontier, seen, np.uint64(args[1])))
    _add(run, rounds=1, edges=min(pushed, pulled))


def _see_choice(run, engine, args):
    """Add the edges of vertices outside the component that chooses none."""
    component, skipped = engine.download(args[4])[0], args[5][0]
    _add(run, rounds=1, edges=int(np.diff(run.offsets)[component[: run.n] != skipped].sum()))


def _see_rounds(run, engine, args, compute):
    """Move labels in single rounds, and add the edges of the vertices that are active before each of them."""
    graph = engine.partitioned.graph
    lengths = np.diff(engine.download(args[0])[0])
    if graph.m < run.seen.get("last", 0):  # no new search, which begins with the whole graph
        _add(run, contracted=run.seen["last"], written=graph.m, weighted=run.seen["last_weighted"])
    weighted = 0 if args[2][0] is None or len(args[2][0]) <= 1 else 1
    run.seen |= {"last": graph.m, "last_weighted": weighted * graph.m}
    salt, enough, limit = int(args[18]), int(args[20]), int(args[21])
    rounds = moves = last = 0
    while rounds < limit:
        words = np.asarray(engine.download(args[22])[0])
        active = np.unpackbits(words.view(np.uint8), bitorder="little", count=len(lengths))
        edges = int(lengths[active == 1].sum())
        _add(run, rounds=1, edges=edges, weighted=weighted * edges)
        _, last, _ = compute(*args[:18], salt + rounds, args[19], enough, 1, *args[22:])
        rounds, moves = rounds + 1, moves + int(last)
        if last <= enough:
            break
    return rounds, moves, last


def _add(run, **counts):
    for name, count in counts.items():
        run.seen[name] = run.seen.get(name, 0) + count


@contextmanager
def observed(run):
    """Count the rounds, levels and edges of a run on one element, from the arguments of its kernels."""
    given = Engine.compute

    def compute(engine, kernel, *args, **options):
        name = kernel.rpartition(":")[2]
        if name == "bit_search.take_bits":
            _see_level(run, engine, args)
        elif name == "kernels.choose":
            _see_choice(run, engine, args)
        elif name == "label_sums.move_in_rounds":
            return _see_rounds(run, engine, args, lambda *own: given(engine, kernel, *own, **options))
        return given(engine, kernel, *args, **options)

    Engine.compute = compute
    try:
        yield
    finally:
        Engine.compute = given
