"""Time algorithms on the ranks of an MPI job: one case after another, each answer verified."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import asdict
from typing import NamedTuple

import evener as ev
import harness
from cpu_rivals import WEIGHTS, draw_sources
from evener.partition.sizes import ElementShare
from evener.system.probe import measure_routes
from evener.system.world import current_world

TASKS = ("bfs", "pagerank", "wcc", "sssp", "betweenness")
# The termination of PageRank in G16 §IV.A.
ITERATIONS = 10
SOURCES = 4
_ACTIVITIES = ("compute", "send", "receive", "wait")


class Case(NamedTuple):
    """A graph on the elements of ranks.

    Attributes
    ----------
    graph : str
        A generator spec or a file.
    ranks : int
    on : str
        The elements of each rank.
    policy : str
    alpha : float or None
    tasks : tuple of str
    gpu_memory : str or None
    """

    graph: str
    ranks: int
    on: str
    policy: str = "random"
    alpha: float | None = None
    tasks: tuple[str, ...] = TASKS
    gpu_memory: str | None = None


def timed(cases, *, rounds, turns=1, verify=True, say=print):
    """Time cases, and return a row for each case and task.

    In each turn, ranks are started for each number of ranks. Other programs of the machine then disturb all
    cases alike.
    """
    found = {}
    for turn in range(turns):
        for ranks in sorted({case.ranks for case in cases}):
            own = [case for case in cases if case.ranks == ranks]
            say(f"turn {turn + 1} of {turns}: {ranks} ranks, {len(own)} cases")
            rows = ev.launch(_on_rank, ranks=ranks, args=[own, rounds, verify and turn == 0])[0]
            for row in rows:
                earlier = found.setdefault((row["case"], row["task"]), row)
                if earlier is not row:
                    earlier["seconds"] += row["seconds"]
    return [_finished(row) for row in found.values()]


def routes(ranks):
    """Return the routes between ranks of this machine, as dicts."""
    return ev.launch(_routes, ranks=ranks)[0]


def _routes():
    return [route._asdict() for route in measure_routes(current_world())]


def _finished(row):
    case = row.pop("case")._asdict()
    del case["tasks"]
    row["median_seconds"] = harness.median(row["seconds"])
    return {**case, **row}


def _on_rank(cases, rounds, verify):
    """Time cases on this rank. The rows of rank 0 have the times of all ranks."""
    rows, graphs = [], {}
    for case in cases:
        for weighted in (False, True):
            tasks = [task for task in case.tasks if (task == "sssp") == weighted]
            if tasks:
                spec = _weighted(case.graph) if weighted else case.graph
                graphs = {spec: graphs.get(spec) or ev.read(spec)}  # keep one graph
                rows += _placed(case, graphs[spec], tasks, rounds, verify)
    return rows


def _weighted(spec):
    return f"{spec}{',' if ':' in spec else ':'}weights={WEIGHTS}"


def _placed(case, graph, tasks, rounds, verify):
    placed = ev.partition(graph, on=case.on, policy=case.policy, alpha=case.alpha, gpu_memory=case.gpu_memory)
    of_ranks = current_world().allgather([asdict(share) for share in ElementShare.all_of(placed)])
    sources = [int(source) for source in draw_sources(graph, SOURCES)]
    for task in tasks:
        run, passes = _run(task, placed, sources)
        first = run(0)
        if verify:
            ev.verify(first)
        run(0)  # verification has replaced the content of the caches
        seconds = []
        for i in range(rounds):
            result = run(i)
            seconds.append(result.seconds / passes)
        yield {
            "case": case,
            "task": task,
            "vertices": graph.n,
            "stored_edges": graph.m,
            "seconds": seconds,
            "elements": [share for own in of_ranks for share in own],
            **_spent(result.timeline, passes),
        }


def _run(task, placed, sources):
    """Return a function of the round's number that runs a task, and the passes of a run."""
    return {
        "pagerank": (lambda _: ev.pagerank(placed, tol=0, max_iter=ITERATIONS, weights=False), ITERATIONS),
        "bfs": (lambda i: ev.bfs(placed, source=sources[i % SOURCES]), 1),
        "wcc": (lambda _: ev.wcc(placed), 1),
        "sssp": (lambda i: ev.sssp(placed, source=sources[i % SOURCES]), 1),
        "betweenness": (lambda _: ev.betweenness(placed, sources=sources), SOURCES),
    }[task]


def _spent(timeline, passes):
    """Return the supersteps of a pass, and the seconds and bytes of each element in it."""
    spent = defaultdict(lambda: dict.fromkeys((*_ACTIVITIES, "bytes_sent"), 0.0))
    for span in timeline:
        own = spent[span.element]
        for activity in (*_ACTIVITIES, "bytes_sent"):
            own[activity] += getattr(span, activity) / passes
    return {"supersteps": timeline.supersteps / passes, "spent": list(spent.values())}
