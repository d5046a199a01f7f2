"""Question: how far are communities, cores, triangles and others from the least work of their methods.

The least work is counted on the graph, or in a run that is not timed. The floor is this work at the rates of
bare passes over the same graph, on the same element, between the runs. The distance is the median time of
runs over the floor. Times on a CPU include gathering the answer, and times on a GPU do not. Strong components
run on the directed graph of the same scale.

    python benchmarks/primitive_floors.py --graphs rmat:18
    python benchmarks/primitive_floors.py --on cuda:0 --graphs rmat:20 rmat:23
"""

from __future__ import annotations

import argparse
import os
import time

import numpy as np
from numba import get_num_threads, set_num_threads

import cpu_floors
import evener as ev
import gpu_floors
import harness
import machine
from counted_work import Work, observed
from primitives_cpu import SEED, Evener

# Pairs whose similarity is computed, and walks: those of `primitives_cpu.py` and `primitives_gpu.py`.
PAIRS = {"cpu": 100_000, "cuda": 1 << 20}
WALKS = {"cpu": 1 << 14, "cuda": 1 << 17}
# Largest relative difference of answers of two runs.
_APART = 1e-9


class Tasks(Evener):
    """Runs on a placed graph. Each returns a result and the name of a column."""

    def __init__(self, placed, kind):
        graph, random = placed.graph, np.random.default_rng(SEED)
        self.placed, self._walks = placed, WALKS[kind]
        self.pairs = random.integers(0, graph.n, (PAIRS[kind], 2))
        if kind == "cuda":  # the ends of edges
            edges = random.choice(graph.m, min(PAIRS[kind], graph.m), replace=False)
            tails = np.searchsorted(graph.offsets, edges.astype(np.uint64), side="right") - 1
            self.pairs = np.stack([tails, graph.targets[edges].astype(np.int64)], axis=1)

    def coloring(self):
        return ev.coloring(self.placed, seed=SEED), "color"

    def random_walks(self):
        starts = np.resize(self.pairs[:, 0], self._walks)
        return ev.random_walks(self.placed, starts, length=80, seed=SEED), "walk"


# ---- the least work ----------------------------------------------------------------------------------------
# - "stream": bytes that are read or written in order.
# - "label", "word": edges in order, each with the 4 or 8 bytes of a value of its target.
# - "add": edges in order, each of which adds 1 to the value of its target.
# - "lookup": edges in order, each of which looks its target up in a table of the fastest cache.
# - "jump": edges at random places, each with the offset of its target.


def triangles(work):
    """Each oriented edge, and a lookup of each entry of the shorter of two rows that may have a triangle."""
    edges, entries = work.oriented
    return {"stream": 16 * work.n + 4 * edges, "lookup": entries}


def core_number(work):
    """Each stored edge with the degree of its target, which half of the edges lower; core numbers."""
    return {"stream": 12 * work.n, "label": work.m - work.m // 2, "add": work.m // 2}


def coloring(work):
    """Each edge once with the color of its end of higher degree; colors."""
    return {"stream": 12 * work.n, "label": work.oriented[0]}


def communities(work):
    """The rows of active vertices in each round with a label an edge; each contraction read and written."""
    seen = work.seen
    return {
        "stream": 8 * seen["weighted"] + 12 * seen["written"],
        "label": seen["edges"] + seen["contracted"],
    }


def closeness(work):
    """In each level, the edges of the cheaper direction with a word of 8 bytes; counts and sums."""
    return {"stream": 16 * work.n, "word": work.seen["edges"]}


def spanning_forest(work):
    """In each round, the rows outside the largest component with a component an edge; the forest."""
    rows = work.n - work.result.outcome["trees"]
    return {"stream": 4 * work.n * work.seen["rounds"] + 24 * rows, "label": work.seen["edges"]}


def jaccard(work):
    """The shorter row of each pair, which begins at a random place; scores."""
    _, local = work.placed.places_of(work.pairs.ravel())
    shorter = np.diff(work.offsets.astype(np.int64))[local].reshape(-1, 2).min(axis=1)
    return {"stream": 16 * len(shorter) + 4 * int(shorter.sum()), "jump": 2 * len(shorter)}


def random_walks(work):
    """In each step, an edge at a random place and the offset of its target; the walks."""
    walks = work.result["walk"]
    steps = int((walks >= 0).sum()) - len(walks)
    return {"stream": 4 * steps, "jump": steps}


def scc(work):
    """As in a search, one edge in each direction of a vertex with the component of its target; components."""
    graph = work.placed.graph
    both = (np.diff(graph.offsets.astype(np.int64)) > 0) & (np.bincount(graph.targets, minlength=graph.n) > 0)
    return {"stream": 20 * work.n, "label": 2 * int(both.sum())}


LEAST = {
    "triangles": triangles,
    "clustering": triangles,
    "core_number": core_number,
    "coloring": coloring,
    "louvain": communities,
    "leiden": communities,
    "label_propagation": communities,
    "closeness": closeness,
    "spanning_forest": spanning_forest,
    "jaccard": jaccard,
    "random_walks": random_walks,
    "scc": scc,
}


# ---- the benchmark -----------------------------------------------------------------------------------------


def main():
    begun, options = time.perf_counter(), _options()
    kind, _, threads = options.on.partition(":")
    if kind == "cpu" and threads:
        set_num_threads(int(threads))
    rows, results = [], []
    name_of_record = "primitive_floors" if kind == "cpu" else "primitive_floors_cuda"

    def record():
        if not options.no_record:
            kept = harness.with_earlier(name_of_record, rows) if options.keep else rows
            harness.record(name_of_record, question=__doc__.splitlines()[0], on=options.on, rows=kept)

    for name in options.graphs:
        for directed in (False, True):
            chosen = [task for task in options.tasks if (task == "scc") == directed]
            if not chosen:
                continue
            graph = ev.read(f"{name},directed" if directed else name)
            print(f"{name}: {graph}", flush=True)
            tasks = Tasks(ev.partition(graph, on=[options.on]), kind)
            work = Work(tasks.placed, tasks.pairs)
            for task in chosen:
                rows.append({"graph": name, "task": task, **_row(task, tasks, work, kind, options.rounds)})
                results.append(work.result)
                record()  # after each task, because a later one may fail
    for row, result in zip(rows, results, strict=True):
        if not options.no_verify and time.perf_counter() - begun < options.verify_until:
            ev.verify(result)
            row["verified"] = True
    record()
    _show(rows)


def _show(rows):
    cells = []
    for row in rows:
        seconds = (harness.duration(row[which]) for which in ("floor_seconds", "median_seconds"))
        note = "" if row["verified"] else "not verified"
        cells.append((f"{row['task']}, {row['graph']}", *seconds, f"{row['times_floor']:.1f}", note))
    harness.show("Evener's times and their floors", ["", "floor", "median", "distance", ""], cells)


def _row(task, tasks, work, kind, rounds):
    """Return the floor and the times of a task."""
    call = getattr(tasks, task)
    work.result, column = call()
    found, taken = [], []
    for i in range(rounds):
        if kind == "cpu" or i == 0:  # other processes may use the CPU
            found.append(_rates(work, kind))
        begin = time.perf_counter()
        again, _ = call()
        if kind == "cpu":
            again[column]  # the clock stops when the array exists
        taken.append(time.perf_counter() - begin)
        harness.agree(again, column, work.result[column], apart=_APART)
    work.seen.clear()
    with observed(work):
        counted, _ = call()
    harness.agree(counted, column, work.result[column], apart=_APART)
    least, rates = LEAST[task](work), {}
    for access in found[0]:
        rates[access] = harness.median([one[access] for one in found])
    parts = {access: count / rates[access] for access, count in least.items()}
    floor, median = sum(parts.values()), harness.median(taken)
    shares = ", ".join(f"{access} {harness.duration(spent)}" for access, spent in parts.items())
    print(f"{task}: {harness.duration(median)}, {median / floor:.1f} times the floor: {shares}", flush=True)
    return {
        "counts": LEAST[task].__doc__, "work": least, "seen": dict(work.seen), "rates": rates, "floor": parts,
        "floor_seconds": floor, "median_seconds": median, "times_floor": median / floor,
        "phases": {phase: span.compute for (phase, _), span in again.timeline.by_phase().items()},
        "outcome": work.result.outcome, "verified": False, "load": os.getloadavg()[0], "seconds": taken,
    }  # fmt: skip


def _rates(work, kind):
    """Return bytes/s or edges/s of each kind of access."""
    if kind == "cpu":
        floors, make, stream = cpu_floors, np.ones, machine.bandwidth(repeats=3)
        offsets, targets = work.offsets, work.targets
    else:
        import cupy

        floors, make, stream = gpu_floors, cupy.ones, gpu_floors.copy_bytes_per_second()
        edges = work.placed.partitions[0].out
        offsets, targets = edges.offsets, edges.targets.device_part
    labels, words = make(work.n, "uint32"), make(work.n, "uint64")
    seconds = {
        "label": floors.gather_seconds(targets, labels),
        "word": floors.gather_seconds(targets, words),
        "add": floors.add_seconds(targets, labels),
        "lookup": floors.lookup_seconds(targets),
    }
    rates = {access: work.m / spent for access, spent in seconds.items()}
    return {"stream": stream, **rates, "jump": floors.random_edges_per_second(offsets, targets)}


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat:18"])
    parser.add_argument("--tasks", nargs="+", default=list(LEAST), choices=list(LEAST))
    parser.add_argument("--on", default=f"cpu:{get_num_threads()}", help="cpu:N or cuda:N")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--keep", action="store_true", help="keep other tasks and graphs of the record")
    parser.add_argument(
        "--verify-until", type=float, default=np.inf, help="seconds to begin to verify an answer"
    )
    return harness.recording(parser)


if __name__ == "__main__":
    main()
