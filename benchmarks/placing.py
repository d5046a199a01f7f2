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
from evener.partition.gpu_build import RowsBuild

PHASES = {
    "upload_offsets": "copy offsets",
    "degrees": "count degrees",
    "number": "number vertices",
    "find_rows": "find rows",
    "copy_rows": "copy rows",
    "mark_targets": "mark mirrors",
    "finish": "map and sort",
}
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
    """Count the seconds of each phase, and wait for the GPU after each."""
    seconds = {}
    before = {name: getattr(RowsBuild, name) for name in PHASES}

    def clocked(name, method):
        def run(self, *args):
            start = time.perf_counter()
            answer = method(self, *args)
            self.element.wait()
            seconds[PHASES[name]] = seconds.get(PHASES[name], 0.0) + time.perf_counter() - start
            return answer

        return run

    for name, method in before.items():
        setattr(RowsBuild, name, clocked(name, method))
    try:
        yield seconds
    finally:
        for name, method in before.items():
            setattr(RowsBuild, name, method)


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
