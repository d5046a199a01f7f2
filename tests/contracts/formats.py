"""The contract of a file format: a class of tests for each file format to inherit.

A subclass names the suffixes of the format::

    class TestMyFormat(FormatContract):
        suffixes = (".mine", ".mine.gz")
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

from evener.errors import ArgumentError, FormatError
from evener.graph.formats import read, write
from evener.graph.formats.registry import format_of
from evener.graph.graph import Graph

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["FormatContract", "check_same", "graphs"]


def graphs() -> dict[str, Graph]:
    """Return a graph of each kind, by its description."""
    rng = np.random.default_rng(3)
    src, dst = rng.integers(0, 40, 200), rng.integers(0, 40, 200)
    reals, integers = rng.random(200), rng.integers(1, 99, 200, dtype=np.int32)
    build = Graph.from_edges
    few = build([0, 2, 2], [2, 3, 0], n=5)
    return {
        "directed": build(src, dst, n=50),
        "undirected": build(src, dst, directed=False, n=50),
        "real weights": build(src, dst, reals, n=50),
        "small weights": build(src, dst, reals * 1e-300, n=50),
        "float32 weights": build(src, dst, reals.astype(np.float32), n=50),
        "integer weights": build(src, dst, integers, n=50),
        "negative weights": build(src, dst, -reals, directed=False, n=50),
        "undirected, integer weights, no loops": build(
            src, dst, integers, directed=False, n=50, self_loops="drop"
        ),
        "undirected, no loops": build(src, dst, directed=False, n=50, self_loops="drop"),
        "gaps": build(src * 7 + 3, dst * 7 + 3),
        "wide gaps": build(src * 10**16, dst * 10**16, reals),
        "gaps, a vertex without edges": Graph(
            few.offsets, few.targets, directed=True, ids=np.array([4, 8, 15, 16, 23])
        ),
        "names": build([f"v{i}" for i in src], [f"v{i}" for i in dst], integers),
        "names, a vertex without edges": Graph(
            few.offsets, few.targets, directed=True, ids=np.array(["a", "b", "c", "d", "ß"])
        ),
        "no edges": build([], [], directed=False, n=4),
        "nothing": build([], [], n=0),
        "one loop": build([0], [0], n=1),
    }


def check_same(a: Graph, b: Graph, *, weight_dtype: bool = True, first_id: int = 0) -> None:
    """Assert that two graphs are equal.

    Parameters
    ----------
    a, b : Graph
    weight_dtype : bool, default True
        Whether the types of the weights must be equal, in addition to their values.
    first_id : int, default 0
        The id in `b` of the first vertex, if `a` has no ids of its own.
    """
    assert a.directed == b.directed
    first = 0 if a.has_custom_ids else first_id
    assert np.array_equal(a.ids + first if first else a.ids, b.ids)
    assert b.has_custom_ids == (a.has_custom_ids or first > 0)
    assert np.array_equal(a.offsets, b.offsets)
    assert np.array_equal(a.targets, b.targets)
    assert (a.weights is None) == (b.weights is None)
    if a.weights is not None and b.weights is not None:
        assert np.array_equal(a.weights, b.weights.astype(a.weights.dtype))
        if weight_dtype:
            assert a.weights.dtype == b.weights.dtype


class FormatContract:
    """Tests that every file format passes.

    Attributes
    ----------
    suffixes : tuple of str
        The suffixes to test, with and without compression.
    stores_float32 : bool
        Whether float32 weights are read as float32, and not as float64.
    garbage : tuple of bytes
        Contents that are not a valid file of the format.
    """

    suffixes: tuple[str, ...]
    stores_float32: bool = True
    garbage: tuple[bytes, ...] = (b"\x00\xff\xfe\x80 no graph\n\x00", bytes(range(256)) * 20)

    def refusal(self, graph: Graph, suffix: str) -> str | None:
        """Return part of the error message if the format cannot store a graph, else None."""
        return None

    def read_options(self, graph: Graph, suffix: str) -> dict[str, Any]:
        """Return options of `read` for facts that a file does not store."""
        return {}

    def pytest_generate_tests(self, metafunc: pytest.Metafunc) -> None:
        """Run every test with each suffix."""
        if "suffix" in metafunc.fixturenames:
            metafunc.parametrize("suffix", self.suffixes)

    def test_graphs_are_read_back(self, suffix: str, tmp_path: Path) -> None:
        """Edges, weights, ids and direction are read as written, or the graph is rejected.

        A format without ids rejects a graph with ids, and drops the ids on request. An error leaves no file.
        """
        chosen, _ = format_of(tmp_path / f"g{suffix}")
        for number, (kind, graph) in enumerate(graphs().items()):
            folder = tmp_path / str(number)
            folder.mkdir()
            path, kept, options = folder / f"g{suffix}", graph, {}
            if graph.has_custom_ids and not chosen.keeps_ids_of(graph):
                with pytest.raises(ArgumentError, match="ids='drop'"):
                    write(graph, path)
                options = {"ids": "drop"}
                kept = Graph(graph.offsets, graph.targets, weights=graph.weights, directed=graph.directed)
            reason = self.refusal(kept, suffix)
            if reason is not None:
                with pytest.raises(ArgumentError, match=reason):
                    write(graph, path, **options)
                assert not list(folder.iterdir())
                continue
            write(graph, path, **options)
            back = read(path, **self.read_options(kept, suffix))
            same_type = self.stores_float32 or kind != "float32 weights"
            check_same(kept, back, weight_dtype=same_type, first_id=chosen.first_id)

    def test_garbage_is_rejected(self, suffix: str, tmp_path: Path) -> None:
        """If one file of a graph has other content, `read` raises FormatError."""
        stored = (
            graph
            for graph in graphs().values()
            if graph.m and not graph.has_custom_ids and self.refusal(graph, suffix) is None
        )
        graph = next(stored)
        path = tmp_path / f"g{suffix}"
        write(graph, path)
        for file in [file for file in tmp_path.rglob("*") if file.is_file()]:
            content = file.read_bytes()
            for garbage in self.garbage:
                file.write_bytes(garbage)
                with pytest.raises(FormatError):
                    read(path, **self.read_options(graph, suffix))
            file.write_bytes(content)
