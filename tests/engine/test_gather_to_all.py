"""`Workspace.gather_to_all` on elements of one memory, of several memories, and on several ranks."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from evener.engine.engine import Engine
from evener.testing.ranks import run_ranks
from support.rank_graphs import place_for

# One memory, several memories, peers of which two share a memory, and peers with an element apart.
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
    """Partition a ring of 30 vertices."""
    ring = np.arange(30)
    return ev.partition(ev.Graph.from_edges(ring, np.roll(ring, 1), directed=False), on)


@pytest.mark.parametrize("on", SPLITS, ids=",".join)
@pytest.mark.parametrize("columns", [1, 2])
def test_each_element_gets_the_first_rows_of_all_parts(on, columns):
    """Partition p has rows from 10 p on, and gathers p + 1, none or all of them."""
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
    """Rank r has values from 100 r on, and gathers r + 1 of them from each partition."""

    def run(world):
        engine = Engine(place_for(world, lambda: place(on)), "test")
        array = engine.upload([100 * world.rank + np.arange(9)] * len(on))
        found = engine.gather_to_all(array, [world.rank + 1] * len(on))
        return [part.tolist() for part in engine.download(found)]

    for parts in run_ranks(3, run):
        expected = [0] * len(on) + [100, 101] * len(on) + [200, 201, 202] * len(on)
        assert parts == [expected] * len(on)


def test_a_wrong_number_of_lengths_is_refused():
    engine = Engine(place(["cpu:1"] * 2), "test")
    with pytest.raises(ev.ArgumentError, match="one part for each of 2 partitions, found 1"):
        engine.gather_to_all(engine.array("uint32"), [1])


@pytest.mark.parametrize("on", [["peer:0", "peer:1"], ["reads:0", "reads:1"]], ids=",".join)
def test_later_kernels_do_not_change_what_is_gathered(on):
    """Copies happen as late as possible, and the elements then change their parts."""
    engine = Engine(place(on), "test")
    array = engine.upload([np.full(9, 1 + p, np.uint32) for p in range(len(on))])
    found = engine.gather_to_all(array, [9] * len(on))
    engine.compute(ev.Kernel(cpu=lambda part: part.fill(0)), array)
    for part in engine.download(found):
        assert part.tolist() == [1] * 9 + [2] * 9
