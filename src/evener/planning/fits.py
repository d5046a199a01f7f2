"""Fits: what an error for no room on a GPU says beside that, a placement that has room."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from evener.elements import parse_elements
from evener.errors import DeviceOutOfMemory
from evener.planning.plan import Sizes, fitting

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.elements import Element
    from evener.graph import Graph

__all__ = ["saying_what_fits"]


@contextmanager
def saying_what_fits(
    graph: Graph, elements: Sequence[Element], *, gpu_memory: int | None, directions: str
) -> Iterator[None]:
    """Where the block finds no room on a GPU, raise its error with a placement that has.

    `gpu_memory` is the bytes that may be taken up on each GPU.
    """
    try:
        yield
    except DeviceOutOfMemory as error:
        msg = f"{error}; it fits with {_what_fits(graph, elements, gpu_memory, directions)}"
        raise DeviceOutOfMemory(msg, needed=error.needed, available=error.available) from error


def _what_fits(graph: Graph, elements: Sequence[Element], gpu_memory: int | None, directions: str) -> str:
    """The arguments of the placement with the fewest edges on the CPU side."""
    names = ["cpu", *(element.name.partition("#")[0] for element in elements if element.kind != "cpu")]
    found = fitting(Sizes.of(graph, directions), parse_elements(names, gpu_memory=gpu_memory))
    if found is None:
        return 'on="cpu"'
    policy, alpha = found
    return f'on="{",".join(names)}", policy="{policy}", alpha={alpha}'
