"""AlgorithmSpec: the description of an algorithm that the rest of Evener reads.

The planner, the command line, verification, reports, benchmarks and the parity tests read the spec, and none
of them names an algorithm.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from importlib import import_module
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, cast

import numpy as np

from evener.errors import ArgumentError
from evener.graph.checks import is_integral, is_number
from evener.results.columns import Column

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from evener.spec.answer import Answer

__all__ = [
    "GOAL_OPTIONS",
    "PATH_WEIGHTS_OPTION",
    "WEIGHTS_OPTION",
    "AlgorithmSpec",
    "Column",
    "Option",
    "StateBytes",
    "Traffic",
]

# "vertex" and "vertices" are ids as the graph names its vertices. "vertex_values" is a mapping of ids to
# numbers or an array with a number for each vertex.
OptionType = Literal["int", "float", "str", "bool", "vertex", "vertices", "vertex_values"]


@dataclass(frozen=True, slots=True)
class Option:
    """A keyword argument of an algorithm, which is also an option of the command line.

    Parameters
    ----------
    name : str
        The argument; the option is ``--name`` with hyphens.
    type : {"int", "float", "str", "bool", "vertex", "vertices", "vertex_values"}
        ``vertex`` and ``vertices`` are read as ids of the graph, and ``vertex_values`` as numbers by id.
    help : str
        One line for ``--help``, with the default value.
    flags : tuple of str
        Names of the command-line option instead of ``--name``, as in ``("--k", "-k")`` or
        ``("--normalized/--raw",)``.
    choices : tuple of str
        The values that an option of type ``str`` may have.
    changes_answer : bool, default True
        Whether the answer depends on the option. If False and a saved answer does not record the option, a
        verifier uses the default.
    required : bool, default False
        Whether the function has no default, as for the source of a search. The command line then uses the
        first vertex, and says so.
    """

    name: str
    type: OptionType
    help: str
    flags: tuple[str, ...] = ()
    choices: tuple[str, ...] = ()
    changes_answer: bool = True
    required: bool = False

    def accepts(self, value: Any) -> bool:
        """Return true if a value has the type of the option, or is one of its choices.

        The result is true for all values of an option that names vertices.
        """
        if self.choices:
            return isinstance(value, str) and value in self.choices
        return _CHECKS[self.type](value) if self.type in _CHECKS else True


# The check of a value, by the type of its option.
_CHECKS: dict[str, Callable[[Any], bool]] = {
    "float": lambda value: is_number(value) and not math.isnan(value),
    "int": is_integral,
    "bool": lambda value: isinstance(value, bool | np.bool_ | int) and value in (False, True),
    "str": lambda value: isinstance(value, str),
}


class StateBytes(NamedTuple):
    """Bytes that a run keeps for each owned vertex and for each mirror."""

    vertex: float
    mirror: float


class Traffic(NamedTuple):
    """Bytes that a pass sends for each mirror.

    Attributes
    ----------
    pushed : float
        From mirrors to owners.
    pulled : float
        From owners to mirrors.
    """

    pushed: float
    pulled: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class AlgorithmSpec:
    """The description of an algorithm that Evener reads to run, plan, verify and report it.

    Another package registers a spec by an entry point of the group ``evener.algorithms``. The entry point has
    the name of the algorithm.

    Parameters
    ----------
    name : str
        The algorithm in Python, on the command line and in files.
    summary : str
        One line for lists of algorithms.
    run : str
        ``"module:function"``. The function takes a Graph or a PartitionedGraph, the options as keyword
        arguments, and ``on``, ``policy``, ``alpha``, ``gpu_memory`` and ``progress``. It returns a `Result`.
    verify : str, optional
        ``"module:function"``. The function takes an `Answer` and raises `VerificationError` if the answer
        breaks a rule.
    verifies_parts : bool, default False
        Whether `verify` also takes the `Result` of several ranks, each of which holds a part of the graph.
        All ranks call it, and it raises `VerificationError` on all ranks.
    columns : tuple of Column
        The arrays of a result. `Result.top` ranks by the first array.
    row : str, default "vertex"
        The word for a row of a result: "vertex", or "pair", "edge" or "walk" for a `TableResult`. A result
        with "graph" has a single row about the whole graph.
    options : tuple of Option
    directions : {"both", "in", "out"}
        The edges that the algorithm follows, as for `partition`.
    reads_every_edge : bool
        Whether every pass reads every edge. Searches and components leave a row early.
    state : StateBytes
        Upper bound of the state of a run on a GPU, with a byte for a bit of a bitmap.
    host_state : StateBytes
        Lower bound of the state of a run in host memory. A run that needs more than is available is refused.
    traffic : Traffic
        Bytes that a pass exchanges.
    kinds : tuple of str, default ("cpu", "cuda")
        The kinds of elements that the algorithm runs on.
    unit : str, default "a run"
        Name of a pass in a plan: "an iteration", "a run from one source".
    pass_arguments : mapping
        Arguments of a run with a fixed number of passes, to measure the time of a pass.
    source_option : str, optional
        The option that names the source or the sources. Benchmarks draw sources for it.
    graphalytics : tuple of (str, str), optional
        The column that LDBC Graphalytics' output file holds, and its match rule: "exact", "epsilon" or
        "equivalence".
    notes : str, optional
        ``"module:function"``. The function takes a `Result` and the arguments that the user gave. It returns
        the sentences that the command line prints after the run.
    verified_scope : str, optional
        ``"module:function"``. The function takes an `Answer` and returns the scope of its verification, as
        the end of a sentence. An exact verification needs no scope.
    claim_parameters : str, optional
        ``"module:function"``. The function takes the parameters of a saved answer, and the keyword arguments
        `graph`, `given` and `recorded`. `given` has the parameters of the user. `recorded` is true if the
        file has parameters. The function returns the parameters for the verification.
    checkpoints : bool, default False
        Whether the function also takes ``checkpoint``, a `Checkpoint` or None.
    synonyms : tuple of str
        Names of the algorithm in other libraries. An unknown name among them gets an error with our name.
    former_name : str, optional
        The name of the algorithm in earlier versions. It still works, with a DeprecationWarning.
    """

    name: str
    summary: str
    run: str
    columns: tuple[Column, ...]
    directions: Literal["both", "in", "out"]
    reads_every_edge: bool
    state: StateBytes
    host_state: StateBytes
    traffic: Traffic
    verify: str | None = None
    verifies_parts: bool = False
    row: str = "vertex"
    options: tuple[Option, ...] = ()
    kinds: tuple[str, ...] = ("cpu", "cuda")
    unit: str = "a run"
    pass_arguments: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    source_option: str | None = None
    graphalytics: tuple[str, Literal["exact", "epsilon", "equivalence"]] | None = None
    notes: str | None = None
    verified_scope: str | None = None
    claim_parameters: str | None = None
    checkpoints: bool = False
    synonyms: tuple[str, ...] = ()
    former_name: str | None = None

    def column(self, name: str) -> Column:
        """Return the column of this name; a column of numbers if the spec has none."""
        return next((column for column in self.columns if column.name == name), Column(name))

    def function(self) -> Callable[..., Any]:
        """Return the function that runs the algorithm. It is a collective operation."""
        from evener.system.agreement import collective

        function = resolve(self.run)
        return function if hasattr(function, "collective") else collective(name=self.name)(function)

    def verifier(self) -> Callable[[Answer], None]:
        """Return the function that verifies an answer.

        Raises
        ------
        ArgumentError
            If the algorithm has no verifier.
        """
        if self.verify is None:
            msg = f"{self.name} has no verifier: its spec has no verify="
            raise ArgumentError(msg)
        return resolve(self.verify)


def resolve(path: str) -> Callable[..., Any]:
    """Return the function that ``"module:function"`` names.

    Raises
    ------
    ArgumentError
        If the module cannot be imported or does not have the function.
    """
    module, _, name = path.partition(":")
    try:
        home = import_module(module)
    except (ImportError, ValueError) as error:
        msg = f"cannot import {path!r}, which the spec of an algorithm names: {error}; correct the spec"
        raise ArgumentError(msg) from error
    if not callable(function := getattr(home, name, None)):
        msg = f"{module} has no function {name!r}, which the spec of an algorithm names; correct the spec"
        raise ArgumentError(msg)
    return cast("Callable[..., Any]", function)


# The option of algorithms that use the weights of edges unless the caller says otherwise.
WEIGHTS_OPTION = Option(
    "weights",
    "bool",
    "Use edge weights (default: if the graph has weights).",
    flags=("--weights/--no-weights",),
    changes_answer=False,
)

# The option of algorithms whose paths have lengths of 1 unless the caller says otherwise.
PATH_WEIGHTS_OPTION = Option(
    "weights",
    "bool",
    "Use edge weights as lengths (default: each edge has the length 1).",
    flags=("--weights/--no-weights",),
    changes_answer=False,
)

# The options of a search: its sources, and where it ends.
GOAL_OPTIONS = (
    Option(
        "source",
        "vertices",
        "Ids of the vertices to start from, with commas or repeated (default: the first vertex).",
        flags=("--source", "--sources"),
        required=True,
    ),
    Option("each", "bool", "Search once from each source; tables get a column source.", flags=("--each",)),
    Option("target", "vertex", "Vertex at which the search ends (default: none)."),
    Option("cutoff", "float", "Largest distance (default: none)."),
)
