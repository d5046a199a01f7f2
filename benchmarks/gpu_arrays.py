"""Question: how long do PageRanks take from edges in CuPy arrays to ranks in a CuPy array.

The edges are those of an undirected R-MAT graph in two int32 arrays on one GPU, in random order. The clock
starts with the arrays. It stops when the ids of the vertices and their ranks are in arrays on the GPU.
Every round builds and places the graph again.

The rival is the way through the host: the edges are copied to the host, Evener builds the graph there, and
the ranks are copied back. cuGraph does not run here.

The GPU verifies all answers: one more iteration in float64 must not change the ranks much.

    python benchmarks/gpu_arrays.py --scales 22 24
"""

from __future__ import annotations

import argparse
import gc
import time
from functools import cache

import cupy

import evener as ev
import harness

DAMPING, TOLERANCE = 0.85, 1e-6
# Edges that are drawn at a time.
DRAWN = 1 << 24


def main():
    options = _options()
    name = cupy.cuda.runtime.getDeviceProperties(0)["name"].decode()
    rows = []
    for scale in options.scales:
        src, dst = edges_of(scale, options.edge_factor)
        contenders = {
            "arrays on the GPU": (_on_gpu, options.rounds),
            "through the host": (_through_the_host, options.host_rounds),
        }
        times = {}
        for contender, (run, rounds) in contenders.items():
            if rounds:
                times[contender] = [_checked(run, src, dst, options) for _ in range(rounds + 1)][1:]
                print(f"R-MAT {scale}, {contender}: {[round(t, 4) for t in times[contender]]}", flush=True)
        stages = _stages(src, dst)
        of_graph = {"graph": f"rmat:{scale}", "edges": len(src)}
        rows += [of_graph | row for row in harness.rates(times, edges=len(src))]
        rows[-len(times)]["stages"] = stages
        del src, dst
    cells = [(row["graph"], row["contender"], harness.duration(row["median_seconds"])) for row in rows]
    harness.show("From edges to ranks", ["", "", "median"], cells)
    for row in rows:
        for stage, seconds in row.get("stages", {}).items():
            print(f"  {row['graph']} {stage}: {harness.duration(seconds)}")
    if not options.no_record:
        harness.record("gpu_arrays", question=__doc__.splitlines()[0], rows=rows, gpu=name)


def edges_of(scale, factor, a=0.57, b=0.19, c=0.19):
    """Return the ends of R-MAT edges as CuPy arrays of int32."""
    random = cupy.random.RandomState(scale)
    number = random.permutation(1 << scale).astype(cupy.int32)
    ends = cupy.empty((2, factor << scale), cupy.int32)
    for begin in range(0, factor << scale, DRAWN):
        drawn = cupy.zeros((2, min(DRAWN, (factor << scale) - begin)), cupy.int32)
        for _ in range(scale):
            place = random.random_sample(drawn.shape[1], dtype=cupy.float32)
            drawn *= 2
            drawn[0] += place >= a + b
            drawn[1] += ((place >= a) & (place < a + b)) | (place >= a + b + c)
        ends[:, begin : begin + drawn.shape[1]] = number[drawn]
    return ends[0], ends[1]


def _on_gpu(src, dst):
    graph = ev.Graph.from_edges(src, dst, directed=False)
    result = ev.pagerank(graph, damping=DAMPING, tol=TOLERANCE)
    return result.device("rank"), result.device("vertex")


def _through_the_host(src, dst):
    graph = ev.Graph.from_edges(cupy.asnumpy(src), cupy.asnumpy(dst), directed=False)
    result = ev.pagerank(graph, damping=DAMPING, tol=TOLERANCE, on="cuda:0")
    return cupy.asarray(result["rank"]), cupy.asarray(graph.ids)


def _checked(run, src, dst, options):
    """Return the seconds of a run, after verifying its ranks."""
    gc.collect()
    cupy.cuda.Device().synchronize()
    start = time.perf_counter()
    ranks, ids = run(src, dst)
    cupy.cuda.Device().synchronize()
    taken = time.perf_counter() - start
    if not options.no_verify:
        verify(src, dst, ranks, ids)
    return taken


def verify(src, dst, ranks, ids):
    """Raise VerificationError if one more iteration changes the ranks much."""
    last = int(max(src.max(), dst.max())) + 1
    degree = sums_of(src, dst, cupy.ones(last))
    if len(ids) != int((degree > 0).sum()) or not bool((degree[ids] > 0).all()):
        raise ev.VerificationError("the ids are not those of the edges")
    share = cupy.zeros(last)
    share[ids] = ranks / degree[ids]
    expected = (1 - DAMPING) / len(ids) + DAMPING * sums_of(src, dst, share)[ids]
    change = float(abs(expected - ranks).sum())
    if not change < 2 * TOLERANCE or not abs(float(ranks.sum(dtype=cupy.float64)) - 1) < 1e-4:
        msg = f"expected ranks that change by {TOLERANCE:g}, found a change of {change:g}"
        raise ev.VerificationError(msg)


def sums_of(src, dst, values):
    """Return the sum of the values of each vertex's neighbours."""
    sums = cupy.zeros(len(values))
    _add_both_ways()(src, dst, values, sums)
    return sums


@cache
def _add_both_ways():
    return cupy.ElementwiseKernel(
        "int32 tail, int32 head, raw float64 values",
        "raw float64 sums",
        "atomicAdd(&sums[head], values[tail]); if (head != tail) atomicAdd(&sums[tail], values[head]);",
        "add_both_ways",
    )


def _stages(src, dst):
    """Return the seconds of each stage, in a run that waits for the GPU after each."""
    seconds, before = {}, time.perf_counter()

    def done(stage):
        nonlocal before
        cupy.cuda.Device().synchronize()
        now = time.perf_counter()
        seconds[stage], before = now - before, now

    graph = ev.Graph.from_edges(src, dst, directed=False)
    done("number the vertices")
    placed = ev.partition(graph, directions="in")
    done("build the rows")
    ev.pagerank(placed, damping=DAMPING, tol=0, max_iter=0)
    done("sort the edges into column blocks")
    result = ev.pagerank(placed, damping=DAMPING, tol=TOLERANCE)
    done(f"{result.outcome['iterations']} iterations")
    result.device("rank")
    done("put the ranks in order")
    return seconds


def _options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scales", nargs="+", type=int, default=[24])
    parser.add_argument("--edge-factor", type=int, default=16)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--host-rounds", type=int, default=3, help="rounds of the way through the host")
    return harness.recording(parser)


if __name__ == "__main__":
    main()
