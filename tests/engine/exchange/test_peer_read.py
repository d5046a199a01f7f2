"""Elements that read each other's memory in place, compared with the reference on all algorithms."""

from __future__ import annotations

import pytest

import evener as ev
from evener.engine.exchange.transport import connect
from support.expected_results import Truth
from support.fake_elements import PeerElement, ReadingElement

pytestmark = pytest.mark.usefixtures("apart_elements")


def test_changes_are_read_in_place_and_all_values_are_copied():
    one, other = ReadingElement("a", 0), ReadingElement("b", 1)
    assert connect(one, other, complete=False)[0].in_place
    assert not connect(one, other, complete=True)[0].in_place


def test_peers_that_cannot_read_each_other_copy():
    one, other = PeerElement("a", 0), PeerElement("b", 1)
    assert not connect(one, other, complete=False)[0].in_place


@pytest.mark.parametrize("on", [["reads:0", "reads:1"], ["reads:0", "reads:1", "reads:2"]], ids=len)
@pytest.mark.parametrize("policy", ["random", "high"])
def test_five_algorithms(on, policy):
    Truth(ev.read("rmat:7,weights=1..9"), 3).check(on=on, policy=policy)
    Truth(ev.read("rmat:7,directed,weights=1..9"), 3).check(on=on, policy=policy)
