"""Network: how the elements of a rank reach the elements of other ranks.

GPUs reach GPUs by the first transport, in the order of preference, that a probe has found to work. All other
elements exchange MPI messages between hosts. The environment variable `EVENER_RANK_TRANSPORT` names one
transport for all pairs of GPUs.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, cast
from weakref import WeakKeyDictionary

from evener.engine.exchange.remote import DeviceReceiver, DeviceSender, Place, gpu_pairs
from evener.engine.exchange.transport import find_transports
from evener.engine.exchange.transports.mpi import HostReceiver, HostSender
from evener.errors import ArgumentError, DeviceError, MpiError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from evener.elements.protocols import Element, GpuElement
    from evener.engine.exchange.remote import Carrier, FarEnd, RankTransport
    from evener.engine.exchange.transport import Receiver, Sender
    from evener.system.world import World

__all__ = ["HOST", "VARIABLE", "Network", "connect_ranks"]

VARIABLE = "EVENER_RANK_TRANSPORT"
# The name of MPI messages between hosts.
HOST = "mpi"


class Network:
    """The transports between the elements of all ranks. The constructor is a collective operation.

    `places` are those of the elements of all ranks, and `elements` those of this rank. `forced` is the only
    transport between GPUs; "" if the network chooses.
    """

    def __init__(
        self, world: World, places: Sequence[Place], elements: Sequence[Element], forced: str = ""
    ) -> None:
        self.world = world
        own = [number for number, place in enumerate(places) if place.rank == world.rank]
        gpus = {
            number: cast("GpuElement", element)
            for number, element in zip(own, elements, strict=True)
            if places[number].bus_id
        }
        pairs = gpu_pairs(places)
        self._chosen: dict[tuple[int, int], RankTransport] = {}
        for kind in _kinds(forced):
            if missing := pairs - self._chosen.keys():
                transport = kind(world, places)
                found = set().union(*world.allgather(transport.probe(gpus)))
                self._chosen |= dict.fromkeys(missing & found, transport)
        missing = pairs - self._chosen.keys()
        if missing and forced not in ("", HOST):
            a, b = min(missing)
            msg = (
                f"{VARIABLE}={forced}: the GPUs of rank {places[a].rank} and rank {places[b].rank} cannot "
                "exchange by this transport; unset the variable"
            )
            raise DeviceError(msg)
        # Whether each rank has one element, and these are different GPUs that open each other's memory.
        self.shares_memory = (
            len(pairs) == world.size * (world.size - 1)
            and len({(place.host, place.bus_id) for place in places}) == len(places) == world.size
            and {transport.name for transport in self._chosen.values()} == {"ipc"}
        )
        used = {transport.name: transport for transport in self._chosen.values()}
        for _, transport in sorted(used.items()):
            transport.start(gpus)

    def name(self, sender: int, receiver: int) -> str:
        """Return the name of the transport between two elements of different ranks."""
        chosen = self._chosen.get((sender, receiver))
        return HOST if chosen is None else chosen.name

    def sender(self, far: FarEnd, element: Element, carriers: dict[str, Carrier]) -> Sender:
        """Return the sending end of a link to another rank.

        `carriers` has the carriers of links that exchange together, by transport; a missing one is added.
        """
        carrier = self._carrier(far.here, far.there, carriers)
        if carrier is None:
            return HostSender(far, element)
        return DeviceSender(far, cast("GpuElement", element), carrier)

    def receiver(self, far: FarEnd, element: Element, carriers: dict[str, Carrier]) -> Receiver:
        """Return the receiving end of a link from another rank; the parameters are those of `sender`."""
        carrier = self._carrier(far.there, far.here, carriers)
        if carrier is None:
            return HostReceiver(far, element)
        return DeviceReceiver(far, cast("GpuElement", element), carrier)

    def _carrier(self, sender: int, receiver: int, carriers: dict[str, Carrier]) -> Carrier | None:
        transport = self._chosen.get((sender, receiver))
        if transport is None:
            return None
        if transport.name not in carriers:
            carriers[transport.name] = transport.carrier()
        return carriers[transport.name]


# The networks of a world, by the places of its elements and the forced transport. Runs share their windows
# and communicators.
_networks: WeakKeyDictionary[World, dict[Any, Network]] = WeakKeyDictionary()


def connect_ranks(world: World, elements: Sequence[Element]) -> Network | None:
    """Return the network between the elements of all ranks; None if there is one rank.

    This is a collective operation; all ranks must call it.

    Raises
    ------
    ArgumentError
        If `EVENER_RANK_TRANSPORT` names no transport.
    DeviceError
        If the transport that it names does not join all GPUs of different ranks.
    MpiError
        If ranks have different values of the variable.
    """
    if world.size == 1:
        return None
    forced = os.environ.get(VARIABLE, "")
    own = [getattr(element, "bus_id", "") for element in elements]
    of_ranks = world.allgather((world.host, own, forced))
    for rank, (_, _, other) in enumerate(of_ranks):
        if other != of_ranks[0][2]:
            msg = (
                f"expected the same {VARIABLE} on all ranks, found {of_ranks[0][2]!r} on rank 0 and "
                f"{other!r} on rank {rank}; pass the variable to all ranks"
            )
            raise MpiError(msg)
    places = [Place(rank, host, bus_id) for rank, (host, found, _) in enumerate(of_ranks) for bus_id in found]
    known = _networks.setdefault(world, {})
    key = tuple(places), forced
    if key not in known:
        known[key] = Network(world, places, elements, forced)
    return known[key]


def _kinds(forced: str) -> list[type[RankTransport]]:
    """Return the transports to try, in the order of preference."""
    kinds = {kind.name: kind for kind in find_transports("RANK_TRANSPORTS")}
    if forced not in ("", *kinds, HOST):
        msg = f"{VARIABLE}: expected {', '.join(kinds)} or {HOST}, found {forced!r}; unset the variable"
        raise ArgumentError(msg)
    return [kind for name, kind in kinds.items() if forced in ("", name)]
