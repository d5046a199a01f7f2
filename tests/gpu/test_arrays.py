"""Arrays on a real GPU: graphs of them, their partitions, results as arrays, and errors."""

from __future__ import annotations

import importlib
import os

import numpy as np
import pytest

import evener as ev
from evener.partition import gpu_edges_build

cupy = pytest.importorskip("cupy", reason="CuPy is not installed")

LIBRARIES = ["cupy", "torch", "dlpack", "jax"]
# Edges that are sorted at a time: several steps for the graphs here, which have rows of up to 8,000 edges.
SEVERAL, ALL = gpu_edges_build.EDGES_PER_BLOCK + 20_000, 1 << 30


class OnlyDlpack:
    """An array that only ``__dlpack__`` shows."""

    def __init__(self, array):
        self._array = array

    def __dlpack__(self, **options):
        return self._array.__dlpack__(**options)

    def __dlpack_device__(self):
        return self._array.__dlpack_device__()


def to_gpu(values, library):
    """Return an array of a library on the first GPU."""
    if library == "cupy":
        return cupy.asarray(values)
    if library == "dlpack":
        return OnlyDlpack(cupy.asarray(values))
    if library == "torch":
        return pytest.importorskip("torch", reason="PyTorch is not installed").from_numpy(values).cuda()
    os.environ.setdefault("XLA_PYTHON_CLIENT_PREALLOCATE", "false")
    jax = pytest.importorskip("jax", reason="JAX is not installed")
    try:
        return jax.device_put(values, jax.devices("cuda")[0])
    except RuntimeError as error:
        pytest.skip(f"JAX sees no GPU: {error}")


def edges_of(n=3000, m=40_000, seed=0, dtype=np.int64):
    """Return ends with hubs, self-loops, repeated edges and gaps."""
    random = np.random.default_rng(seed)
    return [(3 * (n * random.random(m) ** 3).astype(np.int64)).astype(dtype) for _ in range(2)]


def pair_of_graphs(dtype=np.int64, weights=None, *, directed=True, n=None, library="cupy"):
    """Return a graph of arrays on the GPU, and the graph of the same arrays on the host."""
    ends = edges_of(dtype=dtype)
    values = None
    if weights is not None:
        values = np.random.default_rng(1).integers(0, 100, len(ends[0])).astype(weights)
    given = [None if array is None else to_gpu(array, library) for array in (*ends, values)]
    there = ev.Graph.from_edges(*given, directed=directed, n=n)
    assert there.gpu_edges is not None
    return there, ev.Graph.from_edges(*ends, values, directed=directed, n=n)


def check_same_graph(there, here):
    assert (there.n, there.m, there.weight_dtype) == (here.n, here.m, here.weight_dtype)
    for array in ("ids", "offsets", "targets", "weights"):
        np.testing.assert_array_equal(getattr(there, array), getattr(here, array))


def check_same_edges(there, here, directions="both"):
    """Check that the partitions on the GPU are equal, and that the first graph needs no rows of the host."""
    one, other = (ev.partition(graph, "cuda:0", directions=directions) for graph in (there, here))
    assert "offsets" not in vars(there)
    for first, second in zip(one.partitions[0].directions, other.partitions[0].directions, strict=True):
        assert (first.rows, first.boundary) == (second.rows, second.boundary)
        for name in ("offsets", "blocks", "targets", "weights"):
            arrays = [getattr(edges, name) for edges in (first, second)]
            if arrays[1] is not None:
                mine, theirs = (getattr(array, "device_part", array) for array in arrays)
                assert bool((mine == theirs).all())
    assert bool((one.partitions[0].vertices == other.partitions[0].vertices).all())
    assert bool((one.partitions[0].out_degree == other.partitions[0].out_degree).all())


@pytest.mark.parametrize("library", LIBRARIES)
@pytest.mark.parametrize("directed", [True, False])
def test_arrays_of_libraries(library, directed):
    there, here = pair_of_graphs(np.int32, "float32", directed=directed, library=library)
    check_same_edges(there, here)
    check_same_graph(there, here)


@pytest.mark.parametrize(
    ("weights", "directed", "directions", "most"),
    [
        (None, True, "both", SEVERAL),
        (None, False, "both", SEVERAL),
        (None, True, "in", ALL),
        ("int8", True, "out", ALL),
        ("uint16", False, "both", ALL),
        ("float32", True, "both", SEVERAL),
        ("float32", False, "in", SEVERAL),
        ("int64", True, "in", SEVERAL),
        ("float64", False, "both", ALL),
    ],
)
def test_the_partition_equals_that_of_the_host(monkeypatch, weights, directed, directions, most):
    monkeypatch.setattr(gpu_edges_build, "_MOST_SORTED", most)
    monkeypatch.setattr(gpu_edges_build, "_MOST_PASSES", 1 << 20)
    dtype, n = (np.uint32, 9_500) if weights == "int8" else (np.int64, None)
    there, here = pair_of_graphs(dtype, weights, directed=directed, n=n)
    check_same_edges(there, here, directions)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", [None, "int8", "float64"])
def test_loops_and_repeated_edges_are_dropped(weights, directed):
    ends = [end // 30 for end in edges_of()]
    values = (
        None if weights is None else np.random.default_rng(1).integers(0, 100, len(ends[0])).astype(weights)
    )
    given = [None if array is None else cupy.asarray(array) for array in (*ends, values)]
    how = {"directed": directed, "duplicates": "drop", "self_loops": "drop"}
    there, here = ev.Graph.from_edges(*given, **how), ev.Graph.from_edges(*ends, values, **how)
    check_same_edges(there, here)
    check_same_graph(there, here)


def test_a_large_graph_is_sorted_in_several_steps(monkeypatch):
    monkeypatch.setattr(gpu_edges_build, "_MOST_SORTED", 1 << 21)
    here = ev.read("rmat:17,directed")
    tails = np.repeat(np.arange(here.n), np.diff(here.offsets).astype(np.int64))
    there = ev.Graph.from_edges(cupy.asarray(tails), cupy.asarray(here.targets), n=here.n)
    check_same_edges(there, here)
    check_same_graph(there, here)


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "uint16", "int32", "uint32", "uint64"])
def test_integers_of_all_widths(dtype):
    ends = [np.array(end, dtype) for end in ([0, 5, 100], [5, 100, 100])]
    there = ev.Graph.from_edges(*map(cupy.asarray, ends), directed=False)
    check_same_graph(there, ev.Graph.from_edges(*ends, directed=False))


def test_views_with_strides():
    pairs = cupy.asarray(np.array([[0, 1], [1, 2], [2, 0]]))
    graph = ev.Graph.from_edges(pairs[:, 0], pairs[::-1, 1])
    assert graph.gpu_edges is not None
    assert graph.edges().target.tolist() == [0, 2, 1]


@pytest.mark.parametrize("name", ["pagerank", "wcc", "bfs", "sssp", "louvain"])
@pytest.mark.parametrize("directed", [True, False])
def test_results_on_the_gpu(name, directed):
    there, here = pair_of_graphs(directed=directed)
    more = {"source": int(here.ids[0])} if name in ("bfs", "sssp") else {}
    found, expected = (getattr(ev, name)(graph, on="cuda:0", **more) for graph in (there, here))
    assert "offsets" not in vars(there)
    np.testing.assert_array_equal(cupy.asnumpy(found.device("vertex")), here.ids)
    for column in found:
        on_gpu = found.device(column)
        assert isinstance(on_gpu, cupy.ndarray)
        np.testing.assert_array_equal(cupy.asnumpy(on_gpu), found[column])
        if name != "louvain" and column != "parent":
            np.testing.assert_allclose(found[column], expected[column], rtol=1e-5)


@pytest.mark.parametrize("directed", [True, False])
@pytest.mark.parametrize("weights", ["uint8", "int64", "float32", "float64"])
def test_weighted_ranks(weights, directed):
    there, here = pair_of_graphs(weights=weights, directed=directed)
    found = ev.pagerank(there)
    assert "offsets" not in vars(there)
    np.testing.assert_allclose(found["rank"], ev.pagerank(here, on="cuda:0")["rank"], rtol=1e-6)


def test_a_run_uses_the_gpu_of_its_arrays_by_default():
    there, _ = pair_of_graphs()
    assert [element.name for element in ev.pagerank(there).partitioned.elements] == ["cuda:0"]


def test_torch_shares_the_ranks():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    there, _ = pair_of_graphs()
    ranks = ev.pagerank(there).device("rank")
    tensor = torch.from_dlpack(ranks)
    tensor.zero_()
    torch.cuda.synchronize()
    assert float(ranks.sum()) == 0


@pytest.mark.parametrize("weights", [None, "float32"])
@pytest.mark.parametrize("directed", [True, False])
def test_tensors(weights, directed):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    tensors = []
    for graph in pair_of_graphs(weights=weights, directed=directed):
        ends, values = graph.to_torch()
        rows = graph.to_torch(layout="csr")
        assert ends.device == rows.device
        found = [ends, values, rows.crow_indices(), rows.col_indices(), rows.values()]
        tensors.append([None if one is None else one.cpu().numpy() for one in found])
        assert ends.is_cuda == (graph.gpu_edges is not None)
    for mine, theirs in zip(*tensors, strict=True):
        np.testing.assert_array_equal(mine, theirs)


ERRORS = [
    ([0.0, 1.0], [1, 2], None, r"src: expected integers in an array on a GPU, found float64; convert them"),
    ([0, -1], [1, 2], None, r"src: expected ids of at least 0, found src\[1\] = -1"),
    ([0, 1], [1, 2, 3], None, "src and dst: expected the same length, found 2 and 3"),
    ([[0, 1]], [[1, 2]], None, r"src: expected one dimension, found 2 \(shape \(1, 2\)\)"),
    ([0, 1], [1, 2], [1.0, float("nan")], "weights: expected numbers, found NaN as the weight of edge 1"),
    ([0, 1], [1, 2], [1.0], r"weights: expected one entry for each of the 2 edges, found shape \(1,\)"),
    ([0, 1], [1, 2], [True, False], "weights: expected floats or integers of up to 64 bits, found bool"),
]


@pytest.mark.parametrize(("src", "dst", "weights", "message"), ERRORS)
def test_wrong_arrays(src, dst, weights, message):
    given = [None if values is None else cupy.asarray(values) for values in (src, dst, weights)]
    with pytest.raises(ev.ArgumentError, match=message):
        ev.Graph.from_edges(*given)


def test_too_large_ids():
    with pytest.raises(ev.ArgumentError, match=r"dst: expected ids below n = 2, found dst\[1\] = 2; omit n="):
        ev.Graph.from_edges(cupy.asarray([0, 1]), cupy.asarray([1, 2]), n=2)


def test_arrays_in_two_places():
    with pytest.raises(ev.ArgumentError, match="found src on cuda:0, dst in host memory; copy dst to cuda:0"):
        ev.Graph.from_edges(cupy.asarray([0, 1]), [1, 2])


def test_a_tensor_with_a_gradient():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    weights = torch.ones(2, device="cuda", requires_grad=True)
    ends = torch.tensor([0, 1], device="cuda"), torch.tensor([1, 2], device="cuda")
    with pytest.raises(ev.ArgumentError, match=r"weights: .* torch\.Tensor .*grad"):
        ev.Graph.from_edges(*ends, weights)


def test_the_caller_may_change_the_arrays():
    src, dst = cupy.asarray([0, 1], cupy.uint32), cupy.asarray([1, 2], cupy.uint32)
    graph = ev.Graph.from_edges(src, dst, n=3)
    src[:] = 2
    assert graph.offsets.tolist() == [0, 1, 2, 2]


def test_memory_is_returned_with_the_graph():
    pool = cupy.get_default_memory_pool()
    there, _ = pair_of_graphs()
    del there
    importlib.import_module("gc").collect()
    before = pool.used_bytes()
    there, _ = pair_of_graphs()
    assert pool.used_bytes() > before
    del there
    importlib.import_module("gc").collect()
    assert pool.used_bytes() == before
