"""Families: policies that divide a graph in phases (G16 §III.A).

A family DP (distributed, then parallel) divides the vertices among the ranks, then on each rank between CPUs
and GPUs. A family PD (parallel, then distributed) divides the vertices between all CPUs and all GPUs, then
each side among the ranks. Several elements of a rank on one side divide their part like the parallel phase.

The phases are those of G16 §III.C:

- **O** (out-degree balanced) fills one part after another in the order of the vertices. The out-edges of G16
  are the stored edges here, as in all other phases.
- **R** (random) cuts a random order.
- **H** (HIGH) and **L** (LOW) cut the order of descending or ascending degree.

With one rank, the distributed phase has nothing to divide. DP and PD are then the policies `high` and `low`
with the CPUs first.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from evener.partition.numbering import number_vertices
from evener.partition.orders import ASCENDING, DESCENDING, SHUFFLED, assign_in_order, owner_array
from evener.partition.policy import Policy, Processors, Vertices

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    # The key of each element; elements of equal keys are one part of the phase.
    Step = tuple[str, NDArray[np.int64]]

__all__ = ["fill_in_order", "in_phases"]

_ORDERS = {"H": DESCENDING.vertices, "L": ASCENDING.vertices, "R": SHUFFLED.vertices}


def in_phases(
    family: Literal["DP", "PD"], *, distributed: Literal["O", "R"], parallel: Literal["H", "L"]
) -> Policy:
    """Return the policy of a family with these phases. The planner has one rank, which `parallel` divides."""

    def owners(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:
        numbers = np.arange(len(processors.shares))
        if family == "DP":
            gpus_last = np.where(processors.cpu_side, numbers, len(numbers) + numbers)
            steps = [(distributed, processors.ranks), (parallel, gpus_last)]
        else:
            side = np.where(processors.cpu_side, 0, 1)
            steps = [(parallel, side), (distributed, processors.ranks), (parallel, numbers)]
        return _divide(vertices, processors.shares, steps, seed)

    needs: Literal["degrees", "positions"] = "degrees" if distributed == "O" else "positions"
    return Policy(owners, needs, order=_ORDERS[parallel], degrees_only=True, profiled=True)


def fill_in_order(vertices: Vertices, processors: Processors, seed: int) -> NDArray[Any]:
    """Return the owners of the phase O over all elements, with in-edges and out-edges as the degrees."""
    every = vertices._replace(degree=vertices.total_degree)
    return _divide(every, processors.shares, [("O", np.arange(len(processors.shares)))], seed)


def _divide(
    vertices: Vertices, shares: NDArray[np.float64], steps: Sequence[Step], seed: int
) -> NDArray[Any]:
    """Return the owners after all steps. A step divides each group of elements by their keys."""
    groups = [list(range(len(shares)))]
    owner = owner_array(len(vertices.degree), len(shares))
    for phase, keys in steps:
        parts = [_by_key(group, keys) for group in groups]
        if any(len(each) > 1 for each in parts):
            owner = _apply(phase, vertices, shares, owner, parts, seed)
        groups = [part for each in parts for part in each]
    elements = np.array([element for (element,) in groups], owner.dtype)
    return owner if (np.diff(elements.astype(np.int64)) > 0).all() else elements[owner]


def _by_key(group: list[int], keys: NDArray[np.int64]) -> list[list[int]]:
    """Return the elements of a group that have each key, in ascending order of the keys."""
    return [[element for element in group if keys[element] == key] for key in np.unique(keys[group])]


def _apply(
    phase: str,
    vertices: Vertices,
    shares: NDArray[np.float64],
    owner: NDArray[Any],
    parts: list[list[list[int]]],
    seed: int,
) -> NDArray[Any]:
    """Return the part that owns each vertex. `owner` is the group that owns each vertex."""
    first = np.cumsum([0, *map(len, parts)])
    found: NDArray[Any] = first[:-1].astype(owner.dtype)[owner]
    base = vertices.by_degree
    if phase == "O":
        base = np.arange(len(base), dtype=np.uint32)
    members = None if len(parts) == 1 else number_vertices(base, owner, len(parts))
    for group, each in enumerate(parts):
        if len(each) == 1:
            continue
        order = base if members is None else members.owned_by(group)
        order = order if phase == "O" else _ORDERS[phase](order, seed)
        of_parts = np.array([shares[part].sum() for part in each])
        start = int(first[group])
        assign_in_order(order, vertices.degree, of_parts, found, first=start, fill=phase == "O")
    return found
