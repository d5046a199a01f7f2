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
    from collections.abc import Callable, Iterator, Sequence

    from evener.graph.graph import Graph
    from evener.results.result import Result
    from evener.spec.algorithm import AlgorithmSpec, Option

__all__ = ["ALL_WEIGHTS", "COMMON", "COMMON_WEIGHTS", "Task", "answers", "run", "tasks_for"]

# The types of weights that readers and NetworkX give, and the types that most graphs have. "" is unweighted.
ALL_WEIGHTS = ("", "float64", "int32", "float32", "int64")
COMMON_WEIGHTS = ("", "float64")

# The scale of the graphs, and of those of searches, which change direction on wide levels.
_SCALE, _WIDE = 10, 13

# A lattice, where each element has a part of its own.
_LATTICE = "grid:16x16"

# Powers of a matrix without and with weights.
_POWERS = ("kronecker:11/10,power=6", "kronecker:12/10,power=6")

# Lines with many comments, and with ids that are far apart.
_LINES = "# a comment\n" * 5000 + "1 2\n3 1000000000000\n" * 1000

# The vertices of half of a graph with names: more names than a new table has room for.
_NAMES = 100_000

# Values of options: most options need other kernels if they are given, whatever their values.
_VALUES: dict[str, tuple[Any, ...]] = {"bool": (True, False), "int": (2,), "float": (0.5,), "vertex": (1,)}
# Katz centrality is finite only with a small factor.
_OWN_VALUES = {"attenuation": (1e-6,)}


class Task(NamedTuple):
    """Runs in one process.

    Attributes
    ----------
    name : str
        An algorithm, or a key of `COMMON`.
    weights : tuple of str
        The dtypes of the weights; "" for graphs without weights.
    """

    name: str
    weights: tuple[str, ...]


def tasks_for(algorithms: Sequence[str], weights: Sequence[str] = COMMON_WEIGHTS) -> list[Task]:
    """Return the tasks for algorithms. Their kernels for files and placements come first."""
    return [Task(name, tuple(weights)) for name in (*COMMON, *algorithms)]


def run(task: Task) -> None:
    """Run a task, which compiles the kernels that neither this process nor a cache has.

    With several ranks, this is a collective operation; all ranks must call it.
    """
    from evener.spec import registry
    from evener.spec.verify import verify

    if task.name in COMMON:
        for weights in task.weights:
            COMMON[task.name](weights)
    else:
        spec = registry.find(task.name)
        outcomes = [_error_of(verify, answer) for _, answer in answers(spec, task.weights) if spec.verify]
        errors = [error for error in outcomes if error is not None]
        if errors and len(errors) == len(outcomes):  # a run of few iterations may fail, but not all runs
            raise errors[0]


def answers(spec: AlgorithmSpec, weights: Sequence[str]) -> Iterator[tuple[str, Result]]:
    """Yield the runs of an algorithm as text, and their answers.

    Raises
    ------
    EvenerError
        If an option works with no graph.
    """
    from evener.graph.formats import read

    if not _reads_weights(spec):
        weights = [name for name in weights if name in COMMON_WEIGHTS]
    searches = any(option.required and option.name == spec.source_option for option in spec.options)
    graphs = [(name or "unweighted", graph) for name in weights for graph in _graphs(name, wide=searches)]
    lattice = read(_LATTICE)
    for on in _elements():
        yield f"{_LATTICE} {on}", spec.function()(lattice, on=on, **next(_options(spec)))
    for options in _options(spec):
        errors = []
        for (name, graph), on in product(graphs, _elements()):
            try:
                answer = spec.function()(graph, on=on, **options)
            except EvenerError as error:  # some options need a certain kind of graph
                errors.append(error)
            else:
                direction = "directed" if graph.directed else "undirected"
                yield f"{name} {direction} {on} {options}", answer
        if len(errors) == len(graphs) * len(_elements()):
            raise errors[0]


def _error_of(check: Callable[[Result], None], answer: Result) -> EvenerError | None:
    try:
        check(answer)
    except EvenerError as error:
        return error
    return None


def _reads_weights(spec: AlgorithmSpec) -> bool:
    """Return whether an algorithm may read weights: its option or its summary names them."""
    return "weights" in spec.summary or any(option.name == "weights" for option in spec.options)


def _elements() -> tuple[list[str], ...]:
    """Return one element and two elements that exchange values; on several ranks, a core of each rank."""
    from evener.system.world import current_world

    return (["cpu"], ["cpu:1", "cpu:1"]) if current_world().size == 1 else (["cpu:1"],)


def _read_graphs(weights: str) -> None:
    from evener.graph.formats import write
    from evener.graph.formats.registry import all_formats
    from evener.partition.distributed.build import read_graph
    from evener.system.world import current_world

    given = {"": "", "int32": ",weights=1..255", "float64": ",weights=real"}.get(weights)
    if given is not None:
        for spec in (f"rmat:{_SCALE}", f"rmat:{_SCALE},directed", f"uniform:{_SCALE}", _LATTICE):
            read_graph(f"{spec}{given}", "both")
    for spec in _POWERS if not weights else ():
        read_graph(spec, "both")
    suffixes = [suffix for one in all_formats() for suffix in one.suffixes]
    world = current_world()
    graphs = [*_graphs(weights), *([] if weights else [_named_graph()])]
    with TemporaryDirectory(prefix="evener-") as own:
        folder = world.allgather(own)[0]
        for graph, suffix in product(graphs, suffixes):
            graph.agreed()  # ranks compare graphs
            path = Path(folder, f"graph{suffix}")
            with suppress(EvenerError):  # a format that cannot store the graph
                if world.rank == 0:
                    write(graph, path)
            world.barrier()
            for directions in ("both", "in"):
                with suppress(EvenerError):  # a format that several ranks cannot read
                    read_graph(path, directions)
        path = Path(folder, "lines.txt")
        path.write_text(_LINES)  # all ranks write the same
        world.barrier()
        read_graph(path, "both")
        world.barrier()


def _place_graphs(weights: str) -> None:
    from evener.elements import parse_elements
    from evener.elements.page_pool import MIN_POOLED_BYTES
    from evener.partition.build import partition
    from evener.partition.policy import policy_names

    for element in parse_elements("cpu"):
        element.allocate(MIN_POOLED_BYTES, np.uint8, 0)  # only large graphs have arrays of this size
    for graph, policy in product(_graphs(weights), policy_names()):
        with suppress(EvenerError):  # a policy whose package is not installed
            partition(graph, on=_elements()[-1], policy=policy)


def _run_programs(weights: str) -> None:
    """Run MapReduce; other programs have no kernels apart from those of algorithms."""
    from evener.programs.gimv import gimv
    from evener.programs.mapreduce.mapreduce import mapreduce

    if weights:  # only functions of users see weights
        return
    for graph, on in product(_graphs(weights), _elements()):
        mapreduce(graph, _target, combine=_sum, owner="hash", on=on)
        mapreduce(graph, _target, reduce=_largest, owner="block", on=on)
        mapreduce(graph, _pair, reduce=_largest_of_pair, owner="hash", on=on)
        for dtype in (np.float32, np.float64):
            gimv(graph, _second, min, min, np.ones(graph.n, dtype), engine="mapreduce", on=on)


def _target(source: Any, target: Any) -> tuple[Any, int]:  # noqa: ARG001 - MapReduce names the parameters
    return target, 1


def _pair(source: Any, target: Any) -> tuple[Any, tuple[Any, int]]:
    return target, (source, 1)


def _second(m: Any, v: Any) -> Any:  # noqa: ARG001 - GIM-V gives both
    return v


def _sum(x: Any, y: Any) -> Any:
    return x + y


def _largest(key: Any, values: Any) -> Any:  # noqa: ARG001 - MapReduce names the parameters
    return values.max()


def _largest_of_pair(key: Any, values: Any) -> Any:  # noqa: ARG001 - MapReduce names the parameters
    return values[0].max()


# Tasks that generate and read graphs, place graphs, and run programs.
COMMON = {"files": _read_graphs, "places": _place_graphs, "programs": _run_programs}


def _options(spec: AlgorithmSpec) -> Iterator[dict[str, Any]]:
    """Yield the options of runs: the defaults, and each option alone."""
    own = spec.source_option
    needed = {
        option.name: _values(option)[0] for option in spec.options if own == option.name or option.required
    }
    yield needed
    for option in spec.options:
        for value in _values(option):
            # The number of sources to draw takes the place of the sources.
            yield ({} if option.name == "k" and own == "sources" else needed) | {option.name: value}


def _values(option: Option) -> Sequence[Any]:
    if option.type == "vertices":
        return ([(0, 1), (1, 2)],) if option.name == "pairs" else ([0], [0, 1])
    if option.type == "vertex_values":
        return (dict.fromkeys(range((1 << _SCALE) + 1), 1),)
    return option.choices or _OWN_VALUES.get(option.name) or _VALUES[option.type]


def _graphs(weights: str, *, wide: bool = False) -> Iterator[Graph]:
    """Yield a directed and undirected graphs; making them compiles few kernels.

    Weights are below 256 in two graphs. In a third, real weights are fractions, and integers are larger. With
    `wide`, the graphs are larger, and some edges weigh 0.
    """
    from scipy import sparse

    from evener.graph.graph import Graph

    n = 1 << (_WIDE if wide else _SCALE)
    random = np.random.default_rng(1)
    tails, heads = (n * random.random((2, 16 * n)) ** 3).astype(np.int64)
    values = random.integers(0 if wide else 1, 255, len(tails)).astype(weights or np.bool_)
    matrix = sparse.coo_array((values, (tails, heads)), (n + 1, n + 1)).tocsr()  # one vertex has no edge
    if weights:
        matrix.data = np.minimum(matrix.data, matrix.dtype.type(255))  # repeated edges were added
    yield Graph.from_scipy(matrix, directed=True)
    both = matrix.maximum(matrix.T).tocsr()
    yield Graph.from_scipy(both, directed=False)
    if weights:
        other = both / 7 if weights.startswith("float") else both * 256
        yield Graph.from_scipy(other.astype(weights), directed=False)


def _named_graph() -> Graph:
    """Return a graph with more names than a new table of names has room for."""
    from evener.graph.graph import Graph

    tails = [f"user-{i}" for i in range(_NAMES)]
    return Graph.from_edges(tails, [f"a friend of {tail}" for tail in tails], directed=True)
