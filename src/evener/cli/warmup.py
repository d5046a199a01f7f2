"""Compile the kernels of the CPU ahead of the first run, in a process for each core."""

from __future__ import annotations

import logging
import multiprocessing
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["FILES", "compile_for", "warm_up"]

# The task that reads generated graphs and text; the other tasks are names of algorithms.
FILES = "files"

# The scale of the graphs: their searches change direction.
_SCALE = 12

# The formats of text that kernels parse.
_TEXT = (".txt", ".mtx", ".v")


def warm_up(algorithms: Sequence[str], workers: int) -> None:
    """Let new processes compile the kernels that read graphs, and those of the algorithms, into the cache."""
    tasks = [FILES, *algorithms]
    # Numba holds Python's lock while it compiles, so threads would take turns.
    spawn = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(min(workers, len(tasks)), mp_context=spawn, initializer=_be_quiet) as pool:
        list(pool.map(compile_for, tasks))


def _be_quiet() -> None:
    log.setLevel(logging.ERROR)


def compile_for(task: str) -> None:
    """Read small graphs, or run an algorithm and its verifier on them."""
    from evener.spec import registry

    if task == FILES:
        _read_graphs()
    else:
        _run(registry.find(task))


def _read_graphs() -> None:
    from evener.graph.formats import read, write

    for spec in (f"rmat:{_SCALE}", f"rmat:{_SCALE},directed", f"uniform:{_SCALE}"):
        read(spec)
    with TemporaryDirectory(prefix="evener-") as folder:
        for graph in _graphs():
            graph.agreed()  # ranks compare graphs
            for suffix in _TEXT:
                path = Path(folder, f"graph{suffix}")
                write(graph, path)
                read(path)


def _run(spec: AlgorithmSpec) -> None:
    from evener.spec.verify import verify

    own = spec.source_option
    several = any(option.name == own and option.type == "vertices" for option in spec.options)
    given: dict[str, Any] = {} if own is None else {own: [0, 1] if several else 0}
    for graph in _graphs():
        for on in (["cpu"], ["cpu:1", "cpu:1"]):
            result = spec.function()(graph, on=on, **given)
            if spec.verify is not None:
                verify(result)


def _graphs() -> Iterator[Graph]:
    """Yield graphs with and without weights, of both directions; making them compiles few kernels."""
    from scipy import sparse

    from evener.graph.graph import Graph

    n = 1 << _SCALE
    random = np.random.default_rng(1)
    tails, heads = (n * random.random((2, 16 * n)) ** 3).astype(np.int64)
    entries = np.ones(len(tails), np.bool_), random.random(len(tails))
    for values in entries:
        matrix = sparse.coo_array((values, (tails, heads)), (n + 1, n + 1)).tocsr()  # one vertex has no edge
        yield Graph.from_scipy(matrix, directed=True)
        yield Graph.from_scipy(matrix.maximum(matrix.T).tocsr(), directed=False)
