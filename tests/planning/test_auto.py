"""The choice where no element is named: when the machine is measured for it, and who replaces a lost GPU."""

from __future__ import annotations

import gc
import logging
import weakref
from dataclasses import replace
from functools import partial
from importlib import import_module
from itertools import count
from types import SimpleNamespace

import numpy as np
import pytest

import evener as ev
import reference
from apart import ApartElement
from evener import elements, link, profile
from evener.elements import cpu
from evener.elements.cuda import discovery as gpus
from evener.elements.cuda import element as cuda
from evener.engine.timeline import Span
from evener.errors import NO_USABLE_GPU, ArgumentError, DeviceError, DeviceOutOfMemory, OutOfMemoryError
from evener.graph.generators import models as generate
from evener.partition.column_blocks import spare
from evener.partition.footprint import beside_edges, tiers_of
from evener.partition.partition import Partition
from evener.passes import repeated
from evener.planning import place as auto
from evener.planning.model import Share
from given_rates import rates

home = import_module("evener.partition.place")
of_runs = import_module("evener.measured")

LOST = DeviceError("cuda:0 failed while starting: unspecified launch failure")
FULL = DeviceOutOfMemory("cuda:0 has 2.0 MiB free and 3.0 GiB more are needed", needed=3, available=2)
UNLOCKED = DeviceOutOfMemory("3.0 GiB cannot be locked", needed=3, available=2)
FAILURES = [LOST, FULL, UNLOCKED]


CALIBRATE = profile.calibrate


class Gpu(ApartElement):
    """As much of a GPU as one needs to run alone."""

    kind = "cuda"
    broken = None
    free = 1 << 36

    def __init__(self, name, index, most=None):
        if index == 0 and self.broken:
            raise self.broken
        super().__init__(name, ("cuda", index))
        self.weight = 800.0
        self._room = self.free if most is None else min(most, self.free)

    def room(self):
        return self._room

    def room_beside(self, taken):
        return self._room - taken

    def bring(self, source, target):
        return partial(np.copyto, self._seen(target), source)

    def send(self, source, receiver, target):
        if isinstance(receiver, ApartElement):
            return super().send(source, receiver, target)
        return partial(np.copyto, target, self._seen(source))()


@pytest.fixture(autouse=True)
def machine(monkeypatch, tmp_path):
    """One GPU, faster than the CPU at everything, and no rates kept."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(cuda, "CudaElement", Gpu)
    monkeypatch.setattr(gpus, "missing", lambda: None)
    for module in (cuda, auto):
        monkeypatch.setattr(module, "gpus", lambda: 1)
    monkeypatch.setattr(profile, "machine", lambda **_: {"of": "a test"})
    monkeypatch.setattr(profile, "kept", lambda _: None)
    monkeypatch.setattr(profile, "calibrate", measured(rates(gpu=1e-15)))


def measured(found):
    """What stands for measuring: it gives rates, or raises."""

    def calibrate(gpu, *, say):
        assert gpu in (None, "cuda:0")
        say("cpu on a graph")
        if isinstance(found, Exception):
            raise found
        return found

    return calibrate


def keep(monkeypatch, found=None):
    monkeypatch.setattr(profile, "kept", lambda _: found or rates(gpu=1e-15))


@pytest.fixture
def any_size(monkeypatch):
    """Every graph is large enough to measure the machine for it."""
    monkeypatch.setattr(auto, "_WORTH_MEASURING", 0)


@pytest.fixture(scope="module")
def graph():
    return ev.read("rmat:10")


def where(result):
    return [element.kind for element in result.partitioned.elements]


def check(graph, result):
    """The distances are those of the reference, whoever found them."""
    assert (result["distance"] == reference.bfs(graph, 1)[0]).all()


# ---- measuring -----------------------------------------------------------------------------------------


def test_for_a_small_graph_a_machine_is_not_measured(graph, caplog):
    result = ev.bfs(graph, source=1)
    assert where(result) == ["cpu"]
    assert result.prediction is None
    assert not caplog.records
    check(graph, result)


def test_where_rates_are_kept_small_graphs_are_planned_as_well(graph, monkeypatch):
    keep(monkeypatch)
    result = ev.bfs(graph, source=1)
    assert where(result) == ["cuda"]
    assert result.prediction is not None
    check(graph, result)


def test_edges_enough_to_be_worth_it(graph, monkeypatch):
    monkeypatch.setattr(auto, "_WORTH_MEASURING", graph.m + 1)
    assert where(ev.wcc(graph)) == ["cpu"]
    monkeypatch.setattr(auto, "_WORTH_MEASURING", graph.m)
    assert where(ev.wcc(graph)) == ["cuda"]


def test_many_sources_are_worth_what_many_edges_are(graph, monkeypatch):
    """A hundred passes are as usual; betweenness has one for each source, from 1,024 vertices."""
    monkeypatch.setattr(auto, "_WORTH_MEASURING", 4 * graph.m)
    assert where(ev.betweenness(graph, k=100)) == ["cpu"]
    assert where(ev.betweenness(graph, sources=graph.ids[:100])) == ["cpu"]
    assert where(ev.betweenness(graph, k=500)) == ["cuda"]
    assert where(ev.betweenness(graph)) == ["cuda"]
    few = ev.read("rmat:8")
    monkeypatch.setattr(auto, "_WORTH_MEASURING", 4 * few.m)
    assert where(ev.betweenness(few)) == ["cpu"]  # 256 sources at most


@pytest.mark.parametrize("asked", [{"gpu_memory": "1GiB"}, {"alpha": 0}], ids=str)
def test_who_speaks_of_gpus_has_the_machine_measured(graph, asked):
    assert ev.bfs(graph, source=1, **asked).prediction is not None


@pytest.mark.usefixtures("any_size")
def test_measuring_is_logged_once_and_its_steps_for_who_wants_them(graph, caplog):
    with caplog.at_level(logging.INFO, "evener"):
        ev.wcc(graph)
    assert [(record.levelname, record.getMessage()) for record in caplog.records] == [
        ("WARNING", "measuring this machine, once, for a few minutes: plans go by its rates"),
        ("INFO", "measuring this machine, once: cpu on a graph"),
    ]


@pytest.mark.usefixtures("any_size")
def test_the_command_line_shows_measuring_as_a_stage(evener, monkeypatch):
    job, stages = import_module("evener.cli.job").Job, []
    monkeypatch.setattr(job, "stage", lambda _, what: stages.append(what))
    done = evener("run", "wcc", "rmat:6")
    assert done.status == 0
    assert done.err == "evener: measuring this machine, once, for a few minutes: plans go by its rates\n"
    assert stages[1:] == ["preparing wcc", "measuring this machine, once: cpu on a graph"]
    assert not logging.getLogger("evener").handlers


@pytest.mark.parametrize(
    "call",
    [
        lambda g: ev.bfs(g, source=-7),
        lambda g: ev.sssp(g, source=-7),
        lambda g: ev.pagerank(g, personalization=[1.0]),
        lambda g: ev.betweenness(g, sources=[0], k=2),
        lambda g: ev.betweenness(g, k=0),
    ],
)
def test_what_a_graph_tells_to_be_wrong_is_refused_before_it_is_placed(graph, monkeypatch, call):
    monkeypatch.setattr(auto, "partition", lambda *_, **__: pytest.fail("placed"))
    with pytest.raises(ArgumentError):
        call(graph)


@pytest.mark.parametrize(
    "wrong", [{"on": "cuda:x"}, {"policy": "best"}, {"alpha": 2}, {"gpu_memory": "much"}], ids=str
)
def test_what_is_wrong_is_refused_before_anything_is_measured(graph, monkeypatch, wrong):
    monkeypatch.setattr(profile, "calibrate", None)
    with pytest.raises(ArgumentError):
        ev.plan(graph, "bfs", **wrong)
    with pytest.raises(ArgumentError):
        ev.bfs(graph, **{"on": "cpu:1,cuda:0", **wrong})


def test_a_gpu_that_others_fill_is_not_measured(monkeypatch):
    """Its edges would lie with the host, and its rates be wrong for as long as they are kept."""
    monkeypatch.setattr(Gpu, "free", 200 << 20)
    with pytest.raises(
        DeviceOutOfMemory, match=r"^cuda:0 has room for 200\.0 MiB, and measuring it .* takes 1\.\d GiB"
    ):
        profile._require_room("cuda:0", 22, 16)
    profile._require_room("cuda:0", 18, 2)


@pytest.mark.parametrize(
    ("cores", "memory", "free", "scales"),
    [
        (15, 1 << 40, 1 << 40, (18, 22)),
        (16, 1 << 40, 1 << 40, (18, 22, 24)),
        (16, 1 << 34, 1 << 40, (18, 22)),
        (16, 1 << 40, 4 << 30, (18, 22)),
        (2, 1 << 31, 1 << 40, (18, 20)),
        (
            2,
            1 << 40,
            1 << 29,
            (18, 20),
        ),  # 32 << 20 edges of 12 bytes are 3/4 of 1 << 29, twice as many are not
        (2, 1 << 20, 1 << 40, (18, 19)),  # two at least, to tell how rates grow
    ],
)
def test_graphs_to_measure_are_as_large_as_cores_and_memories_allow(monkeypatch, cores, memory, free, scales):
    """16 << 20 edges, both ways, with 8 bytes each, are an eighth of 2 GiB."""
    monkeypatch.setattr(profile, "usable_cores", lambda: cores)
    monkeypatch.setattr(profile.memory, "available", lambda: memory)
    monkeypatch.setattr(Gpu, "free", free)
    assert profile._scales("cuda:0") == scales


# ---- what is planned, and with what ---------------------------------------------------------------------


def test_edges_are_planned_for_in_the_directions_that_are_followed():
    graph = ev.read("rmat:8,directed")
    for algorithm, directions in (("pagerank", 1), ("bfs", 2)):
        made = ev.plan(graph, algorithm, on="cpu")
        assert sum(share.part.edges for share in made.shares) == directions * graph.m


def test_a_plan_is_for_as_many_passes_as_are_asked_for(graph):
    for passes in (0, 1, 10):
        made = ev.plan(graph, "wcc", passes=passes)
        once = ev.plan(graph, "wcc")
        assert made.prediction.seconds == pytest.approx(passes * once.prediction.seconds)
    assert ev.plan(graph, "wcc", passes=0).prediction.speedup_over_cpu is None


@pytest.mark.parametrize("passes", [-1, np.inf, np.nan, 1e308, 10**18 + 1, True, "3", None])
def test_what_is_no_number_of_passes_is_refused(graph, monkeypatch, passes):
    monkeypatch.setattr(profile, "calibrate", None)
    with pytest.raises(ArgumentError, match="passes is a number from 0 to ") as caught:
        ev.plan(graph, "wcc", passes=passes)
    assert str(caught.value) == f"passes is a number from 0 to 10^18, not {passes!r}"


def placed(graph, algorithm, *, on, policy="auto", alpha=None):
    """A graph where an algorithm would have it."""
    wanted = {"on": on, "policy": policy, "alpha": alpha, "gpu_memory": None, "directions": "in"}
    return auto.place_by_plan(graph, algorithm, **wanted)


def test_a_share_may_be_left_open_by_name(graph):
    for on in ("cpu:1,cuda:0", "cpu:1,cpu:1"):
        left_open = ev.plan(graph, "bfs", on=on)
        assert ev.plan(graph, "bfs", on=on, policy="auto", alpha="auto") == left_open
    check(graph, ev.bfs(graph, source=1, alpha="auto"))
    check(graph, ev.bfs(ev.partition(graph, "cpu:1"), source=1, alpha="auto"))
    planned = ev.bfs(graph, source=1, on="cpu:1,cuda:0", policy="high", alpha="auto")
    assert planned.prediction is not None
    for call in (partial(ev.plan, algorithm="bfs"), ev.wcc):
        with pytest.raises(ArgumentError, match="alpha is the share of the edges on the CPU"):
            call(graph, alpha="automatic")


def test_all_elements_that_are_named_are_used(graph):
    """Though the GPU alone would be faster."""
    assert ev.plan(graph, "bfs", on="cpu:1,cuda:0").on == ("cpu:1", "cuda:0")
    assert [element.kind for element in placed(graph, "bfs", on="cpu:1,cuda:0").elements] == ["cpu", "cuda"]


@pytest.mark.parametrize(
    ("asked", "planned"),
    [
        ({"on": "cpu:1,cuda:0"}, True),
        ({"on": "cpu:1,cuda:0", "alpha": 0.5}, True),
        ({"on": "cpu:1,cuda:0", "policy": "high"}, True),
        ({"on": "cpu:1,cuda:0", "policy": "high", "alpha": 0.5}, False),
        ({"on": "cpu:1,cpu:1", "policy": "high"}, False),
        ({"on": "cuda:0"}, False),
    ],
    ids=str,
)
def test_what_is_left_open_is_planned(graph, asked, planned):
    pg = placed(graph, "wcc", **asked)
    assert (pg.forecast is not None) == planned
    assert pg.policy == asked.get("policy", pg.policy)
    if "alpha" in asked:
        assert pg.statistics.alpha == pytest.approx(asked["alpha"], abs=0.05)


def test_a_run_is_held_against_the_plan_for_its_algorithm_and_as_many_passes(graph, monkeypatch):
    """The GPU does as it was told it would, alone: as many times as fast as itself as one."""
    keep(monkeypatch)
    result = ev.pagerank(graph, tol=0, max_iter=5)
    assert where(result) == ["cuda"]
    assert result.prediction.seconds == pytest.approx(5 * graph.m * 1e-15)
    assert result.prediction.speedup_over_gpu == pytest.approx(1)
    assert ev.wcc(result.partitioned).prediction is None


def test_a_gpu_has_blocks_of_columns_where_there_is_room_for_edges_twice(graph):
    """4 bytes an edge at most; where they are made already, however little room is left."""
    pg = ev.partition(graph, "cuda:0")
    (own,), (gpu,) = pg.partitions, pg.elements
    gpu._room += 4 * own.stored_edges - spare(own, gpu)
    assert [share.columns for share in Share.all_of(pg)] == [True]
    gpu._room -= 1
    assert [share.columns for share in Share.all_of(pg)] == [False]
    own.in_.prepared["columns"] = "made"
    assert [share.columns for share in Share.all_of(pg)] == [True]
    gpu._room += 1
    own.in_.prepared["columns"] = None  # where most edges are far, they are not worth it
    assert [share.columns for share in Share.all_of(pg)] == [False]


def test_a_forecast_goes_by_the_mirrors_that_there_are(graph, monkeypatch):
    """PageRank: 4 bytes for each mirror on the other element, at a byte a second."""
    keep(monkeypatch, rates(c=1.0, copied=1.0))
    pg = placed(graph, "pagerank", on="cpu:1,cuda:0", alpha=0.5)
    expected = [4 * p.mirrors for p in reversed(pg.partitions)]
    found = pg.forecast(pg, "pagerank", 1).elements
    assert [one.exchange_seconds for one in found] == pytest.approx(expected)


def test_a_placement_by_plan_goes_when_nobody_holds_it(graph, monkeypatch):
    keep(monkeypatch)
    gc.disable()
    try:
        seen = weakref.ref(placed(graph, "pagerank", on="cpu:1,cuda:0"))
        assert seen() is None
    finally:
        gc.enable()


# ---- in a GPU's place ------------------------------------------------------------------------------------


def starting(monkeypatch, error):
    monkeypatch.setattr(Gpu, "broken", error)


def looking_for_rates(monkeypatch, error):
    def machine(**_):
        raise error

    monkeypatch.setattr(profile, "machine", machine)


def measuring(monkeypatch, error):
    monkeypatch.setattr(profile, "calibrate", measured(error))


def placing(monkeypatch, error):
    def array(*_, **__):
        raise error

    monkeypatch.setattr(Gpu, "array", array)


when = pytest.mark.parametrize(
    "fails", [starting, looking_for_rates, measuring, placing], ids=lambda fails: fails.__name__
)


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@when
def test_the_cpu_takes_the_place_of_a_gpu_that_nobody_named(graph, monkeypatch, fails, error):
    fails(monkeypatch, error)
    with pytest.warns(RuntimeWarning) as told:
        result = ev.bfs(graph, source=1)
    assert where(result) == ["cpu"]
    check(graph, result)
    (one,) = told
    assert str(one.message).startswith(f"{NO_USABLE_GPU}: {error}")
    assert "\n" not in str(one.message)
    assert one.filename == __file__


@pytest.mark.usefixtures("any_size")
def test_where_the_hosts_memory_is_short_the_cpu_takes_no_ones_place(graph, monkeypatch):
    """It would need more of that memory, not less."""
    placing(monkeypatch, OutOfMemoryError("the partitions need more", needed=2, available=1))
    with pytest.raises(OutOfMemoryError, match="the partitions need more"):
        ev.bfs(graph, source=1)


@pytest.mark.usefixtures("any_size")
@when
def test_the_command_line_notes_it(evener, monkeypatch, fails):
    fails(monkeypatch, LOST)
    done = evener("run", "bfs", "rmat:6", "--verify")
    assert done.status == 0
    assert [line for line in done.err.splitlines() if "measuring" not in line] == [
        f"evener: {NO_USABLE_GPU}: {LOST}"
    ]
    assert evener("bench", "bfs", "rmat:6", "--repeats", 1).status == 0


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("error", FAILURES, ids=lambda error: type(error).__name__)
@pytest.mark.parametrize("fails", [starting, placing], ids=lambda fails: fails.__name__)
def test_who_names_a_gpu_gets_its_error(graph, evener, monkeypatch, fails, error):
    fails(monkeypatch, error)
    with pytest.raises(type(error), match=f"^{error}"):
        ev.bfs(graph, source=1, on="cuda:0")
    done = evener("run", "bfs", "rmat:6", "--on", "cuda:0")
    assert (done.status, done.out) == (2, "")
    assert done.err.startswith(f"evener: {error}")
    assert done.err.count("\n") == 1


@pytest.mark.usefixtures("any_size")
@pytest.mark.parametrize("known", [True, False])
def test_where_one_gpu_cannot_be_started_the_other_is_used(graph, monkeypatch, known):
    asked = []
    monkeypatch.setattr(profile, "calibrate", lambda gpu, **_: asked.append(gpu) or rates(gpu=1e-15))
    if known:
        keep(monkeypatch)
    for module in (cuda, auto):
        monkeypatch.setattr(module, "gpus", lambda: 2)
    starting(monkeypatch, LOST)
    result = ev.bfs(graph, source=1)
    assert [element.name for element in result.partitioned.elements] == ["cuda:1"]
    assert asked == ([] if known else ["cuda:1"])
    check(graph, result)


@pytest.mark.parametrize("fails", [starting, looking_for_rates])
def test_a_plan_for_the_cpu_asks_no_gpu(graph, monkeypatch, fails):
    asked = []
    monkeypatch.setattr(profile, "calibrate", lambda gpu, **_: asked.append(gpu) or rates(gpu=1e-15))
    monkeypatch.setattr(profile, "usable_cores", lambda: 4)
    described = []

    def machine(*, with_gpus=True):
        if with_gpus:
            raise LOST
        described.append(with_gpus)
        return {"of": "a test"}

    fails(monkeypatch, LOST)
    monkeypatch.setattr(profile, "machine", machine)
    assert ev.plan(graph, "bfs", on="cpu").on == ("cpu",)
    assert asked == [None]
    assert set(described) == {False}


@pytest.mark.parametrize("measured_with_gpus", [True, False])
def test_rates_of_a_machine_with_its_gpus_do_for_its_cpu(monkeypatch, measured_with_gpus):
    """Not the other way round."""
    monkeypatch.setattr(profile, "machine", lambda *, with_gpus=True: {"gpus": with_gpus})
    known = {"gpus": measured_with_gpus}
    monkeypatch.setattr(profile, "kept", lambda machine: rates(cpu=7.0) if machine == known else None)
    assert profile.rates_kept(with_gpus=False) == rates(cpu=7.0)
    assert (profile.rates_kept() is not None) == measured_with_gpus


@pytest.mark.parametrize("on", ["cpu:1,cuda:0", "cuda:0,cpu:1"])
def test_elements_keep_their_order(graph, monkeypatch, on):
    """`high` gives the hubs to the one that is named first."""
    keep(monkeypatch, rates(gpu=1e-9, c=1e15, copied=1e15))
    made = ev.plan(graph, "pagerank", on=on, policy="high", alpha=0.5)
    assert ",".join(made.on) == on
    assert made.shares[0].part.vertices < made.shares[1].part.vertices / 5
    wanted = {"on": on, "alpha": None, "gpu_memory": None, "directions": "in"}
    placed = auto.place_by_plan(graph, "pagerank", policy="high", **wanted)
    assert [element.name for element in placed.elements] == list(made.on)
    hubs, others = (graph.out_degree()[own.vertices[: own.owned]] for own in placed.partitions)
    assert hubs.min() >= others.max() - 1  # the share ends within a degree


def test_of_several_gpus_the_first_gets_the_share_that_is_named(graph, monkeypatch):
    keep(monkeypatch)
    for module in (cuda, auto):
        monkeypatch.setattr(module, "gpus", lambda: 2)
    made = ev.plan(graph, "wcc", on="cuda:0,cuda:1", alpha=0.3)
    placed = ev.partition(graph, "cuda:0,cuda:1", alpha=0.3)
    for share, own in zip(made.shares, placed.partitions, strict=True):
        assert share.part.edges == pytest.approx(own.stored_edges, rel=0.1)
    assert made.alpha == 0.3


def test_alone_the_cpu_keeps_no_thread_back_for_gpus(graph, monkeypatch):
    keep(monkeypatch, rates(gpu=1))
    monkeypatch.setattr(elements, "usable_cores", lambda: 4)
    for module in (cuda, auto):
        monkeypatch.setattr(module, "gpus", lambda: 2)
    assert [share.threads for share in ev.plan(graph, "wcc").shares] == [4]
    assert ev.plan(graph, "wcc", on="cpu,cuda:0,cuda:1").shares[0].threads == 2


def test_a_gpu_that_has_no_room_for_any_share_is_told_of(graph, monkeypatch):
    keep(monkeypatch)
    monkeypatch.setattr(Gpu, "free", 1024)
    with pytest.warns(
        RuntimeWarning, match=rf"^{NO_USABLE_GPU}: cuda:0 has room for 1\.0 KiB, and a "
    ) as told:
        result = ev.bfs(graph, source=1)
    assert where(result) == ["cpu"]
    assert result.prediction is not None
    assert told[0].filename == __file__


def test_where_the_cpu_is_faster_nothing_is_told(graph, monkeypatch):
    keep(monkeypatch, rates(gpu=1))
    assert where(ev.bfs(graph, source=1)) == ["cpu"]


# ---- a whole measurement ---------------------------------------------------------------------------------


@pytest.mark.parametrize("gpu", ["cuda:0", None])
def test_a_machine_is_measured(monkeypatch, gpu):
    kept = []
    monkeypatch.setattr(profile, "_SCALES", (8, 10))
    monkeypatch.setattr(link, "_VALUES", 1 << 12)
    monkeypatch.setattr(link, "_COPIED", 1 << 12)
    monkeypatch.setattr(cpu, "locked_array", lambda length, dtype: np.empty(length, dtype))
    monkeypatch.setattr(profile, "machine", lambda *, with_gpus: {"gpus": ["one"] if with_gpus else []})
    monkeypatch.setattr(profile, "keep", kept.append)
    said = []
    found = CALIBRATE(gpu, say=said.append)
    assert kept == [found]
    names = {"bfs", "pagerank", "wcc", "sssp", "betweenness"}
    assert set(found.cpu) == names
    for tier in (found.gpu, found.mapped):
        assert set(tier) == (names if gpu else set())
    for tier in (found.pulled, found.beside):
        assert set(tier) == ({"pagerank"} if gpu else set())
    for tier in (found.shares, found.carried):
        assert set(tier) == (names - {"pagerank"} if gpu else set())
    assert set(found.bytes_per_second) == ({"cpu", "cuda"} if gpu else set())
    tiers = (found.cpu, found.gpu, found.pulled, found.beside, found.shares)
    for rate in [rate for tier in tiers for rate in tier.values()]:
        assert len(rate.vertices) == len(rate.edge_seconds) == len(rate.vertex_seconds) == 2
        assert 0 < rate.vertices[0] < rate.vertices[1]
        assert rate.fixed_seconds > 0
        assert all(seconds >= 0 for seconds in (*rate.edge_seconds, *rate.vertex_seconds))
        told_apart = rate in found.shares.values()
        assert len(rate.mirrors) == len(rate.mirror_seconds) == (2 if told_apart else 0)
        assert told_apart or all(seconds > 0 for seconds in rate.least_edge_seconds)
    assert all(
        0 <= one < 1 for more in found.mapped.values() for one in (more.edge_seconds, more.row_seconds)
    )
    for more in found.carried.values():
        assert 0 < more.seconds(1 << 10, 1 << 9, 1 << 8) < 10
    assert all(0 < speed < 1e13 for speed in found.bytes_per_second.values())
    assert found.supersteps["pagerank"] == 1.125  # eight iterations and what comes before
    # Of several elements, where there are several: one GPU settles many buckets of shortest paths in one.
    small = generate.rmat(8 if gpu else 10, edge_factor=16, weights="1..255")
    source = profile._drawn(small)[0]
    split = ev.partition(small, "cpu:1,cpu:1" if gpu else "cpu:1", policy="high", alpha=0.2 if gpu else None)
    assert found.supersteps["sssp"] == ev.sssp(split, source=source).timeline.supersteps
    assert found.supersteps["wcc"] == ev.wcc(split).timeline.supersteps
    if gpu:
        alone = ev.sssp(small, source=source, on=gpu).timeline.supersteps
        assert alone < found.supersteps["sssp"]
    assert any("beside" in step for step in said) == bool(gpu)


@pytest.fixture
def runs_alone(monkeypatch):
    """A machine with one GPU, of which nothing is measured but runs, and nothing kept."""
    monkeypatch.setattr(profile, "exchange_speeds", lambda _: ({}, 0.0))
    monkeypatch.setattr(profile, "copy_speed", lambda *_: 1.0)
    monkeypatch.setattr(cpu, "locked_array", lambda length, dtype: np.empty(length, dtype))
    monkeypatch.setattr(profile, "machine", lambda *, with_gpus: {"gpus": ["one"] if with_gpus else []})
    monkeypatch.setattr(profile, "keep", lambda _: None)


@pytest.mark.usefixtures("runs_alone")
@pytest.mark.parametrize("gpu", ["cuda:0", None])
@pytest.mark.parametrize(
    ("scales", "memory", "sizes"),
    [((6, 7, 8), 1 << 40, 4), ((6, 7, 8), (4 << 10) * 16 * 8 - 1, 3), ((7, 8), 1 << 40, 2)],
    ids=["on a large machine", "without the memory for it", "on a small machine"],
)
def test_one_more_size_is_measured_on_a_large_machine(monkeypatch, scales, memory, sizes, gpu):
    """Up to 4 << 10 edges, both ways, 8 bytes each: an eighth of the memory holds them, or just does not."""
    samples = []
    monkeypatch.setattr(profile, "_SCALES", (6, 7, 8))
    monkeypatch.setattr(profile, "_scales", lambda _: scales)
    monkeypatch.setattr(profile, "_BEYOND", 10)
    monkeypatch.setattr(profile.memory, "available", lambda: memory)
    fit, fit_carried, carried = of_runs.fitted, of_runs.fitted_carried, []
    monkeypatch.setattr(of_runs, "fitted", lambda own, **more: samples.append(own) or fit(own, **more))
    monkeypatch.setattr(
        of_runs, "fitted_carried", lambda own, each: carried.append(own) or fit_carried(own, each)
    )
    found = CALIBRATE(gpu)
    beyond = {"pagerank", "bfs"}  # what reads every edge, and what looks up
    for tier, of_all in ((found.cpu, True), (found.gpu, False), (found.beside, True), (found.shares, True)):
        for name, rate in tier.items():
            assert len(rate.vertices) == (sizes if of_all and name in beyond else len(scales))
    if sizes == 4:
        # As large as one with 16 edges a vertex would be by the graph of scale 8, which has these.
        connected = np.count_nonzero(generate.rmat(8, edge_factor=16).out_degree())
        assert found.cpu["pagerank"].vertices[-1] == 4 * connected
        beyond = [[one for one in own if one.scale == 10] for own in samples]
        sizes = [[(one.connected, one.edges) for one in own] for own in beyond]
        few, many = (generate.rmat(10, edge_factor=factor) for factor in (1, 4))
        whole = [(np.count_nonzero(g.out_degree()), g.m) for g in (few, many)]
        # What looks up, of the larger one alone.
        assert whole[1:] in sizes
        if not gpu:
            assert whole in sizes
            return
        # A share of many vertices, and one of few, of the larger graph: by themselves, and beside the GPU.
        assert found.beside["pagerank"].vertices[-1] == 4 * connected
        assert found.shares["bfs"].vertices[-1] == 4 * connected
        placed = [ev.partition(many, "cpu:1,cpu:1", policy=p, alpha=a) for p, a in profile._SHARES.items()]
        shares = [(pg.partitions[0].connected, pg.partitions[0].stored_edges) for pg in placed]
        assert [whole[1], *shares] in sizes
        assert shares in sizes
        # What searches of these shares take beside computing.
        mirrors = [sum(own.mirrors for own in pg.partitions) for pg in placed]
        stands_for = 4 * connected
        owned = [pg.partitions[0].owned for pg in placed]
        expected = {"bfs": [(stands_for, *both) for both in zip(mirrors, owned, strict=True)]}
        for name, own in zip(found.carried, carried, strict=True):
            assert [one[:3] for one in own[len(profile._SHARES) * len(scales) :]] == expected.get(name, [])


@pytest.fixture
def one_small_size(monkeypatch):
    monkeypatch.setattr(profile, "_SCALES", (8,))
    monkeypatch.setattr(profile, "_scales", lambda _: (8,))


class Took(SimpleNamespace):
    """Stands for a result that has no arrays."""

    def __iter__(self):
        return iter(())


class Timed:
    """Stands for an algorithm, whose runs on each placement take what a test says."""

    def __init__(self, *seconds):
        self.seconds, self.placements = seconds, []

    def __call__(self, pg, _):
        if not self.placements or self.placements[-1] is not pg:
            self.placements.append(pg)
            self.runs = iter(self.seconds)
        spans = [ev.Span(0, "run", element.name, compute=8.0 * k) for k, element in enumerate(pg.elements, 1)]
        return Took(seconds=next(self.runs), timeline=ev.Timeline([*spans, *spans]))


@pytest.mark.usefixtures("runs_alone", "one_small_size")
def test_what_is_measured_of_runs(monkeypatch):
    """A pass of four takes a quarter; the first run compiles, so it takes far longer and does not count."""
    seen = []
    timed = Timed(99.0, 4.0, 12.0, 8.0, 5.0)  # the last counts supersteps, where there are several elements
    monkeypatch.setattr(profile, "PASSES", {"pagerank": (timed, 4)})
    monkeypatch.setattr(profile, "SKIP_SOME", ())
    monkeypatch.setattr(profile, "READ_FIRST", ())
    monkeypatch.setattr(of_runs, "fitted", lambda samples, **_: seen.append(samples))
    monkeypatch.setattr(of_runs, "fitted_mapped", seen.append)
    monkeypatch.setattr(Partition, "mapped_edges", property(lambda _: 70))
    monkeypatch.setattr(Partition, "mapped_rows", property(lambda _: 7))
    monkeypatch.setattr(Partition, "bare_long", property(lambda _: 5))
    tiers = []

    def noted(*args, **more):
        found = tiers_of(*args, **more)
        if more["heads"]:  # and not where only what reads heads would run
            tiers.append(found)
        return found

    monkeypatch.setattr(home, "tiers_of", noted)
    CALIBRATE("cuda:0")
    on_cpu, on_gpu, pulled, beside, in_host_memory = seen
    found = iter(tiers)
    mapped = {id(pg): [next(found).mapped for _ in pg.partitions] for pg in timed.placements}
    for samples in (on_gpu, pulled):
        assert [sample.seconds for sample in samples] == [2.0, 2.0]  # few edges to a vertex, and many
        assert samples[0].edges < samples[1].edges
    # Of the CPU the graph of many edges, and what it computes of shares in two supersteps, however long the
    # run takes with the GPU: by itself, and while the GPU reads most of its edges from the same memory.
    dense, *shares = on_cpu
    assert (dense.seconds, dense.edges) == (2.0, on_gpu[1].edges)
    both = [pg for pg in timed.placements if len(pg.elements) > 1]
    for samples, placed, least, most in ((shares, both[::2], 0, 0), (beside, both[1::2], 0.7, 1)):
        assert [sample.seconds for sample in samples] == [4.0, 4.0]
        owned = [pg.partitions[0] for pg in placed]
        assert [(one.touched, one.connected, one.edges) for one in samples] == [
            (own.connected + own.mirrors, own.connected, own.stored_edges) for own in owned
        ]
        for pg in placed:
            assert least <= mapped[id(pg)][1] <= most
    # The GPU's: with room for everything, without room for edges twice, and half or more of them elsewhere.
    alone = [pg for pg in timed.placements if [element.kind for element in pg.elements] == ["cuda"]]
    assert [Share.all_of(pg)[0].columns for pg in alone] == [True, False, True, False, False, False]
    assert [mapped[id(pg)] for pg in alone[:4]] == [[0]] * 4
    # The heads of their rows are near as well.
    for pg, least in zip(alone[4:], (0.5, 0.875), strict=True):
        assert least <= mapped[id(pg)][0] <= 1.1 * least
    # What that takes longer, which here is nothing, and what of them lies there.
    assert in_host_memory == [(70, 7, 0, 0.0)] * 2


@pytest.mark.usefixtures("runs_alone", "one_small_size")
@pytest.mark.parametrize("name", ["bfs", "wcc"])
def test_what_heads_are_worth_is_measured(monkeypatch, name):
    """What reads heads: with half of the edges and seven eighths in the host's memory, then without heads."""
    seen = []
    timed = Timed(99.0, 4.0, 12.0, 8.0, 1.0, 1.0, 1.0, 1.0)
    monkeypatch.setattr(profile, "PASSES", {name: (timed, 2)})
    monkeypatch.setattr(profile, "READ_FIRST", (name,))
    monkeypatch.setattr(profile, "READ_ALL", ())
    monkeypatch.setattr(profile, "SKIP_SOME", ())
    monkeypatch.setattr(of_runs, "fitted", lambda *_, **__: None)
    monkeypatch.setattr(of_runs, "fitted_mapped", seen.append)
    monkeypatch.setattr(Partition, "mapped_edges", property(lambda _: 70))
    monkeypatch.setattr(Partition, "mapped_rows", property(lambda own: len(own.directions)))
    monkeypatch.setattr(Partition, "bare_long", property(lambda _: 3))
    monkeypatch.setattr(Partition, "bare_short", property(lambda _: 10))
    tiers = []

    def noted(*args, **more):
        tiers.append(tiers_of(*args, **more))
        return tiers[-1]

    monkeypatch.setattr(home, "tiers_of", noted)
    CALIBRATE("cuda:0")
    half, most, without = [one for one in tiers if one.mapped][:3]
    assert 0.5 <= half.mapped < 0.875 <= most.mapped
    assert without.mapped == pytest.approx(0.875, abs=1e-3)
    assert half.most_heads > 0
    assert most.most_heads > 0
    assert without.most_heads == 0
    # Of a run of two passes; the longest graph takes as much with all edges near.
    assert seen == [[(70, 1, 5, 0.0)] * 3]


@pytest.mark.usefixtures("runs_alone", "one_small_size")
def test_what_is_measured_of_searches_on_both(monkeypatch):
    """What a run takes longer than the kernels of the slower element, and the kernels of the CPU's share."""
    seen, carried = [], []
    timed = Timed(99.0, 40.0, 60.0, 50.0, 7.0)
    monkeypatch.setattr(profile, "PASSES", {"wcc": (timed, 2)})
    monkeypatch.setattr(profile, "READ_ALL", ())
    monkeypatch.setattr(profile, "SKIP_SOME", ("wcc",))
    monkeypatch.setattr(profile, "READ_FIRST", ())
    monkeypatch.setattr(of_runs, "fitted", lambda samples, **_: seen.append(samples))
    monkeypatch.setattr(of_runs, "fitted_carried", lambda own, _: carried.append(own))
    CALIBRATE("cuda:0")
    searches = seen[2]  # after those of CPU and of GPU
    kinds = [[element.kind for element in pg.elements] for pg in timed.placements]
    whole = [pg for pg, on in zip(timed.placements, kinds, strict=True) if on == ["cpu"]]
    # Of those on both, every other one is there to count supersteps alone.
    shares = [pg for pg, on in zip(timed.placements, kinds, strict=True) if on == ["cpu", "cuda"]][::2]
    # Two supersteps of 8 s on the first element and 16 s on the second; a pass is half of a run.
    assert [sample.seconds for sample in searches] == [8.0] * 4
    assert [(one.touched, one.connected, one.mirrors, one.edges) for one in searches] == [
        (own.connected + own.mirrors, own.connected, own.mirrors, own.stored_edges)
        for own in (pg.partitions[0] for pg in (*whole, *shares))
    ]
    mirrors = [sum(own.mirrors for own in pg.partitions) for pg in shares]
    connected = np.count_nonzero(generate.rmat(8, edge_factor=16).out_degree())
    assert carried == [
        [
            (connected, count, pg.partitions[0].owned, (50.0 - 32.0) / 2)
            for count, pg in zip(mirrors, shares, strict=True)
        ]
    ]


@pytest.mark.parametrize(
    ("given", "seconds", "runs"),
    [
        ("abcde", 1.0, 7),
        ("abcde", 0.08, 7),
        ("abcde", 0.06, 9),
        ("abcde", 0.001, 25),
        ("a", 1.0, 3),
        ("a", 0.11, 5),
    ],
)
def test_short_runs_are_measured_more_often(given, seconds, runs):
    """Three times, seven from several sources, up to 25 until all took 0.5 s; and before once to compile."""
    made, sources = [], []

    class Ran:
        """What may be referred to weakly."""

    def run(_, source):
        sources.append(source)
        assert all(before() is None for before in made)  # so that its memory is what they had
        timeline = ev.Timeline([Span(0, "begin", "cpu", compute=seconds / 2)])
        result = Ran()
        result.seconds, result.timeline = seconds, timeline
        made.append(weakref.ref(result))
        return result

    found = repeated(run, None, given)
    assert (len(found), len(made)) == (runs, runs + 1)
    assert found == [(seconds, 1, seconds / 2, seconds / 2)] * runs
    assert "".join(sources) == "a" + (given * 9)[:runs]


@pytest.mark.parametrize("read", [True, False])
def test_results_are_read_between_runs(read):
    """So that the next run finds caches as cold as a user's; not before all its times are noted."""
    told = []

    class Result(dict):
        seconds = 0.2

        def __init__(self):
            super().__init__(distance=1, parent=2)
            self.timeline = ev.Timeline([Span(0, "begin", "cpu", compute=0.1)])
            told.append("run")

        def __getitem__(self, name):
            told.append(name)
            return super().__getitem__(name)

    assert len(repeated(lambda *_: Result(), None, read=read)) == 3
    each = ["run", "distance", "parent"] if read else ["run"]
    assert told == ["run", *each * 3]


def test_how_fast_values_travel_is_what_many_take_more_than_few(monkeypatch):
    """By hand: sending and receiving, of many values and of few, after some exchanges that do not count."""
    monkeypatch.setattr(cpu, "locked_array", lambda length, dtype: np.empty(length, dtype))
    monkeypatch.setattr(link, "_VALUES", 1 << 12)
    placements = []

    class Exchanging:
        def __init__(self, pg, _):
            placements.append(pg)
            self.partitions, self.elements, self.timeline = pg.partitions, pg.elements, ev.Timeline()
            self.many = pg.graph.n == 1 << 12

        def array(self, *_, **__):
            return None

        superstep = array

        def pull(self, _):
            begun = 1000.0 if len(self.timeline) < 2 * 8 else 0.0
            (out, back), (more, less) = ((3.0, 2.0), (1.0, 0.5)) if self.many else ((1.0, 1.0), (0.75, 0.25))
            self.timeline.add(ev.Span(0, "exchange", "cpu", send=out + begun, receive=less))
            self.timeline.add(ev.Span(0, "exchange", "cuda:0", send=more, receive=back + begun))

    monkeypatch.setattr(link, "Engine", Exchanging)
    speeds, seconds = link.exchange_speeds("cpu:1,cuda:0")
    on_cpu, on_gpu = (4 * own.mirrors for own in placements[0].partitions)
    # From the CPU 5 s and 2; from the GPU 1.5 and 1, of which no more than half is taken for a delay.
    assert speeds == pytest.approx({"cpu": on_gpu / 3, "cuda": on_cpu / 0.75})
    assert seconds == 1.75


def test_how_fast_arrays_are_copied(monkeypatch):
    monkeypatch.setattr(link, "_COPIED", 1000)
    monkeypatch.setattr(link, "perf_counter", count(0, 2).__next__)
    assert link.copy_speed(Gpu("cuda:0", 0), Gpu("cuda:1", 1)) == 4 * 1000 / 2


@pytest.mark.parametrize("error", [PermissionError("no entry"), ev.FileError("no home")])
def test_rates_that_cannot_be_kept_do_all_the_same(monkeypatch, caplog, error):
    def keep(_):
        raise error

    monkeypatch.setattr(profile, "_SCALES", (8, 10))
    monkeypatch.setattr(profile, "machine", lambda **_: {"gpus": []})
    monkeypatch.setattr(profile, "keep", keep)
    assert set(CALIBRATE(None).cpu) == {"bfs", "pagerank", "wcc", "sssp", "betweenness"}
    assert [record.getMessage() for record in caplog.records] == [
        f"the rates of this machine cannot be kept: {error}"
    ]


def test_a_measurement_that_makes_no_sense_is_refused(monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    monkeypatch.setattr(profile, "_SCALES", (8, 10))
    monkeypatch.setattr(profile, "machine", lambda **_: {"gpus": []})
    monkeypatch.setattr(of_runs, "fitted", lambda *_, **__: replace(rates().cpu["bfs"], fixed_seconds=np.nan))
    with pytest.raises(DeviceError, match=r"makes no sense: nothing takes these times: .*nan"):
        CALIBRATE(None)
    assert not list(tmp_path.rglob("*.json"))


# ---- what would fit --------------------------------------------------------------------------------------


def test_the_error_for_no_room_says_what_would_fit(monkeypatch, evener):
    graph = ev.read("rmat:14")
    monkeypatch.setattr(Gpu, "free", beside_edges(graph.n, 0, 0, graph.m, directions=1) // 2)
    with pytest.raises(DeviceOutOfMemory) as caught:
        ev.pagerank(graph, on="cuda:0")
    assert caught.value.available == Gpu.free < caught.value.needed
    found = np.array(str(caught.value).rpartition("; it fits with ")[2].split(", "))
    assert found[0] == 'on="cpu,cuda:0"'
    policy, alpha = found[1].split('"')[1], float(found[2].removeprefix("alpha="))
    assert 0 < alpha < 1
    gpu = ev.partition(graph, ["cpu:1", "cuda:0"], policy=policy, alpha=alpha, directions="in").partitions[1]
    assert beside_edges(gpu.owned, gpu.mirrors, gpu.owned, gpu.stored_edges, directions=1) <= Gpu.free
    keep(monkeypatch)
    done = evener("plan", "rmat:14", "--for", "pagerank", "--on", "cuda:0")
    assert done.status == 2
    assert done.err.endswith(f'; it fits with --on "cpu,cuda:0", --policy "{policy}", --alpha {alpha}\n')


def test_what_would_fit_is_what_fits_the_memory_that_is_given():
    graph = ev.read("rmat:14")
    given = beside_edges(graph.n, 0, 0, graph.m, directions=1) // 2
    with pytest.raises(DeviceOutOfMemory, match=r'; it fits with on="cpu,cuda:0", policy="') as caught:
        ev.pagerank(graph, on="cuda:0", gpu_memory=given)
    _, policy, said = str(caught.value).rpartition("; it fits with ")[2].split(", ")
    alpha = float(said.removeprefix("alpha="))
    policy = policy.split('"')[1]
    ev.partition(graph, "cpu:1,cuda:0", policy=policy, alpha=alpha, gpu_memory=given, directions="in")


def test_where_a_plan_finds_less_room_than_it_counted_on_it_is_said_as_well(graph, monkeypatch):
    """What was free a moment ago may be another process's by now."""
    placing(monkeypatch, FULL)
    with pytest.raises(DeviceOutOfMemory, match=rf'^{FULL}; it fits with on="cpu,cuda:0", policy="'):
        ev.bfs(graph, source=1, on="cpu:1,cuda:0")


@pytest.mark.parametrize("directions", ["in", "both"])
def test_who_places_a_graph_is_told_what_would_fit_as_well(directions):
    """The graph as it was to be placed, in the memory that was given."""
    graph = ev.read("rmat:14,directed")
    asked = {"gpu_memory": beside_edges(graph.n, 0, 0, graph.m, directions=1) // 2, "directions": directions}
    with pytest.raises(DeviceOutOfMemory, match=r'; it fits with on="cpu,cuda:0", policy="') as caught:
        ev.partition(graph, on="cuda:0", **asked)
    assert caught.value.available == asked["gpu_memory"] < caught.value.needed
    assert str(caught.value).count("it fits with") == 1
    _, policy, said = str(caught.value).rpartition("; it fits with ")[2].split(", ")
    alpha = float(said.removeprefix("alpha="))
    ev.partition(graph, "cpu,cuda:0", policy=policy.split('"')[1], alpha=alpha, **asked)


def test_what_would_fit_is_said_of_the_directions_that_are_followed():
    """PageRank follows the edges of one direction, so its GPU holds more of them."""
    graph = ev.read("rmat:14,directed")
    given = beside_edges(graph.n, 0, 0, graph.m, directions=1) // 2
    alphas = []
    for algorithm in (ev.pagerank, ev.bfs):
        with pytest.raises(DeviceOutOfMemory) as caught:
            algorithm(graph, on="cuda:0", gpu_memory=given)
        alphas.append(float(str(caught.value).rpartition("alpha=")[2]))
    assert alphas[0] < alphas[1]


def test_a_gpu_that_is_named_twice_is_measured_and_advised_by_its_name(graph, monkeypatch):
    assert ev.plan(graph, "wcc", on="cpu:1,cuda:0,cuda:0").on == ("cpu:1", "cuda:0", "cuda:0")
    monkeypatch.setattr(Gpu, "free", beside_edges(graph.n, 0, 0, graph.m, directions=1) // 3)
    with pytest.raises(DeviceOutOfMemory, match=r'; it fits with on="cpu,cuda:0,cuda:0", policy="'):
        ev.wcc(graph, on="cuda:0,cuda:0")


@pytest.mark.parametrize("part", [0.9, 0.75])
def test_a_gpu_that_is_named_twice_has_its_memory_once(monkeypatch, part):
    """What its second element may hold is what the first one and runs on it leave."""
    graph, asked = ev.read("rmat:12"), []
    on = ["cuda:0", "cuda:0"]

    def needed(pg):
        return sum(
            beside_edges(p.owned, p.mirrors, pg.mirrors_of(k), p.stored_edges, directions=1)
            for k, p in enumerate(pg.partitions)
        )

    def tiers(*args, **more):
        asked.append(tiers_of(*args, **more).mapped)
        return tiers_of(*args, **more)

    whole = ev.partition(graph, on)
    given = int(needed(whole) + part * 4 * graph.m)
    monkeypatch.setattr(home, "tiers_of", tiers)
    pg = ev.partition(graph, on, gpu_memory=given)
    far = sum(share * p.stored_edges for share, p in zip(asked, pg.partitions, strict=True))
    assert 0 < far < graph.m
    assert needed(pg) + 4 * (graph.m - far) <= given


def test_where_nothing_of_it_fits_the_cpu_is_named(graph, monkeypatch):
    monkeypatch.setattr(Gpu, "free", 1024)
    with pytest.raises(DeviceOutOfMemory, match=r'; it fits with on="cpu"$'):
        ev.wcc(graph, on="cuda:0")


# ---- rows that cannot be counted ---------------------------------------------------------------------------


@pytest.mark.parametrize("directed", [True, False])
def test_a_vertex_with_more_in_edges_than_a_gpu_counts_is_refused(monkeypatch, directed):
    star = ev.Graph.from_edges(np.arange(1, 40), np.zeros(39, int), directed=directed)
    monkeypatch.setattr(home, "LONGEST_ROW", 39)
    assert where(ev.wcc(star, on="cuda:0")) == ["cuda"]
    monkeypatch.setattr(home, "LONGEST_ROW", 38)
    with pytest.raises(
        ArgumentError, match=r"a vertex with 39 in-edges cannot .* on cuda:0, which takes up to 38; "
    ):
        ev.wcc(star, on="cuda:0")
    assert where(ev.wcc(star, on="cpu:1")) == ["cpu"]
    mixed = ev.partition(star, ["cpu:1", "cuda:0"], policy="high", alpha=0.5)
    assert mixed.place_of(0)[0] == 0
    if directed:  # out of it lead none
        ev.partition(star, "cuda:0", directions="out")
