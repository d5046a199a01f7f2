"""What a partition takes up on a GPU, added up by hand, and which of its edges are left to the host."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

import evener as ev
from evener.errors import DeviceOutOfMemory
from evener.partition.footprint import beside_edges, mapped_share


def element(room):
    return SimpleNamespace(name="cuda:0", room=lambda: room)


@pytest.mark.parametrize(
    ("owned", "mirrors", "elsewhere", "edges", "directions", "expected"),
    [
        # Names, degrees and offsets; PageRank's state, 32 bytes a vertex.
        (640, 0, 0, 0, 1, 4 * 640 + 4 * 640 + 8 * 641 + 32 * 640),
        # Offsets twice; two places of 8 bytes for each 512 edges.
        (640, 0, 0, 5120, 2, 4 * 640 + 4 * 640 + 2 * 8 * 641 + 32 * 640 + 160),
        # Names of mirrors; components' state, 12 and 20 bytes; 21 bytes a mirror of messages.
        (64, 1000, 0, 0, 1, 4 * 1064 + 4 * 64 + 8 * 65 + 12 * 64 + 20 * 1000 + 21 * 1000),
        # Of mirrors elsewhere messages too, the index of each, and a bitmap with counts for 64 vertices.
        (640, 0, 50, 0, 1, 4 * 640 + 4 * 640 + 8 * 641 + 32 * 640 + (21 + 8) * 50 + 4 * 50 + 12 * 10),
    ],
)
def test_what_lies_beside_edges(owned, mirrors, elsewhere, edges, directions, expected):
    assert beside_edges(owned, mirrors, elsewhere, edges, directions=directions) == expected


@pytest.mark.parametrize(
    ("directed", "weights", "edge_bytes"), [(False, None, 4), (True, None, 4), (True, np.float64, 12)]
)
def test_edges_without_room_are_the_hosts(directed, weights, edge_bytes):
    """Where there is room for a quarter of the bytes, three quarters; never fewer than none."""
    ends = np.random.default_rng(2).integers(0, 50, (2, 400))
    values = None if weights is None else np.ones(400, weights)
    graph = ev.Graph.from_edges(*ends, values, directed=directed, n=50)
    own = ev.partition(graph, ["cpu:1", "cpu:1"]).partitions[0]
    directions = 1 + directed
    least = beside_edges(own.owned, own.mirrors, 17, own.stored_edges, directions=directions)
    nbytes = own.stored_edges * edge_bytes
    for part in (0, 0.25, 1, 2):
        room = least + int(part * nbytes)
        expected = max(0, 1 - int(part * nbytes) / nbytes)
        assert mapped_share(own, 17, element(room)) == pytest.approx(expected)
    assert mapped_share(own, 17, element(None)) == 0
    with pytest.raises(DeviceOutOfMemory, match="cuda:0 has room for ") as caught:
        mapped_share(own, 17, element(least - 1))
    assert (caught.value.needed, caught.value.available) == (least, least - 1)


def test_of_no_edges_none_is_the_hosts():
    (own,) = ev.partition(ev.Graph.from_edges([], [], n=3), "cpu:1").partitions
    least = beside_edges(3, 0, 0, 0, directions=len(own.directions))
    assert mapped_share(own, 0, element(least)) == 0
