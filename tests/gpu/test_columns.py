"""Column blocks on a GPU: equal to those of the CPU, and deterministic ranks."""

from __future__ import annotations

from importlib import import_module

import numpy as np
import pytest

import evener as ev
from evener.elements.cuda.element import CudaElement
from evener.partition.footprint import Tiers, bytes_excluding_edges
from support import reference
from support.host_tiers import keep_on_host
from support.kernel_inventory import find_kernels_of_gpus
from support.sanitizer_sizes import RUNS, sized

placing = import_module("evener.partition.column_blocks")
PLENTY = 1 << 40
SPLITS = [["cuda:0"], ["cuda:0", "cuda:0"], ["cpu:1", "cuda:0"], ["cuda:0", "cpu:2"]]


@pytest.fixture(autouse=True)
def eager(monkeypatch):
    """Build column blocks for small graphs too, and give CPU elements the twins of GPU kernels."""
    find_kernels_of_gpus(monkeypatch)
    monkeypatch.setattr(placing, "MIN_EDGES", 1)
    monkeypatch.setattr(placing, "MIN_TILE_EDGES", 20)
    monkeypatch.setattr(placing, "MIN_BLOCK_STEPS", 4)
    monkeypatch.setattr(placing, "BAND_COLUMNS", 1500)


SMALLER = sized(0, 3)  # divides the sizes by 2**SMALLER
LEAVES = 100_000 >> SMALLER
GRAPHS = {
    "rmat": lambda: ev.read(f"rmat:{14 - SMALLER}"),
    "directed": lambda: ev.read(f"rmat:{13 - SMALLER},directed"),
    "uniform": lambda: ev.read(f"uniform:{12 - SMALLER}"),
    "star": lambda: ev.Graph.from_edges(np.zeros(LEAVES, int), np.arange(1, LEAVES + 1), directed=False),
}


@pytest.mark.parametrize("lanes", sized([8, 64, 512], [8, 512]))
@pytest.mark.parametrize("columns", sized([64, 1000, 8192], [64, 1000]))
@pytest.mark.parametrize("name", GRAPHS)
def test_column_blocks_equal_those_of_a_cpu(monkeypatch, name, columns, lanes):
    monkeypatch.setattr(placing, "LANE_EDGES", (lanes, lanes))
    graph, made = GRAPHS[name](), []
    for on in ("cuda:0", "cpu:2"):
        pg = ev.partition(graph, on=on, directions="in")
        element, (partition,) = pg.elements[0], pg.partitions
        built = placing.build_column_blocks(partition, partition.in_, element, columns, PLENTY)
        made.append((element, built))
        values = np.random.default_rng(1).random(graph.n).astype(np.float32)
        for _ in range(3):
            element.run(built.pull, element, element.upload(values))
    (gpu, ours), (_, expected) = made
    for name in ("tile_row", "tile_width", "tile_places", "block_items", "taken"):
        np.testing.assert_array_equal(gpu.download(getattr(ours, name)), getattr(expected, name))
    for kind in ("local", "own_remainder", "remainder"):
        for name in ("width", "starts", "ends", "order", "places", "words"):
            fetched = gpu.download(getattr(getattr(ours, kind), name))
            np.testing.assert_array_equal(fetched, getattr(getattr(expected, kind), name))
    np.testing.assert_allclose(gpu.download(ours.partial), expected.partial, rtol=5e-7)


@pytest.mark.parametrize("on", SPLITS, ids=",".join)
@pytest.mark.parametrize("name", GRAPHS)
def test_ranks_equal_the_reference(name, on):
    graph = GRAPHS[name]()
    expected = reference.pagerank(graph, iterations=15)
    pg = ev.partition(graph, on=on, policy="high", alpha=None if len(on) == 1 else 0.4)
    result = ev.pagerank(pg, tol=0, max_iter=15)
    np.testing.assert_allclose(result["rank"], expected, rtol=1e-6)
    ev.verify(result)
    ev.verify(ev.pagerank(pg, personalization={0: 1.0, 5: 2.0}))


def test_small_tables(monkeypatch):
    """Tables of 64 columns give many small blocks."""
    monkeypatch.setattr(CudaElement, "table_columns", 64)
    graph = GRAPHS["rmat"]()
    result = ev.pagerank(graph, on="cuda:0", tol=0, max_iter=15)
    np.testing.assert_allclose(result["rank"], reference.pagerank(graph, iterations=15), rtol=1e-6)


def test_a_hundred_runs_give_the_same_bits(monkeypatch):
    monkeypatch.setattr(CudaElement, "table_columns", sized(4096, 256))
    pg = ev.partition(ev.read(sized("rmat:17", "rmat:12")), on="cuda:0", directions="in")
    first = ev.pagerank(pg, tol=0, max_iter=10)["rank"]
    assert pg.partitions[0].in_.derived["column_blocks"] is not None
    for _ in range(RUNS):
        assert (ev.pagerank(pg, tol=0, max_iter=10)["rank"] == first).all()


def test_edges_in_host_memory_have_no_column_blocks(monkeypatch):
    keep_on_host(monkeypatch, Tiers(0.5, 1000))
    graph = GRAPHS["rmat"]()
    pg = ev.partition(graph, on="cuda:0", directions="in")
    assert pg.partitions[0].host_edges
    result = ev.pagerank(pg, tol=0, max_iter=15)
    np.testing.assert_allclose(result["rank"], reference.pagerank(graph, iterations=15), rtol=1e-6)
    assert pg.partitions[0].in_.derived == {}


@pytest.mark.parametrize(("bytes_an_edge", "enough"), [(1, False), (64, True)])
def test_gpu_memory_limits_column_blocks(bytes_an_edge, enough):
    graph = GRAPHS["rmat"]()
    partition = ev.partition(graph, on="cuda:0", directions="in").partitions[0]
    other = bytes_excluding_edges(partition.owned, 0, 0, graph.m, directions=1)
    pg = ev.partition(
        graph,
        on="cuda:0",
        directions="in",
        gpu_memory=partition.nbytes + other + bytes_an_edge * graph.m,
    )
    assert not pg.partitions[0].host_edges
    ev.pagerank(pg, tol=0, max_iter=2)
    assert (pg.partitions[0].in_.derived.get("column_blocks") is not None) == enough
