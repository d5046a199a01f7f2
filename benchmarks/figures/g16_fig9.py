"""Question: how fast is PageRank compared with TOTEM and with a distributed system on CPUs (G16, figure 9).

The paper runs 10 iterations on five graphs. For G4, C-PG on 4 machines is about 6 times as fast as TOTEM on
one machine. C-PG is more than 50 times as fast as Giraph on 4 machines. Other times are read from a plot.

Here: GraphX in local mode replaces Giraph, and Evener with HIGH in one process replaces TOTEM. All use the
same cores. The graphs are R-MATs like G4 and G5. Vertices without edges are removed, because GraphX drops
them. The ranks of GraphX are compared with verified ranks. GraphX needs Java and pyspark, for example in a
separate environment, which `--spark` names. Without them, GraphX is left out.

    python benchmarks/figures/g16_fig9.py --scale 17 --spark ~/spark/bin/python
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from pathlib import Path

import g16_runs
import numpy as np
import search_path  # noqa: F401 - first: it makes the folder above importable
from panel import Panel

import evener as ev
import harness
import on_ranks
from evener.elements import usable_cores
from evener.graph.generators.models import rmat
from on_ranks import ITERATIONS, Case

TITLE = "PageRank compared with other systems"
PAPER = "C-PG on 4 machines is 6 times as fast as TOTEM on one for G4, and over 50 times as fast as Giraph"
KIND = "bars"
SHOWN = ("graph", "system", "seconds", "over_first", "paper")
FIRST = "Evener, C-PG"
# HIGH replaces TOTEM, and GraphX replaces Giraph.
_PAPER = {("G4", "Evener, HIGH, one process"): "6", ("G4", "GraphX"): "over 50"}
# Largest relative difference of ranks: GraphX adds in another order, and scales the sum.
_APART = 1e-4


def main():
    options = _options()
    runs = []
    with tempfile.TemporaryDirectory() as folder:
        for name, graph in _graphs(options.scale).items():
            runs += _one_graph(name, graph, Path(folder), options)
    options.spark = Path(options.spark).name  # the record has no folders of this machine
    g16_runs.publish_single(Path(__file__).stem, runs, options)


def _graphs(scale):
    return {
        name: _without_lone_vertices(graph)
        for name, graph in {"G4": rmat(scale).build(), "G5": rmat(scale - 1, edge_factor=27).build()}.items()
    }


def _without_lone_vertices(graph):
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    each = tails < graph.targets  # one direction; loops were dropped
    ids, ends = np.unique(np.stack([tails[each], graph.targets[each]]), return_inverse=True)
    src, dst = ends.reshape(2, -1)
    return ev.Graph.from_edges(src, dst, directed=False, n=len(ids))


def _one_graph(name, graph, folder, options):
    """Return the rows of all systems."""
    file = folder / f"{name}.evg"
    ev.write(graph, file)
    cores = usable_cores()
    systems = {
        FIRST: Case(str(file), options.ranks, options.on, "C-PG", None, ("pagerank",)),
        "Evener, HIGH, one process": Case(str(file), 1, options.one, "high", None, ("pagerank",)),
    }
    timed = on_ranks.timed(
        list(systems.values()), rounds=options.rounds, turns=2, verify=not options.no_verify
    )
    rows = [
        {"graph": name, "system": system, "seconds": ITERATIONS * row["median_seconds"], "on": row["on"],
         "ranks": row["ranks"], "stored_edges": graph.m, "vertices": graph.n}
        for system, case in systems.items()
        for row in timed
        if (row["ranks"], row["policy"]) == (case.ranks, case.policy)
    ]  # fmt: skip
    seconds = _graphx(graph, folder, cores, options)
    if seconds:
        rows.append(
            {"graph": name, "system": "GraphX", "seconds": harness.median(seconds), "on": f"local[{cores}]",
             "ranks": 1, "stored_edges": graph.m, "vertices": graph.n}
        )  # fmt: skip
    return rows


def _graphx(graph, folder, cores, options):
    """Return the seconds of GraphX after a comparison of its ranks; None without it."""
    found = subprocess.run([options.spark, "-c", "import pyspark"], capture_output=True, check=False)
    if found.returncode:
        print("GraphX is left out: pyspark is not installed; name its Python with --spark.")
        return None
    edges, ranks = folder / "edges.txt", folder / f"ranks-{graph.n}"
    tails = np.repeat(np.arange(graph.n), np.diff(graph.offsets.astype(np.int64)))
    np.savetxt(edges, np.stack([tails, graph.targets], axis=1), "%d")
    words = [edges, ranks, ITERATIONS, cores, options.rounds]
    program = Path(__file__).parent / "graphx.py"
    done = subprocess.run(
        [options.spark, program, *map(str, words)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"GraphX is left out: {done.stderr.strip().splitlines()[-1]}")
        return None
    if not options.no_verify:
        _compare(graph, ranks)
    return json.loads(done.stdout.splitlines()[-1])


def _compare(graph, ranks):
    """Raise VerificationError if the ranks of GraphX, divided by their sum, differ from verified ones."""
    lines = [line.strip("()") for part in ranks.glob("part-*") for line in part.read_text().split()]
    ids, values = np.array([line.split(",") for line in lines], float).T
    theirs = np.zeros(graph.n)
    theirs[ids.astype(np.int64)] = values / values.sum()
    ours = ev.pagerank(graph, on="cpu", tol=0, max_iter=ITERATIONS, weights=False)
    ev.verify(ours)
    harness.agree(ours, "rank", theirs, apart=_APART)


def rows(runs, options):  # noqa: ARG001 - same parameters as other figures
    firsts = {row["graph"]: row["seconds"] for row in runs if row["system"] == FIRST}
    return [
        {
            **row,
            "over_first": row["seconds"] / firsts[row["graph"]],
            "paper": _PAPER.get((row["graph"], row["system"])),
        }
        for row in runs
    ]


def here(rows):
    clauses = []
    for row in rows:
        if row["system"] == FIRST:
            clauses.append(
                f"{row['graph']}, {row['stored_edges'] / 1e6:.3g} million edges: C-PG on {row['ranks']} "
                f"ranks takes {harness.duration(row['seconds'])}"
            )
        else:
            clauses.append(f"{row['graph']}: {row['system']} takes {row['over_first']:.3g} times as long")
    return "; ".join(clauses)


def panels(rows):
    series = {
        system: tuple(
            zip(*[(row["graph"], row["seconds"]) for row in rows if row["system"] == system], strict=True)
        )
        for system in dict.fromkeys(row["system"] for row in rows)
    }
    return [Panel("PageRank, 10 iterations", "", "seconds", series, log=True)]


def _options():
    parser = g16_runs.parser_of(__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=17, help="of G4")
    parser.add_argument("--ranks", type=int, default=2)
    parser.add_argument("--on", default="cpu:1", help="the elements of each rank")
    parser.add_argument("--one", default="cpu", help="the elements of the one process")
    parser.add_argument("--spark", default=sys.executable, metavar="PYTHON", help="a Python with pyspark")
    parser.add_argument("--rounds", type=int, default=3)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
