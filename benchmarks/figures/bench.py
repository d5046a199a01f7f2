"""Run cases: place each graph once, run the tasks on it, check every answer, and keep the times.

A time is one pass: an iteration of PageRank, or one source of the others. BFS is timed from several sources,
drawn with a fixed seed. PageRank is timed in rounds of some iterations. Betweenness is timed in one run from
all sources. A warm-up run does not count. The time of each activity is the median over the timelines of the
runs, for each element.
"""

from __future__ import annotations

import gc
import time
from dataclasses import asdict
from typing import NamedTuple

import search_path  # noqa: F401 - first: it makes the folder above importable
import sweep
from cache import counted
from cache import missing as no_counters

import evener as ev
import harness
from cpu_rivals import draw_sources
from evener.elements.hardware import gpu_facts
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.sizes import ElementShare
from evener.planning.planner import cost_model
from evener.spec.registry import find

ACTIVITIES = ("compute", "send", "receive", "wait")
# Relative difference of two runs whose ranks and centralities are each correct to 1e-6.
_APART = 2e-6


class Bench:
    """Runs cases until the budget is spent.

    Attributes
    ----------
    rows : list of dict
        One for each placement and task; `task` is None if a graph was placed only.
    left_out : dict of str to str
        The cases that did not run, and why.
    failed : bool
        True if a case failed or its answer was wrong.
    """

    def __init__(self, options):
        self.options = options
        self.rows, self.left_out, self.failed = [], {}, False
        self._began = time.perf_counter()
        self._graphs = {}
        self._checked = harness.Checked(apart=_APART, of_largest=1e-12)
        self._placed_as, self._placed = None, None

    def run(self, cases, each=None):
        """Run each new case. Calls `each` with the finished cases after every case."""
        todo = sweep.merged(cases)
        for number, case in enumerate(todo):
            spent = time.perf_counter() - self._began
            if self.options.budget is not None and spent > self.options.budget:
                self.left_out[str(case)] = f"the budget of {self.options.budget:g} s was spent"
            else:
                self._try(case)
            self._keep_only({later.graph for later in todo[number + 1 :]})
            if each is not None:
                each(todo[: number + 1])
        self._free()

    def _try(self, case):
        print(f"{time.perf_counter() - self._began:6.1f} s  {case}", flush=True)
        try:
            self.rows += self._rows(case)
        except ev.EvenerError as error:  # the other cases can still run
            self.left_out[str(case)], self.failed = str(error), True
            print(f"          left out: {error}", flush=True)

    def _rows(self, case):
        graph = self._graph(case.graph)
        room = None if case.fits is None else room_for(graph, case.fits)
        policy, alpha = self._resolved(case, graph, room)
        placed = self._place(case, graph, policy, alpha, room)
        row = _placement(case, policy, alpha, placed)
        if not case.tasks:
            return [{**row, "task": None}]
        return [{**row, **self._timed(case.graph, placed, task)} for task in case.tasks]

    def _graph(self, spec):
        if spec not in self._graphs:
            self._graphs[spec] = ev.read(spec)
        return self._graphs[spec]

    def _keep_only(self, specs):
        for spec in set(self._graphs) - specs:
            self._free()
            del self._graphs[spec]
            self._checked.forget(spec)

    def _resolved(self, case, graph, room):
        """Return the policy and the share, from the plan if the case asks for one."""
        if case.planned is None:
            return case.policy or "random", case.alpha
        if not sweep.has_gpu(case.on):
            return "random", None  # all elements are alike: shares in proportion to threads
        made = ev.plan(graph, case.planned, on=case.on, gpu_memory=room)
        return made.policy, made.alpha

    def _place(self, case, graph, policy, alpha, room):
        key = (case.graph, case.on, policy, alpha, room, case.directions)
        if key != self._placed_as:
            self._free()
            self._placed = ev.partition(
                graph, case.on, policy=policy, alpha=alpha, gpu_memory=room, directions=case.directions
            )
            self._placed_as = key
        return self._placed

    def _free(self):
        """Free the memory of the last placement: of GPUs, and page-locked host memory."""
        placed, self._placed, self._placed_as = self._placed, None, None
        on_gpu = placed is not None and any(element.kind == "cuda" for element in placed.elements)
        del placed
        gc.collect()
        if on_gpu:
            import cupy

            cupy.get_default_memory_pool().free_all_blocks()
            cupy.get_default_pinned_memory_pool().free_all_blocks()

    # ---- one task on one placement ----------------------------------------------------------------

    def _timed(self, spec, placed, task):
        sources = placed.graph.ids[draw_sources(placed.graph, self.options.sources)].tolist()
        # Predict before the runs, because later predictions use recorded runs.
        shares = ElementShare.all_of(placed)
        expected = cost_model(find(task), placed.elements).predict(shares)
        tried = {"bfs": self._searches, "pagerank": self._rankings, "betweenness": self._centrality}[task]
        runs = []
        for passes, result in tried(spec, placed, sources):
            runs.append(_Run.of(result, passes))
            del result  # the next run reuses its arrays
        gpu = next((element for element in placed.elements if element.kind != "cpu"), None)
        row = {
            "task": task,
            "median_seconds": harness.median([run.seconds for run in runs]),
            "seconds": [run.seconds for run in runs],
            "supersteps": harness.median([run.supersteps for run in runs]),
            "edges_per_second": harness.median([run.edges_per_second for run in runs]),
            "predicted_seconds": expected.seconds,
            "shares": [asdict(share) for share in shares],
            # c of the papers, in values of 4 bytes; no bus joins elements that share a memory.
            "values_per_second": gpu and gpu_facts(gpu.index).link_bytes_per_second / 4,
            "busy": _medians([run.busy for run in runs]),
        }
        if task == "bfs":
            row["not_counted"] = no_counters()
            row["last_cache"] = None
            if no_counters() is None:
                row["last_cache"] = counted(lambda: ev.bfs(placed, source=sources[0]))
        return row

    def _searches(self, spec, placed, sources):
        ev.bfs(placed, source=sources[0])
        for source in sources:
            result = ev.bfs(placed, source=source)
            # Distances are equal in all runs; parents can differ, so the last ones are verified.
            self._check(result, "distance", (spec, "bfs", source), verify=source == sources[-1])
            yield 1, result
            del result

    def _rankings(self, spec, placed, sources):  # noqa: ARG002 - same parameters as the other tasks
        iterations = self.options.iterations
        ev.pagerank(placed, tol=0, max_iter=1, weights=False)
        for _ in range(self.options.rounds):
            result = ev.pagerank(placed, tol=0, max_iter=iterations, weights=False)
            self._check(result, "rank", (spec, "pagerank"))
            yield iterations, result
            del result

    def _centrality(self, spec, placed, sources):
        ev.betweenness(placed, sources=sources[:1])
        result = ev.betweenness(placed, sources=sources)
        self._check(result, "centrality", (spec, "betweenness"))
        yield len(sources), result

    def _check(self, result, name, question, **more):
        """Verify the first answer on a graph, and compare later answers with it."""
        if not self.options.no_verify:
            self._checked.check(result, name, question, **more)


def room_for(graph, fits):
    """Return the bytes of a GPU that hold a share of the edges and their vertices.

    The share is counted for a random split, with a mirror of every other vertex. The GPU can hold at least
    all vertices, with its edges in host memory.
    """
    directions = 2 if graph.directed else 1
    edges = directions * graph.m
    edge = 4 + (0 if graph.weights is None else graph.weights.itemsize)
    owned = round(fits * graph.n)
    vertices = max(
        bytes_excluding_edges(owned, graph.n - owned, owned, edges, directions=directions),
        bytes_excluding_edges(graph.n, 0, 0, edges, directions=directions),
    )
    return int(vertices + fits * edges * edge)


def _placement(case, policy, alpha, placed):
    found = placed.statistics
    several = len(placed.elements) > 1
    return {
        "graph": sweep.name_of(case.graph),
        "vertices": placed.graph.n,
        "stored_edges": sum(p.edges for p in found.partitions),
        "on": case.on,
        "planned": case.planned is not None,
        "policy": policy if several else None,
        "alpha": alpha if several else None,
        "alpha_placed": found.alpha if several else None,
        "fits": case.fits,
        "beta": found.beta,
        "beta_aggregated": found.beta_aggregated,
        "elements": [
            {
                "element": element.name,
                "kind": element.kind,
                "threads": element.threads,
                "vertices": part.owned,
                "mirrors": part.mirrors,
                "edges": part.stored_edges,
                "mapped_edges": part.host_edges,
                "state_bytes": {
                    task: state.vertex * part.owned + state.mirror * part.mirrors
                    for task, state in ((task, find(task).state) for task in sweep.TASKS)
                },
            }
            for element, part in zip(placed.elements, placed.partitions, strict=True)
        ],
    }


class _Run(NamedTuple):
    """A run: times of one pass; `busy` has seconds by element and activity."""

    seconds: float
    supersteps: float
    edges_per_second: float
    busy: dict

    @classmethod
    def of(cls, result, passes):
        busy = {}
        for (_, element), span in result.timeline.by_phase().items():
            own = busy.setdefault(element, dict.fromkeys(ACTIVITIES, 0.0))
            for activity in ACTIVITIES:
                own[activity] += getattr(span, activity) / passes
        supersteps = result.timeline.supersteps / passes
        return cls(result.seconds / passes, supersteps, result.edges / result.seconds, busy)


def _medians(busy):
    return {
        element: {
            activity: harness.median([one[element][activity] for one in busy]) for activity in ACTIVITIES
        }
        for element in busy[0]
    }
