"""Processing elements: the CPU cores of a process, and in time its GPUs; one file a kind."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from evener.elements.base import Element
from evener.elements.cpu import CpuElement, usable_cores
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CpuElement", "Element", "parse_elements", "usable_cores"]


def parse_elements(on: str | Sequence[str] | None) -> list[Element]:
    """The elements named by `on`.

    Parameters
    ----------
    on : str or sequence of str, optional
        "cpu" for the cores no other element names, "cpu:8" for eight threads; a string may list several,
        separated by commas. Elements of the same name are told apart as "cpu:1#0", "cpu:1#1".
        Default: all cores as one element.

    Returns
    -------
    list of Element

    Raises
    ------
    ArgumentError
        For a name that is not an element of this machine; the sentence says what the machine has.

    Examples
    --------
    >>> [e.name for e in parse_elements("cpu:1,cpu:1")]
    ['cpu:1#0', 'cpu:1#1']
    """
    names = ["cpu"] if on is None else on.split(",") if isinstance(on, str) else list(on)
    if not names:
        msg = 'on= names no element; give at least one, such as "cpu"'
        raise ArgumentError(msg)
    threads = [_threads(name) for name in names]
    cores = usable_cores()
    bare = threads.count(0)
    left = cores - sum(threads)
    shared = [max(1, left // bare + (i < left % bare)) for i in range(bare)] if bare else []
    stripped = [str(name).strip() for name in names]
    unique = [f"{name}#{i}" if stripped.count(name) > 1 else name for i, name in enumerate(stripped)]
    return [CpuElement(name, count or shared.pop(0)) for name, count in zip(unique, threads, strict=True)]


def _threads(name: object) -> int:
    """Threads that an element's name asks for; 0 where it leaves that open."""
    match = re.fullmatch(r"\s*cpu(?::(\d+))?\s*", name) if isinstance(name, str) else None
    cores = usable_cores()
    if match is None:
        msg = f'{name!r} is not an element; this machine has "cpu" ({cores} cores), or "cpu:N" for N threads'
        raise ArgumentError(msg)
    if match[1] is None:
        return 0
    count = int(match[1])
    if not 1 <= count <= cores:
        msg = f"element {name!r} asks for {count} threads; this machine offers 1 to {cores}"
        raise ArgumentError(msg)
    return count
