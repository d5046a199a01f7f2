"""Question: how fast are BFS and PageRank on the largest R-MAT graph that fits one GPU.

T13's largest graph is R-MAT 30, directed, with 16 edges per vertex: 17.2 billion edges. Its targets alone
need 64 GiB. A host of 128 GiB and a GPU of 139 GiB hold one direction of the edges. BFS uses out-edges,
top-down only. PageRank uses in-edges. So each algorithm is a separate command of four to five minutes on 16
cores and one H200:

    python benchmarks/largest.py --scale 30 --task bfs
    python benchmarks/largest.py --scale 30 --task pagerank

The rate of a search counts the out-edges of the reached vertices. The time is the median over sources drawn
with a fixed seed among vertices with out-edges, or of PageRank's iterations. The rival is T13's figure for
BFS on a graph of this kind: 1.68 billion traversed edges/s on two processors and two GPUs of 2013. PageRank
did not fit.

The record lists the verified answers. For BFS, the last search is verified by the five rules of Graph500, and
others until `--seconds` have passed. For PageRank, one more iteration in float64 on the host must change the
ranks by less than 1e-4 (L1), as in GAP. If time is left, all ranks after `--checked` iterations are compared
with the same iterations on the host.
"""

from __future__ import annotations

import argparse
import gc
import json
import time
from pathlib import Path

import evener as ev
import harness
from cpu_rivals import draw_sources
from evener.spec.verify import Claim
from evener.system.memory import available, format_bytes

# Traversed edges per second of TOTEM on R-MAT 30, on two processors and two GPUs (T13, figure 20).
T13_TEPS = 1.68e9
# Largest L1 change of one more iteration of PageRank: GAP's tolerance.
RESIDUAL = 1e-4
_STATUS, _CLEAR = Path("/proc/self/status"), Path("/proc/self/clear_refs")


def main():
    options = _options()
    bench = _Bench(options)
    spec = f"rmat:{options.scale},directed" + (",stored=in" if options.task == "pagerank" else "")
    graph = bench.step("making the graph", lambda: ev.read(spec))
    bench.row |= {"graph": spec, "vertices": graph.n, "edges": graph.m}
    direction = "out" if options.task == "bfs" else "in"
    placed = bench.step(
        f"placing it on {options.on}", lambda: ev.partition(graph, options.on, directions=direction)
    )
    bench.row["mapped share"] = placed.partitions[0].host_edges / max(graph.m, 1)
    {"bfs": _bfs, "pagerank": _pagerank}[options.task](bench, graph, placed, options)


class _Bench:
    """Measures the time and the memory of every step, and records after each."""

    def __init__(self, options):
        self.options = options
        self.began = time.perf_counter()
        self.row = {"task": options.task, "on": options.on, "verified": [], "steps": []}

    def step(self, name, call):
        free = available()
        _forget_peak()
        start = time.perf_counter()
        answer = call()
        step = {
            "step": name,
            "seconds": time.perf_counter() - start,
            "host, most bytes": _host_bytes("VmHWM"),
            "host, bytes after": _host_bytes("VmRSS"),
            "free before": free,
            "GPU, bytes in use": _gpu_bytes(),
        }
        self.row["steps"].append(step)
        most, after = format_bytes(step["host, most bytes"]), format_bytes(step["host, bytes after"])
        print(
            f"{name}: {harness.duration(step['seconds'])}; host {most} at most, {after} after, "
            f"{format_bytes(free)} were free; GPU {format_bytes(step['GPU, bytes in use'])}",
            flush=True,
        )
        self.record()
        return answer

    def record(self):
        if self.options.no_record:
            return
        file = harness.RESULTS / "largest.json"
        kept = json.loads(file.read_text())["rows"] if file.exists() else []
        rows = [row for row in kept if row["task"] != self.row["task"]] + [self.row]
        harness.record("largest", question=__doc__.splitlines()[0], rows=rows)

    def verify(self, what, answer):
        """Verify an answer if the time of the last verification, and a little more, is left."""
        left = self.options.seconds - (time.perf_counter() - self.began)
        taken = [s["seconds"] for s in self.row["steps"] if s["step"].startswith("verifying")]
        if self.options.no_verify or left < (1.1 * max(taken) if taken else 0):
            return False
        self.step(f"verifying {what}", lambda: ev.verify(answer))
        self.row["verified"].append(what)
        self.record()
        return True


def _bfs(bench, graph, placed, options):
    sources = [int(s) for s in bench.step("drawing sources", lambda: draw_sources(graph, options.sources))]
    bench.step("a first search, which compiles", lambda: ev.bfs(placed, source=sources[0]).seconds)
    seconds, edges, result = [], [], None
    for source in sources:
        result = None  # free its arrays before the next run
        result = ev.bfs(placed, source=source)
        seconds.append(result.seconds)
        edges.append(result.edges)
    rates = [e / s for e, s in zip(edges, seconds, strict=True)]
    bench.row |= {
        "sources": sources,
        "seconds": seconds,
        "edges reached": edges,
        "median_seconds": harness.median(seconds),
        "median_teps": harness.median(rates),
        "spread": round(harness.spread(rates), 3),
        "t13_teps": T13_TEPS,
        "times_t13": harness.median(rates) / T13_TEPS,
        "levels": int(result.timeline.spans[-1].superstep),
    }
    print(
        f"bfs: median {harness.duration(harness.median(seconds))}, {harness.median(rates) / 1e9:.2f} GTEPS "
        f"({min(rates) / 1e9:.2f} to {max(rates) / 1e9:.2f}); T13 {T13_TEPS / 1e9} GTEPS",
        flush=True,
    )
    bench.record()
    source = sources[-1]
    for following in [*sources[:-1], None]:
        if not bench.verify(f"search from {source}", result) or following is None:
            break
        source, result = following, None
        gc.collect()
        result = ev.bfs(placed, source=source)


def _pagerank(bench, graph, placed, options):
    checked = bench.step(
        "a first run, which compiles", lambda: ev.pagerank(placed, tol=0, max_iter=options.checked)
    )
    seconds, result = [], None
    for _ in range(options.rounds):
        result = None
        result = ev.pagerank(placed, tol=0, max_iter=options.iterations)
        seconds.append(result.seconds / options.iterations)
    middle = harness.median(seconds)
    rate = graph.m / middle
    bench.row |= {
        "iterations": options.iterations,
        "seconds": seconds,
        "median_seconds": middle,
        "edges_per_second": rate,
        "spread": round(harness.spread(seconds), 3),
    }
    print(
        f"pagerank: an iteration {harness.duration(middle)}, {rate / 1e9:.2f} billion edges a second",
        flush=True,
    )
    bench.record()
    rank, parameters = result["rank"], {"tol": RESIDUAL, "max_iter": options.iterations}
    claim = Claim("pagerank", graph, {"rank": rank}, parameters)
    bench.verify(f"that one more iteration changes the ranks by less than {RESIDUAL:g} in all", claim)
    del claim, rank, result
    gc.collect()
    bench.verify(f"the ranks after {options.checked} iterations", checked)


def _forget_peak():
    """Reset the peak memory of this process, if the system can."""
    try:
        _CLEAR.write_text("5")
    except OSError:
        return


def _host_bytes(name):
    lines = _STATUS.read_text().splitlines() if _STATUS.exists() else []
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith(name)), 0)


def _gpu_bytes():
    try:
        import cupy
    except ImportError:
        return 0
    from evener.elements.cuda.discovery import gpus

    if not gpus():
        return 0
    free, whole = cupy.cuda.runtime.memGetInfo()
    return whole - free


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=int, default=30)
    parser.add_argument("--task", choices=["bfs", "pagerank"], default="bfs")
    parser.add_argument("--on", default="cuda:0")
    parser.add_argument("--sources", type=int, default=16)
    parser.add_argument("--iterations", type=int, default=20)
    parser.add_argument("--checked", type=int, default=1, help="iterations of PageRank to repeat on the host")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=480, help="stop verifying after this time")
    return harness.recording(parser)


if __name__ == "__main__":
    main()
