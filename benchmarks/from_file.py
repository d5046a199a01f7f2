"""Question: how long does it take from a container file to the answers of four algorithms, on all GPUs.

The file has an undirected R-MAT graph with 16 edges per vertex. Making it is not timed. Then a new process
starts, reads the file, places the graph, and runs PageRank until it converges, a search, components, and
betweenness from four sources. The clock stops when all answers are in host memory. The seconds of each stage
are of the first call; `warm_seconds` are those of a second run of each algorithm. The file was just written,
so the system may have it in memory; `--cold` asks the system to forget it first. Kernels may have been
compiled by an earlier process.

Answers are compared with plain sweeps over all rows on one GPU (`plain_answers.py`), if its memory is large
enough. Otherwise, they are verified by `evener.verify`, and the centralities are not checked.

    python benchmarks/from_file.py --scale 27
    python benchmarks/from_file.py --scale 29 --folder /tmp
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import evener as ev
import harness
from cpu_rivals import GROUP, draw_sources
from plain_answers import answers_of, plain_bytes
from several_gpus import all_gpus


def main():
    options = _options()
    if options.part:
        _time_part(options)
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        making = _make(Path(folder), options)
        words = ["--part", folder, "--began", str(time.time())]
        subprocess.run([sys.executable, __file__, *sys.argv[1:], *words], check=True)
        row = json.loads((Path(folder) / "row.json").read_text(encoding="utf-8"))
    if not options.no_record:
        rows = [{**row, "making_seconds": making}]
        harness.record("from_file", question=__doc__.splitlines()[0], rows=rows)


def _make(folder, options):
    """Write the graph and the sources to a folder, and return the seconds."""
    start = time.perf_counter()
    graph = ev.read(f"rmat:{options.scale}")
    _say(f"generated {graph}", time.perf_counter() - start)
    ev.write(graph, folder / "graph.evg")
    sources = [int(source) for source in draw_sources(graph, GROUP)]
    (folder / "sources.json").write_text(json.dumps(sources), encoding="utf-8")
    if options.cold:
        for file in folder.rglob("*.npy"):
            with file.open("rb") as opened:
                os.fsync(opened.fileno())
                os.posix_fadvise(opened.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    seconds = time.perf_counter() - start
    _say("wrote it", seconds)
    return seconds


def _time_part(options):
    """Time this process, check its answers without the partitions, and write the row."""
    folder = Path(options.part)
    row, graph, answers = _timed(folder, options)
    gc.collect()
    start = time.perf_counter()
    row["checked"] = "not checked" if options.no_verify else _check(graph, answers, options)
    _say(row["checked"], time.perf_counter() - start)
    (folder / "row.json").write_text(json.dumps(row), encoding="utf-8")


def _timed(folder, options):
    """Return the row, the graph and the answers. The process began at `options.began`."""
    stages = {}
    before = options.began

    def done(stage):
        nonlocal before
        stages[stage], before = time.time() - before, time.time()
        _say(stage, stages[stage])

    done("start Python")
    sources = json.loads((folder / "sources.json").read_text(encoding="utf-8"))
    graph = ev.read(folder / "graph.evg")
    done("read the file")
    placed = ev.partition(graph, on=options.on, policy="random")
    for element in placed.elements:
        element.wait()
    done("place the graph")
    runs = {
        "pagerank": lambda: ev.pagerank(placed),
        "bfs": lambda: ev.bfs(placed, source=sources[0]),
        "wcc": lambda: ev.wcc(placed),
        "betweenness": lambda: ev.betweenness(placed, sources=sources),
    }
    first = {}
    for task, run in runs.items():
        first[task] = run()
        for name in first[task]:
            first[task][name]  # it is gathered on the first use
        done(task)
    total = sum(stages.values())
    _say("all", total)
    again = {task: run() for task, run in runs.items()}
    row = {
        "graph": f"rmat:{options.scale}",
        "stored_edges": graph.m,
        "file_bytes": sum(file.stat().st_size for file in folder.rglob("*") if file.is_file()),
        "on": options.on,
        "cold": options.cold,
        "seconds": total,
        "stages": stages,
        "first_seconds": {task: result.seconds for task, result in first.items()},
        "warm_seconds": {task: result.seconds for task, result in again.items()},
        "supersteps": {task: result.timeline.supersteps for task, result in again.items()},
    }
    return row, graph, [copy.copy(result) for result in first.values()]  # without the partitions


def _check(graph, results, options):
    one = options.on.partition(",")[0]
    if not one.startswith("cuda") or plain_bytes(graph) < _free_bytes():
        answers = answers_of(graph, one)
        for result in results:
            answers.check(result, parents=result.algorithm == "bfs")
        return answers.means
    for result in results:
        if result.algorithm != "betweenness":
            ev.verify(result)
    return "verified by evener.verify; centralities were not checked"


def _free_bytes():
    import cupy

    cupy.get_default_memory_pool().free_all_blocks()
    return cupy.cuda.runtime.memGetInfo()[0]


def _say(what, seconds):
    print(f"{what}: {harness.duration(seconds)}", flush=True)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=27)
    parser.add_argument("--on", help="default: all GPUs")
    parser.add_argument("--folder", help="folder for the file, on the disk to read from")
    parser.add_argument("--cold", action="store_true", help="let the system forget the file before the run")
    parser.add_argument("--part", help=argparse.SUPPRESS)
    parser.add_argument("--began", type=float, help=argparse.SUPPRESS)
    options = harness.recording(parser)
    options.on = options.on or all_gpus()[-1]
    return options


if __name__ == "__main__":
    main()
