"""The message transport between elements with memories of their own, some driven as GPUs are."""

from __future__ import annotations

import numpy as np
import pytest

import evener as ev
from apart import ApartElement
from contracts import TransportContract, check_one_route, packed, sparse_and_dense, unpack
from evener.engine.engine import Engine
from evener.engine.exchange.transports import shared as memory
from evener.engine.exchange.transports import staged as message
from evener.engine.exchange.transports.staged import Mailbox
from evener.graph.graph import Graph
from evener.partition.place import partition
from evener.partition.route import Route, place

pytestmark = pytest.mark.usefixtures("apart_elements")


class TestFourMemories(TransportContract):
    """Every element sends to several others and receives from them, each on a thread of its own."""

    on = ("apart:0", "apart:1", "apart:2", "apart:3")


class TestSomeThatAreDrivenByTheCallingThread(TransportContract):
    """Routes of both transports meet at each element, and copies arrive late, as those of GPUs do."""

    on = ("apart:0", "late:1", "late:1", "apart:0")


@sparse_and_dense
def test_bytes_of_sparse_and_dense(verb, dtype, flagged, moved):
    check_one_route(ApartElement("a", 0), ApartElement("b", 1), verb, dtype, flagged, moved)


@pytest.fixture
def placed():
    """Vertices by thirds on two elements that share a memory and one apart, and edges between all."""
    ends = np.random.default_rng(5).integers(0, 300, (2, 3000))
    return partition(Graph.from_edges(*ends, directed=False, n=300), ["apart:0", "apart:0", "apart:1"])


def test_messages_go_only_where_memories_differ(placed, monkeypatch):
    near, far = set(), set()
    memory_pull, send_pull = memory.pull, message.send_pull
    monkeypatch.setattr(
        memory, "pull", lambda r, *a, **k: near.add((r.owner, r.holder)) or memory_pull(r, *a, **k)
    )
    monkeypatch.setattr(
        message, "send_pull", lambda r, *a, **k: far.add((r.owner, r.holder)) or send_pull(r, *a, **k)
    )
    engine = Engine(placed, "test")
    engine.superstep("pull")
    engine.pull(engine.array("float32", 1.0))
    assert near == {(0, 1), (1, 0)}
    assert far == {(0, 2), (1, 2), (2, 0), (2, 1)}


def test_packing_is_sending_and_taking_is_receiving(placed):
    engine = Engine(placed, "test")
    engine.superstep("push")
    engine.push(engine.array("float64", 1.0), "add")
    mirrors = [p.mirrors for p in engine.partitions]
    assert [span.bytes_sent for span in engine.timeline] == [8 * count for count in mirrors]
    assert all(span.send > 0 and span.receive > 0 for span in engine.timeline)
    assert all(span.compute == 0 for span in engine.timeline)


def test_what_is_posted_is_sent_by_the_step_that_computes(placed):
    """An element sends when its own kernel is done; the exchange that follows only receives."""
    engine = Engine(placed, "test")
    flags = engine.bits()
    engine.superstep("compute")
    engine.compute("bits.count_range", flags, 0, engine.owned, posts=flags)
    assert [s.activity for s in engine.timeline.slices if s.element == engine.elements[2].name] == [
        "compute",
        "send",
    ]
    sent = [span.bytes_sent for span in engine.timeline]
    engine.superstep("pull")
    engine.pull(flags)
    later = engine.timeline.spans[len(sent) :]
    assert [span.send for span in later] == [0, 0, 0]
    # The two that share a memory take from one another, and these bytes count when they are taken.
    assert [span.bytes_sent for span in later][2] == 0
    assert sent[2] == sum((len(r) + 7) // 8 for r in engine.routes if r.owner == 2) > 0


def test_what_comes_from_the_step_before_is_received_while_the_next_is_sent(placed):
    """Only the first has to be sent before anybody computes."""
    engine = Engine(placed, "test")
    flags, others = engine.bits(), engine.bits()
    for pulled, posted in ((flags, others), (others, flags)):
        engine.superstep("compute")
        engine.compute("bits.count_range", pulled, 0, engine.owned, pulled=pulled, posts=posted)
    done = [(s.superstep, s.activity) for s in engine.timeline.slices if s.element == engine.elements[2].name]
    assert done == [
        (0, "send"), (0, "receive"), (0, "compute"), (0, "send"),
        (1, "receive"), (1, "compute"), (1, "send"),
    ]  # fmt: skip


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_ranks_travel_once_an_iteration(placed, iterations):
    """4 bytes for each mirror; what the last iteration makes is not sent any more."""
    r = ev.pagerank(placed, tol=0, max_iter=iterations)
    mirrors = sum(p.mirrors for p in placed.partitions)
    assert sum(span.bytes_sent for span in r.timeline) == iterations * 4 * mirrors


def test_where_all_share_a_memory_nothing_is_sent():
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    engine = Engine(partition(graph, ["apart:4"] * 2), "test")
    engine.superstep("pull")
    engine.pull(engine.array("float32", 0.0))
    assert engine.routes
    assert all(span.send == 0 for span in engine.timeline)


def test_values_pulled_for_a_kernel_come_by_message(placed):
    """`compute` with `pulled` sends before any element takes its steps."""
    engine = Engine(placed, "test")
    engine.superstep("count")
    flags = engine.bits()
    for element, p, words in zip(engine.elements, engine.partitions, flags.parts, strict=True):
        words[:] = element.hold(packed(np.arange(len(p.vertices)) < p.owned))
    count = engine.compute("bits.count_range", flags, 0, engine.owned, pulled=flags)
    assert count == 300
    for element, p, words in zip(engine.elements, engine.partitions, flags.parts, strict=True):
        assert unpack(element.fetch(words), len(p.vertices)).all()


# ---- what travels, by hand ---------------------------------------------------------------------------


@pytest.fixture
def ends():
    """A holder of 70 mirrors from its vertex 50 on, of an owner's vertices 0, 3, 6, ...; a mailbox each."""
    holder, owner = ApartElement("holder", 0), ApartElement("owner", 1)
    holder.begin_round()
    owner.begin_round()
    route = place(Route.from_index(0, 1, 50, np.arange(0, 210, 3, dtype=np.uint32), 210), owner)
    assert route.first is None
    return route, Mailbox(holder), Mailbox(owner)


def test_bits_travel_as_bits(ends):
    route, of_holder, of_owner = ends
    flags = np.random.default_rng(1).random(210) < 0.5
    here = of_holder.element.hold(packed(np.ones(120, bool)))
    there = of_owner.element.hold(packed(flags))
    assert message.send_pull(route, of_owner, of_holder, there, here, None, as_bits=True) == 9  # 70 bits
    message.take_pull(route, of_holder, here, None, as_bits=True)
    assert (unpack(of_holder.element.fetch(here), 120) == [*[True] * 50, *flags[::3]]).all()

    there = of_owner.element.hold(packed(np.zeros(210, bool)))
    assert message.send_push(route, of_holder, of_owner, "or", here, None) == 9
    message.take_push(route, of_owner, "or", there, None)
    found = unpack(of_owner.element.fetch(there), 210)
    assert (found[::3] == flags[::3]).all()
    assert found.sum() == flags[::3].sum()
    assert unpack(of_holder.element.fetch(here), 120).tolist() == [True] * 50 + [False] * 70


@pytest.mark.parametrize(("op", "expected", "left"), [("add", 12, 0), ("min", 5, 5)])
def test_all_values_travel_where_no_flags_are_given(ends, op, expected, left):
    route, of_holder, of_owner = ends
    here = of_holder.element.hold(np.full(120, 5, np.uint32))
    there = of_owner.element.hold(np.full(210, 7, np.uint32))
    assert message.send_push(route, of_holder, of_owner, op, here, None) == 280
    message.take_push(route, of_owner, op, there, None)
    assert of_owner.element.fetch(there).tolist() == [expected, 7, 7] * 70
    assert of_holder.element.fetch(here).tolist() == [5] * 50 + [left] * 70


@pytest.mark.parametrize(("op", "left"), [("add", 0), ("min", 5), ("set", 5)])
def test_of_values_that_are_not_flagged_none_travels(ends, op, left):
    """40 of 70 are: as a list they would be 320 bytes."""
    route, of_holder, of_owner = ends
    flagged = np.arange(120) >= 80
    here = of_holder.element.hold(np.where(flagged, 5, 99).astype(np.uint32))
    flags = of_holder.element.hold(packed(flagged))
    assert message.send_push(route, of_holder, of_owner, op, here, flags) == 280 + 9
    (sent,) = of_owner.coming
    assert of_owner.element.fetch(of_owner.take().contents["values"]).tolist() == [0] * 30 + [5] * 40
    assert not sent.sparse
    assert of_holder.element.fetch(here).tolist() == [99] * 80 + [left] * 40


def test_values_in_a_row_travel_from_where_they_are(ends):
    """The owner runs no kernel for them, and keeps no copy."""
    _, of_holder, of_owner = ends
    route = place(Route.from_index(0, 1, 50, np.arange(30, 100, dtype=np.uint32), 210), of_owner.element)
    assert route.first == 30
    here = of_holder.element.hold(np.zeros(120, np.uint32))
    there = of_owner.element.hold(np.arange(210, dtype=np.uint32))
    of_owner.element.kernel = None
    assert message.send_pull(route, of_owner, of_holder, there, here, None, as_bits=False) == 280
    message.take_pull(route, of_holder, here, None, as_bits=False)
    assert of_holder.element.fetch(here).tolist() == [0] * 50 + list(range(30, 100))


def test_a_mailbox_makes_each_array_once(ends):
    _, box, _ = ends
    values = box.array("values", 70, "float32").ctypes.data
    assert box.array("values", 70, np.float32).ctypes.data == values
    assert box.array("values", 70, "float64").dtype == np.float64
    flags = box.bitmap("flags", 70)
    assert box.element.fetch(flags).tolist() == [0, 0]
    assert box.bitmap("marks", 70).ctypes.data != flags.ctypes.data


def test_what_is_sent_to_a_new_inbox_waits_for_the_kernels_before_it(ends, monkeypatch):
    """The memory may have been an array's that one of them was given, which was freed meanwhile."""
    _, box, _ = ends
    rounds = []
    monkeypatch.setattr(type(box.element), "begin_round", lambda _: rounds.append(len(rounds)))
    first = box.inbox("values", 70, np.float32)
    assert rounds == [0]
    assert box.inbox("values", 70, np.float32) is first
    box.array("values 1", 70, np.float32)
    assert rounds == [0]


def test_nothing_stays_on_its_way_when_an_error_breaks_an_exchange_off():
    """What one element posted before another failed is not taken for what comes after."""
    graph = ev.Graph.from_edges(*np.random.default_rng(2).integers(0, 200, (2, 900)), directed=False)
    engine = ev.Engine(ev.partition(graph, ["apart:0", "apart:1"]), "test")
    engine.superstep("one")
    array, places = engine.array("uint32", 7), ev.Spread([0, 1])

    def kernel(place):
        if place == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.compute(ev.Kernel(cpu=kernel), places, posts=array)
    for part in array.parts:
        part[:] = 9
    engine.pull(array)
    assert all((part == 9).all() for part in engine.fetch(array))
