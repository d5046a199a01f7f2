"""Question: how fast are a CPU and a GPU together on a graph that does not fit the GPU.

The GPU's memory is capped so that only part of the edges fits. The GPU reads other edges from host memory, or
the CPU has them. Each policy is measured at several shares of the edges on the CPU (alpha). A plan predicts
each time just before the run (T12 figure 7, T13 figures 7, 9 and 15). The placement of the plan is measured
as well. Each algorithm and part that fits has its own record, such as hybrid_pagerank_24_0.5.json.

    python benchmarks/hybrid.py --scale 24 --fits 0.5 0.25 0.125

Times are medians: one iteration of PageRank, components, and searches from sources drawn with a fixed seed.
SSSP is measured alone, because its graph has weights. The first answer to each question is verified, and the
last parents on each placement. Other answers are compared with verified answers, ranks to 1e-6.

Runs are recorded for plans as usual, so predictions improve during a sweep. With an empty cache directory
(XDG_CACHE_HOME) they begin with hardware facts.
"""

from __future__ import annotations

import argparse
import gc
import time
from dataclasses import asdict
from datetime import UTC, datetime

import cupy
import numpy as np

import evener as ev
import gpu_floors
import harness
from cpu_rivals import WEIGHTS, draw_sources
from evener.partition.footprint import bytes_excluding_edges
from evener.partition.placement import Placement
from evener.partition.sizes import ElementShare
from evener.planning.planner import cost_model, plan_and_place
from evener.spec.registry import find

ITERATIONS = 8
# The array of each task's result in which answers are compared.
ANSWERS = {"pagerank": "rank", "bfs": "distance", "wcc": "component", "sssp": "distance"}
SEARCHES = ("bfs", "sssp")
HYBRID = "cpu,cuda:0"
# Relative difference of ranks that are summed in another order.
APART = 1e-6


def main():
    options = _options()
    link = {"mapped": gpu_floors.mapped_bytes_per_second(), "copied": gpu_floors.copied_bytes_per_second()}
    print(f"the bus: {link['mapped'] / 1e9:.1f} GB/s read by kernels, {link['copied'] / 1e9:.1f} GB/s copied")
    graph = ev.read(f"rmat:{options.scale}" + f",weights={WEIGHTS}" * ("sssp" in options.tasks))
    bench = _Bench(graph, draw_sources(graph, options.sources), options)
    for fits in options.fits:
        rows = _one_part(bench, link, fits)
        for task in options.tasks:
            found = _summary([row for row in rows if row["task"] == task])
            shown = {name: round(v, 3) if isinstance(v, float) else v for name, v in found.items()}
            print(f"{task}, {fits:g} fits:", shown)


def _one_part(bench, link, fits):
    """Return the rows of the sweep for this part of the edges; all are recorded."""
    graph, options = bench.graph, bench.options
    edge_bytes = graph.targets.itemsize + (0 if graph.weights is None else graph.weights.itemsize)
    memory = int(bytes_excluding_edges(graph.n, 0, 0, graph.m, directions=1) + fits * graph.m * edge_bytes)
    left_out = {}
    rows = [row for task in options.tasks for row in bench.placed_by_plan(fits, task, memory)]
    rows += bench.placed_as(None, "cpu", "random", None, None)
    rows += bench.placed_as(fits, "cuda:0", "random", None, memory)
    for policy in options.policies:
        for alpha in np.round(np.arange(options.step, options.most, options.step), 3).tolist():
            try:
                rows += bench.placed_as(fits, HYBRID, policy, alpha, memory)
            except ev.DeviceOutOfMemory as error:  # a large share of the CPU has many mirrors on the GPU
                left_out[f"{policy} {alpha:g}"] = str(error)
                print(f"left out: {policy} with {alpha:g} on the CPU: {error}", flush=True)
            if not options.no_record:  # after each placement, because a long sweep may be interrupted
                _record(options.scale, graph, fits, link, rows, left_out)
    return rows


def _record(scale, graph, fits, link, rows, left_out):
    more = {"graph": f"rmat:{scale}", "stored edges": graph.m, "fits": fits, "bus, bytes a second": link}
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        question = __doc__.splitlines()[0]
        more |= {"left out": left_out, "summary": _summary(own)}
        harness.record(
            f"hybrid_{task}_{scale}_{fits:g}", question=question, rows=own, script="hybrid", **more
        )


class _Bench:
    """Places the graph in many ways, and runs every task on each."""

    def __init__(self, graph, sources, options):
        self.graph, self.options, self._sources = graph, options, sources
        self._checked = harness.Checked(apart=APART)

    def placed_as(self, fits, on, policy, alpha, memory):
        # Searches need both directions, and prefixes of rows.
        directions = "in" if self.options.tasks == ["pagerank"] else "both"

        def place():
            return ev.partition(
                self.graph, on, policy=policy, alpha=alpha, gpu_memory=memory, directions=directions
            )

        return [row | {"asked_alpha": alpha} for row in self._rows(place, fits, self.options.tasks)]

    def placed_by_plan(self, fits, task, memory):
        spec = find(task)

        def place():
            placement = Placement.parse(gpu_memory=memory, directions=spec.directions)
            return plan_and_place(self.graph, spec, placement)[0]

        return self._rows(place, fits, [task], automatic=True)

    def _rows(self, place, fits, tasks, *, automatic=False):
        began = time.perf_counter()
        placed = place()
        took = {"placing_seconds": time.perf_counter() - began}
        rows = [self._row(placed, fits, task, automatic=automatic) | took for task in tasks]
        del placed
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
        return rows

    def _row(self, placed, fits, task, *, automatic):
        shares = ElementShare.all_of(placed)
        expected = cost_model(find(task), placed.elements).predict(shares)
        taken, busy, supersteps = self._times(placed, task)
        several = len(placed.elements) > 1
        row = {
            "task": task,
            "fits": fits,
            "on": ",".join(e.name for e in placed.elements),
            "automatic": automatic,
            "policy": placed.policy if several else None,
            "alpha": placed.statistics.alpha if several else None,
            "beta": placed.statistics.beta,
            "beta_aggregated": placed.statistics.beta_aggregated,
            "shares": [asdict(share) for share in shares],
            "mapped_share": sum(share.host_edges for share in shares) / self.graph.m,
            "median_seconds": harness.median(taken),
            "seconds": taken,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "supersteps": supersteps,
            "elements": busy,
            "predicted_seconds": expected.seconds,
            "predicted_elements": [asdict(one) for one in expected.elements],
            "origin": expected.origin,
        }
        _show(row)
        return row

    def _times(self, placed, task):
        """Return the seconds of each run after the first, and elements and supersteps of the median run."""
        taken, busy, supersteps, result = [], [], [], None
        rounds = len(self._sources) if task in SEARCHES else self.options.rounds
        passes = ITERATIONS if task == "pagerank" else 1
        for i in range(-1, rounds):
            result = None  # the next run reuses its arrays
            if task == "pagerank":
                result = ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False)
            elif task == "wcc":
                result = ev.wcc(placed)
            else:
                result = getattr(ev, task)(placed, source=int(self._sources[max(i, 0)]))
            if not self.options.no_verify:
                self._check(result, last=i == rounds - 1)
            if i >= 0:
                taken.append(result.seconds / passes)
                busy.append(_busy(result, passes))
                supersteps.append(result.timeline.supersteps)
        middle = int(np.argsort(taken)[len(taken) // 2])
        return taken, busy[middle], supersteps[middle]

    def _check(self, result, *, last):
        """Verify new answers, and the last parents on a placement. Compare other answers with these."""
        question = (result.algorithm, result.parameters.get("source"))
        verify = last and result.algorithm in SEARCHES
        self._checked.check(result, ANSWERS[result.algorithm], question, verify=verify)


def _busy(result, passes):
    """Return the seconds of each element in a pass, by activity."""
    sums = {}
    for (_, element), span in result.timeline.by_phase().items():
        own = sums.setdefault(element, dict.fromkeys(("compute", "send", "receive", "wait"), 0.0))
        for name in own:
            own[name] += getattr(span, name) / passes
    return sums


def _show(row):
    alpha = "" if row["alpha"] is None else f"{row['policy']} alpha {row['alpha']:.2f}"
    chosen = "auto " if row["automatic"] else ""
    print(
        f"{row['task']:9} fits {row['fits'] or 1:<6} {row['on']:12} {chosen}{alpha:18} "
        f"mapped {row['mapped_share']:5.1%}  {harness.duration(row['median_seconds']):>8}  "
        f"predicted {harness.duration(row['predicted_seconds']):>8}, {row['origin']}",
        flush=True,
    )


def is_swept(row):
    """Return whether a row has a share of the sweep."""
    return row["policy"] is not None and not row["automatic"]


def _summary(rows):
    """Compare hybrids with the faster element, plans with the best, and predictions with times."""
    cpu, gpu = (next(r for r in rows if r["on"] == on and not r["automatic"]) for on in ("cpu", "cuda:0"))
    auto = next(r for r in rows if r["automatic"])
    hybrids = [r for r in rows if is_swept(r)]
    better_alone = min(cpu["median_seconds"], gpu["median_seconds"])
    best = min([gpu, cpu, *hybrids], key=lambda r: r["median_seconds"])
    measured = np.array([r["median_seconds"] for r in [gpu, *hybrids]])
    expected = np.array([r["predicted_seconds"] for r in [gpu, *hybrids]])
    return {
        "automatic_over_alone": better_alone / auto["median_seconds"],
        "best_over_alone": better_alone / best["median_seconds"],
        "automatic_over_best": auto["median_seconds"] / best["median_seconds"],
        "best": {name: best[name] for name in ("on", "policy", "alpha")},
        "mean_absolute_error_of_seconds": float(np.abs(expected / measured - 1).mean()),
    }


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--fits", type=float, nargs="+", default=[0.5, 0.25, 0.125])
    parser.add_argument("--tasks", nargs="+", default=["pagerank", "bfs"], choices=list(ANSWERS))
    parser.add_argument("--policies", nargs="+", default=["high", "random", "low"])
    parser.add_argument("--step", type=float, default=0.05, help="of alpha")
    parser.add_argument("--most", type=float, default=1.0, help="largest alpha")
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    options = harness.recording(parser)
    if "sssp" in options.tasks and len(options.tasks) > 1:
        parser.error("expected sssp as the only task, because its graph has weights")
    if not 0 < options.step < options.most:
        parser.error("the sweep begins at --step, which is more than 0 and less than --most")
    return options


if __name__ == "__main__":
    main()
