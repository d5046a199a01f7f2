"""Processors: the elements of all ranks, and a warning about GPUs that several ranks use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from evener.system.failure import in_words
from evener.system.log import log

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements import Element
    from evener.system.world import World

__all__ = ["all_elements", "note_shared_gpus"]


def all_elements(
    elements: Sequence[Element], world: World
) -> tuple[list[float], list[bool], list[int], list[int | None]]:
    """Return the weight of each element of all ranks, whether it is a CPU, its rank, and its room in bytes.

    This is a collective operation; all ranks must call it.
    """
    facts = world.allgather([(element.weight, element.kind == "cpu", element.room()) for element in elements])
    ranks = [rank for rank, own in enumerate(facts) for _ in own]
    weights, on_cpu, rooms = zip(*(one for own in facts for one in own), strict=True)
    return list(weights), list(on_cpu), ranks, list(rooms)


def note_shared_gpus(elements: Sequence[Element], world: World) -> None:
    """Warn on rank 0 of GPUs that several ranks use, whose kernels then run in turn.

    This is a collective operation; all ranks must call it.
    """
    if world.size == 1:
        return
    names = {getattr(element, "bus_id", ""): element.name for element in elements if element.kind == "cuda"}
    users: dict[tuple[str, str], list[tuple[int, str]]] = {}
    for rank, (host, own) in enumerate(world.allgather((world.host, names))):
        for bus_id, name in own.items():
            users.setdefault((host, bus_id), []).append((rank, name))
    if world.rank == 0:
        for (host, bus_id), ranks in users.items():
            if len(ranks) > 1:
                who = in_words([rank for rank, _ in ranks])
                log.warning("%s share the GPU %s of %s; their kernels run in turn", who, bus_id, host)
