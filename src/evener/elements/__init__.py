"""Processing elements: the CPU cores of a process and its GPUs, one file or folder for each kind."""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, cast

from evener.elements.cpu import CpuElement, usable_cores
from evener.elements.protocols import Element
from evener.errors import ArgumentError
from evener.system.world import current_world

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["CpuElement", "Element", "named", "parse_elements", "parse_name", "usable_cores"]

_NAME = re.compile(r"(?P<gpu>cuda):(?P<index>\d+)|(?P<cpu>cpu)(?::(?P<threads>\d+))?")


def named(on: str | Iterable[str] | None) -> list[str] | None:
    """Return the names in `on`, which may be an iterator; None if `on` is None."""
    if on is None:
        return None
    if isinstance(on, bytes | bytearray) or not isinstance(on, str | Iterable):
        msg = f'on=: expected names of elements, such as "cpu,cuda:0" or ["cpu", "cuda:0"], found {on!r}'
        raise ArgumentError(msg)
    names = on.split(",") if isinstance(on, str) else list(on)
    if not names:
        msg = 'on=: expected the name of at least one element, such as "cpu", found none'
        raise ArgumentError(msg)
    return names


def parse_elements(
    on: str | Sequence[str] | Sequence[Element] | None, *, gpu_memory: int | None = None
) -> list[Element]:
    """Return the elements that `on` names. Elements are returned unchanged.

    Parameters
    ----------
    on : str or sequence of str or of Element, optional
        "cpu" names the cores that no other element uses, and "cpu:8" eight threads. "cuda:0" is the first
        GPU, and "cuda:local" the GPU with the number of this rank on its machine. A string may list several
        names, separated by commas. Elements with the same name get numbers: "cpu:1#0", "cpu:1#1". Default:
        all cores as one element.
    gpu_memory : int, optional
        Bytes to use on each GPU. Default: all free memory.

    Returns
    -------
    list of Element

    Raises
    ------
    ArgumentError
        For a name that is not an element of this machine. The message lists the machine's elements.
    DeviceError
        For a GPU if no GPU is usable. The message says why.

    Examples
    --------
    >>> [e.name for e in parse_elements("cpu:1,cpu:1")]
    ['cpu:1#0', 'cpu:1#1']
    """
    if isinstance(on, list) and on and all(hasattr(one, "kernel") for one in on):
        return cast("list[Element]", on)
    names = [_numbered(name) for name in named(cast("str | Sequence[str] | None", on)) or ["cpu"]]
    kinds = [_kind(name) for name in names]
    stripped = [str(name).strip() for name in names]
    unique = [f"{name}#{i}" if stripped.count(name) > 1 else name for i, name in enumerate(stripped)]
    shared = _shared_cores(kinds)
    with_gpu = any(kind == "cuda" for kind, _ in kinds)
    elements: list[Element] = []
    for name, (kind, number) in zip(unique, kinds, strict=True):
        if kind == "cuda":
            from evener.elements.cuda.element import CudaElement

            elements.append(CudaElement(name, cast("int", number), gpu_memory))
        else:
            elements.append(CpuElement(name, number or shared.pop(0), pinned=with_gpu))
    return elements


def _numbered(name: str) -> str:
    """Return "cuda:0" for "cuda:local" on the first rank of a machine, "cuda:1" on the second, and so on.

    If a machine has fewer GPUs than ranks, ranks share GPUs.
    """
    if not isinstance(name, str) or name.strip() != "cuda:local":
        return name
    from evener.elements.cuda.discovery import gpus

    return f"cuda:{current_world().local_rank % max(1, gpus())}"


def _shared_cores(kinds: list[tuple[str, int | None]]) -> list[int]:
    """Return the threads of each "cpu" without a number: the remaining cores, at least one each."""
    bare = kinds.count(("cpu", None))
    # Each GPU gets a core, whose thread launches its kernels.
    busy = sum(1 if kind == "cuda" else number or 0 for kind, number in kinds)
    left = usable_cores() - busy
    return [max(1, left // bare + (i < left % bare)) for i in range(bare)]


def parse_name(name: object) -> tuple[str, int | None] | None:
    """Return the kind and the number in a name: the threads of a CPU or None, or the index of a GPU."""
    match = _NAME.fullmatch(name.strip()) if isinstance(name, str) else None
    if match is None:
        return None
    kind, number = match["gpu"] or match["cpu"], match["index"] or match["threads"]
    return kind, None if number is None else int(number)


def _kind(name: object) -> tuple[str, int | None]:
    """Return the kind and the number in the name of an element of this machine."""
    found, cores = parse_name(name), usable_cores()
    if found is None:
        msg = (
            f'{name!r} is not an element; this machine has "cpu" ({cores} cores), "cpu:N" for N threads, and '
            f"{_gpus_in_words()}"
        )
        raise ArgumentError(msg)
    kind, count = found
    if kind == "cpu" and count is not None and not 1 <= count <= cores:
        where, remedy = "on this machine", ""
        if current_world().size > 1:
            where = "for this rank, because the ranks of a machine divide its cores"
            remedy = '; use "cpu", or start fewer ranks'
        msg = f"element {name!r}: expected 1 to {cores} threads {where}, found {count}{remedy}"
        raise ArgumentError(msg)
    return found


def _gpus_in_words() -> str:
    from evener.elements.cuda.discovery import gpus, missing

    if missing():
        return f"no usable GPU ({missing()})"
    return 'one GPU, "cuda:0"' if gpus() == 1 else f'{gpus()} GPUs, "cuda:0" to "cuda:{gpus() - 1}"'
