"""The options of every run, and the decorator `driver` that adds them to a function and its documentation."""

from __future__ import annotations

import re
from functools import wraps
from inspect import Parameter, cleandoc, signature
from typing import TYPE_CHECKING, ParamSpec, TypedDict, TypeVar

from evener.system.agreement import collective
from evener.system.memory import translate_errors

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from inspect import Signature
    from typing import Literal

    from evener.engine.checkpoints.request import Checkpoint
    from evener.engine.timeline import Progress
    from evener.spec.algorithm import AlgorithmSpec

__all__ = ["DEFAULTS", "BasicOptions", "RunOptions", "driver"]

P = ParamSpec("P")
T = TypeVar("T")


class BasicOptions(TypedDict, total=False):
    """The options of a run that writes no checkpoints.

    Attributes
    ----------
    on : str or sequence of str, optional
        The elements to run on, such as "cpu", "cpu:8" or "cuda:0". Default: those of the least time that
        `plan` predicts; "cpu" without a GPU.
    policy : str, default "auto"
        The policy, as in `partition`.
    alpha : float or "auto", optional
        Share of the edges on the CPU side, or on the first of several elements of one kind: 0 to 1. Default,
        or "auto": as in `plan`.
    gpu_memory : str or int, optional
        Memory to use on each GPU: bytes, or a size such as "20GiB". Default: all free memory.
    progress : callable, optional
        Called with a `Progress` as each superstep begins.
    """

    on: str | Sequence[str] | None
    policy: str
    alpha: float | Literal["auto"] | None
    gpu_memory: str | int | None
    progress: Callable[[Progress], None] | None


class RunOptions(BasicOptions, total=False):
    """The options of a run.

    Attributes
    ----------
    checkpoint : Checkpoint, optional
        Where to write checkpoints, and whether to continue from one.
    """

    checkpoint: Checkpoint | None


DEFAULTS: RunOptions = {
    "on": None, "policy": "auto", "alpha": None, "gpu_memory": None, "progress": None, "checkpoint": None,
}  # fmt: skip

_READ = "    A path or a generator spec is read; with several ranks, each rank reads its own part.\n"
_COLLECTIVE = "This is a collective operation; all ranks must call it."
_ERRORS = {
    "ArgumentError": (
        "For an unknown element or policy, a share outside 0..1, or a placement of a graph that is placed."
    ),
    "DeviceError": "If a GPU is named and none can be used, or if a GPU fails.",
    "OutOfMemoryError": "If the run needs more memory than is available; `DeviceOutOfMemory` for a GPU.",
}
_HEADING = re.compile(r"^([A-Z]\w*)\n-+\n", re.MULTILINE)
_ENTRY = re.compile(r"^(\w+)\n((?: .*\n)+)", re.MULTILINE)  # of a section: a name and indented lines
_AFTER_ERRORS = ("Notes", "References", "Examples")


def driver(
    spec: AlgorithmSpec, *, own: Sequence[str] = (), in_order: Sequence[str] = ()
) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a collective operation of the function that runs an algorithm, with the options of every run.

    The last parameter of the function is ``**options: Unpack[RunOptions]``, or ``Unpack[BasicOptions]`` if
    ``spec.checkpoints`` is false. The function gives them to `begin`. Its signature lists the options by
    name. Its docstring also describes them and their errors, and says how a graph is read and that all ranks
    must call it.

    Parameters
    ----------
    spec : AlgorithmSpec
    own, in_order : sequence of str
        As in `collective`.
    """
    options = (BasicOptions, RunOptions)[: 1 + spec.checkpoints]

    def decorate(function: Callable[P, T]) -> Callable[P, T]:
        vars(function)["__signature__"] = _with_options(signature(function), options[-1])
        if function.__doc__ is not None:  # `python -OO` has none
            function.__doc__ = _with_paragraphs(function.__doc__, options)

        @wraps(function)
        def translated(*args: P.args, **kwargs: P.kwargs) -> T:
            with translate_errors(f"running {spec.name}"):
                return function(*args, **kwargs)

        return collective(own=own, in_order=in_order)(translated)

    return decorate


def _with_options(plain: Signature, options: type) -> Signature:
    """Return a signature with the options in place of ``**options``."""
    parameters = [one for one in plain.parameters.values() if one.kind is not Parameter.VAR_KEYWORD]
    parameters += [
        Parameter(name, Parameter.KEYWORD_ONLY, default=DEFAULTS.get(name), annotation=kind.__forward_arg__)
        for name, kind in options.__annotations__.items()
    ]
    return plain.replace(parameters=parameters)


def _with_paragraphs(docstring: str, options: Sequence[type]) -> str:
    """Return a docstring with the paragraphs that all runs share. The first parameter is the graph."""
    summary, *rest = _HEADING.split(cleandoc(docstring))
    sections = {name: f"{text.rstrip()}\n" for name, text in zip(rest[::2], rest[1::2], strict=True)}
    graph, others = sections["Parameters"].split("\n", 1)
    sections["Parameters"] = f"{graph}\n{_READ}{others}"
    for one in options:
        sections["Parameters"] += _HEADING.split(cleandoc(one.__doc__ or ""))[2] + "\n"
    errors = dict(_ENTRY.findall(sections.pop("Raises", "")))
    errors |= {name: errors.get(name, "") + f"    {case}\n" for name, case in _ERRORS.items()}
    after = [(name, sections.pop(name)) for name in _AFTER_ERRORS if name in sections]
    sections["Raises"] = "".join(f"{name}\n{cases}" for name, cases in errors.items())
    texts = [f"{name}\n{'-' * len(name)}\n{text}" for name, text in (*sections.items(), *after)]
    return "\n".join([f"{summary.rstrip()}\n", f"{_COLLECTIVE}\n", *texts])
