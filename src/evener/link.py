"""How fast values travel between two elements: T12's c, measured by exchanging values of a ring."""

from __future__ import annotations

import statistics
from time import perf_counter
from typing import TYPE_CHECKING

import numpy as np

from evener.engine.engine import Engine
from evener.engine.exchange.encoding import Encoding, Packet
from evener.engine.exchange.transport import connect
from evener.partition.place import partition

if TYPE_CHECKING:
    from evener.elements import Element
    from evener.graph.graph import Graph

__all__ = ["copy_speed", "exchange_speeds"]

# Vertices of the ring whose exchange is timed, and values that are copied as they lie; how often, after how
# many times that do not count.
_VALUES, _COPIED = 1 << 22, 1 << 24
_EXCHANGES, _UNCOUNTED = 24, 8


def exchange_speeds(on: str) -> tuple[dict[str, float], float]:
    """Bytes a second from CPU and from GPU when many values travel, and the seconds when next to none do."""
    taken: dict[int, dict[str, list[float]]] = {}
    whole: list[float] = []
    for count in (_VALUES, 64):
        graph = _pairs(count)
        engine = Engine(partition(graph, on, policy="random", alpha=0.5), "exchange")
        array = engine.array("float32", 0)
        taken[count] = {element.kind: [] for element in engine.elements}
        whole.clear()
        for _ in range(_UNCOUNTED + _EXCHANGES):
            engine.superstep("exchange")
            engine.pull(array)
            both = engine.timeline.spans[-2:]
            for sender, receiver, element in zip(both, both[::-1], engine.elements, strict=True):
                taken[count][element.kind].append(sender.send + receiver.receive)
            whole.append(max(span.seconds for span in both))
        if count == _VALUES:
            moved = [4 * own.mirrors for own in engine.partitions[::-1]]
    speeds = {}
    for kind, nbytes in zip(taken[64], moved, strict=True):
        many, few = (statistics.median(taken[count][kind][_UNCOUNTED:]) for count in (_VALUES, 64))
        speeds[kind] = nbytes / max(many - few, many / 2)  # whatever others on the machine did meanwhile
    return speeds, statistics.median(whole[_UNCOUNTED:])


def copy_speed(sender: Element, receiver: Element) -> float:
    """Bytes a second of an array on its way between two elements."""
    source, target = (element.allocate(_COPIED, "float32", 0, travels=True) for element in (sender, receiver))
    sending, receiving = connect(sender, receiver)
    taken = []
    for _ in range(_UNCOUNTED + _EXCHANGES):
        receiver.begin_round()
        receiver.wait()
        begin = perf_counter()
        receiving.expect({"values": target})
        sending.send(Packet(Encoding.DENSE, _COPIED, target.nbytes, {"values": source}))
        receiving.receive()
        receiver.wait()
        taken.append(perf_counter() - begin)
    return 4 * _COPIED / statistics.median(taken[_UNCOUNTED:])


def _pairs(count: int) -> Graph:
    """A ring: with vertices dealt out at random, half of their neighbours lie elsewhere."""
    from evener.graph.graph import Graph

    ends = np.arange(count)
    return Graph.from_edges(ends, np.roll(ends, 1), directed=False, n=count)
