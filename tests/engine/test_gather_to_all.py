"""`Workspace.gather_to_all` on elements of one memory, of several memories, and on several ranks."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.engine.engine import Engine
from evener.testing.ranks import run_ranks
from own_graphs import place_for

# One memory, several memories, peers of which two share a memory, and peers with another element.
SPLITS = [
    ["cpu:1"],
    ["cpu:1"] * 3,
    ["apart:0", "apart:1"],
    ["apart:0", "late:1", "late:1"],
    ["peer:0"],
    ["peer:0", "peer:1", "peer:1"],
    ["apart:0", "peer:1", "peer:2"],
]


pytestmark = pytest.mark.usefixtures("apart_elements")


def place(on):
    """A ring on elements."""
    ring = np.arange(30)
    return ev.partition(ev.Graph.from_edges(ring, np.roll(ring, 1), directed=False), on)


@pytest.mark.parametrize("on", SPLITS, ids=",".join)
@pytest.mark.parametrize("columns", [1, 2])
def test_each_element_has_the_first_rows_of_all_parts(on, columns):
    """Partition p has the rows 10 p, 10 p + 1, and so on, of which p + 1 or none are gathered."""
    engine = Engine(place(on), "test")
    rows = [np.repeat(10 * p + np.arange(5, dtype=np.uint32), columns) for p in range(len(on))]
    array = engine.upload([own.reshape(5, columns) if columns > 1 else own for own in rows])
    for lengths in ([p + 1 for p in range(len(on))], [0] * len(on), [*[0] * (len(on) - 1), 5]):
        expected = [10 * p + row for p, length in enumerate(lengths) for row in range(length)]
        for part in engine.download(engine.gather_to_all(array, lengths)):
            assert part.dtype == np.uint32
            assert part.shape == ((len(expected), columns) if columns > 1 else (len(expected),))
            assert part.reshape(-1, columns)[:, 0].tolist() == expected
            assert part.reshape(-1, columns)[:, -1].tolist() == expected


@pytest.mark.parametrize("on", [["cpu:1"], ["cpu:1"] * 2, ["peer:0", "peer:1"]], ids=",".join)
def test_ranks_gather_the_parts_of_all_ranks(on):
    """Rank r has the values 100 r, 100 r + 1, and so on, of which it gathers r + 1 from each partition."""

    def run(world):
        engine = Engine(place_for(world, lambda: place(on)), "test")
        array = engine.upload([100 * world.rank + np.arange(9)] * len(on))
        found = engine.gather_to_all(array, [world.rank + 1] * len(on))
        return [part.tolist() for part in engine.download(found)]

    for parts in run_ranks(3, run):
        expected = [0] * len(on) + [100, 101] * len(on) + [200, 201, 202] * len(on)
        assert parts == [expected] * len(on)


def test_one_length_for_each_partition():
    engine = Engine(place(["cpu:1"] * 2), "test")
    with pytest.raises(ev.ArgumentError, match="one part for each of 2 partitions, found 1"):
        engine.gather_to_all(engine.array("uint32"), [1])
