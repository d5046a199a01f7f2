"""Check answers of the five algorithms by plain sweeps over the rows of a graph, on one GPU.

Distances are right if one sweep finds that no edge makes a distance shorter, and that every reached vertex
has a neighbour whose distance is shorter by the length of the edge. Components are computed: every vertex
takes the least number of its neighbours, until nothing changes. Ranks must change little in one more
iteration in float64, as in GAP. Betweenness is computed: paths level by level, and dependencies backward
(Brandes).

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
# Largest L1 change of right ranks in one more iteration, and largest relative difference of a centrality.
_RANK_CHANGE, _CENTRALITY_APART = 1e-5, 1e-6

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

// Lower each value to the least value of the neighbours.
extern "C" __global__ void lower(ROWS, u32* values, u32* changed) {
    FIND;
    u32 least = 0xFFFFFFFFu;
    for (u64 e = row.begin; e < row.end; e += row.step)
        least = min(least, ((volatile u32*)values)[targets[e]]);
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

// Count edges that make a distance shorter. Mark vertices with a neighbour, or with a parent if there are
// parents, whose distance is shorter by the length of the edge.
extern "C" __global__ void follow(ROWS, const u32* weights, const u32* distance, const long long* parents,
                                  unsigned char* found, u32* wrong) {
    FIND;
    u64 own = distance[row.u];
    for (u64 e = row.begin; e < row.end; e += row.step) {
        u32 v = targets[e], before = distance[v];
        if (before == 0xFFFFFFFFu) continue;
        u64 along = (u64)before + (weights ? weights[e] : 1);
        if (along < own) atomicAdd(wrong, 1);
        if (along == own && (!parents || v == parents[row.u])) found[row.u] = 1;
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
    """Checks answers for a graph whose rows are on a GPU.

    Attributes
    ----------
    means : str
        How answers are checked, for the record.
    """

    means = "plain sweeps over all rows on one GPU"

    def __init__(self, graph, on):
        import cupy

        self._cupy, self._graph = cupy, graph
        self._component, self._centrality = None, {}  # computed answers
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
        task = result.algorithm
        check = {"wcc": self._components, "pagerank": self._ranks, "betweenness": self._centralities}
        if task in ("bfs", "sssp"):
            right = self._distances_are_right(result, parents=parents)
        else:
            right = check[task](self._on_gpu(result, next(iter(result))), result.parameters)
        if not right:
            raise ev.VerificationError(f"the answer of {task} differs from that of plain sweeps")

    def _on_gpu(self, result, name):
        found = self._cupy.asarray(result[name]) if result.partitioned is None else result.device(name)
        self._cupy.cuda.Device().synchronize()  # the copy may be on another stream
        return found

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

    def _distances_are_right(self, result, *, parents):
        cupy, source = self._cupy, int(result.parameters["source"])
        found = self._on_gpu(result, "distance")
        if found.dtype.kind == "f":
            found = cupy.where(cupy.isinf(found), NONE, found)
        distance = found.astype(cupy.int64).astype(cupy.uint32)
        parent = self._on_gpu(result, "parent") if parents else None
        weights = self._weights if result.algorithm == "sssp" else None
        reached, wrong = cupy.zeros(self._graph.n, cupy.uint8), cupy.zeros(1, cupy.uint32)
        self._over_rows("follow", weights, distance, parent, reached, wrong)
        reached[source] = int(distance[source]) == 0 and (not parents or int(parent[source]) == source)
        beyond = distance == NONE
        right = not int(wrong[0]) and bool(((reached == 1) ^ beyond).all())
        return right and (not parents or bool((parent[beyond] == -1).all()))

    def _components(self, found, _parameters):
        if self._component is None:
            changed = self._cupy.ones(1, self._cupy.uint32)
            self._component = self._cupy.arange(self._graph.n, dtype=self._cupy.uint32)
            while int(changed[0]):
                changed[:] = 0
                self._over_rows("lower", self._component, changed)
        return bool((found == self._component).all())

    def _ranks(self, found, parameters):
        cupy, n, damping = self._cupy, self._graph.n, parameters["damping"]
        rank = found.astype(cupy.float64)
        jump = (1 - damping + damping * float(rank[self._degree == 0].sum())) / n
        share, sums = rank / cupy.maximum(self._degree, 1), cupy.zeros(n)
        self._over_rows("add", None, 1, 0, 0, share, sums)
        return float(abs(jump + damping * sums - rank).sum()) < _RANK_CHANGE

    def _centralities(self, found, parameters):
        sources = tuple(int(source) for source in parameters["sources"])
        if sources not in self._centrality:
            self._centrality[sources] = self._betweenness(sources)
        expected = self._centrality[sources]
        return bool((abs(found - expected) <= _CENTRALITY_APART * expected + 1e-12 * expected.max()).all())

    def _betweenness(self, sources):
        cupy, n = self._cupy, self._graph.n
        centrality = cupy.zeros(n)
        for source in sources:
            distance = cupy.full(n, NONE, cupy.uint32)
            paths, dependency = cupy.zeros(n), cupy.zeros(n)
            distance[source], paths[source], last, reached = 0, 1, 0, 1
            while reached:
                self._over_rows("add", distance, 0, NONE, last, paths, paths)
                fresh = (distance == NONE) & (paths > 0)
                last, reached = last + 1, int(fresh.sum())
                distance[fresh] = last
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
