"""Hint: arguments of a placement that fits, for the error about a GPU without room."""

from __future__ import annotations

from contextlib import contextmanager
from typing import TYPE_CHECKING

from evener.elements import parse_elements
from evener.errors import DeviceOutOfMemory
from evener.partition.estimate import GraphSizes, estimate_shares
from evener.partition.policy import PLANNED

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["with_placement_hint"]

# Share of a GPU's room that a suggested placement fills; sizes are estimates.
_USABLE = 0.75
# Values of alpha to try, in hundredths.
_SHARES = range(1, 100)


@contextmanager
def with_placement_hint(graph: Graph, elements: Sequence[Element], *, directions: str) -> Iterator[None]:
    """Add arguments that fit to the message of a `DeviceOutOfMemory` that the block raises."""
    try:
        yield
    except DeviceOutOfMemory as error:
        msg = f"{error}; it fits with {_fitting_arguments(graph, elements, directions)}"
        raise DeviceOutOfMemory(msg, needed=error.needed, available=error.available) from error


def _fitting_arguments(graph: Graph, elements: Sequence[Element], directions: str) -> str:
    """Return the arguments of the placement with the fewest edges on the CPU side."""
    on_gpu = [element for element in elements if element.kind != "cpu"]
    found = _fitting(GraphSizes.of(graph, directions), [*parse_elements("cpu"), *on_gpu])
    if found is None:
        return 'on="cpu"'
    policy, alpha = found
    names = ",".join(["cpu", *(element.name.partition("#")[0] for element in on_gpu)])
    return f'on="{names}", policy="{policy}", alpha={alpha}'


def _fitting(sizes: GraphSizes, elements: Sequence[Element]) -> tuple[str, float] | None:
    """Return the policy and the smallest alpha with which a graph fits, or None."""
    for hundredths in _SHARES:
        for policy in PLANNED:
            alpha = hundredths / 100
            try:
                shares, _ = estimate_shares(sizes, elements, policy, alpha, usable=_USABLE)
            except DeviceOutOfMemory:
                continue
            if all(share.sizes.edges for share in shares):
                return policy, alpha
    return None
