"""Answers of the five algorithms by plain sweeps over the rows of a graph, on one GPU.

Distances and components: every vertex takes the least sum of a neighbour's value and the length of the edge,
until nothing changes (Bellman and Ford). The lengths are 1 for BFS, the weights for SSSP, and 0 for
components, which begin with the numbers of the vertices. PageRank adds the shares of all neighbours in
float64. Betweenness adds the paths level by level, and the dependencies backward (Brandes).

The rows are those of the graph in host memory. No code of Evener's algorithms or partitions is used. The
graph must be undirected, with ids 0..n-1. Without a GPU, the answers are those of Evener on the CPU,
verified by `evener.verify`.
"""

from __future__ import annotations

from functools import cached_property

import numpy as np

import evener as ev
from evener.elements import parse_elements

# The value of a vertex that no sweep has reached.
NONE = (1 << 32) - 1
# Rows of more edges are read by a block, and others by a warp.
_LONG = 1 << 12
# Bytes of a vertex: its offset and degree, some arrays of 8 bytes, and expected answers.
_VERTEX_BYTES = 100
# L1 distance of right ranks, and the largest relative differences of a rank and of a centrality.
_RANKS_APART, _RANK_APART, _CENTRALITY_APART = 1e-5, 1e-4, 1e-6

SOURCE = r"""
typedef unsigned u32;
typedef unsigned long long u64;

struct Row { u32 u; u64 begin, end; u32 step; };

// The edges of a thread: `width` threads read a row. Without a list, all rows but the long ones.
__device__ bool find(const u64* offsets, const u32* list, u64 rows, u32 width, u32 longest, Row& row) {
    u64 i = ((u64)blockIdx.x * blockDim.x + threadIdx.x) / width;
    if (i >= rows) return false;
    row.u = list ? list[i] : i;
    row.begin = offsets[row.u];
    row.end = offsets[row.u + 1];
    row.step = width;
    if (!list && row.end - row.begin > longest) return false;
    row.begin += threadIdx.x % width;
    return true;
}

#define ROWS const u64* offsets, const u32* targets, const u32* list, u64 rows, u32 width, u32 longest
#define FIND Row row; if (!find(offsets, list, rows, width, longest, row)) return

extern "C" __global__ void lower(ROWS, const u32* weights, u32 length, u32* values, u32* changed) {
    FIND;
    u32 least = 0xFFFFFFFFu;
    for (u64 e = row.begin; e < row.end; e += row.step) {
        u32 value = ((volatile u32*)values)[targets[e]];
        if (value != 0xFFFFFFFFu) least = min(least, value + (weights ? weights[e] : length));
    }
    for (int k = 16; k; k /= 2) least = min(least, __shfl_xor_sync(0xFFFFFFFFu, least, k));
    if (threadIdx.x % 32 == 0 && least < ((volatile u32*)values)[row.u]) {
        atomicMin(values + row.u, least);
        *changed = 1;
    }
}

// Add the values of neighbours at distance `other` to the sums of vertices at distance `own`; all, if `any`.
extern "C" __global__ void add(ROWS, const u32* distance, u32 any, u32 own, u32 other, const double* values,
                               double* sums) {
    FIND;
    if (!any && distance[row.u] != own) return;
    double sum = 0;
    for (u64 e = row.begin; e < row.end; e += row.step) {
        u32 v = targets[e];
        if (any || distance[v] == other) sum += values[v];
    }
    for (int k = 16; k; k /= 2) sum += __shfl_xor_sync(0xFFFFFFFFu, sum, k);
    if (threadIdx.x % 32 == 0) atomicAdd(sums + row.u, sum);
}

// Mark vertices whose parent is a neighbour with a distance that is shorter by the length of the edge.
extern "C" __global__ void follow(ROWS, const u32* weights, u32 length, const u32* distance,
                                  const long long* parents, unsigned char* found) {
    FIND;
    for (u64 e = row.begin; e < row.end; e += row.step) {
        u32 v = targets[e];
        if (v == parents[row.u] && distance[v] + (weights ? weights[e] : length) == distance[row.u])
            found[row.u] = 1;
    }
}
"""


def answers_of(graph, on):
    """Return an object that checks results on a graph: on the GPU of this name, or on the CPU."""
    return PlainAnswers(graph, on) if on.startswith("cuda") else _VerifiedAnswers()


def plain_bytes(graph):
    """Return the bytes of GPU memory that `PlainAnswers` needs for a graph."""
    return 4 * graph.m * (1 if graph.weights is None else 2) + _VERTEX_BYTES * graph.n


class PlainAnswers:
    """The answers for a graph whose rows are on a GPU. Each is computed once.

    Attributes
    ----------
    means : str
        How answers are checked, for the record.
    """

    means = "equal to plain sweeps over all rows on one GPU"

    def __init__(self, graph, on):
        import cupy

        self._cupy, self._graph, self._answers = cupy, graph, {}
        (element,) = parse_elements(on)
        self._offsets, self._targets = element.upload(graph.offsets), element.upload(graph.targets)
        weights = graph.weights
        self._weights = None if weights is None else element.upload(weights).view(cupy.uint32)
        element.wait()
        degree = cupy.diff(self._offsets)
        self._long = cupy.flatnonzero(degree > _LONG).astype(cupy.uint32)
        self._degree = degree.astype(cupy.float64)

    @cached_property
    def _kernels(self):
        return self._cupy.RawModule(code=SOURCE)

    def check(self, result, *, parents=False):
        """Raise VerificationError if the first array of a result, or the parents, are wrong."""
        cupy, task, name = self._cupy, result.algorithm, next(iter(result))
        found = self._on_gpu(result, name)
        if task in ("bfs", "sssp"):
            source = int(result.parameters["source"])
            expected = self._distances(source, weighted=task == "sssp")
            if found.dtype.kind == "f":
                found = cupy.where(cupy.isinf(found), NONE, found)
            right = bool((found.astype(cupy.int64).astype(cupy.uint32) == expected).all())
            if right and parents:
                parent = self._on_gpu(result, "parent")
                right = self._parents_are_right(parent, expected, source, task == "sssp")
        elif task == "wcc":
            right = bool((found == self._once("wcc", self._components)).all())
        elif task == "pagerank":
            damping, iterations = result.parameters["damping"], result.outcome["iterations"]
            expected = self._once((damping, iterations), lambda: self._ranks(damping, iterations))
            apart = abs(found - expected)
            right = float(apart.sum()) < _RANKS_APART and bool((apart <= _RANK_APART * expected).all())
        else:
            sources = tuple(int(s) for s in result.parameters["sources"])
            expected = self._once(sources, lambda: self._centralities(sources))
            most = _CENTRALITY_APART * expected + 1e-12 * expected.max()
            right = bool((abs(found - expected) <= most).all())
        if not right:
            raise ev.VerificationError(f"the answer of {task} differs from that of plain sweeps")

    def _on_gpu(self, result, name):
        found = self._cupy.asarray(result[name]) if result.partitioned is None else result.device(name)
        self._cupy.cuda.Device().synchronize()  # the copy may be on another stream
        return found

    def _once(self, question, answer):
        if question not in self._answers:
            self._answers[question] = answer()
        return self._answers[question]

    def _over_rows(self, kernel, *args):
        """Run a kernel over all rows: long rows by blocks, and others by warps."""
        run, n, few = self._kernels.get_function(kernel), self._graph.n, len(self._long)
        rows = self._offsets, self._targets
        words = [np.uint32(one) if isinstance(one, int) else one for one in args]
        args = [np.uintp(0) if one is None else one for one in words]
        own = (*rows, np.uintp(0), np.uint64(n), np.uint32(32), np.uint32(_LONG), *args)
        run((-(-n // 8),), (256,), own)
        if few:
            own = (*rows, self._long, np.uint64(few), np.uint32(1024), np.uint32(0), *args)
            run((few,), (1024,), own)

    def _lowered(self, values, weights, length):
        changed = self._cupy.ones(1, self._cupy.uint32)
        while int(changed[0]):
            changed[:] = 0
            self._over_rows("lower", weights, length, values, changed)
        return values

    def _distances(self, source, *, weighted):
        def answer():
            values = self._cupy.full(self._graph.n, NONE, self._cupy.uint32)
            values[source] = 0
            return self._lowered(values, self._weights if weighted else None, 1)

        return self._once((source, weighted), answer)

    def _components(self):
        return self._lowered(self._cupy.arange(self._graph.n, dtype=self._cupy.uint32), None, 0)

    def _parents_are_right(self, parents, distance, source, weighted):
        cupy = self._cupy
        found = cupy.zeros(self._graph.n, cupy.uint8)
        weights = self._weights if weighted else None
        self._over_rows("follow", weights, 1, distance, parents, found)
        found[source] = int(parents[source]) == source
        return bool(((found == 1) ^ ((distance == NONE) & (parents == -1))).all())

    def _ranks(self, damping, iterations):
        cupy, n = self._cupy, self._graph.n
        rank = cupy.full(n, 1 / n)
        for _ in range(iterations):
            dangling = float(rank[self._degree == 0].sum())
            share = rank / cupy.maximum(self._degree, 1)
            sums = cupy.zeros(n)
            self._over_rows("add", None, 1, 0, 0, share, sums)
            rank = (1 - damping + damping * dangling) / n + damping * sums
        return rank

    def _centralities(self, sources):
        cupy, n = self._cupy, self._graph.n
        centrality = cupy.zeros(n)
        for source in sources:
            distance = self._distances(source, weighted=False)
            paths, dependency = cupy.zeros(n), cupy.zeros(n)
            paths[source] = 1
            last = int(distance[distance != NONE].max())
            for level in range(1, last + 1):
                self._over_rows("add", distance, 0, level, level - 1, paths, paths)
            for level in range(last - 1, 0, -1):
                each = (1 + dependency) / cupy.maximum(paths, 1)
                sums = cupy.zeros(n)
                self._over_rows("add", distance, 0, level, level + 1, each, sums)
                dependency += sums * paths
            centrality += dependency
        return centrality * (n / len(sources) / ((n - 1) * (n - 2)))


class _VerifiedAnswers:
    """Checks results on the CPU. The first answer to a question is verified, others are compared with it."""

    means = "verified by evener.verify, or equal to a verified answer"

    def __init__(self):
        import harness

        self._checked = harness.Checked(apart=1e-6, of_largest=1e-12)

    def check(self, result, *, parents=False):
        """Raise VerificationError if the first array of a result, or the parents, are wrong."""
        question = f"{result.algorithm} {result.parameters.get('source')}"
        self._checked.check(result, next(iter(result)), question, verify=parents)
