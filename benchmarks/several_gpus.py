"""Question: how much faster are the five algorithms on several GPUs than on one.

The graphs are undirected R-MAT graphs with 16 edges per vertex and weights 1..255, which only SSSP reads.
Each graph runs on one GPU and on several. Searches start at vertices drawn with a fixed seed, `--rounds`
times at each; betweenness uses four of them. `--weak 25` adds graphs with equal edges for each GPU: R-MAT 25
on one, 26 on two, 27 on four. After the timed runs, one answer to each question is checked by plain sweeps
over all rows on one GPU (`plain_answers.py`), and the parents of one search too.

The clock stops when the answer is complete in GPU memory. Times are of one iteration of PageRank, and of a
run otherwise. A row has the median, the minimum, and the ratio to one GPU. `kernels`, `exchange` and `wait`
are seconds of the element with the most of them. `timeline` has the seconds of each element by phase in the
last timed run. In kernels of a group, the GPUs wait for each other and exchange values, which counts as
kernels. `outside` is the rest of a run: the host before and after the GPUs.

`placements` has the seconds of placing, first and warm, and the sizes of all partitions. `weak` has the speed
that is kept with equal edges for each GPU. `links` has the rates of the link between two GPUs.

    python benchmarks/several_gpus.py --scales 14 22 24 26 --weak 25
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from contextlib import contextmanager
from dataclasses import asdict
from datetime import UTC, datetime

import evener as ev
import harness
from cpu_rivals import GROUP, WEIGHTS, draw_sources
from evener.partition.sizes import ElementShare
from gpu_floors import link_rates
from gpu_rivals import ITERATIONS, TASKS
from plain_answers import answers_of

PHASES = ("compute", "send", "receive", "wait")
# Scale of the graph on which other processes compile kernels.
_TINY = 20


def main():
    options = _options()
    rows, placements = [], []
    several = len(options.on) > 1 and options.on[0].startswith("cuda")
    links = link_rates() if several and not options.no_record else None
    with _compiling(options):
        wanted = _graphs(options)
        graphs = {scale: ev.read(f"rmat:{scale},weights={WEIGHTS}") for scale in wanted}
        _log("generated all graphs")
    _log("compiled kernels")
    for scale, elements in wanted.items():
        graph = graphs.pop(scale)
        answers = answers_of(graph, options.on[0])
        sources = [int(source) for source in draw_sources(graph, options.sources)]
        _log("copied the rows for the check")
        for on in elements:
            placed, placement = _placed(graph, on, options)
            _log(f"placed on {on}")
            placements.append({"graph": f"rmat:{scale}", **placement})
            for task in options.tasks:
                rows.append({"graph": f"rmat:{scale}", **_row(task, placed, sources, answers, options)})
                _compare(rows)
            del placed
            if not options.no_record:  # after each placement, because a large graph may not finish
                facts = {"links": links, "placements": placements, "weak": _weak(rows, options)}
                harness.record("several_gpus", question=__doc__.splitlines()[0], rows=rows, **facts)
        del graph, answers
    for task, kept in (_weak(rows, options) or {}).items():
        print(f"weak scaling, {task}: {kept}")


@contextmanager
def _compiling(options):
    """Let other processes compile the kernels for GPUs, and wait for them in the end."""
    tasks = options.tasks if options.on[0].startswith("cuda") and options.scales != [_TINY] else []
    words = ["--on", *options.on, "--scales", _TINY, "--rounds", 1, "--no-record", "--tasks"]
    command = [sys.executable, __file__, *(str(word) for word in words)]
    started = [subprocess.Popen([*command, task], stdout=subprocess.DEVNULL) for task in tasks]
    yield
    if any([process.wait() for process in started]):  # noqa: C419 - wait for all of them
        print("a process that compiled kernels failed; this process compiles them", flush=True)


def _graphs(options):
    """Return the elements for each scale, smallest graph first."""
    found = {scale: list(options.on) for scale in options.scales}
    for on in options.on if options.weak else []:
        own = found.setdefault(options.weak + _doublings(on), [])
        if on not in own:
            own.append(on)
    return dict(sorted(found.items()))


def _doublings(on):
    return (on.count(",") + 1).bit_length() - 1


def _placed(graph, on, options):
    """Place a graph twice. Return it with the seconds and the sizes of the partitions."""
    seconds, placed = [], None
    for _ in range(2):
        placed = None
        start = time.perf_counter()
        placed = ev.partition(graph, on=on, policy=options.policy)
        for element in placed.elements:
            element.wait()
        seconds.append(time.perf_counter() - start)
    first, warm = seconds
    sizes = [asdict(share.sizes) for share in ElementShare.all_of(placed)]
    return placed, {"on": on, "first_seconds": first, "warm_seconds": warm, "elements": sizes}


def _row(task, placed, sources, answers, options):
    count, iterated = len(sources), {"tol": 0, "max_iter": ITERATIONS, "weights": False}
    run, questions, passes = {
        "pagerank": (lambda _: ev.pagerank(placed, **iterated), 1, ITERATIONS),
        "bfs": (lambda i: ev.bfs(placed, source=sources[i % count]), count, 1),
        "wcc": (lambda _: ev.wcc(placed), 1, 1),
        "sssp": (lambda i: ev.sssp(placed, source=sources[i % count]), count, 1),
        "betweenness": (lambda _: ev.betweenness(placed, sources=sources[:GROUP]), 1, 1),
    }[task]
    rounds = options.rounds * questions
    start = time.perf_counter()
    run(0)
    first = time.perf_counter() - start
    seconds, parts = [], []
    for i in range(-questions, rounds):
        result = None  # its memory is that of the next run
        result = run(i)
        if i >= 0:
            seconds.append(result.seconds / passes)
            parts.append(_parts(result, passes))
    for i in range(0 if options.no_verify else questions):
        answers.check(run(i), parents=task in ("bfs", "sssp") and i == 0)
    return {
        "task": task,
        "on": ",".join(element.name for element in placed.elements),
        "gpus": len(placed.elements),
        "policy": options.policy,
        "stored_edges": placed.graph.m,
        "median_seconds": harness.median(seconds),
        "least_seconds": min(seconds),
        "first_seconds": first,
        **{name: harness.median([part[name] for part in parts]) for name in parts[0]},
        "checked": "not checked" if options.no_verify else f"one answer to each question: {answers.means}",
        "seconds": seconds,
        "timeline": _timeline(result),
    }


def _timeline(result):
    """Return the seconds of the last timed run by phase, element and activity."""
    return {
        f"{phase} {element}": {name: getattr(span, name) for name in (*PHASES, "bytes_sent")}
        for (phase, element), span in result.timeline.by_phase().items()
    }


def _parts(result, passes):
    """Return the seconds of a pass by activity, its supersteps and its bytes."""
    spans = result.timeline.spans
    own = {element: dict.fromkeys(PHASES, 0.0) for element in result.timeline.elements}
    for span in spans:
        for phase in PHASES:
            own[span.element][phase] += getattr(span, phase) / passes
    return {
        "kernels": max(one["compute"] for one in own.values()),
        "exchange": max(one["send"] + one["receive"] for one in own.values()),
        "wait": max(one["wait"] for one in own.values()),
        "outside": max(0, result.seconds / passes - max(sum(one.values()) for one in own.values())),
        "supersteps": result.timeline.supersteps / passes,
        "bytes_sent": sum(span.bytes_sent for span in spans) / passes,
    }


def _compare(rows):
    """Add to the last row its speed compared with one GPU, and print it."""
    row = rows[-1]
    same = [one for one in rows if (one["graph"], one["task"]) == (row["graph"], row["task"])]
    one = same[0]["median_seconds"] if same[0]["gpus"] == 1 else None
    row["times_one"] = one and one / row["median_seconds"]
    ratio = "" if one is None else f"{row['times_one']:.2f} times"
    parts = ", ".join(f"{name} {harness.duration(row[name])}" for name in ("kernels", "outside"))
    print(
        f"{row['graph']} {TASKS[row['task']]:26} {row['gpus']} GPUs "
        f"{harness.duration(row['median_seconds']):>8} {ratio:>10}  ({parts})",
        flush=True,
    )


def _weak(rows, options):
    """Return for each task the speed that is kept with equal edges for each GPU."""
    if not options.weak:
        return None
    seconds = {(row["graph"], row["gpus"], row["task"]): row["median_seconds"] for row in rows}
    found = {}
    for graph, gpus, task in seconds:
        base = seconds.get((f"rmat:{options.weak}", 1, task))
        if base and graph == f"rmat:{options.weak + gpus.bit_length() - 1}":
            found.setdefault(task, {})[gpus] = base / seconds[graph, gpus, task]
    return found


def _log(message):
    print(f"{datetime.now(UTC):%H:%M:%S} {message}", flush=True)


def all_gpus():
    """Return the first GPU, the first two, the first four and so on."""
    from evener.elements.cuda.discovery import gpus

    count = gpus()
    return [",".join(f"cuda:{i}" for i in range(1 << k)) for k in range(count.bit_length())]


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", type=int, nargs="+", default=[14, 22, 24, 26])
    parser.add_argument("--weak", type=int, metavar="SCALE", help="of one GPU, for equal edges for each GPU")
    parser.add_argument("--tasks", nargs="+", default=list(TASKS), choices=list(TASKS))
    parser.add_argument("--on", nargs="+", help="default: one GPU, two, four, ...")
    parser.add_argument("--policy", default="random")
    parser.add_argument("--sources", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=4, help="runs for each question")
    options = harness.recording(parser)
    options.on = options.on or all_gpus()
    return options


if __name__ == "__main__":
    main()
