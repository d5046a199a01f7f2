"""Processing elements: the CPU cores of a process and its GPUs; one file a kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from evener.elements.base import Element
from evener.elements.cpu import CpuElement, usable_cores
from evener.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CpuElement", "Element", "named", "parse_elements", "usable_cores"]


def named(on: str | Iterable[str] | None) -> list[str] | None:
    """The names in `on`, which may be given only once; None where it is left open.

    Raises
    ------
    ArgumentError
        If it holds no names.
    """
    if on is None:
        return None
    if isinstance(on, bytes | bytearray) or not isinstance(on, str | Iterable):
        msg = f'on= names elements, as in "cpu,cuda:0" or ["cpu", "cuda:0"], not {on!r}'
        raise ArgumentError(msg)
    names = on.split(",") if isinstance(on, str) else list(on)
    if not names:
        msg = 'on= names no element; give at least one, such as "cpu"'
        raise ArgumentError(msg)
    return names


def parse_elements(
    on: str | Sequence[str] | Sequence[Element] | None, *, gpu_memory: int | None = None
) -> list[Element]:
    """Return the elements named by `on`. Elements that are resolved already are returned as they are.

    Parameters
    ----------
    on : str or sequence of str or of Element, optional
        "cpu" for the cores no other element keeps busy, "cpu:8" for eight threads, "cuda:0" for the first
        GPU; a string may list several, separated by commas. Elements of the same name are told apart as
        "cpu:1#0", "cpu:1#1". Default: all cores as one element.
    gpu_memory : int, optional
        Bytes that may be taken up on each GPU. Default: what is free there.

    Returns
    -------
    list of Element

    Raises
    ------
    ArgumentError
        For a name that is not an element of this machine; the sentence says what the machine has.
    DeviceError
        For a GPU, where none can be used; the sentence says why.

    Examples
    --------
    >>> [e.name for e in parse_elements("cpu:1,cpu:1")]
    ['cpu:1#0', 'cpu:1#1']
    """
    if isinstance(on, list) and on and all(hasattr(one, "kernel") for one in on):
        return cast("list[Element]", on)
    names = named(cast("str | Sequence[str] | None", on)) or ["cpu"]
    kinds = [_kind(name) for name in names]
    stripped = [str(name).strip() for name in names]
    unique = [f"{name}#{i}" if stripped.count(name) > 1 else name for i, name in enumerate(stripped)]
    shared = _shared_cores(kinds)
    beside_gpu = any(kind == "cuda" for kind, _ in kinds)
    elements: list[Element] = []
    for name, (kind, number) in zip(unique, kinds, strict=True):
        if kind == "cuda":
            from evener.elements.cuda.element import CudaElement

            elements.append(CudaElement(name, cast("int", number), gpu_memory))
        else:
            elements.append(CpuElement(name, number or shared.pop(0), pinned=beside_gpu))
    return elements


def _shared_cores(kinds: list[tuple[str, int | None]]) -> list[int]:
    """The threads of each "cpu" without a number: what other elements leave, at least one."""
    bare = kinds.count(("cpu", None))
    # A GPU takes a core of its own: one that is always ready to hand it the next kernel.
    busy = sum(1 if kind == "cuda" else number or 0 for kind, number in kinds)
    left = usable_cores() - busy
    return [max(1, left // bare + (i < left % bare)) for i in range(bare)]


def _kind(name: object) -> tuple[str, int | None]:
    """What a name says: "cpu" with its threads, None where that is open; "cuda" with the GPU's number."""
    text = name.strip() if isinstance(name, str) else ""
    if match := re.fullmatch(r"cuda:(\d+)", text):
        return "cuda", int(match[1])
    cores = usable_cores()
    match = re.fullmatch(r"cpu(?::(\d+))?", text)
    if match is None:
        msg = (
            f'{name!r} is not an element; this machine has "cpu" ({cores} cores), or "cpu:N" for N threads, '
            f"and {_gpus_in_words()}"
        )
        raise ArgumentError(msg)
    if match[1] is None:
        return "cpu", None
    count = int(match[1])
    if not 1 <= count <= cores:
        msg = f"element {name!r} asks for {count} threads; this machine offers 1 to {cores}"
        raise ArgumentError(msg)
    return "cpu", count


def _gpus_in_words() -> str:
    from evener.elements.cuda.discovery import gpus, missing

    if missing():
        return f"no GPU that can be used ({missing()})"
    return 'one GPU, "cuda:0"' if gpus() == 1 else f'{gpus()} GPUs, "cuda:0" to "cuda:{gpus() - 1}"'
