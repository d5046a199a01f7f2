"""Small runs that together use the CPU kernels of readers, placements and algorithms with their options."""

from __future__ import annotations

from contextlib import suppress
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from evener.errors import EvenerError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec, Option

__all__ = ["ALL_WEIGHTS", "COMMON_WEIGHTS", "FILES", "PLACES", "Task", "run", "tasks_for"]

# Tasks that generate and read graphs, and that place graphs; the other tasks are names of algorithms.
FILES, PLACES = "files", "places"

# The types of weights that readers and NetworkX give, and the types that most graphs have. "" is unweighted.
ALL_WEIGHTS = ("", "float64", "int32", "float32", "int64")
COMMON_WEIGHTS = ("", "float64")

# The scale of the graphs: their searches change direction.
_SCALE = 12

# One element, and two elements that exchange values.
_ELEMENTS = (["cpu"], ["cpu:1", "cpu:1"])

# Values of options: most options need other kernels if they are given, whatever their values.
_VALUES: dict[str, tuple[Any, ...]] = {"bool": (True, False), "int": (2,), "float": (0.5,), "vertex": (1,)}


class Task(NamedTuple):
    """Runs in one process.

    Attributes
    ----------
    name : str
        An algorithm, `FILES` or `PLACES`.
    weights : str
        The dtype of the weights; "" for graphs without weights.
    """

    name: str
    weights: str


def tasks_for(algorithms: Sequence[str], weights: Sequence[str] = COMMON_WEIGHTS) -> list[Task]:
    """Return the tasks for algorithms. Their kernels for files and placements come first."""
    return [Task(*pair) for pair in product((FILES, PLACES, *algorithms), weights)]


def run(task: Task) -> None:
    """Run a task, which compiles the kernels that neither this process nor a cache has."""
    from evener.spec import registry

    if task.name == FILES:
        _read_graphs(task.weights)
    elif task.name == PLACES:
        _place_graphs(task.weights)
    else:
        _run_algorithm(registry.find(task.name), task.weights)


def _read_graphs(weights: str) -> None:
    from evener.graph.formats import read, write
    from evener.graph.formats.registry import all_formats

    given = {"": "", "int32": ",weights=1..255"}.get(weights)
    if given is not None:
        for spec in (f"rmat:{_SCALE}", f"rmat:{_SCALE},directed", f"uniform:{_SCALE}", "grid:50x50"):
            read(f"{spec}{given}")
    suffixes = [suffix for one in all_formats() for suffix in one.suffixes]
    with TemporaryDirectory(prefix="evener-") as folder:
        for graph, suffix in product(_graphs(weights), suffixes):
            graph.agreed()  # ranks compare graphs
            path = Path(folder, f"graph{suffix}")
            with suppress(EvenerError):  # a format that cannot store the graph
                write(graph, path)
                read(path)


def _place_graphs(weights: str) -> None:
    from evener.elements import parse_elements
    from evener.elements.page_pool import MIN_POOLED_BYTES
    from evener.partition.build import partition
    from evener.partition.policy import policy_names

    for element in parse_elements("cpu"):
        element.allocate(MIN_POOLED_BYTES, np.uint8, 0)  # only large graphs have arrays of this size
    for graph, policy in product(_graphs(weights), policy_names()):
        with suppress(EvenerError):  # a policy whose package is not installed
            partition(graph, on=_ELEMENTS[1], policy=policy)


def _run_algorithm(spec: AlgorithmSpec, weights: str) -> None:
    from evener.spec.verify import verify

    for graph, on, options in product(_graphs(weights), _ELEMENTS, _options(spec)):
        with suppress(EvenerError):  # some options need a certain kind of graph
            result = spec.function()(graph, on=on, **options)
            if spec.verify is not None:
                verify(result)


def _options(spec: AlgorithmSpec) -> Iterator[dict[str, Any]]:
    """Yield the options of runs: the defaults, and each option alone."""
    own = spec.source_option
    needed = {
        option.name: _values(option)[0] for option in spec.options if own == option.name or option.required
    }
    yield needed
    for option in spec.options:
        for value in _values(option):
            yield needed | {option.name: value}


def _values(option: Option) -> Sequence[Any]:
    if option.type == "vertices":
        return ([(0, 1), (1, 2)],) if option.name == "pairs" else ([0], [0, 1])
    if option.type == "vertex_values":
        return (dict.fromkeys(range((1 << _SCALE) + 1), 1),)
    return option.choices or _VALUES[option.type]


def _graphs(weights: str) -> Iterator[Graph]:
    """Yield a directed and an undirected graph; making them compiles few kernels."""
    from scipy import sparse

    from evener.graph.graph import Graph

    n = 1 << _SCALE
    random = np.random.default_rng(1)
    tails, heads = (n * random.random((2, 16 * n)) ** 3).astype(np.int64)
    values = random.integers(1, 255, len(tails)).astype(weights or np.bool_)
    matrix = sparse.coo_array((values, (tails, heads)), (n + 1, n + 1)).tocsr()  # one vertex has no edge
    yield Graph.from_scipy(matrix, directed=True)
    yield Graph.from_scipy(matrix.maximum(matrix.T).tocsr(), directed=False)
