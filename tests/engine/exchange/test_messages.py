"""Transports that copy between elements with separate memories, some of which are deferred like GPUs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

import evener as ev
from contracts.transports import TransportContract
from evener.engine.array import PartitionedArray
from evener.engine.engine import Engine
from evener.engine.exchange.forms import (
    PulledBits,
    PulledValues,
    PushedBits,
    PushedChanges,
    PushedValues,
)
from evener.engine.exchange.link import Buffers, Link
from evener.engine.exchange.transport import connect
from evener.graph.graph import Graph
from evener.partition.build import partition
from evener.partition.route import Route, upload_route
from support.bitmaps import pack, unpack
from support.fake_elements import ApartElement
from support.one_route import check_one_route, sparse_and_dense

pytestmark = pytest.mark.usefixtures("apart_elements")


class TestFourMemories(TransportContract):
    """Every element runs on its own thread, and exchanges with several others."""

    on = ("apart:0", "apart:1", "apart:2", "apart:3")


class TestSomeDeferredElements(TransportContract):
    """Each element has routes of both transports, and copies arrive late, as copies of GPUs do."""

    on = ("apart:0", "late:1", "late:1", "apart:0")


class TestPeersThatCopy(TransportContract):
    """Changed values are packed, and packets are copied from memory to memory."""

    on = ("peer:0", "peer:1", "peer:2")


class TestPeersThatReadInPlace(TransportContract):
    """Changed values are read in place; complete values of a route are copied."""

    on = ("reads:0", "reads:1", "reads:2")


@sparse_and_dense
def test_bytes_of_sparse_and_dense(verb, dtype, flagged, moved):
    check_one_route(ApartElement("a", 0), ApartElement("b", 1), verb, dtype, flagged, moved)


@pytest.fixture
def placed():
    """A graph on three elements, two of which share a memory, with edges between all of them."""
    ends = np.random.default_rng(5).integers(0, 300, (2, 3000))
    return partition(Graph.from_edges(*ends, directed=False, n=300), ["apart:0", "apart:0", "apart:1"])


def test_only_elements_with_separate_memories_copy(placed):
    engine = Engine(placed, "test")
    links = engine._exchange._links["pull"]
    in_place = {(link.from_partition, link.to_partition) for link in links if link.in_place}
    assert in_place == {(0, 1), (1, 0)}
    copied = {(link.from_partition, link.to_partition) for link in links if not link.in_place}
    assert copied == {(0, 2), (1, 2), (2, 0), (2, 1)}


def test_packing_counts_as_sending_and_unpacking_as_receiving(placed):
    engine = Engine(placed, "test")
    engine.superstep("push")
    engine.push(engine.array("float64", 1.0), "add")
    mirrors = [p.mirrors for p in engine.partitions]
    assert [span.bytes_sent for span in engine.timeline] == [8 * count for count in mirrors]
    assert all(span.send > 0 and span.receive > 0 for span in engine.timeline)
    assert all(span.compute == 0 for span in engine.timeline)


def test_published_values_are_sent_after_the_kernel(placed):
    """An element sends when its kernel is complete; the later exchange only receives."""
    engine = Engine(placed, "test")
    flags = engine.bits()
    engine.superstep("compute")
    engine.compute("bits.count_range", flags, 0, engine.owned, publish=flags)
    assert [s.activity for s in engine.timeline.slices if s.element == engine.elements[2].name] == [
        "compute",
        "send",
    ]
    sent = [span.bytes_sent for span in engine.timeline]
    engine.superstep("pull")
    engine.pull(flags)
    later = engine.timeline.spans[len(sent) :]
    assert [span.send for span in later] == [0, 0, 0]
    # Elements 0 and 1 share a memory, and their bytes are counted when they are read.
    assert [span.bytes_sent for span in later][2] == 0
    assert sent[2] == sum((len(r) + 7) // 8 for r in engine.routes if r.owner == 2) > 0


def test_values_of_the_previous_step_are_received_in_the_next(placed):
    """Only the first array is sent before any element computes."""
    engine = Engine(placed, "test")
    flags, others = engine.bits(), engine.bits()
    for pulled, posted in ((flags, others), (others, flags)):
        engine.superstep("compute")
        engine.compute("bits.count_range", pulled, 0, engine.owned, pull_before=pulled, publish=posted)
    done = [(s.superstep, s.activity) for s in engine.timeline.slices if s.element == engine.elements[2].name]
    assert done == [
        (0, "send"), (0, "receive"), (0, "compute"), (0, "send"),
        (1, "receive"), (1, "compute"), (1, "send"),
    ]  # fmt: skip


@pytest.mark.parametrize("iterations", [0, 1, 3])
def test_ranks_are_sent_once_per_iteration(placed, iterations):
    """Each iteration sends 4 bytes for each mirror, and the ranks of the last iteration are not sent."""
    r = ev.pagerank(placed, tol=0, max_iter=iterations)
    mirrors = sum(p.mirrors for p in placed.partitions)
    assert sum(span.bytes_sent for span in r.timeline) == iterations * 4 * mirrors


def test_elements_of_one_memory_send_nothing():
    graph = Graph.from_edges([0, 1, 2, 3], [1, 2, 3, 0])
    engine = Engine(partition(graph, ["apart:4"] * 2), "test")
    engine.superstep("pull")
    engine.pull(engine.array("float32", 0.0))
    assert engine.routes
    assert all(span.send == 0 for span in engine.timeline)


def test_values_pulled_for_a_kernel_are_received_before_it(placed):
    """`compute` with `pull_before` sends before any element runs its kernel."""
    engine = Engine(placed, "test")
    engine.superstep("count")
    flags = engine.bits()
    for element, p, words in zip(engine.elements, engine.partitions, flags.parts, strict=True):
        words[:] = element.upload(pack(np.arange(len(p.vertices)) < p.owned))
    count = engine.compute("bits.count_range", flags, 0, engine.owned, pull_before=flags)
    assert count == 300
    for element, p, words in zip(engine.elements, engine.partitions, flags.parts, strict=True):
        assert unpack(element.download(words), len(p.vertices)).all()


def test_a_kernel_before_the_pull_runs_on_all_elements_first(placed):
    engine = Engine(placed, "test")
    engine.superstep("test")
    array, seen = engine.array("float32", 1.0), []
    engine.write(array, [np.full(p.owned, 2.0, np.float32) for p in engine.partitions])
    before = ev.Kernel(cpu=lambda values, owned: seen.append(("before", float(values[:owned].mean()))))
    kernel = ev.Kernel(cpu=lambda values, _: seen.append(("kernel", float(values.mean()))))
    engine.compute(kernel, array, engine.owned, pull_before=array, before_pull=before)
    assert seen == [("before", 2.0)] * 3 + [("kernel", 2.0)] * 3


def test_a_kernel_changes_values_only_after_their_copy():
    """All vertices of a partition are mirrored, so a packet is a view of its values."""
    tails, heads = np.nonzero(~np.eye(8, dtype=bool))
    engine = Engine(partition(Graph.from_edges(tails, heads), ["peer:0", "peer:1"]), "test")
    array, owned = engine.array("float64", 0), engine.owned
    assert all(route.first is not None for route in engine.routes)
    fill = ev.Kernel(cpu=lambda values, count, value: values[:count].fill(value))
    engine.superstep("test")
    for value in (1.0, 2.0):
        engine.compute(fill, array, owned, value)
        engine.pull(array)
        engine.compute(fill, array, owned, -1.0)
        for part, count in zip(engine.download(array), owned, strict=True):
            assert set(part[count:].tolist()) == {value}


# ---- packets, by hand --------------------------------------------------------------------------------


@pytest.fixture
def ends():
    """The push and the pull between mirrors, vertices 50 to 119, and their owner's vertices 0, 3, 6, ..."""
    holder, owner = ApartElement("holder", 0), ApartElement("owner", 1)
    holder.begin_round()
    owner.begin_round()
    route = upload_route(Route.from_index(0, 1, 50, np.arange(0, 210, 3, dtype=np.uint32), 210), owner)
    assert route.first is None
    return links(route, holder, owner)


def check_only_the_second_is_pulled(engine, first, second):
    """Clear the mirrors of two arrays, pull the second, and check the mirrors of both."""
    for array in (first, second):
        for part, own in zip(array, engine.owned, strict=True):
            part[own:] = 0
    engine.pull(second)
    for array, value in ((first, 0), (second, 2)):
        for part, own in zip(engine.download(array), engine.owned, strict=True):
            assert (part[own:] == value).all()
    engine.finish()


@pytest.mark.parametrize("publish", [False, True])
def test_an_exchange_without_memory_for_its_targets_expects_nothing(placed, monkeypatch, publish):
    """The packets of the next exchange do not arrive in the arrays of the one that failed."""
    engine = Engine(placed, "test")
    first, second = engine.array("float32", 1), engine.array("float32", 2)
    count = itertools.count()
    targets = PulledValues.targets

    def exchange():
        if publish:
            engine.compute("bits.count_range", engine.bits(), 0, engine.owned, publish=first)
        else:
            engine.pull(first)

    def fail(form, link):
        if next(count) == 2:
            raise MemoryError
        return targets(form, link)

    with monkeypatch.context() as patch:
        patch.setattr(PulledValues, "targets", fail)
        with pytest.raises(MemoryError):
            exchange()
    check_only_the_second_is_pulled(engine, first, second)


def test_a_pull_before_a_publication_without_memory_sends_nothing_later(placed, monkeypatch):
    """The mirrors of an array that was to be pulled are not the targets of another array's packets."""
    engine = Engine(placed, "test")
    first, second, third = (engine.array("float32", value) for value in (1, 2, 3))
    targets = PulledValues.targets

    def fail(form, link):
        if form._published:
            raise MemoryError
        return targets(form, link)

    with monkeypatch.context() as patch:
        patch.setattr(PulledValues, "targets", fail)
        with pytest.raises(MemoryError):
            engine.compute(
                "bits.count_range", engine.bits(), 0, engine.owned, pull_before=first, publish=third
            )
    check_only_the_second_is_pulled(engine, first, second)


def links(route, holder, owner):
    """Return the push and the pull of a route."""
    of_mirrors, of_owner = Buffers(holder), Buffers(owner)
    up = Link(route, 0, 1, of_mirrors, of_owner, *connect(holder, owner, complete=False))
    return up, Link(route, 1, 0, of_owner, of_mirrors, *connect(owner, holder, complete=False))


def carry(link, form, *, unpacked=True):
    """Carry one packet, and return it as received."""
    link.receive_end.expect(form.targets(link))
    link.send_end.send(form.pack(link))
    packet = link.receive_end.receive()
    if unpacked:
        form.unpack(link, packet)
    return packet


def push(link, op, here, there, flags=None, owner_flags=None):
    """Push on one link, and return the received packet."""
    array = PartitionedArray([here, there])
    if op == "or":
        return carry(link, PushedBits(array))
    if flags is None:
        return carry(link, PushedValues(array, op))
    changed = PartitionedArray([flags, owner_flags], bits=True)
    return carry(link, PushedChanges(array, op, changed), unpacked=owner_flags is not None)


def pull(link, there, here, *, as_bits):
    """Pull on one link without flags, and return the received packet."""
    array = PartitionedArray([here, there])
    return carry(link, PulledBits(array) if as_bits else PulledValues(array, turn=0, published=False))


def test_bitmaps_are_sent_as_bits(ends):
    pushes, pulls = ends
    holder, owner = pushes.outbox.element, pushes.inbox.element
    flags = np.random.default_rng(1).random(210) < 0.5
    here = holder.upload(pack(np.ones(120, bool)))
    there = owner.upload(pack(flags))
    assert pull(pulls, there, here, as_bits=True).nbytes == 9  # 70 bits
    assert (unpack(holder.download(here), 120) == [*[True] * 50, *flags[::3]]).all()

    there = owner.upload(pack(np.zeros(210, bool)))
    assert push(pushes, "or", here, there).nbytes == 9
    found = unpack(owner.download(there), 210)
    assert (found[::3] == flags[::3]).all()
    assert found.sum() == flags[::3].sum()
    assert unpack(holder.download(here), 120).tolist() == [True] * 50 + [False] * 70


@pytest.mark.parametrize(("op", "expected", "left"), [("add", 12, 0), ("min", 5, 5)])
def test_all_values_are_sent_without_flags(ends, op, expected, left):
    link, _ = ends
    here = link.outbox.element.upload(np.full(120, 5, np.uint32))
    there = link.inbox.element.upload(np.full(210, 7, np.uint32))
    assert push(link, op, here, there).nbytes == 280
    assert link.inbox.element.download(there).tolist() == [expected, 7, 7] * 70
    assert link.outbox.element.download(here).tolist() == [5] * 50 + [left] * 70


@pytest.mark.parametrize(("op", "left"), [("add", 0), ("min", 5), ("set", 5)])
def test_values_without_a_flag_are_not_sent(ends, op, left):
    """40 of 70 values are flagged. A sparse packet would have 320 bytes, so the packet is dense."""
    link, _ = ends
    flagged = np.arange(120) >= 80
    here = link.outbox.element.upload(np.where(flagged, 5, 99).astype(np.uint32))
    flags = link.outbox.element.upload(pack(flagged))
    there = link.inbox.element.upload(np.full(210, 7, np.uint32))
    packet = push(link, op, here, there, flags)
    assert (packet.sparse, packet.nbytes) == (False, 280 + 9)
    assert link.inbox.element.download(packet.arrays["values"]).tolist() == [0] * 30 + [5] * 40
    assert link.outbox.element.download(here).tolist() == [99] * 80 + [left] * 40


def test_few_changes_are_sent_as_a_sparse_packet(ends):
    """3 of 70 values changed: the packet has 3 positions and 3 values of 4 bytes each."""
    link, _ = ends
    flagged = np.isin(np.arange(120), [50, 60, 119])
    here = link.outbox.element.upload(np.arange(120, dtype=np.uint32))
    there = link.inbox.element.upload(np.full(210, 1000, np.uint32))
    flags = link.outbox.element.upload(pack(flagged))
    owner_flags = link.inbox.element.upload(pack(np.zeros(210, bool)))
    packet = push(link, "min", here, there, flags, owner_flags)
    assert (packet.sparse, len(packet.arrays["values"]), packet.nbytes) == (True, 3, 24)
    assert sorted(link.inbox.element.download(packet.arrays["positions"]).tolist()) == [0, 10, 69]
    found = link.inbox.element.download(there)
    assert {v: int(found[v]) for v in np.flatnonzero(found < 1000)} == {0: 50, 30: 60, 207: 119}


def test_contiguous_values_are_sent_in_place(ends):
    """The owner runs no kernel and keeps no copy; the values arrive in the mirrors."""
    holder, owner = ends[0].outbox.element, ends[0].inbox.element
    route = upload_route(Route.from_index(0, 1, 50, np.arange(30, 100, dtype=np.uint32), 210), owner)
    assert route.first == 30
    here = holder.upload(np.zeros(120, np.uint32))
    there = owner.upload(np.arange(210, dtype=np.uint32))
    owner.kernel = holder.kernel = None
    assert pull(links(route, holder, owner)[1], there, here, as_bits=False).nbytes == 280
    assert holder.download(here).tolist() == [0] * 50 + list(range(30, 100))


def test_buffers_allocate_each_array_once():
    buffers = Buffers(ApartElement("one", 0))
    values = buffers.array("values", 70, "float32").ctypes.data
    assert buffers.array("values", 70, np.float32).ctypes.data == values
    assert buffers.array("values", 70, "float64").dtype == np.float64
    flags = buffers.bitmap("flags", 70)
    assert buffers.element.download(flags).tolist() == [0, 0]
    assert buffers.bitmap("marks", 70).ctypes.data != flags.ctypes.data


def test_buffers_are_allocated_before_the_round_of_their_packets(placed, monkeypatch):
    """On a GPU, a kernel of an earlier round may still use the memory of a new allocation."""
    done = []
    begin, allocate = ApartElement.begin_round, ApartElement.allocate
    monkeypatch.setattr(ApartElement, "begin_round", lambda own: done.append("round") or begin(own))
    monkeypatch.setattr(
        ApartElement, "allocate", lambda own, *a, **k: done.append("allocate") or allocate(own, *a, **k)
    )
    copy = ApartElement.copy_in
    monkeypatch.setattr(ApartElement, "copy_in", lambda own, *a: done.append("copy") or copy(own, *a))
    engine = Engine(placed, "test")
    engine.superstep("pull")
    flags, array = engine.bits(), engine.array("float64", 0)
    del done[:]
    engine.pull(array, changed=flags)
    engine.pull(flags)
    assert done[:1] == ["allocate"]
    assert "copy" in done
    assert done.index("round") < done.index("copy")


def test_an_error_leaves_no_message_in_transit():
    """A later exchange does not receive a message that was posted before the error."""
    graph = ev.Graph.from_edges(*np.random.default_rng(2).integers(0, 200, (2, 900)), directed=False)
    engine = ev.Engine(ev.partition(graph, ["apart:0", "apart:1"]), "test")
    engine.superstep("one")
    array, places = engine.array("uint32", 7), ev.PartitionedArray([0, 1])

    def kernel(place):
        if place == 1:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        engine.compute(ev.Kernel(cpu=kernel), places, publish=array)
    for part in array.parts:
        part[:] = 9
    engine.pull(array)
    assert all((part == 9).all() for part in engine.download(array))
