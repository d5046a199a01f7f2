"""The runs of G16's figures 4 to 7 on ranks: options, graphs, cases, and how figures are made from them.

A rank is a machine with the elements of `--on`. Each case is placed and run once for all figures. G16's data
sets are replaced by R-MAT graphs:

- G1 (WikiTalk, directed): 2^21 vertices and 2 edges per vertex, about its size if `--scale` is 19;
- G4 (Scale-25): the generator's numbers, `--scale`, 16 edges per vertex;
- G5 (Friendster): half of the vertices of G4, and 27 edges per vertex, as in Friendster.
"""

from __future__ import annotations

import argparse
import tempfile
from importlib import import_module
from pathlib import Path

import output
import page
import search_path  # noqa: F401 - first: it makes the folder above importable

import evener as ev
import harness
import on_ranks
from evener.elements.cuda.discovery import missing
from evener.graph.generators.models import rmat
from on_ranks import Case

POLICIES = ("C-PG", "C-R", "DP-OH", "DP-OL", "DP-RH", "DP-RL", "PD-HO", "PD-LO", "PD-HR", "PD-LR")
RUNNING = ("g16_fig4", "g16_fig5", "g16_fig6", "g16_fig7")
TASKS = ("bfs", "pagerank", "wcc")


def case(options, graph, policy, *, ranks=None, on=None, alpha=None, tasks=TASKS):
    """Return a case; with GPUs, alpha is the share of the CPUs."""
    return Case(graph, ranks or options.ranks, on or options.on, policy, alpha, tasks, options.gpu_memory)


def has_gpu(options):
    return "cuda" in options.on


def caveats(rows):
    """Return clauses about the elements of rows, and how much their times vary."""
    spread = harness.median([harness.spread(row["seconds"]) for row in rows])
    clauses = [f"the quartiles of a time are {spread:.0%} of its median apart (median of all)"]
    if "cuda" not in rows[0]["on"]:
        clauses.append("two equal CPU elements replace the CPU and the GPU of a machine")
    return clauses


def main(names):
    """Make figures from the runs that they need."""
    options = _options(import_module(names[0]).__doc__.splitlines()[0])
    if has_gpu(options) and missing() is not None:
        raise SystemExit(f"--on {options.on} names a GPU, but no GPU can be used: {missing()}.")
    figures = {name: import_module(name) for name in names}
    with tempfile.TemporaryDirectory() as folder:
        cases = {name: figure.cases(options) for name, figure in figures.items()}
        runs = _timed(_joined(one for own in cases.values() for one in own), options, Path(folder))
        for name, figure in figures.items():
            publish(name, figure, runs, options)
    finish(names, options)


def publish(name, figure, runs, options):
    """Print and record one figure."""
    output.publish(name, figure, runs, options, {}, gpu=output.gpu_name(options.on))


def finish(names, options):
    """Draw recorded figures, and write the page."""
    if not options.no_record:
        output.draw(names)
        page.write(output.PAGE)


def publish_single(name, runs, options):
    """Print, record and draw one figure, and write the page."""
    publish(name, import_module(name), runs, options)
    finish([name], options)


def _joined(cases):
    """Return one case for each placement, with the tasks of all cases of the placement."""
    found = {}
    for one in cases:
        key = one._replace(tasks=())
        found[key] = tuple(dict.fromkeys([*found.get(key, ()), *one.tasks]))
    return [key._replace(tasks=tasks) for key, tasks in found.items()]


def _timed(cases, options, folder):
    """Run the cases with graphs of these names; rows keep the names."""
    files = {}
    for name in dict.fromkeys(one.graph for one in cases):
        files[name] = str(folder / f"{name}.evg")
        ev.write(_graph(name, options.scale), files[name])
    names = {file: name for name, file in files.items()}
    rows = on_ranks.timed(
        [one._replace(graph=files[one.graph]) for one in cases],
        rounds=options.rounds,
        turns=options.turns,
        verify=not options.no_verify,
    )
    return [{**row, "graph": names[row["graph"]]} for row in rows]


def _graph(name, scale):
    if name == "G1":
        return rmat(scale + 2, edge_factor=2, directed=True).build()
    return rmat(scale, permute=False).build() if name == "G4" else rmat(scale - 1, edge_factor=27).build()


def parser_of(question):
    """Return a parser for a figure without runs of `all.py`."""
    parser = argparse.ArgumentParser(description=question)
    parser.set_defaults(graph=None, real=[])  # in every record of a figure
    return parser


def _options(question):
    parser = parser_of(question)
    add = parser.add_argument
    add("--scale", type=int, default=19, help="of G4; G16 has 25")
    add("--on", default="cpu:1,cpu:1", help="the elements of a machine: cpu:8,cuda:local, or two CPUs")
    add("--ranks", type=int, default=2, help="machines; G16 has 4")
    add("--most-ranks", type=int, default=4, help="machines of figure 7; G16 has 10")
    add("--alphas", type=float, nargs="+", default=[0.1, 0.3, 0.5, 0.7, 0.9], help="of figure 4")
    add("--rounds", type=int, default=3)
    add("--turns", type=int, default=1)
    add("--gpu-memory")
    return harness.recording(parser)
