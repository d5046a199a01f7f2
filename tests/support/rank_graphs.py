"""A separate graph on each rank, for collective operations without routes between ranks."""

from __future__ import annotations

from contextvars import copy_context

from evener.system.world import SingleProcess, enter_world


def place_for(world, place):
    """Call `place`, which partitions a graph as in a single process, and move the result to `world`."""

    def place_alone():
        enter_world(SingleProcess())
        return place()

    placed = copy_context().run(place_alone)
    placed.world, placed.ranks = world, [world.rank] * len(placed.partitions)
    return placed
