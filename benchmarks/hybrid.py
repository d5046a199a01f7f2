"""Question: what a CPU and a GPU do together on a graph that does not fit the GPU, against either alone.

The GPU's memory is capped so that only some of the edges fit; the others it reads from the host's memory, or
the CPU takes them. For every share of edges on the CPU (alpha, in steps) and every policy: the time, the time
that the model predicted from rates measured once on this machine, and at the end how well the two agree (T12
figure 7, T13 figures 7, 9 and 15). The automatic plan is run beside them, and a GPU that reads across the bus
with nothing of those rows in its own memory (T13 section 8), where a search has their heads there. Each
algorithm and part that fits has a record of its own, with the CPU alone in it: hybrid_pagerank_24_0.5.json.

    python benchmarks/hybrid.py --scale 24 --fits 0.5 0.25 0.125

Times are medians: of PageRank for an iteration, of breadth-first search over sources drawn with a fixed seed.
The first answer to each question is verified, and the last parents on each placement; all others are equal
to answers that were, ranks to 1e-6.

All runs on a placement follow one another, so what disturbs the machine for some seconds makes that placement
alone seem slow. So after a sweep the CPU alone is run again, and the times of both rounds count; and so is
each placement that took over a quarter longer than most, in proportion to what was predicted, of which the
faster round counts. The record has both rounds, and how well the model agrees with the first ones alone.

With --go-on rows stay that were recorded with the rates of now, so on this very machine, for another of its
kind may be a third slower; they are predicted anew. The commit and the command in a record are those of its
last run.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from dataclasses import asdict
from datetime import UTC, datetime

import cupy
import numpy as np

import evener as ev
import gpu_floors
import harness
from cpu_rivals import draw_sources
from evener.partition.footprint import beside_edges
from evener.planning.model import Part, Share, predict
from evener.planning.place import directions_of, place_by_plan
from evener.profile import rates_of_this_machine
from sweeps import agreement, alone, disturbed, is_swept, of_first_round, place_of, shares_of

ITERATIONS = 8
HYBRID = "cpu,cuda:0"
# How far ranks may be apart, for sums are taken in another order.
APART = 1e-6


def main():
    options = _options()
    rates = rates_of_this_machine()
    link = {"mapped": gpu_floors.mapped_bytes_per_second(), "copied": gpu_floors.copied_bytes_per_second()}
    print(f"the bus: {link['mapped'] / 1e9:.1f} GB/s read by kernels, {link['copied'] / 1e9:.1f} GB/s copied")
    graph = ev.read(f"rmat:{options.scale}")
    sources = draw_sources(graph, options.sources)
    bench = _Bench(graph, sources, rates, options)
    for fits in options.fits:
        rows = _one_part(bench, link, fits)
        for task in options.tasks:
            found = _summary([row for row in rows if row["task"] == task])
            shown = {name: round(v, 3) if isinstance(v, float) else v for name, v in found.items()}
            print(f"{task}, {fits:g} fits:", shown)


def _one_part(bench, link, fits):
    """The rows of the sweep where so many of the edges fit, all of them recorded."""
    graph, rates, options = bench.graph, bench.rates, bench.options
    memory = int(beside_edges(graph.n, 0, 0, graph.m, directions=1) + fits * graph.m * 4)
    rows = _recorded(options.scale, fits, options.tasks, rates) if options.go_on else []
    if not rows:
        rows += bench.placed_as(None, "cpu", "random", None, None)
        rows += bench.placed_as(fits, "cuda:0", "random", None, memory)
        if "bfs" in options.tasks:
            rows += bench.placed_without_heads(fits, memory)
        for task in options.tasks:
            rows += bench.placed_by_plan(fits, task, memory)
    alphas = np.round(np.arange(options.step, options.most, options.step), 3).tolist()
    asked = [(policy, alpha) for policy in options.policies for alpha in alphas]
    left_out = {}

    def keep():
        """After each placement, for a long sweep may not come to an end."""
        done = shares_of(rows)
        swept = f"{len(done)} of {len(done.union(asked))} placements"
        if not options.no_record:
            _record(options.scale, graph, fits, link, rates, rows, {"swept": swept, "left out": left_out})

    keep()
    for policy, alpha in [one for one in asked if one not in shares_of(rows)]:
        try:
            rows += bench.placed_as(fits, HYBRID, policy, alpha, memory)
        except ev.DeviceOutOfMemory as error:  # of a large share, which leaves little room for mirrors
            left_out[f"{policy} {alpha:g}"] = str(error)
            print(f"left out: {policy} with {alpha:g} on the CPU: {error}", flush=True)
        keep()
    for _ in bench.run_again(rows, fits, memory):
        keep()
    return rows


def _recorded(scale, fits, tasks, rates):
    """The rows of a sweep with these rates that was broken off, or went less far, predicted by `rates`."""
    rows, own = [], json.loads(json.dumps(asdict(rates)))
    places = [place_of(task, scale, fits) for task in tasks]
    recorded = [place for place in places if place.exists()]
    if recorded and recorded != places:
        names = ", ".join(place.name for place in places if place not in recorded)
        sys.exit(
            f"--go-on: of these --tasks results/ lacks {names}; go on with the others, and begin that anew"
        )
    for place in recorded:
        record = json.loads(place.read_text())
        if record.get("rates") != own:
            sys.exit(
                f"--go-on: results/{place.name} was recorded with other rates than this machine's of now; "
                "move it away, or begin anew without --go-on"
            )
        if rows and shares_of(rows) != shares_of(record["rows"]):
            sys.exit(
                f"--go-on: results/{place.name} has other shares than the record of {rows[0]['task']}; go on "
                "with each of these --tasks by itself"
            )
        rows += record["rows"]
    for row in rows:
        shares = [Share(**share | {"part": Part(**share["part"])}) for share in row["shares"]]
        row.update(_predicted(shares, row["task"], rates))
    return rows


def _predicted(shares, task, rates):
    """What the model says of a placement, as a row has it."""
    expected = predict(shares, task, rates)
    busy = {e.name: {"compute": e.compute_seconds, "exchange": e.exchange_seconds} for e in expected.elements}
    return {"predicted_seconds": expected.seconds, "predicted_elements": busy}


def _record(scale, graph, fits, link, rates, rows, swept):
    more = {"graph": f"rmat:{scale}", "stored edges": graph.m, "fits": fits, "bus, bytes a second": link}
    # With rates and shares the model can be tried anew on what was measured.
    more |= {**swept, "rates": asdict(rates)}
    for task in dict.fromkeys(row["task"] for row in rows):
        own = [row for row in rows if row["task"] == task]
        name, question = place_of(task, scale, fits).stem, __doc__.splitlines()[0]
        harness.record(name, question=question, rows=own, script="hybrid", summary=_summary(own), **more)


class _Bench:
    """Places the graph in many ways, and runs every task on each."""

    def __init__(self, graph, sources, rates, options):
        self.graph, self.rates, self.options, self._sources = graph, rates, options, sources
        self._checked = harness.Checked(apart=APART)

    def run_again(self, rows, fits, memory):
        """Run again the CPU alone, and what was disturbed; yields after each.

        Of the CPU alone the times of both rounds count, and the elements' are those of the first; of what was
        disturbed the faster round does.
        """
        for row in [row for row in rows if row["on"] == "cpu" and "rounds" not in row]:
            later = self.placed_as(None, "cpu", "random", None, None, [row["task"]])[0]
            row["rounds"] = [row["seconds"], later["seconds"]]
            row["seconds"] = [*row["seconds"], *later["seconds"]]
            row["median_seconds"] = harness.median(row["seconds"])
            yield
        by_task = [[row for row in rows if row["task"] == task] for task in self.options.tasks]
        for row in [row for own in by_task for row in disturbed(own)]:
            where = HYBRID, row["policy"], row["asked_alpha"]
            later = self.placed_as(fits, *where, memory, [row["task"]])[0]
            rounds = [row["seconds"], later["seconds"]]
            if later["median_seconds"] < row["median_seconds"]:
                row |= later
            row["rounds"] = rounds
            yield

    def placed_as(self, fits, on, policy, alpha, memory, tasks=None):
        # What all the tasks need: heads of rows are for searches alone.
        directions = "both" if "bfs" in self.options.tasks else "in"

        def place():
            return ev.partition(
                self.graph, on, policy=policy, alpha=alpha, gpu_memory=memory, directions=directions
            )

        return [row | {"asked_alpha": alpha} for row in self._rows(place, fits, tasks or self.options.tasks)]

    def placed_without_heads(self, fits, memory):
        """A search on the GPU alone without heads: each edge is read where it lies."""

        def place():
            return ev.partition(self.graph, "cuda:0", gpu_memory=memory, directions="in")

        return self._rows(place, fits, ["bfs"], heads=False)

    def placed_by_plan(self, fits, task, memory):
        def place():
            directions = directions_of(task)
            return place_by_plan(
                self.graph, task, on=None, policy="auto", alpha=None, gpu_memory=memory, directions=directions
            )

        return self._rows(place, fits, [task], automatic=True)

    def _rows(self, place, fits, tasks, *, automatic=False, heads=True):
        began = time.perf_counter()
        placed = place()
        took = {"placing_seconds": time.perf_counter() - began}
        rows = [
            # Whether there were heads does not matter but to a search.
            self._row(placed, fits, task, automatic=automatic)
            | took
            | {"heads": heads if task == "bfs" else None}
            for task in tasks
        ]
        del placed
        gc.collect()
        cupy.get_default_memory_pool().free_all_blocks()
        cupy.get_default_pinned_memory_pool().free_all_blocks()
        return rows

    def _row(self, placed, fits, task, *, automatic):
        taken, busy, supersteps = self._times(placed, task)
        shares = Share.all_of(placed)
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
            "mapped_share": sum(s.mapped for s in shares) / self.graph.m,
            "median_seconds": harness.median(taken),
            "seconds": taken,
            "when": datetime.now(UTC).isoformat(timespec="seconds"),
            "supersteps": supersteps,
            "elements": busy,
            **_predicted(shares, task, self.rates),
        }
        _show(row)
        return row

    def _times(self, placed, task):
        """Seconds of each run after one that does not count; of the median run, elements' and supersteps."""
        taken, busy, supersteps, result = [], [], [], None
        rounds = len(self._sources) if task == "bfs" else self.options.rounds
        passes = ITERATIONS if task == "pagerank" else 1
        for i in range(-1, rounds):
            result = None  # its arrays are the next run's
            if task == "bfs":
                result = ev.bfs(placed, source=int(self._sources[max(i, 0)]))
            else:
                result = ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False)
            if not self.options.no_verify:
                self._check(result, last=i == rounds - 1)
            if i >= 0:
                taken.append(result.seconds / passes)
                busy.append(_busy(result, passes))
                supersteps.append(result.timeline.supersteps)
        middle = int(np.argsort(taken)[len(taken) // 2])
        return taken, busy[middle], supersteps[middle]

    def _check(self, result, *, last):
        """Verify what is new, and the last parents on a placement; compare the others with those."""
        search = result.algorithm == "bfs"
        question = (result.algorithm, result.parameters.get("source"))
        self._checked.check(result, "distance" if search else "rank", question, verify=last and search)


def _busy(result, passes):
    """Seconds of each element in a pass, by what they went to."""
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
        f"predicted {harness.duration(row['predicted_seconds']):>8}",
        flush=True,
    )


def _summary(rows):
    """Of one task: hybrid against the better alone, automatic against best, model against time."""
    cpu, gpu = (alone(rows, one) for one in ("cpu", "cuda:0"))
    without_heads = [r["median_seconds"] for r in rows if r.get("heads") is False]
    auto = next(r for r in rows if r["automatic"])
    hybrids = [r for r in rows if is_swept(r)]
    better_alone = min(cpu["median_seconds"], gpu["median_seconds"])
    best = min([gpu, cpu, *hybrids], key=lambda r: r["median_seconds"])
    return {
        "automatic_over_alone": better_alone / auto["median_seconds"],
        "automatic_over_alone_without_heads": min([cpu["median_seconds"], *without_heads])
        / auto["median_seconds"]
        if without_heads
        else None,
        "best_over_alone": better_alone / best["median_seconds"],
        "automatic_over_best": auto["median_seconds"] / best["median_seconds"],
        "best": {name: best[name] for name in ("on", "policy", "alpha")},
        **agreement(cpu, [gpu, *hybrids]),
        # Where the GPU alone is many times as fast as with a CPU, it decides the correlation by itself.
        "of_hybrids": agreement(cpu, hybrids),
        # What is run again is chosen by the model, and counts if it is faster: this is without.
        "of_first_rounds": agreement(of_first_round(cpu), [of_first_round(row) for row in [gpu, *hybrids]]),
    }


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=24)
    parser.add_argument("--fits", type=float, nargs="+", default=[0.5, 0.25, 0.125])
    parser.add_argument("--tasks", nargs="+", default=["pagerank", "bfs"])
    parser.add_argument("--policies", nargs="+", default=["high", "random", "low"])
    parser.add_argument("--step", type=float, default=0.05, help="of alpha")
    parser.add_argument("--most", type=float, default=1.0, help="below which alpha stays")
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument(
        "--go-on", action="store_true", help="with what is recorded with the rates of now, predicted anew"
    )
    options = harness.recording(parser)
    if not 0 < options.step < options.most:
        parser.error("the sweep begins at --step, which is more than 0 and less than --most")
    return options


if __name__ == "__main__":
    main()
