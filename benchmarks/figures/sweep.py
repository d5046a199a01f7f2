"""Cases that the figures run: a graph, its placement, and the algorithms on it.

Many figures show the same runs: alpha x policy x algorithm on one graph. Each figure lists its cases, which
are built from the options alone. A case of several figures runs once.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field, replace

TASKS = ("bfs", "pagerank", "betweenness")
TITLES = {"bfs": "BFS", "pagerank": "PageRank", "betweenness": "Betweenness"}

# The order of stages. A budget that ends early then leaves whole figures, not parts of all.
ALONE, SWEEP, SEVERAL, DENSITY, SMALLER, LARGEST, CROSSING = range(7)

# Graphs of other densities have a quarter of the main graph's edges, smaller graphs a quarter and a half.
# Together they need about the time of the main graph.
_FEWER = 2
# Edges drawn for each vertex of these graphs. Twice as many are stored: 16, 8, 4 and 2, as in T12.
DENSITIES = (8, 4, 2, 1)


@dataclass(frozen=True)
class Case:
    """One placement, and the tasks that run on it.

    Attributes
    ----------
    graph : str
        A file or a specification.
    on : str
        Elements, the CPU's first.
    policy : str or None
        None for one element alone, "plan" for the choice of a plan for the only task.
    alpha : float or None
        Share of the edges on the CPU side.
    fits : float or None
        Share of the edges that fit a GPU; None without a GPU.
    directions : str
        The edges that are stored.
    planned : str or None
        The task that a plan is made for.
    tasks : tuple of str
        Empty for a case that is placed and counted only.
    stage : int
        Cases run by ascending stage.
    """

    graph: str
    on: str
    policy: str | None = None
    alpha: float | None = None
    fits: float | None = None
    directions: str = "both"
    planned: str | None = None
    tasks: tuple = field(default=(), compare=False)
    stage: int = field(default=ALONE, compare=False)

    def __str__(self):
        share = "" if self.alpha is None else f" alpha {self.alpha:g}"
        how = f"planned for {self.planned}" if self.planned else f"{self.policy or 'alone'}{share}"
        return f"{name_of(self.graph)} on {self.on}, {how}"


def merged(cases):
    """Return each placement once, with all tasks of all cases, by stage and graph."""
    found = {}
    for case in cases:
        known = found.get(case, case)
        wanted = {*known.tasks, *case.tasks}
        tasks = tuple(task for task in TASKS if task in wanted)
        found[case] = replace(known, tasks=tasks, stage=min(known.stage, case.stage))
    graphs = list(dict.fromkeys(case.graph for case in found))
    return sorted(found.values(), key=lambda case: (case.stage, graphs.index(case.graph), "," in case.on))


def only(cases, tasks):
    """Return the cases with these tasks only, and the cases without tasks."""
    found = [replace(case, tasks=tuple(task for task in case.tasks if task in tasks)) for case in cases]
    return [case for case, was in zip(found, cases, strict=True) if case.tasks or not was.tasks]


# ---- elements and graphs, by the options ------------------------------------------------------------


def name_of(graph):
    """Return the name of a graph in rows: its specification, or its file name without folders."""
    return graph.rpartition(os.sep)[2]


def main_graph(options):
    return options.graph or f"rmat:{options.scale}"


def cpu_of(options):
    """Return the element that is the CPU: the first."""
    return options.on.split(",")[0]


def hybrids(options):
    """Return the CPU with one accelerator and, if there are more, with all of them."""
    names = options.on.split(",")
    return [",".join(names[:count]) for count in sorted({2, len(names)}) if count <= len(names)]


def has_gpu(on):
    return "cuda" in on


def density_graphs(options):
    """Return graphs with the same number of edges and more and more vertices, the densest first."""
    edges = options.scale + 4 - _FEWER  # the main graph has 2^4 edges drawn for each vertex
    return [f"rmat:{edges - each.bit_length() + 1},edge_factor={each}" for each in DENSITIES]


def sized_graphs(options):
    """Return graphs of a quarter and a half of the main graph, and the main graph."""
    return [*(f"rmat:{options.scale - less}" for less in range(_FEWER, 0, -1)), main_graph(options)]


# ---- cases --------------------------------------------------------------------------------------------


def alone(options, tasks, graph=None, *, stage=ALONE):
    """Return a case of the CPU alone, which speed-ups compare with."""
    return [Case(graph or main_graph(options), cpu_of(options), tasks=tuple(tasks), stage=stage)]


def shares(options, tasks, *, policies=None, alphas=None, several=True):
    """Return the sweep: every policy and share on CPU and accelerators, alphas near a half first."""
    steps = sorted(alphas or options.alphas, key=lambda alpha: abs(alpha - 0.5))
    ons = hybrids(options) if several else hybrids(options)[:1]
    return [
        Case(
            main_graph(options),
            on,
            policy,
            alpha,
            options.fits if has_gpu(on) else None,
            tasks=tuple(tasks),
            stage=SEVERAL if number else SWEEP,
        )
        for number, on in enumerate(ons)
        for alpha in steps
        for policy in policies or options.policies
    ]


def densities(options, tasks=()):
    """Return half of the edges on the CPU, split at random, on graphs of several densities."""
    on = hybrids(options)[0]
    fits = options.fits if has_gpu(on) else None
    found = []
    for graph in density_graphs(options):
        if tasks:
            found += alone(options, tasks, graph, stage=DENSITY)
        found.append(Case(graph, on, "random", 0.5, fits, tasks=tuple(tasks), stage=DENSITY))
    return found


def crossings(graph, *, elements, directions="both", stage=CROSSING):
    """Return half of the edges on the first CPU element, the rest evenly on the others."""
    on = ",".join(["cpu:1"] * elements)
    return Case(graph, on, "random", 0.5, directions=directions, stage=stage)


def configurations(options):
    """Return the names of T13's configurations on this machine, and their elements.

    `options.half` is half of the CPU's threads, T13's one socket of two; None if they cannot be halved.
    """
    half, names = options.half, options.on.split(",")
    found = {"1S": half, "2S": names[0]}
    for count, on in enumerate(hybrids(options), start=1):
        given = len(on.split(",")) - 1
        if half:
            found[f"1S{given}G"] = ",".join([half, *names[1 : given + 1]])
        found[f"2S{given}G"] = on
        if count == 1 and has_gpu(on):
            found["1G"] = names[1]
    return {name: on for name, on in found.items() if on}


def sizes(options, tasks, graphs=None):
    """Return every configuration on every graph, with a plan where CPU and accelerators share it."""
    found = []
    for graph in graphs or sized_graphs(options):
        stage = LARGEST if graph == main_graph(options) else SMALLER
        for on in configurations(options).values():
            fits = options.fits if has_gpu(on) else None
            if "," not in on:
                turn = ALONE if stage == LARGEST and on != options.half else stage
                found.append(Case(graph, on, None, None, fits, tasks=tuple(tasks), stage=turn))
            else:
                found += [
                    Case(graph, on, "plan", None, fits, planned=task, tasks=(task,), stage=stage)
                    for task in tasks
                ]
    return found
