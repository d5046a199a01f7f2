"""Question: how much time does the engine add to the kernels that it calls.

A run on one partition is recorded: the arrays that it fills, and the kernels that it calls with their
arguments. The same calls then run directly, on the same arrays with their original values. The rival is this
bare loop. The engine adds supersteps, the timeline, allocation, and the work of the algorithm between
kernels.

Runs and loops take turns. Each follows a run of its kind that does not count, with a cold last cache. Both
must end with the same answer. In SSSP the order of threads changes steps, so one vertex in a thousand may
differ.

Each row also has the engine's time outside kernels: before the first kernel, where arrays are allocated, and
after it.

    python benchmarks/own_cost.py --on cpu --scale 20
    python benchmarks/own_cost.py --on cuda:0 --scale 24
"""

from __future__ import annotations

import argparse
import gc
import time
from functools import cache
from inspect import isfunction

import numpy as np

import evener as ev
import harness
from cpu_rivals import WEIGHTS, draw_sources
from evener.elements.page_pool import MIN_POOLED_BYTES
from evener.engine.engine import Engine

ITERATIONS = 10
# Largest relative difference of two runs, whose sums have another order.
APART = 1e-6
# Bytes, more than the last cache of any processor (1.1 GiB).
BYTES_OF_CACHES = 1 << 31
TASKS = {
    "pagerank": lambda placed, _: ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False),
    "bfs": lambda placed, source: ev.bfs(placed, source=source),
    "wcc": lambda placed, _: ev.wcc(placed),
    "sssp": lambda placed, source: ev.sssp(placed, source=source),
    "betweenness": lambda placed, source: ev.betweenness(placed, sources=[source]),
}


class Recorded:
    """The arrays and the kernel calls of one run on an element, to repeat them without the engine."""

    def __init__(self, placed, run):
        element = placed.elements[0]
        self._element, self.calls, self._before = element, [], {}
        self._constant = _arrays_of(placed.partitions[0])
        kernel, array = element.kernel, element.allocate
        finish, counted = Engine.finish, []
        Engine.finish = lambda engine: counted.append(len(self.calls)) or finish(engine)
        element.kernel = lambda name: self._noting(kernel(name))
        if element.kind == "cuda":
            fill = element.fill
            element.fill = lambda *args: self._noting_fill(fill, args)
        else:  # it fills large arrays by a kernel
            element.allocate = lambda *args, **more: self._noting_small(array(*args, **more), *args[2:])
        try:
            self.result = run()
        finally:
            Engine.finish = finish
            for name in ("kernel", "fill", "allocate"):
                element.__dict__.pop(name, None)
        # The run's time excludes work on a finished answer.
        del self.calls[counted[0] :]

    def _noting_fill(self, fill, args):
        self.calls.append((fill, args))
        fill(*args)

    def _noting_small(self, array, value=None):
        if value is not None and array.nbytes < MIN_POOLED_BYTES:
            self.calls.append((array.__setitem__, (..., value)))
        return array

    def _noting(self, kernel):
        if isfunction(kernel):
            return kernel  # it calls kernels itself, which are recorded

        def called(*args):
            for arg in args:
                if (
                    getattr(arg, "ndim", 0)
                    and id(arg) not in self._constant
                    and getattr(getattr(arg, "flags", None), "writeable", True)
                    and _place(arg) not in self._before
                ):
                    self._before[_place(arg)] = arg, arg.copy()
            self.calls.append((kernel, args))
            return kernel(*args)

        return called

    def restore(self):
        """Restore the original values of the arrays."""
        for array, before in self._before.values():
            self._element.run(array.__setitem__, ..., before)

    def again(self):
        """Return seconds of the same calls."""
        start = time.perf_counter()
        self._element.run(self._loop)
        self._element.wait()
        return time.perf_counter() - start

    def _loop(self):
        for kernel, args in self.calls:
            self._element.result(kernel(*args))


def _arrays_of(partition):
    """Return the arrays that kernels only read, by identity. They need not be restored."""
    edges = [e for e in (partition.out, partition.in_) if e is not None]
    arrays = [partition.vertices, partition.out_degree]
    arrays += [a for e in edges for a in (e.offsets, e.targets, e.weights, e.blocks)]
    return {id(array) for array in arrays}


class Eviction:
    """Writes more than the last cache holds, and waits for it, because an idle GPU starts more slowly."""

    def __init__(self, element):
        self._element, self._array = element, element.allocate(BYTES_OF_CACHES // 4, "uint32")

    def __call__(self):
        self._element.run(self._array.__setitem__, ..., 0)
        self._element.wait()


def _place(array):
    where = array.ctypes.data if isinstance(array, np.ndarray) else array.data.ptr
    return where, array.nbytes


def main():
    options = _options()
    graph = ev.read(f"rmat:{options.scale},weights={WEIGHTS}")
    placed = ev.partition(graph, on=options.on)
    sources = draw_sources(graph, options.sources)
    name = "_".join(["own_cost", placed.elements[0].kind, str(options.scale), *options.only])
    about = {"question": __doc__.splitlines()[0], "graph": f"rmat:{options.scale}", "on": options.on}
    rows = []
    for task in options.only or TASKS:
        rows.append(_row(task, placed, sources, options))
        if not options.no_record:  # after each task, because the last may take long
            harness.record(name, rows=rows, script="own_cost", **about)
    cells = [
        (row["task"], harness.duration(row["kernels_seconds"]), harness.duration(row["engine_seconds"]),
         row["kernels"], f"{row['engine_over_kernels']:.3f}",
         harness.duration(row["before_kernels_seconds"]), harness.duration(row["between_and_after_seconds"]))
        for row in rows
    ]  # fmt: skip
    columns = ["", "kernels alone", "with the engine", "kernels", "ratio", "before them", "between and after"]
    harness.show(f"One partition of {graph} on {options.on}", columns, cells)


def _row(task, placed, sources, options):
    run = TASKS[task]
    engine, bare, ratios, kernels = [], [], [], 0
    before, after = [], []
    # The first run also prepares the placement, which restoring must not undo.
    run(placed, int(sources[0]))
    evict, verified = Eviction(placed.elements[0]), {}
    for i in range(options.rounds):
        source = int(sources[i % len(sources)])
        recorded = Recorded(placed, lambda source=source: run(placed, source))
        name = next(iter(recorded.result))  # the other column, parents, has several right answers
        gather = recorded.result._gather[name]  # noqa: SLF001 - for the loop's answer, in the same arrays
        truth = recorded.result[name].copy()
        for _ in range(2):  # the first run warms the caches of the interpreter
            recorded.restore()
            evict()
            taken = recorded.again()
        again = gather()
        # The order of SSSP's threads differs, so a few vertices may need one more step.
        wrong = np.mean(~np.isclose(again, truth, rtol=1e-6, atol=0))
        if wrong > (1e-3 if task == "sssp" else 0):
            msg = f"the bare kernels of {task} give another answer for {wrong:.2%} of the vertices"
            raise ev.VerificationError(msg)
        kernels = len(recorded.calls)
        del recorded, gather, again  # the run of the engine reuses their memory
        gc.collect()
        for _ in range(2):
            result = None  # the next run reuses its arrays
            evict()
            result = run(placed, source)
        if not options.no_verify and source not in verified:
            _verify(task, result, source, placed)
            verified[source] = result[name]
        elif not options.no_verify:
            harness.agree(result, name, verified[source], apart=APART)
        slices = result.timeline.slices
        before.append(slices[0].begin)
        after.append(result.seconds - slices[0].begin - sum(one.end - one.begin for one in slices))
        engine.append(result.seconds)
        bare.append(taken)
        ratios.append(result.seconds / taken)
        del result
    return {
        "task": task,
        "kernels": kernels,
        "engine_seconds": harness.median(engine),
        "kernels_seconds": harness.median(bare),
        "engine_over_kernels": harness.median(ratios),
        "before_kernels_seconds": harness.median(before),
        "between_and_after_seconds": harness.median(after),
        "spread": round(harness.spread(ratios), 3),
        "engine": engine,
        "kernels_alone": bare,
    }


def _verify(task, result, source, placed):
    """Verify an answer; compare betweenness of a GPU with the CPU, because its verifier is serial."""
    if task == "betweenness" and placed.elements[0].kind == "cuda":
        expected = ev.betweenness(_on_cpu(result.graph), sources=[source])["centrality"]
        harness.agree(result, "centrality", expected, apart=APART, of_largest=1e-12)
    else:
        ev.verify(result)


@cache
def _on_cpu(graph):
    return ev.partition(graph, on="cpu")


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--on", default="cpu")
    parser.add_argument("--scale", type=int, default=20)
    parser.add_argument(
        "--only", nargs="+", default=[], choices=list(TASKS), help="only these tasks, in a separate record"
    )
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument(
        "--sources",
        type=int,
        default=3,
        help="number of sources; verifying one may take a minute",
    )
    return harness.recording(parser)


if __name__ == "__main__":
    main()
