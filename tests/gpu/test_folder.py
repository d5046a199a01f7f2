"""Partitions on a GPU are used by later calls, and are written to and read from a folder."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from support import graphs

SPLITS = [["cuda:0"], ["cpu:1", "cuda:0"], ["cuda:0", "cuda:0"]]


@pytest.fixture(scope="module", params=[True, False], ids=["directed", "undirected"])
def graph(request):
    return graphs.build(graphs.LARGE["rmat"](), directed=request.param)


def edges_of(pg):
    """Return the targets of all partitions, in host memory."""
    rows = [edges for partition in pg.partitions for edges in partition.directions]
    elements = [e for e, p in zip(pg.elements, pg.partitions, strict=True) for _ in p.directions]
    targets = [getattr(one.targets, "device_part", one.targets) for one in rows]
    return [element.download(part) for element, part in zip(elements, targets, strict=True)]


def test_a_second_call_uses_the_partitions_of_the_first(graph):
    first = ev.bfs(graph, source=0, on="cuda:0")
    again = ev.bfs(graph, source=1, on="cuda:0")
    assert again.partitioned.partitions is first.partitioned.partitions
    ev.verify(again)
    ev.partition(graph, "cuda:0")
    assert ev.bfs(graph, source=0, on="cuda:0").partitioned.partitions is not first.partitioned.partitions


@pytest.mark.parametrize("on", SPLITS, ids=",".join)
def test_partitions_are_read_from_a_folder(graph, on, tmp_path):
    cpus = ["cpu:1"] * len(on)
    ev.write_partitioned(ev.partition(graph, on, alpha=0.5 if len(on) > 1 else None), tmp_path / "placed")
    for elements in (on, cpus):
        expected = ev.partition(graph, elements, alpha=0.5 if len(on) > 1 else None)
        found = ev.read_partitioned(tmp_path / "placed", elements)
        assert all(map(np.array_equal, edges_of(found), edges_of(expected)))
        ev.verify(ev.wcc(found))
