"""Question: how long does it take to place a graph on GPUs.

The graph is in ordinary host memory. The clock stops when all arrays of the partitions are in GPU memory. The
rival is Evener's own path for edges that do not fit GPU memory: the host renumbers and sorts the rows. The
arrays of both placements are compared on the GPU. cuGraph's times for the same graphs are listed where known.

The phases are measured in a separate run, which waits for the GPU after each phase. With several GPUs, the
seconds of all GPUs are added.

    python benchmarks/placing.py --graphs rmat:22 rmat:24 rmat:24,weights=1..255 uniform:22 grid:3000x3000
    python benchmarks/placing.py --graphs rmat:26 --on cuda:0 cuda:0,cuda:1
"""

from __future__ import annotations

import argparse
import time
from contextlib import contextmanager

import cupy

import evener as ev
import harness
from evener.partition import gpu_numbers, gpu_parts
from evener.partition.gpu_build import RowsBuild
from evener.partition.gpu_vertices import VertexArrays

# Functions by the class or module that has them, with the names of their phases.
PHASES = [
    (RowsBuild, "upload_offsets", "copy offsets"),
    (RowsBuild, "degrees", "count degrees"),
    (gpu_numbers, "order_by_degree", "order vertices"),
    (gpu_numbers, "_cut_order", "find owners"),
    (gpu_numbers, "_number", "number vertices"),
    (VertexArrays, "copy_to", "copy to other GPUs"),
    (RowsBuild, "find_rows", "find rows"),
    (RowsBuild, "allocate_rows", "allocate rows"),
    (RowsBuild, "send_rows", "copy rows"),
    (gpu_parts, "number_mirrors", "number mirrors"),
    (RowsBuild, "_sorted", "map and sort"),
    (gpu_parts, "routes_of", "routes"),
]
# Seconds of cuGraph on one H100, from arrays in host memory.
CUGRAPH = {"rmat:24": 2.95}


def main():
    options = _options()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows = []
    for spec in options.graphs:
        graph = ev.read(spec)
        rows += [_row(spec, graph, on, options) for on in options.on]
        del graph
    cells = [
        (
            row["graph"],
            row["on"],
            harness.duration(row["median_seconds"]),
            harness.duration(row["seconds"][0]),
            harness.duration(row["host_seconds"]) if row["host_seconds"] else "",
            ", ".join(f"{phase} {harness.duration(s)}" for phase, s in row["phases"].items()),
        )
        for row in rows
    ]
    harness.show("Placing", ["", "on", "median", "first", "by the host", "phases"], cells)
    if not options.no_record:
        harness.record("placing", question=__doc__.splitlines()[0], rows=rows, gpu=name)


def _row(spec, graph, on, options):
    print(f"{spec} on {on}: {graph}", flush=True)
    seconds, by_host, placed = [], None, None
    for _ in range(options.rounds):
        placed = None
        took, placed = _placed(graph, on, options.policy)
        seconds.append(took)
        print(f"  {harness.duration(took)}", flush=True)
    if not options.no_verify:
        with _by_host():
            by_host, other = _placed(graph, on, options.policy)
        _check_same(placed, other)
        print(f"  {harness.duration(by_host)} by the host, and equal", flush=True)
        del other
    placed = None
    with _phases() as phases:
        total, placed = _placed(graph, on, options.policy)
    if len(placed.elements) == 1:
        phases["rest"] = total - sum(phases.values())
    print("  ", {phase: round(s, 4) for phase, s in phases.items()}, flush=True)
    return {
        "graph": spec,
        "on": on,
        "vertices": graph.n,
        "stored_edges": graph.m,
        "median_seconds": harness.median(seconds),
        "seconds": seconds,
        "host_seconds": by_host,
        "cugraph_seconds": CUGRAPH.get(spec),
        "phases": phases,
    }


def _placed(graph, on, policy):
    start = time.perf_counter()
    placed = ev.partition(graph, on, policy=policy)
    for element in placed.elements:
        element.wait()
    return time.perf_counter() - start, placed


@contextmanager
def _by_host():
    """Let the host build all partitions."""
    fits = RowsBuild.numbers_fit
    RowsBuild.numbers_fit = lambda *_: False
    try:
        yield
    finally:
        RowsBuild.numbers_fit = fits


@contextmanager
def _phases():
    """Count the seconds of each phase, and wait for all GPUs after each."""
    seconds = {}
    before = {(home, name): getattr(home, name) for home, name, _ in PHASES}

    def clocked(phase, function):
        def run(*args):
            start = time.perf_counter()
            answer = function(*args)
            for gpu in range(cupy.cuda.runtime.getDeviceCount()):
                with cupy.cuda.Device(gpu):
                    cupy.cuda.get_current_stream().synchronize()
            seconds[phase] = seconds.get(phase, 0.0) + time.perf_counter() - start
            return answer

        return run

    for home, name, phase in PHASES:
        setattr(home, name, clocked(phase, before[home, name]))
    try:
        yield seconds
    finally:
        for (home, name), function in before.items():
            setattr(home, name, function)


def _check_same(one, other):
    """Raise VerificationError if two placements differ."""
    for p, q, element in zip(one.partitions, other.partitions, one.elements, strict=True):
        pairs = [(p.vertices, q.vertices), (p.out_degree, q.out_degree)]
        for mine, theirs in zip(p.directions, q.directions, strict=True):
            pairs += [(getattr(mine, name), getattr(theirs, name)) for name in ("offsets", "blocks")]
            pairs.append((mine.targets.device_part, theirs.targets.device_part))
            if mine.weights is not None:
                pairs.append((mine.weights.device_part, theirs.weights.device_part))
        for mine, theirs in pairs:
            if len(mine) != len(theirs) or not element.run(lambda a=mine, b=theirs: bool((a == b).all())):
                msg = f"the partitions on {element.name} differ"
                raise ev.VerificationError(msg)


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--graphs", nargs="+", default=["rmat:22"])
    parser.add_argument("--on", nargs="+", default=["cuda:0"])
    parser.add_argument("--policy", default="random")
    parser.add_argument("--rounds", type=int, default=5)
    return harness.recording(parser)


if __name__ == "__main__":
    main()
