"""Fits: what an error for no room on a GPU says beside that, a placement that has room."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from evener.elements import parse_elements
from evener.errors import DeviceOutOfMemory
from evener.partition.policies import POLICIES
from evener.planning.sizes import ALPHAS, Sizes, shares_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["saying_what_fits"]

# What is told to fit may take up this part of a GPU's room. Before there are partitions, sizes are estimates:
# of R-MAT 17 by policy low, a GPU's takes up 1.05 times as much as that with alpha 0.05, 1.28 with 0.95.
_SURELY = 0.75


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
    found = _fitting(Sizes.of(graph, directions), parse_elements(names, gpu_memory=gpu_memory))
    if found is None:
        return 'on="cpu"'
    policy, alpha = found
    return f'on="{",".join(names)}", policy="{policy}", alpha={alpha}'


def _fitting(sizes: Sizes, elements: Sequence[Element]) -> tuple[str, float] | None:
    """The policy and the least share of the CPU side with which a graph fits CPUs and GPUs; None if none."""
    for alpha in ALPHAS:
        for policy in POLICIES:
            try:
                shares_of(sizes, elements, policy, alpha, usable=_SURELY)
            except DeviceOutOfMemory:
                continue
            return policy, alpha
    return None
