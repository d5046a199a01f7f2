"""Options of the commands, and their conversion to arguments of the library."""

from __future__ import annotations

import csv
import inspect
import math
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TypeVar, get_type_hints

import numpy as np
import typer

from evener.errors import ArgumentError
from evener.graph.checks import is_number
from evener.partition.policy import policy_names

if TYPE_CHECKING:
    from evener.graph.graph import Graph
    from evener.spec.algorithm import AlgorithmSpec

__all__ = [
    "PLACEMENT_OPTIONS",
    "READ_OPTIONS",
    "GraphName",
    "Json",
    "accept_typed_values",
    "flag",
    "given_options",
    "own_options",
    "placement_options",
    "read_options",
    "refuse_auto",
    "takes",
    "with_default_source",
    "with_vertices",
]

Command = TypeVar("Command", bound=Callable[..., None])

GraphName = Annotated[
    str, typer.Argument(metavar="GRAPH", help="A graph file, or a specification such as rmat:20 or grid:9x9.")
]
Json = Annotated[bool, typer.Option("--json", help="Print JSON, for programs.")]

_READ, _WHERE, _OWN = "How the graph is read", "Where it runs", "Options of the algorithm"


def _option(panel: str, help: str, *flags: str, kind: Any = str) -> Any:  # noqa: A002 - the name is typer's
    """Return the annotation of an option. If it is not given, it is None; the library has the defaults."""
    return Annotated[kind | None, typer.Option(*flags, help=help, rich_help_panel=panel)]


READ_OPTIONS: dict[str, Any] = {
    "directed": _option(
        _READ,
        "Direction of the edges (default: from the file, else directed).",
        "--directed/--undirected",
        kind=bool,
    ),
    "format": _option(_READ, "Format of the file, if the suffix does not name it."),
    "columns": _option(_READ, "Columns of tail, head and weight, such as src,dst,w."),
    "self_loops": _option(_READ, "Edges from a vertex to itself: keep (default) or drop."),
    "duplicates": _option(_READ, "Repeated edges: keep (default) or drop."),
}
PLACEMENT_OPTIONS: dict[str, Any] = {
    "on": _option(
        _WHERE, "Elements: cpu, cpu:8, cuda:0, cuda:local (a GPU for each rank), or several with commas."
    ),
    "policy": _option(_WHERE, f"How owners of vertices are chosen: {', '.join(policy_names())} or auto."),
    "alpha": _option(
        _WHERE, "Share of edges on the CPU side, or on the first of elements of one kind: 0 to 1, or auto."
    ),
    "gpu_memory": _option(
        _WHERE, "Memory to use on each GPU, such as 20GiB. The GPU reads other edges from the host."
    ),
}
# Types of the values of an algorithm's options, other than text. A list is an option that may be repeated.
_TYPES: dict[str, Any] = {
    "int": int,
    "float": float,
    "bool": bool,
    "vertices": list[str],
    "vertex_values": list[str],
}


def own_options(spec: AlgorithmSpec) -> dict[str, Any]:
    """Return the options of an algorithm as annotations for `takes`; None is their default."""
    return {
        option.name: _option(_OWN, option.help, *option.flags, kind=_TYPES.get(option.type, str))
        for option in spec.options
    }


def takes(*groups: Mapping[str, Any]) -> Callable[[Command], Command]:
    """Return a decorator that adds the options of `groups` to a command, as its ``**given``."""

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
        vars(command)["__signature__"] = shown  # inspect.signature reads it first
        return command

    return declare


def read_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of `evener.read`. Columns are names, or numbers from 0."""
    arguments: dict[str, Any] = {name: given[name] for name in READ_OPTIONS if given[name] is not None}
    if "columns" in arguments:
        words = _words(arguments["columns"], option="--columns")
        numbered = all(word.isdecimal() for word in words)
        arguments["columns"] = [int(word) for word in words] if numbered else words
    return arguments


def placement_options(given: Mapping[str, Any]) -> dict[str, Any]:
    """Return --on, --policy and --alpha as arguments of the library."""
    arguments: dict[str, Any] = {name: given[name] for name in PLACEMENT_OPTIONS if given[name] is not None}
    if "on" in arguments:
        arguments["on"] = [name.strip() for name in arguments["on"].split(",")]
    if "alpha" in arguments:
        arguments["alpha"] = _share(arguments["alpha"])
    return arguments


def refuse_auto(place: Mapping[str, Any], advice: str) -> None:
    """Raise an error for --policy auto, which chooses a policy for an algorithm."""
    if place.get("policy") == "auto":
        msg = f"--policy: expected one of {', '.join(policy_names())}, found auto; {advice}"
        raise ArgumentError(msg)


def given_options(spec: AlgorithmSpec, given: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of an algorithm that were given."""
    # An option that may be repeated is an empty list if it is not given.
    return {one.name: given[one.name] for one in spec.options if given.get(one.name) not in (None, [])}


def with_vertices(spec: AlgorithmSpec, graph: Graph, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with vertex options read as ids of the graph, or as numbers by id."""
    readers: dict[str, Callable[..., Any]] = {
        "vertex": vertex,
        "vertices": vertices,
        "vertex_values": vertex_values,
    }
    read = {
        option.name: readers[option.type](graph, arguments[option.name], option=flag(option.name))
        for option in spec.options
        if option.name in arguments and option.type in readers
    }
    return {**arguments, **read}


def with_default_source(spec: AlgorithmSpec, graph: Graph, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments with the first vertex for a required option that is missing."""
    missing = [one.name for one in spec.options if one.required and one.name not in arguments]
    first = graph.ids_of(np.arange(min(1, graph.n))).tolist() if missing else []
    return {**arguments, **dict.fromkeys(missing, first[0])} if first else dict(arguments)


def vertex(graph: Graph, word: str, *, option: str) -> int | str:
    """Read a vertex id, the value of `option`, as the graph names its vertices."""
    if graph.has_string_ids:
        return word
    try:
        return int(word)
    except ValueError:
        msg = f"{option}: expected an id of this graph, an integer, found {word!r}"
        raise ArgumentError(msg) from None


def vertices(graph: Graph, values: list[str], *, option: str) -> list[int | str]:
    """Read the values of `option`: ids separated by commas. An id in double quotes may hold commas."""
    words = [word for value in values for word in _words(value, option=option) if word]
    if not words:
        found = f"found {values[0]!r}; name at least one vertex"
        msg = f"{option}: expected vertex ids separated by commas, {found}"
        raise ArgumentError(msg)
    return [vertex(graph, word, option=option) for word in words]


def vertex_values(graph: Graph, values: list[str], *, option: str) -> dict[Any, float]:
    """Read the values of `option`: ``ID`` or ``ID=NUMBER``, separated by commas, or the name of a table.

    An id alone has the number 1. A table has a column ``vertex`` and one of numbers.
    """
    from evener.results.table import SUFFIXES

    if len(values) == 1 and Path(values[0]).suffix.lower() in SUFFIXES and Path(values[0]).exists():
        return _values_of_table(graph, Path(values[0]), option=option)
    found: dict[Any, float] = {}
    for word in (word for value in values for word in _words(value, option=option) if word):
        name, _, number = word.rpartition("=")
        try:
            value = float(number) if name else None
        except ValueError:  # an id with "="
            value = None
        name, value = (word, 1.0) if value is None else (name.strip(), value)
        one = vertex(graph, name, option=option)
        if one in found:
            msg = f"{option}: expected each vertex once, found {name!r} again"
            raise ArgumentError(msg)
        found[one] = value
    return found


def _values_of_table(graph: Graph, path: Path, *, option: str) -> dict[Any, float]:
    from evener.results.table import read_table

    table = read_table(path, strings=("vertex",) if graph.has_string_ids else ())
    others = [name for name in table.column_names if name != "vertex"]
    if len(others) != 1 or len(table.column_names) != 2:
        found = ", ".join(table.column_names)
        msg = f"{option} {path}: expected a column 'vertex' and one column of numbers, found {found}"
        raise ArgumentError(msg)
    vertices, numbers = (table.column(name).to_pylist() for name in ("vertex", others[0]))
    by_id = dict(zip(vertices, numbers, strict=True))
    if len(by_id) != len(vertices) or not all(map(is_number, numbers)):
        msg = f"{option} {path}: expected each vertex once, with a number"
        raise ArgumentError(msg)
    return by_id


def _words(value: str, *, option: str) -> list[str]:
    """Return the words of an option, separated by commas as in a CSV file."""
    try:
        words = next(csv.reader([value], skipinitialspace=True), [])
    except csv.Error as error:
        msg = (
            f"{option}: expected words separated by commas, found {value!r}; put a word with commas in quotes"
        )
        raise ArgumentError(msg) from error
    return [word.strip() for word in words]


def flag(name: str) -> str:
    """Return the command-line option of an argument."""
    return f"--{name.replace('_', '-')}"


def _share(alpha: str) -> float | str:
    if alpha == "auto":
        return alpha
    try:
        share = float(alpha)
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        msg = f"--alpha: expected auto or a share of the edges from 0 to 1, found {alpha!r}"
        raise ArgumentError(msg)
    return share


def accept_typed_values(command: Any) -> Any:
    """Return the command, whose parameters accept missing values and values of their type unchanged.

    Typer converts each value by pydantic, and the import of pydantic takes a tenth of a short run.
    """
    listed = command.get_params

    def get_params(context: Any) -> Any:
        parameters = listed(context)
        for parameter in parameters:
            if not isinstance(parameter.process_value, partial):
                parameter.process_value = partial(_value, parameter, parameter.process_value)
        return parameters

    command.get_params = get_params
    return command


def _value(parameter: Any, convert: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    """Return the value of a parameter, and call the function of an option that acts at once."""
    several = parameter.multiple or parameter.nargs == -1
    annotation = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if value is None and not parameter.required:
        value = () if several else None
    elif several and annotation == list[str] and all(type(one) is str for one in value):
        value = list(value)
    elif several or type(value) is not annotation:
        return convert(context, value)
    return value if parameter.callback is None else parameter.callback(context, parameter, value)
