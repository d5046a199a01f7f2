"""The engine: votes, state, the timeline, progress, errors, and concurrent elements."""

from __future__ import annotations

import re
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import numpy as np
import pytest

import evener as ev
from evener.elements import CpuElement, usable_cores
from evener.elements.cuda.source import declaration
from evener.engine import executor
from evener.engine.engine import MIN_PARALLEL_WORK, Engine, PartitionedArray
from evener.engine.exchange.forms import PulledValues
from evener.engine.timeline import Progress
from evener.kernels.compile_clock import compiling
from evener.kernels.vertex import NO_VERTEX


@pytest.fixture(scope="module")
def graph():
    ends = np.random.default_rng(0).integers(0, 200, (2, 900))
    return ev.Graph.from_edges(*ends, directed=False, n=200)


class Kernels:
    """Python functions in place of kernels. `places` passes each function the number of its element."""

    def __init__(self, engine):
        self.engine = engine
        self.places = PartitionedArray(range(len(engine.elements)))

    def compute(self, function, *args, **options):
        for element in self.engine.elements:
            element._kernels["test.kernel"] = function
        return self.engine.compute("test.kernel", *args, **options)


@pytest.fixture(params=[1, 2, 4], ids="elements={}".format)
def engine(graph, request):
    made = Engine(ev.partition(graph, ["cpu:1"] * request.param), "test")
    made.superstep("first")
    return made


@pytest.fixture
def kernels(engine):
    return Kernels(engine)


def rows(engine):
    return [(span.superstep, span.phase, span.element) for span in engine.timeline]


# ---- votes ------------------------------------------------------------------------------------------


def test_votes_are_summed(engine, kernels):
    count = len(engine.elements)
    assert kernels.compute(lambda p: p + 10, kernels.places) == 10 * count + sum(range(count))
    assert kernels.compute(lambda p: (1, p, 0.5), kernels.places) == (count, sum(range(count)), count / 2)
    assert kernels.compute(lambda: None) is None


@pytest.mark.parametrize("reduce", [list, tuple, sorted, len, sum, min, max])
def test_votes_are_reduced_on_any_number_of_elements(engine, kernels, reduce):
    votes = range(10, 10 + len(engine.elements))
    assert kernels.compute(lambda p: p + 10, kernels.places, reduce=reduce) == reduce(votes)


def test_each_element_gets_its_part_of_a_partitioned_array(engine, kernels):
    seen = {}
    kernels.compute(
        lambda p, owned, other: seen.update({p: (owned, other)}), kernels.places, engine.owned, "x"
    )
    assert seen == {p: (part.owned, "x") for p, part in enumerate(engine.partitions)}


def test_votes_of_real_kernels(engine):
    flags = engine.bits()
    for words, p in zip(flags.parts, engine.partitions, strict=True):
        words[0] = 0b1011
        assert p.owned >= 4
    assert engine.compute("bits.count_range", flags, 0, engine.owned) == 3 * len(engine.elements)


# ---- state ------------------------------------------------------------------------------------------


def test_arrays_are_as_long_as_the_partition(engine):
    for p, whole, own, mirrored, flags, count in zip(
        engine.partitions,
        engine.array("float32", 2).parts,
        engine.owned_array("int32", -1).parts,
        engine.mirror_array("uint32", 2).parts,
        engine.bits().parts,
        engine.counter().parts,
        strict=True,
    ):
        assert (whole.dtype, whole.tolist()) == (np.float32, [2] * (p.owned + p.mirrors))
        assert (own.dtype, own.tolist()) == (np.int32, [-1] * p.owned)
        assert (mirrored.dtype, mirrored.shape) == (np.uint32, (p.mirrors, 2))
        assert (flags.dtype, flags.tolist()) == (np.uint64, [0] * -(-(p.owned + p.mirrors) // 64))
        assert (count.dtype, count.tolist()) == (np.uint64, [0])


@pytest.mark.parametrize("make", [Engine.bitmaps, Engine.counters])
def test_arrays_of_one_allocation_do_not_overlap(engine, make):
    several = make(engine, 3)
    alone = engine.bits() if make is Engine.bitmaps else engine.counter()
    for i, one in enumerate(several):
        assert one.bits == alone.bits
        assert not any(one.overlaps(other) for other in several[:i])
        for part, like in zip(one.parts, alone.parts, strict=True):
            assert (part.dtype, part.shape, part.any()) == (like.dtype, like.shape, False)
            assert part.flags.c_contiguous
            part[:] = i + 1
    for i, one in enumerate(several):
        assert all((part == i + 1).all() for part in one.parts)


@pytest.mark.parametrize("make", [Engine.array, Engine.owned_array])
@pytest.mark.parametrize(("dtype", "fill"), [("uint32", -1), ("uint8", 256), ("int32", 1 << 31)])
def test_a_fill_value_must_fit_the_dtype(engine, make, dtype, fill):
    with pytest.raises(ev.ArgumentError, match=f"^fill: expected a number that {dtype} holds, found {fill}$"):
        make(engine, dtype, fill)


def test_a_copy_is_independent(engine):
    one = engine.array("int32", 1)
    two = engine.copy(one)
    for part in two.parts:
        part[:] = 9
    assert all((part == 1).all() for part in one.parts)
    assert engine.copy(engine.bits()).bits
    assert not two.bits


def test_edges_by_direction(graph):
    g = ev.Graph.from_edges([0, 0, 1], [1, 2, 2], n=5)
    e = Engine(ev.partition(g, ["cpu:1"]), "test")
    (p,) = e.partitions
    for columns, edges in ((e.out, p.out), (e.in_, p.in_)):
        assert [c.parts[0] for c in columns] == [edges.offsets, edges.targets, edges.blocks]
    # By degree: 0 (2 out), 1 (1 out, 1 in), 2 (2 in), then 3 and 4 without edges. The last vertex with
    # out-edges is 1, the last with in-edges is 2.
    assert e.out_rows.parts == [2]
    assert e.in_rows.parts == [3]
    assert e.connected.parts == [3]
    outward = Engine(ev.partition(g, ["cpu:1"], directions="out"), "test")
    assert [c.parts for c in outward.in_] == [[None]] * 3
    assert outward.in_rows.parts == [0]
    assert outward.connected.parts == [2]
    inward = Engine(ev.partition(g, ["cpu:1"], directions="in"), "test")
    assert inward.connected.parts == [3]
    nothing = ev.Graph.from_edges([], [], n=3)
    assert Engine(ev.partition(nothing, ["cpu:1"]), "test").connected.parts == [0]
    # By degree: 3, which has only in-edges, then 0, 1 and 2.
    away = ev.Graph.from_edges([0, 1, 2], [3, 3, 3], n=5)
    assert Engine(ev.partition(away, ["cpu:1"], directions="in"), "test").connected.parts == [4]
    assert Engine(ev.partition(graph, ["cpu:1"]), "test").out_weights.parts == [None]


def test_an_array_is_lengthened_and_keeps_its_values(engine):
    short = engine.local_array(3, "uint64")
    for p, part in enumerate(short.parts):
        part[:] = [p, 10, 20]
    longer = engine.lengthen(short, 5, kept=2)
    assert longer.dtype == np.uint64
    assert [part[:2].tolist() for part in longer] == [[p, 10] for p in range(len(engine.elements))]
    assert [len(part) for part in longer] == [5] * len(engine.elements)


def test_a_vertex_has_a_local_number_only_at_its_owner(engine):
    for number in (0, 7, 199):
        pairs = zip(engine.partitions, engine.at_vertex(number), strict=True)
        found = [int(p.vertices[local]) for p, local in pairs if local != NO_VERTEX]
        assert found == [number]


def test_values_from_the_host(engine):
    count = len(engine.elements)
    assert list(engine.scalar(5)) == [5] * count
    assert list(engine.per_partition(range(count))) == list(range(count))
    assert all((part == [1, 2]).all() for part in engine.download(engine.upload_to_all(np.array([1, 2]))))
    owned = [p.owned for p in engine.partitions]
    assert engine.gather(owned) == owned
    assert engine.total(engine.owned) == 200


def test_tuning_is_that_of_a_single_element_or_of_cpus(graph):
    presets = {"cpu": 1, "cuda": 2}
    single = Engine(ev.partition(graph, "cpu:1"), "test")
    assert (single.single, single.tuning(presets)) == (True, 1)
    single.elements[0].kind = "cuda"
    assert single.tuning(presets) == 2
    together = Engine(ev.partition(graph, ["cpu:1"] * 2), "test")
    for element in together.elements:
        element.kind = "cuda"
    assert (together.single, together.tuning(presets)) == (False, 1)


def test_the_slowest_element_depends_on_edges_and_weight(graph):
    pg = ev.partition(graph, ["cpu:1"] * 2)
    pg.elements[1].weight = 4.0
    engine = Engine(pg, "test")
    assert engine.slowest([3, 8]) == 3
    assert engine.slowest([1, 8]) == 2
    assert engine.equal_share(9) == 4
    assert not engine.reads_host_edges


def test_state_in_host_memory_needs_enough_memory(graph, monkeypatch):
    """The state has 2 bytes for each owned vertex and 3 for each mirror of elements in host memory."""
    pg = ev.partition(graph, ["cpu:1"] * 2)
    for name, value in (("MIN_CHECKED_BYTES", 1), ("available", lambda: 1), ("_reusable", [])):
        monkeypatch.setattr(f"evener.system.memory.{name}", value)
    for addressable in (True, False):
        pg.elements[1].addressable = addressable
        counted = pg.partitions[: 1 + addressable]
        with pytest.raises(ev.OutOfMemoryError, match=r"^test on a graph of 200 vertices needs") as caught:
            Engine(pg, "test", host_state=(2, 3))
        assert caught.value.needed == sum(2 * p.owned + 3 * p.mirrors for p in counted)


# ---- the timeline -----------------------------------------------------------------------------------


def test_the_timeline_has_a_span_for_each_superstep_and_element(engine, kernels):
    kernels.compute(lambda: time.sleep(0.01))
    engine.superstep("second")
    kernels.compute(lambda: None)
    names = [element.name for element in engine.elements]
    assert rows(engine) == [(s, phase, e) for s, phase in ((0, "first"), (1, "second")) for e in names]
    for span in engine.timeline:
        assert min(span.compute, span.send, span.receive, span.wait, span.bytes_sent, span.active) >= 0
    assert all(span.compute >= 0.01 for span in engine.timeline.spans[: len(names)])


@pytest.mark.usefixtures("four_cores")
def test_computing_and_waiting_are_measured_separately(graph):
    """The first element ends 0.2 s later than the other three."""
    engine = Engine(ev.partition(graph, ["cpu:1"] * 4), "test")
    engine.superstep("first")
    kernels, others = Kernels(engine), threading.Semaphore(0)

    def kernel(place):
        if place > 0:
            others.release()
            return
        for _ in range(3):
            assert others.acquire(timeout=60)
        time.sleep(0.2)

    began = time.perf_counter()
    kernels.compute(kernel, kernels.places)
    took = time.perf_counter() - began
    slow, *quick = engine.timeline.spans
    assert 0.2 <= slow.compute <= took
    for span in quick:
        assert span.compute + span.wait == pytest.approx(slow.compute + slow.wait)
        assert span.wait > 0


def test_a_single_element_never_waits(graph):
    engine = Engine(ev.partition(graph, "cpu:1"), "test")
    engine.superstep("alone")
    Kernels(engine).compute(lambda: time.sleep(0.01))
    assert engine.timeline.spans[0].wait == 0


class Late(CpuElement):
    """An element whose work completes only in `wait`."""

    deferred = True

    def wait(self):
        time.sleep(0.05)


def test_work_after_the_last_vote_counts_as_computing(graph):
    placed = ev.partition(graph, "cpu:1")
    engine = Engine(placed, "test")
    engine.elements = [Late("late", 1)]
    engine.superstep("first")
    engine.superstep("last")
    Kernels(engine).compute(lambda: None)
    seconds = engine.finish()
    assert seconds == engine.timeline.seconds
    first, last = engine.timeline.spans
    assert first.compute == 0
    assert 0.05 <= last.compute <= seconds
    assert engine.timeline.slices[-1].end <= seconds


def test_slices_lie_within_the_run(engine, kernels):
    for _ in range(2):
        kernels.compute(lambda: time.sleep(0.01))
    seconds = engine.finish()
    count = len(engine.elements)
    assert [one.activity for one in engine.timeline.slices] == ["compute"] * 2 * count
    assert all(0 <= one.begin < one.end <= seconds for one in engine.timeline.slices)
    assert all(one.end - one.begin >= 0.01 for one in engine.timeline.slices)


@pytest.mark.parametrize("count", [1, 2])
def test_timing_is_concurrent_with_several_elements(graph, monkeypatch, count):
    given = []
    monkeypatch.setattr(CpuElement, "begin_timing", lambda _, *, concurrent: given.append(concurrent))
    Engine(ev.partition(graph, ["cpu:1"] * count), "test")
    assert given == [count > 1] * count


def test_exchanges_count_as_receiving(engine):
    array = engine.array("float64", 1.0)
    engine.pull(array)
    engine.push(array, "add")
    several = len(engine.elements) > 1
    assert all((span.receive > 0) == several for span in engine.timeline)
    assert all(span.compute == span.send == 0 for span in engine.timeline)
    sent = sum(span.bytes_sent for span in engine.timeline)
    assert sent == 2 * 8 * sum(p.mirrors for p in engine.partitions)


@pytest.fixture
def four_cores(monkeypatch):
    """Use one core for each of four elements on any machine."""
    with ThreadPoolExecutor(3) as pool:
        monkeypatch.setattr(executor, "usable_cores", lambda: 4)
        monkeypatch.setattr(executor, "_threads", lambda: pool)
        yield


@pytest.mark.usefixtures("four_cores")
def test_bytes_of_exchanges_at_the_same_time_are_all_counted(graph, monkeypatch):
    """Each element sends to three others, which receive at the same time."""
    engine = Engine(ev.partition(graph, ["cpu:1"] * 4), "test")
    everyone = threading.Barrier(4)
    first = set()

    def slowly(_, link, __):
        if link.inbox.element.name not in first:
            first.add(link.inbox.element.name)
            everyone.wait(60)
        time.sleep(0.002)
        return 1

    monkeypatch.setattr(PulledValues, "unpack", slowly)
    engine.superstep("pull")
    engine.pull(engine.array("float32", 0))
    assert len(engine.routes) == 12
    assert [span.bytes_sent for span in engine.timeline] == [3] * 4


def test_active_vertices_are_counted_for_the_next_superstep(engine, kernels):
    kernels.compute(lambda p: p + 1, kernels.places, count_next_active=True)
    kernels.compute(lambda p: (10 * p, 99), kernels.places, count_next_active=True)
    kernels.compute(lambda: 1000)
    engine.superstep("second")
    engine.superstep("third", active=engine.owned)
    count = len(engine.elements)
    active = [span.active for span in engine.timeline]
    assert active[:count] == [0] * count
    assert active[count : 2 * count] == [11 * p + 1 for p in range(count)]
    assert active[2 * count :] == [p.owned for p in engine.partitions]


def test_active_vertices_are_counted_for_the_same_superstep(engine, kernels):
    engine.superstep("first")
    kernels.compute(lambda p: (p + 1, 99), kernels.places, count_active=True)
    engine.superstep("second")
    count = len(engine.elements)
    active = [span.active for span in engine.timeline]
    assert active[-2 * count : -count] == list(range(1, count + 1))
    assert active[-count:] == [0] * count


def test_active_vertices_of_this_and_the_next_superstep(engine, kernels):
    engine.superstep("first")
    kernels.compute(lambda p: (p + 1, 10 * p, 99), kernels.places, count_active=True, count_next_active=True)
    engine.superstep("second")
    count = len(engine.elements)
    active = [span.active for span in engine.timeline]
    assert active[-2 * count :] == [*range(1, count + 1), *range(0, 10 * count, 10)]
    with pytest.raises(ev.ArgumentError, match="for both arguments two numbers"):
        kernels.compute(lambda p: p, kernels.places, count_next_active=True, count_active=True)


def test_a_kernel_without_a_vote_counts_nothing(kernels):
    for what in ("count_next_active", "count_active"):
        with pytest.raises(
            ev.ArgumentError, match="expected a kernel that returns a count, found one without results"
        ):
            kernels.compute(lambda: None, **{what: True})


@pytest.mark.parametrize("owned", [True, False], ids=["without mirrors", "as bits"])
def test_arrays_of_a_wrong_length_are_not_exchanged(graph, owned):
    """Kernels would read and write past the end of the array."""
    engine = Engine(ev.partition(graph, "cpu:1,cpu:1"), "test")
    engine.superstep("first")
    array = (
        engine.owned_array("float64", 0)
        if owned
        else PartitionedArray(engine.array("float64").parts, bits=True)
    )
    sentence = (
        r"a value for each owned vertex and each mirror.* of lengths \[\d+, \d+\], found lengths \[\d+, \d+\]"
    )
    right, flags = engine.array("float64", 0), engine.bits()
    for call in (
        lambda: engine.pull(array),
        lambda: engine.push(array, "add"),
        lambda: engine.pull(right, changed=PartitionedArray(array.parts, bits=True)),
        lambda: engine.compute("bits.count_range", flags, 0, engine.owned, pull_before=array),
        lambda: engine.compute("bits.count_range", flags, 0, engine.owned, publish=array),
    ):
        with pytest.raises(ev.ArgumentError, match=sentence):
            call()
    with pytest.raises(ev.ArgumentError, match="changed=: expected a bitmap, found an array"):
        engine.pull(right, changed=right)
    for wrong, op in ((right, "or"), (flags, "add")):
        with pytest.raises(
            ev.ArgumentError, match='push: expected "or" for a bitmap, else another operation'
        ):
            engine.push(wrong, op)
    engine.pull(right)
    engine.push(flags, "or")


def test_nothing_is_sent_for_a_missing_kernel(graph, monkeypatch):
    """The next exchange would receive the message."""
    engine = Engine(ev.partition(graph, "cpu:1,cpu:1"), "test")
    engine.superstep("first")
    array, asked = engine.array("float64", 1), []
    monkeypatch.setattr(engine._exchange, "pull", lambda *what: asked.append(what))
    with pytest.raises(ev.ArgumentError, match="only there"):
        engine.compute(ev.Kernel(cuda="nowhere.cu", name="only there"), array, pull_before=array)
    assert asked == []


def test_arrays_of_another_partitioned_graph_are_refused(graph):
    engine = Engine(ev.partition(graph, "cpu:1,cpu:1"), "test")
    other = Engine(ev.partition(graph, "cpu:1,cpu:1,cpu:1"), "test").array("uint32", 0)
    engine.superstep("first")
    for call in (
        partial(engine.superstep, "second", active=PartitionedArray([1])),
        partial(engine.compute, "bits.copy", other, other),
        partial(engine.download, other),
        partial(engine.copy, other),
        partial(engine.upload, other.parts),
    ):
        with pytest.raises(ev.ArgumentError, match=r"expected one part for each of 2 partitions, found [13]"):
            call()


@pytest.mark.parametrize("name", ["wcc.nothing", "nothing.wcc", "nothing", "", ".", "wcc."])
def test_an_unknown_kernel_name_is_refused(engine, name):
    for ask in (engine.compute, declaration):
        with pytest.raises(ev.ArgumentError, match=re.escape(f'Evener has no kernel "{name}" for a ')):
            ask(name)


def test_only_partitioned_arrays_are_exchanged(graph):
    engine = Engine(ev.partition(graph, "cpu:1,cpu:1"), "test")
    engine.superstep("first")
    array, plain = engine.array("float64", 1), np.zeros(graph.n)
    for carry in (
        partial(engine.pull, plain),
        partial(engine.push, plain, "add"),
        partial(engine.pull, array, changed=plain),
        partial(engine.compute, "bits.copy", array, array, pull_before=plain),
    ):
        with pytest.raises(
            ev.ArgumentError, match=r"expected a PartitionedArray to exchange, found numpy\.ndarray"
        ):
            carry()


def test_parts_of_a_wrong_length_are_not_gathered(graph):
    placed = ev.partition(graph, "cpu:1,cpu:1")
    right = [np.zeros(p.owned, np.uint32) for p in placed.partitions]
    for gather in (placed.gather, placed.gather_vertices, placed.gather_numbers):
        for wrong in (right[:1], [right[0][:-1], right[1]]):
            with pytest.raises(ev.ArgumentError, match="a value for each owned vertex"):
                gather(wrong)
        assert len(gather(right)) == graph.n


def test_nothing_is_measured_after_finish(engine, kernels):
    seconds = engine.finish()
    before = [span.compute for span in engine.timeline]
    kernels.compute(lambda: time.sleep(0.01))
    engine.pull(engine.array("float32", 0))
    assert [span.compute for span in engine.timeline] == before
    assert all(span.receive == span.bytes_sent == 0 for span in engine.timeline)
    assert seconds > 0
    compiled = engine.timeline.compile_seconds
    with compiling():
        time.sleep(0.01)
    assert (engine.finish(), engine.timeline.seconds) == (seconds, seconds)
    assert engine.timeline.compile_seconds == compiled


# ---- progress ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("elements", [1, 2])
def test_progress_reports_every_superstep(graph, elements):
    reported = []
    r = ev.bfs(graph, source=0, on=["cpu:1"] * elements, progress=reported.append)
    assert all(isinstance(p, Progress) and p.algorithm == "bfs" for p in reported)
    assert [p.superstep for p in reported] == list(range(r.timeline.supersteps))
    assert [p.phase for p in reported] == [s.phases[0] for s in r.timeline.by_superstep()]
    assert [p.active for p in reported] == [s.active for s in r.timeline.by_superstep()]
    seconds = [p.seconds for p in reported]
    assert seconds == sorted(seconds)


def test_active_vertices_are_the_levels_of_a_search(graph):
    """The active vertices of a superstep are those that the previous one reached: one count per distance."""
    r = ev.bfs(graph, source=0, on=["cpu:1"] * 2)
    active = [s.active for s in r.timeline.by_superstep() if s.phases[0] in ("top-down", "bottom-up")]
    assert active == np.bincount(r["distance"][r["distance"] >= 0]).tolist()


@pytest.mark.parametrize("ends", [1, 2])
def test_the_rate_counts_all_edges_so_far(graph, ends):
    reported = []
    placed = ev.partition(graph, "cpu:1")
    engine = Engine(placed, "test", progress=reported.append, from_both_ends=ends == 2)
    for edges in (1000, 500, 0):
        engine.superstep("on", edges=edges)
    first, *others = reported
    assert first.edges_per_second is None
    assert [p.edges_per_second * p.seconds for p in others] == pytest.approx([1000 / ends, 1500 / ends])


@pytest.mark.parametrize("fault", [KeyboardInterrupt, RuntimeError])
@pytest.mark.parametrize("elements", [1, 2, 4])
def test_an_error_in_progress_ends_the_run(graph, elements, fault):
    pg = ev.partition(graph, ["cpu:1"] * elements)
    expected = ev.bfs(pg, source=0)["distance"]

    def stop(progress):
        if progress.superstep == 2:
            raise fault

    for algorithm in (lambda: ev.bfs(pg, source=0, progress=stop), lambda: ev.pagerank(pg, progress=stop)):
        with pytest.raises(fault):
            algorithm()
    assert (ev.bfs(pg, source=0)["distance"] == expected).all()


@pytest.mark.parametrize("where", ["progress", "kernel"])
def test_an_interrupted_run_waits_for_its_elements(graph, monkeypatch, where):
    """A GPU may still copy from or to arrays that the next run will use."""
    pg, waited = ev.partition(graph, ["cpu:1"] * 2), []
    monkeypatch.setattr(CpuElement, "wait", lambda element: waited.append(element.name))

    def stop(*_):
        raise KeyboardInterrupt

    engine = Engine(pg, "test", progress=stop)
    call = {
        "progress": lambda: engine.superstep("one"),
        "kernel": lambda: engine.compute(ev.Kernel(cpu=stop), engine.owned),
    }[where]
    with pytest.raises(KeyboardInterrupt):
        call()
    assert waited == [element.name for element in engine.elements]


# ---- errors and concurrency -------------------------------------------------------------------------


def test_an_error_in_a_kernel_is_raised_after_all_have_ended(engine, kernels):
    """No element still runs its kernel after the error, so the elements can be used again."""
    for culprit in range(len(engine.elements)):
        begun, ended = [], []

        def kernel(p, culprit=culprit, begun=begun, ended=ended):
            begun.append(p)
            if p == culprit:
                raise ZeroDivisionError
            time.sleep(0.05)
            ended.append(p)

        with pytest.raises(ZeroDivisionError):
            kernels.compute(kernel, kernels.places)
        assert sorted(begun) == sorted([*ended, culprit])
        assert kernels.compute(lambda: 1) == len(engine.elements)


def test_an_error_in_an_exchange_is_raised(graph, monkeypatch):
    engine = Engine(ev.partition(graph, ["cpu:1"] * 2), "test")
    engine.superstep("pull")
    array = engine.array("float32", 0)
    with monkeypatch.context() as patch:
        patch.setattr(PulledValues, "unpack", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            engine.pull(array)
    engine.pull(engine.array("float32", 0))
    assert sum(span.bytes_sent for span in engine.timeline) == 4 * sum(p.mirrors for p in engine.partitions)


def test_values_can_be_read_later(kernels):
    """The kernels run at once. Their values are reduced and counted when they are read."""
    places, ran = kernels.places, []
    read = kernels.compute(lambda p: ran.append(p) or p + 1, places, count_next_active=True, wait=False)
    assert sorted(ran) == list(places)
    assert read() == sum(place + 1 for place in places)
    kernels.engine.superstep("next")
    assert [span.active for span in kernels.engine.timeline][-len(places) :] == [p + 1 for p in places]


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize("count", [1, 2, 4])
def test_elements_compute_at_the_same_time(graph, count):
    """Each kernel waits at a barrier for the kernels of all elements."""
    engine = Engine(ev.partition(graph, ["cpu:1"] * count), "test")
    meeting = threading.Barrier(count)
    Kernels(engine).compute(lambda: meeting.wait(60) * 0)
    assert not meeting.broken


@pytest.mark.usefixtures("four_cores")
@pytest.mark.parametrize(
    ("work", "alone"), [(0, True), (MIN_PARALLEL_WORK - 1, True), (MIN_PARALLEL_WORK, False), (None, False)]
)
def test_little_work_is_done_by_the_calling_thread(graph, work, alone):
    engine = Engine(ev.partition(graph, ["cpu:1"] * 4), "test")
    engine.superstep("first")
    drivers, meeting = set(), threading.Barrier(1 if alone else 4)

    def kernel():
        drivers.add(threading.get_ident())
        meeting.wait(60)

    Kernels(engine).compute(kernel, work_estimate=work)
    assert (drivers == {threading.get_ident()}) == alone
    assert any(span.wait > 0 for span in engine.timeline) != alone


def test_values_pulled_for_a_kernel_arrive_before_it_runs(engine, kernels):
    array = engine.array("float64", -1.0)
    for part, p in zip(array.parts, engine.partitions, strict=True):
        part[: p.owned] = p.vertices[: p.owned]
    seen = {}
    kernels.compute(lambda p, part: seen.update({p: part.copy()}), kernels.places, array, pull_before=array)
    for p, partition in enumerate(engine.partitions):
        assert (seen[p] == partition.vertices).all()
    several = len(engine.elements) > 1
    assert all((span.receive > 0) == several for span in engine.timeline)
    assert sum(span.bytes_sent for span in engine.timeline) == 8 * sum(p.mirrors for p in engine.partitions)


def test_partitioned_graphs_share_their_threads(graph):
    """100 partitioned graphs start at most one thread per core."""
    for _ in range(100):
        ev.wcc(graph, on=["cpu:1"] * 3)
    ours = [thread for thread in threading.enumerate() if thread.name.startswith("evener_")]
    assert len(ours) <= usable_cores()
