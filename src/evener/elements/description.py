"""Description: the facts of an element that a plan needs, for elements that this machine may not have."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from evener.elements import named, parse_name, usable_cores
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ElementDescription", "describe_elements"]


@dataclass(frozen=True, slots=True)
class ElementDescription:
    """An element without its device: the kind "cpu" with its threads, or "cuda" with the GPU's number."""

    name: str
    kind: str
    threads: int
    index: int | None


def describe_elements(on: str | Sequence[str]) -> list[ElementDescription]:
    """Return the elements that `on` names, without creating them. A CPU may have any number of threads.

    Examples
    --------
    >>> [(e.name, e.kind, e.threads) for e in describe_elements("cpu:64,cuda:7")]
    [('cpu:64', 'cpu', 64), ('cuda:7', 'cuda', 0)]
    """
    found = []
    for name in named(on) or ["cpu"]:
        kind, number = parse_name(name) or ("", None)
        if not kind or (kind, number) == ("cpu", 0):
            msg = f'{name!r} is not an element; expected "cpu", "cpu:N" for N threads, or "cuda:N"'
            raise ArgumentError(msg)
        threads, index = (0, number) if kind == "cuda" else (number or usable_cores(), None)
        found.append(ElementDescription(name.strip(), kind, threads, index))
    return found
