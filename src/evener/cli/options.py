"""The options of the commands, and how their words become arguments of the library's calls."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import typer

from evener.errors import ArgumentError

if TYPE_CHECKING:
    from evener.graph import Graph

__all__ = [
    "ALGORITHMS",
    "CHOICES",
    "PLACEMENT",
    "READING",
    "AlgorithmName",
    "GraphName",
    "Json",
    "check_algorithm",
    "choices",
    "placement",
    "reading",
    "takes",
    "vertex",
    "vertices",
]

Command = TypeVar("Command", bound=Callable[..., None])

# The arguments of each algorithm beyond those that all of them take.
ALGORITHMS: dict[str, tuple[str, ...]] = {
    "bfs": ("source",),
    "pagerank": ("damping", "tol", "stop", "max_iter", "weights", "dtype", "semantics"),
    "wcc": (),
    "sssp": ("source", "delta"),
    "betweenness": ("sources", "k", "seed", "normalized"),
}

GraphName = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A graph file, or a specification such as rmat:20 or grid:9x9.")
]
AlgorithmName = Annotated[str, typer.Argument(metavar="ALGORITHM", help=f"One of {', '.join(ALGORITHMS)}.")]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

_READ, _WHERE, _HOW = "How the graph is read", "Where it runs", "Options of the algorithms"

# What was not given stays None here, and is left to the library: it holds the defaults.
READING: dict[str, Any] = {
    "directed": Annotated[
        bool | None,
        typer.Option(
            "--directed/--undirected",
            help="How to take the edges: as the file says, or directed.",
            rich_help_panel=_READ,
        ),
    ],
    "format": Annotated[
        str | None,
        typer.Option(help="The format, where the file's name does not say it.", rich_help_panel=_READ),
    ],
    "columns": Annotated[
        str | None, typer.Option(help="Columns of tail, head and weight: src,dst,w.", rich_help_panel=_READ)
    ],
    "self_loops": Annotated[str | None, typer.Option(help="keep or drop.", rich_help_panel=_READ)],
    "duplicates": Annotated[str | None, typer.Option(help="keep or drop.", rich_help_panel=_READ)],
}
PLACEMENT: dict[str, Any] = {
    "on": Annotated[
        str | None,
        typer.Option(
            "--on", help="Elements: cpu, cpu:8, cuda:0, or several with commas.", rich_help_panel=_WHERE
        ),
    ],
    "policy": Annotated[
        str | None,
        typer.Option(help="What goes to which element: random, high, low, auto.", rich_help_panel=_WHERE),
    ],
    "alpha": Annotated[
        str | None,
        typer.Option(help="Share of edges on the CPU side, 0 to 1, or auto.", rich_help_panel=_WHERE),
    ],
    "gpu_memory": Annotated[
        str | None,
        typer.Option(
            help="What a GPU may hold: 20GiB. It reads other edges from the host.", rich_help_panel=_WHERE
        ),
    ],
}
CHOICES: dict[str, Any] = {
    "source": Annotated[
        str | None, typer.Option(help="bfs, sssp: id of the vertex to start from, 0.", rich_help_panel=_HOW)
    ],
    "damping": Annotated[
        float | None, typer.Option(help="pagerank: damping factor, 0.85 if not given.", rich_help_panel=_HOW)
    ],
    "tol": Annotated[
        float | None,
        typer.Option(help="pagerank: tolerance of --stop, 1e-6 if not given.", rich_help_panel=_HOW),
    ],
    "stop": Annotated[
        str | None,
        typer.Option(
            help="pagerank: l1 (all ranks together change by less than --tol) or networkx (by n times that).",
            rich_help_panel=_HOW,
        ),
    ],
    "max_iter": Annotated[
        int | None, typer.Option(help="pagerank: most iterations, 100.", rich_help_panel=_HOW)
    ],
    "weights": Annotated[
        bool | None,
        typer.Option(
            "--weights/--no-weights",
            help="pagerank: follow the weights of edges; yes if there are any.",
            rich_help_panel=_HOW,
        ),
    ],
    "dtype": Annotated[
        str | None, typer.Option(help="pagerank: ranks in float32 or float64.", rich_help_panel=_HOW)
    ],
    "semantics": Annotated[
        str | None, typer.Option(help="pagerank: networkx or graphalytics.", rich_help_panel=_HOW)
    ],
    "delta": Annotated[
        float | None, typer.Option(help="sssp: width of a bucket of distances.", rich_help_panel=_HOW)
    ],
    "sources": Annotated[
        str | None, typer.Option(help="betweenness: ids of sources, with commas; all.", rich_help_panel=_HOW)
    ],
    "k": Annotated[
        int | None,
        typer.Option("--k", "-k", help="betweenness: sample this many sources.", rich_help_panel=_HOW),
    ],
    "seed": Annotated[
        int | None, typer.Option(help="betweenness: seed of the sample.", rich_help_panel=_HOW)
    ],
    "normalized": Annotated[
        bool | None, typer.Option("--normalized/--raw", help="betweenness: scaling.", rich_help_panel=_HOW)
    ],
}


def takes(*groups: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Give a command the options of `groups`; it gets them as its ``**given``."""

    def declare(command: Command) -> Command:
        hints = get_type_hints(command, include_extras=True)
        own = inspect.signature(command).parameters.values()
        parameters = [
            one.replace(annotation=hints[one.name]) for one in own if one.kind is not one.VAR_KEYWORD
        ]
        for group in groups:
            parameters += [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
                for name, kind in group.items()
            ]
        shown = inspect.Signature(parameters)
        command.__annotations__ = {one.name: one.annotation for one in parameters}
        vars(command)["__signature__"] = shown  # what inspect.signature looks at first
        return command

    return declare


def check_algorithm(name: str) -> None:
    """Refuse a name that is not an algorithm, suggesting the nearest that is."""
    if name not in ALGORITHMS:
        near = difflib.get_close_matches(name.lower(), ALGORITHMS, n=1)
        hint = f"did you mean {near[0]!r}?" if near else f"choose one of {', '.join(ALGORITHMS)}"
        msg = f"there is no algorithm {name!r}; {hint}"
        raise ArgumentError(msg)


def reading(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options on how the graph is read; columns may be named, or numbered from 0."""
    arguments: dict[str, Any] = {name: given[name] for name in READING if given[name] is not None}
    if "columns" in arguments:
        words = [word.strip() for word in arguments["columns"].split(",")]
        numbered = all(word.isdigit() for word in words)
        arguments["columns"] = [int(word) for word in words] if numbered else words
    return arguments


def placement(given: Mapping[str, Any]) -> dict[str, Any]:
    """Turn --on, --policy and --alpha into arguments of the library."""
    arguments: dict[str, Any] = {name: given[name] for name in PLACEMENT if given[name] is not None}
    if "on" in arguments:
        arguments["on"] = [name.strip() for name in arguments["on"].split(",")]
    if "alpha" in arguments:
        arguments["alpha"] = _share(arguments["alpha"])
    return arguments


def choices(algorithm: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options that were given, refusing those that `algorithm` does not take."""
    chosen = {name: given[name] for name in CHOICES if given.get(name) is not None}
    own = ALGORITHMS[algorithm]
    for name in chosen:
        if name not in own:
            known = ", ".join(map(_flag, own)) or "no options of its own"
            msg = f"{algorithm} does not take {_flag(name)}; it takes {known}"
            raise ArgumentError(msg)
    return chosen


def vertex(graph: Graph, word: str, *, option: str = "--source") -> int | str:
    """Read a vertex id, which came with `option`, as the graph names its vertices."""
    if graph.named_by_strings:
        return word
    try:
        return int(word)
    except ValueError:
        msg = f"{option} takes ids, and vertices of this graph are named by integers, not {word!r}"
        raise ArgumentError(msg) from None


def vertices(graph: Graph, words: str) -> list[int | str]:
    """Read ids separated by commas."""
    each = (word.strip() for word in words.split(","))
    named = [vertex(graph, word, option="--sources") for word in each if word]
    if not named:
        msg = f"--sources names vertices, separated by commas, and {words!r} names none; leave it out for all"
        raise ArgumentError(msg)
    return named


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _share(alpha: str) -> float | None:
    if alpha == "auto":
        return None
    try:
        share = float(alpha)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        msg = (
            f"--alpha is the share of the edges on the CPU side, a number from 0 to 1 or auto, not {alpha!r}"
        )
        raise ArgumentError(msg)
    return share
